package perform_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gt/internal/world"
	"gt/lib/reconcile/perform"
	"gt/lib/reconcile/runtime"
	"gt/lib/state/instance"
	"gt/lib/state/lifecycle"
	"gt/lib/state/session"
)

// A tick with nothing to do, S4-89: what it costs besides its checks and the call of tmux.
// It changes nothing and writes nothing.
func BenchmarkTick(b *testing.B) {
	for _, templates := range []int{50, 500} {
		b.Run(fmt.Sprintf("%dx100", templates), func(b *testing.B) {
			dir, remove, err := world.Folder()
			if err != nil {
				b.Fatal(err)
			}
			defer remove()
			s := newSim(dir)
			var text strings.Builder
			for i := range templates {
				fmt.Fprintf(&text, "[[agent]]\nname = \"t%d\"\nprovider = \"claude\"\n[agent.pool]\nmax = 100\n", i)
			}
			s.text = text.String()
			c, err := s.config()
			if err != nil {
				b.Fatal(err)
			}
			folder := filepath.Join(dir, "instances")
			for i, t := range c.Templates {
				e := c.Effective(t, nil)
				labels := filepath.Join(dir, "route", t.RoutingLabel)
				for _, at := range []string{folder, labels} {
					if err := os.MkdirAll(at, 0o700); err != nil {
						b.Fatal(err)
					}
				}
				for n := range 100 {
					id := instance.ID(session.NewID())
					in := &instance.Instance{
						ID: id, Name: fmt.Sprintf("t%d-%s", i, id[:8]), Path: dir, Agent: "claude", Desired: instance.Running, CreatedAt: s.now, StartedAt: s.now,
						Managed: &instance.Managed{Revision: 1, Fields: e.Digests(), Session: lifecycle.Session{
							ID: string(id), Template: t.Name, Pool: t.Name, Slot: n + 1, State: lifecycle.Active, Reason: lifecycle.CreationComplete,
							Generation: 1, Token: "x", Hash: e.Hash(), CreatedAt: s.now, ActiveAt: s.now,
						}},
					}
					in.TmuxSession = "gt-" + in.Name
					data, err := json.Marshal(in)
					if err == nil {
						err = os.WriteFile(filepath.Join(folder, string(id)+".json"), data, 0o600)
					}
					if err == nil {
						err = os.WriteFile(filepath.Join(labels, in.Name), nil, 0o600)
					}
					if err == nil {
						err = s.fake.Start(context.Background(), runtime.Agent{Ref: s.ref(in)})
					}
					if err != nil {
						b.Fatal(err)
					}
				}
			}
			tick := func() {
				_, err := s.world().Tick(context.Background(), func(o perform.Outcome) { b.Fatal(o.Change, o.Why) })
				if err != nil {
					b.Fatal(err)
				}
			}
			tick() // which remembers how many are wanted
			before := s.written()
			s.now = s.now.Add(time.Second)
			for b.Loop() {
				tick()
			}
			if s.written() != before {
				b.Error("it writes")
			}
		})
	}
}
