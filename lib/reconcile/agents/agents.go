// Package agents starts, ends and looks at the agents of sessions that were made from
// templates: in tmux as gt-session does, or by the runtime that a town has chosen.
package agents

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"time"

	"gt/lib/catalog/scan"
	"gt/lib/client/agent"
	"gt/lib/launch/start"
	"gt/lib/live/ending"
	"gt/lib/live/fleet"
	"gt/lib/live/status"
	"gt/lib/place/home"
	"gt/lib/reconcile/perform"
	"gt/lib/reconcile/runtime"
	"gt/lib/reconcile/template"
	"gt/lib/reconcile/tick"
	"gt/lib/state/instance"
	"gt/lib/state/session"
	"gt/lib/sys/bounded"
	"gt/lib/sys/process"
)

// Agents are those of a store.
type Agents struct {
	// Runtime returns what runs a session's agent, by its name in the session's record: ""
	// is tmux.
	Runtime func(name string) (runtime.Runtime, error)
	Store   instance.Store
	Table   *agent.Table
	Getenv  func(string) string
	Environ []string
	Now     func() time.Time
	Warn    func(error)
}

func (a Agents) ref(in *instance.Instance) runtime.Ref {
	return runtime.Ref{ID: a.Store.Name(in.ID), Name: in.TmuxSession, Server: in.TmuxServer, Agent: in.Agent}
}

func (a Agents) warn(err error) {
	if err != nil && a.Warn != nil {
		a.Warn(err)
	}
}

// Look looks at sessions: once at those of each runtime.
func (a Agents) Look(ctx context.Context, all []*instance.Instance) []perform.Sight {
	sights := make([]perform.Sight, len(all))
	by := map[string][]int{}
	for i, in := range all {
		by[in.Managed.Runtime] = append(by[in.Managed.Runtime], i)
	}
	for name, at := range by {
		some := make([]*instance.Instance, len(at))
		for i, n := range at {
			some[i] = all[n]
		}
		r, err := a.Runtime(name)
		if err != nil {
			a.warn(err) // nothing is known of them
			continue
		}
		for i, s := range a.look(ctx, r, some) {
			sights[at[i]] = s
		}
	}
	return sights
}

func (a Agents) look(ctx context.Context, r runtime.Runtime, all []*instance.Instance) []perform.Sight {
	sights := make([]perform.Sight, len(all))
	if _, ok := r.(runtime.Tmux); !ok {
		refs := make([]runtime.Ref, len(all))
		for i, in := range all {
			refs[i] = a.ref(in)
		}
		for i, s := range r.Look(ctx, refs) {
			sights[i] = perform.Sight{Alive: s.Alive, Attached: s.Attached}
		}
		return sights
	}
	for i, m := range fleet.Look(a.Getenv, a.Store, a.Table, all, a.Now()) {
		s := &sights[i]
		switch {
		case m.Pane.ID == "" && m.Status == status.Unknown:
			continue
		case m.Pane.ID == "" || m.Pane.Dead:
			s.Alive = tick.No
		case m.Process.IsSet():
			s.Alive = tick.Yes
		}
		s.Attached, s.Left = m.Pane.Attached, !m.Wanted()
		if m.Status == status.Waiting || m.Status == status.Idle {
			switch m.Reason {
			case status.Permission, status.Question:
				s.Asks = true
			case status.Limited:
				s.Limited, s.Idle = true, m.Since
			default:
				s.Idle = m.Since
			}
		}
	}
	return sights
}

// stillEnding is how long an agent may take to end whose server of tmux went away.
const stillEnding = 10 * time.Second

