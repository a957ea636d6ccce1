package birth

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"gt/lib/cli"
	"gt/lib/client/registry"
	"gt/lib/launch/beacon"
	"gt/lib/live/closing"
	"gt/lib/live/fleet"
	"gt/lib/place/home"
	"gt/lib/place/identity"
	"gt/lib/place/rig"
	"gt/lib/place/town"
	"gt/lib/state/instance"
	"gt/lib/state/pidfile"
	"gt/lib/state/session"
	"gt/lib/text/term"
)

// sender is who starts an agent of a town, as its beacon says it.
func sender(env *cli.Env, to identity.Identity) string {
	switch from := home.Find(env.Getenv, env.Dir, "").Identity; {
	case from.Role == "":
		return string(identity.Overseer)
	case from == to:
		return beacon.Self
	default:
		return from.String()
	}
}

// notParked reports that a worker's rig is parked, and that nothing of it starts but what
// a person starts for themselves.
func notParked(env *cli.Env, in *instance.Instance) error {
	id, err := identity.Parse(in.Role)
	if in.Role == "" || err != nil || id.Role == identity.Crew {
		return nil
	}
	switch status, err := rig.Parked(town.Find(env.Getenv, in.Path), id.Rig); {
	case err != nil:
		return err
	case status != "":
		return cli.Fail(cli.No, fmt.Errorf("cannot start %s: the rig %s is %s", in.Name, id.Rig, status))
	}
	return nil
}

// admitted reports that as many polecats of a rig run as may.
func (b *Birth) admitted() error {
	id, err := identity.Parse(b.Role)
	if b.Role == "" || err != nil || id.Role != identity.Polecat || b.alive {
		return nil
	}
	most, err := rig.MaxPolecats(town.Find(b.Env.Getenv, b.Path), id.Rig)
	if err != nil || most == 0 {
		return err
	}
	all, err := b.Store.All()
	if err != nil {
		return err
	}
	all = slices.DeleteFunc(all, func(in *instance.Instance) bool {
		other, err := identity.Parse(in.Role)
		return err != nil || other.Role != identity.Polecat || other.Rig != id.Rig || in.ID == b.ID
	})
	n := 0
	for _, m := range fleet.Members(b.Env.Getenv, b.Store, b.Table, all, b.now) {
		if m.Process.IsSet() {
			n++
		}
	}
	if n < most {
		return nil
	}
	return fmt.Errorf("cannot start %s: %w", b.Name, Full(id.Rig, n, most))
}

// Full is the error for a rig that has as many polecats as may run at once.
func Full(rig string, n, most int) error {
	return cli.Fail(cli.No, fmt.Errorf("the rig %s has %d of at most %d polecats", rig, n, most),
		"gt-session list shows them, gt-session stop ends one", fmt.Sprintf("max_polecats of [rigs.%s] in town.toml is the limit", rig))
}

// track notes the process of a worker's agent for the programs of its town.
func (b *Birth) track() {
	if b.Role == "" {
		return
	}
	if err := pidfile.Of(b.start.Home.Town).Track(b.pane.Session, b.process); err != nil {
		b.Env.Warn("%v", err)
	}
}

// stays reports whether the agent's pane stays when its process ends, for the person or
// until revive has looked at it.
func (b *Birth) stays() bool { return b.Remain || b.Respawn || b.tellsLate() }

// tellsLate reports whether a server behind the client tells of the agent's end, a minute
// later and alike for one that was left and one that was killed. The pane tells them apart.
func (b *Birth) tellsLate() bool {
	c := registry.Of(b.Table.Of(b.Agent).Dialect) // before any step of a start
	return b.Template == nil && c != nil && c.Dialect.SharedServer != nil
}

// setRespawn has tmux call revive when the agent's process ends.
func (b *Birth) setRespawn() error {
	if !b.Respawn && !b.tellsLate() {
		return nil
	}
	// tmux runs it in the environment that its server was started in.
	words := []string{term.Quote(b.self), "revive", term.Quote(b.Store.Name(b.ID))}
	if state := b.Env.Getenv("XDG_STATE_HOME"); state != "" {
		words = append([]string{"XDG_STATE_HOME=" + term.Quote(state)}, words...)
	}
	if err := b.at.OnDeath(b.pane, strings.Join(words, " "), "exec "+term.Quote(b.self)+" outlive"); err != nil {
		return fmt.Errorf("cannot start %s: %w", b.Name, err)
	}
	return nil
}

// revivable reports whether the agent crashed and is started again. The pane of one that
// was left is closed.
func (b *Birth) revivable() (bool, error) {
	if !b.m.Pane.Dead {
		return false, nil
	}
	if b.tellsLate() {
		if err := b.noteLeft(); err != nil {
			return false, err
		}
	}
	switch {
	case !b.Respawn && !b.tellsLate():
		return false, nil
	case b.m.Wanted() && b.Respawn:
		return b.now.Sub(b.StartedAt) >= minRun, nil
	case b.Remain:
		return false, nil
	}
	return false, b.at.Kill(b.m.Pane.Session)
}

// noteLeft notes that the person has left the agent, whose process has ended well.
func (b *Birth) noteLeft() error {
	left, err := b.at.ExitedCleanly(b.m.Pane.ID)
	if err != nil || !left || b.m.Record == nil {
		return err
	}
	end := closing.End{ID: b.m.Record.ID, Outcome: session.Done, Reason: fleet.Left, At: b.now, ByClient: true}
	if err := end.CloseIn(b.Env.Getenv, b.Store.State, hold, func(err error) { b.Env.Warn("%v", err) }); err != nil {
		return err
	}
	b.m = fleet.Members(b.Env.Getenv, b.Store, b.Table, []*instance.Instance{b.Instance}, b.Env.Now())[0]
	return nil
}

// minRun is how long an agent has to have run: one that cannot run would crash for ever.
const minRun = time.Minute