// Start starts the agent of a session: with its conversation, where its client has one.
func (a Agents) Start(ctx context.Context, h *instance.Held, e template.Effective) error {
	r, err := a.Runtime(h.Managed.Runtime)
	if err != nil {
		return err
	}
	client := a.Table.Of(e.Provider)
	if !a.Table.Known(e.Provider) {
		return fmt.Errorf("no agent is called '%s'", e.Provider)
	}
	if len(e.Command) > 0 {
		client.Command = e.Command
	}
	h.Agent, h.Args = client.Name, nil
	if e.Model != "" {
		h.Args = []string{"--model", e.Model}
	}
	if info, err := os.Stat(h.Path); err != nil || !info.IsDir() {
		return fmt.Errorf("the folder '%s' is missing", h.Path)
	}
	vars := a.vars(h.Instance, e)
	environ := slices.Clone(a.Environ)
	for _, kv := range vars {
		environ = append(environ, kv[0]+"="+kv[1])
	}
	at := home.Elsewhere(a.Getenv, h.Path)
	s := start.Start{Instance: h.Instance, Store: a.Store, Client: client, Table: a.Table, Home: at, Environ: environ, Prompt: e.Prompt}
	m := fleet.Look(a.Getenv, a.Store, a.Table, []*instance.Instance{h.Instance}, a.Now())[0]
	if client.CanResume() && m.Now != "" && !m.Now.Invented() && m.Resumable(a.Getenv) {
		s.Resume, s.Prompt = m.Now, ""
		if err := a.open(s.Resume); err != nil {
			return err
		}
	}
	run, id, err := s.Run()
	if err != nil {
		return err
	}
	if err := a.commands(ctx, h, e, run.Env, "pre_start", e.PreStart); err != nil {
		return err
	}
	now := a.Now().UTC()
	h.TmuxPane = ""
	h.Begins(now, id, s.Resume != "")
	if err := h.Put(now); err != nil {
		return err
	}
	err = r.Start(ctx, runtime.Agent{
		Ref: a.ref(h.Instance), Run: run, Vars: vars, Shared: nil, Environ: a.Table.StripRunVars(a.Environ),
		Told: func() bool { return a.Store.Told(h.Instance) },
	})
	if err != nil {
		return err
	}
	a.warn(a.commands(ctx, h, e, run.Env, "session_setup", e.SessionSetup))
	if e.Setup != "" {
		a.warn(a.commands(ctx, h, e, run.Env, "session_setup_script", []string{e.Setup}))
	}
	return nil
}

// vars are a session's own variables.
func (a Agents) vars(in *instance.Instance, e template.Effective) (vars [][2]string) {
	for _, name := range slices.Sorted(maps.Keys(e.Env)) {
		vars = append(vars, [2]string{name, e.Env[name]})
	}
	return append(vars, [2]string{"GT_SESSION_NAME", in.Name}, [2]string{"GT_TEMPLATE", e.Name})
}

// open reports that a conversation is open elsewhere.
func (a Agents) open(id session.ID) error {
	by := scan.HolderOf(a.Getenv, a.Store.State, id)
	for end := time.Now().Add(stillEnding); by != nil && time.Now().Before(end); by = scan.HolderOf(a.Getenv, a.Store.State, id) {
		time.Sleep(50 * time.Millisecond)
	}
	if by != nil {
		return fmt.Errorf("its conversation %s is open already, %s", id, by)
	}
	return nil
}

// Bounds of the commands of a template.
const (
	commandTime   = time.Minute
	commandOutput = 1 << 20
)

// commands runs commands of a template, one after the other, in the session's folder and
// with its variables.
func (a Agents) commands(ctx context.Context, h *instance.Held, e template.Effective, environ []string, key string, all []string) error {
	environ = append(slices.Clip(environ), "GT_TMUX_SESSION="+h.TmuxSession)
	for _, command := range all {
		sh, err := process.LookPath("sh", h.Path, environ)
		if err != nil {
			return err
		}
		_, err = bounded.Program{Path: sh, Args: []string{"-c", command}, Dir: h.Path, Env: environ, Within: commandTime, Most: commandOutput}.Run(ctx)
		if err != nil {
			return fmt.Errorf("%s of %s: %w", key, e.Name, err)
		}
	}
	return nil
}

// closing is how long the end of a session waits for others that work in its home.
const closing = 2 * time.Second

// Stop ends the agent of a session. That somebody ends it is noted first: whoever finds
// its process gone takes it for killed, not for crashed.
func (a Agents) Stop(ctx context.Context, in *instance.Instance) error {
	runs, err := a.Runtime(in.Managed.Runtime)
	if err != nil {
		return err
	}
	id := a.Store.Session(in)
	if id == "" {
		return runs.Stop(ctx, a.ref(in))
	}
	h, ok, err := home.OfSession(a.Store.State, string(id))
	if err != nil || !ok {
		a.warn(err)
		return runs.Stop(ctx, a.ref(in))
	}
	s := session.Store{Home: h, Warn: a.warn}
	if r, _ := s.Get(id); r != nil && !r.Ended() {
		a.warn(ending.Intend(s, id, session.Stop{Reason: "gt-reconcile", Until: a.Now().Add(runtime.Grace + 2*time.Second)}))
	}
	if err := runs.Stop(ctx, a.ref(in)); err != nil {
		return err
	}
	err = ending.End{ID: id, Outcome: session.Killed, Reason: "gt-reconcile", At: a.Now()}.Close(s, closing)
	if err != nil && !errors.Is(err, session.ErrEnded) && !errors.Is(err, session.ErrUnknown) {
		a.warn(err)
	}
	return nil
}
