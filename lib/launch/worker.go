package launch

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"gt/lib/cli"
	"gt/lib/client/agent"
	"gt/lib/client/registry"
	"gt/lib/launch/beacon"
	"gt/lib/live/closing"
	"gt/lib/live/fleet"
	"gt/lib/place"
	"gt/lib/place/home"
	"gt/lib/place/identity"
	"gt/lib/place/rig"
	"gt/lib/place/town"
	"gt/lib/state/instance"
	"gt/lib/state/session"
	"gt/lib/text/term"
)

// sender returns who starts a town's agent, in the words of its beacon.
func sender(env *cli.Env, to identity.Identity) string {
	switch from := home.Find(env.Getenv, env.Dir, "").Identity; {
	case from.Role == "":
		return string(identity.Overseer)
	case from == to:
		return beacon.SelfSender
	default:
		return from.String()
	}
}

// checkAdmitted returns an error if the worker's rig is parked or already runs its maximum of
// polecats. Crew members, whom people start for themselves, may always start.
func (l *Launch) checkAdmitted() error {
	id, err := identity.Parse(l.Role)
	if l.Role == "" || err != nil || id.Role == identity.Crew {
		return nil
	}
	inTown := town.Find(l.Env.Getenv, l.Path)
	if status, err := rig.ParkedStatus(inTown, id.Rig); err != nil {
		return err
	} else if status != "" {
		return cli.Fail(cli.AnswerNo, fmt.Errorf("cannot start %s: the rig %s is %s", l.Name, id.Rig, status))
	}
	if id.Role != identity.Polecat || l.alive {
		return nil
	}
	most, err := rig.MaxPolecats(inTown, id.Rig)
	if err != nil || most == 0 { // without a limit
		return err
	}
	all, err := l.Store.ReadInstances()
	if err != nil {
		return err
	}
	all = slices.DeleteFunc(all, func(in *instance.Instance) bool {
		other, err := identity.Parse(in.Role)
		return err != nil || other.Role != identity.Polecat || other.Rig != id.Rig || in.ID == l.ID
	})
	n := 0
	for _, m := range fleet.Members(l.Env.Getenv, l.Store, l.Table, all, l.now) {
		if m.Process.IsSet() {
			n++
		}
	}
	if n < most {
		return nil
	}
	return fmt.Errorf("cannot start %s: %w", l.Name, RigFullError(id.Rig, n, most))
}

// RigFullError is the error for a rig that runs its maximum of polecats.
func RigFullError(rig string, n, most int) error {
	return cli.Fail(cli.AnswerNo, fmt.Errorf("the rig %s has %d of at most %d polecats", rig, n, most),
		"gt-session list shows them, gt-session stop ends one", fmt.Sprintf("max_polecats of [rigs.%s] in town.toml is the limit", rig))
}

// reserveSlot takes one of the places that max_running allows the person's agents on this machine,
// in all profiles, and fails if none is left. Until release is called, no other command starts an
// agent. A session of a template, or an agent that is only started again, needs no place.
func (l *Launch) reserveSlot(warn func(error)) (release func(), err error) {
	release = func() {}
	if l.alive || l.Revives || l.Template != nil {
		return release, nil
	}
	most := agent.LoadPreferences(place.Config(l.Env.Getenv), warn).Session.MaxRunning
	if most == 0 { // without a limit
		return release, nil
	}
	lock, err := instance.Personal(l.Store.State, "").LockStarts()
	if err != nil {
		return release, err
	}
	release = sync.OnceFunc(lock.Unlock)
	stores, unread := instance.Stores(l.Store.State)
	var places []fleet.StoreInstances
	for _, s := range stores {
		all, err := s.ReadInstances()
		unread = errors.Join(unread, err)
		places = append(places, fleet.StoreInstances{Store: s, Instances: all, Table: l.Table})
	}
	if unread != nil {
		warn(fmt.Errorf("max_running counts only what can be read: %w", unread))
	}
	n := 0
	for _, members := range fleet.NewSurvey(l.Env.Getenv, l.now).ReadStores(places) {
		for _, m := range members {
			if m.Process.IsSet() && m.ID != l.ID {
				n++
			}
		}
	}
	if n >= most { // mutant never: . TestScripts/session_several$
		err = cli.Fail(cli.Busy, fmt.Errorf("cannot start %s: %d agents run, and max_running is %d", l.Name, n, most),
			"gt-session list -A shows them, gt-session stop NAME ends one", "max_running of [session] in config.toml is the limit")
	}
	return release, err
}

// paneStays reports whether the pane remains when the agent ends: for the person, or until
// revive has looked at it.
func (l *Launch) paneStays() bool { return l.Remain || l.Respawn || l.reportsEndLate() }

// reportsEndLate reports whether a server behind the client reports the agent's end. It does so
// a minute later, and the same way for an agent that the person left and one that was
// killed. The pane's exit status shows which it was.
func (l *Launch) reportsEndLate() bool {
	c := registry.FindClient(l.Table.FindClient(l.Agent).Dialect) // the dialect is needed before any step of a start
	return l.Template == nil && c != nil && c.Dialect.SharedServer != nil
}

// setRespawn has tmux run gt-session revive when the agent ends. That starts it again after a
// crash, or records how it ended where a server would report that late.
func (l *Launch) setRespawn() error {
	if !l.Respawn && !l.reportsEndLate() {
		return nil
	}
	// tmux runs it in the environment that its server started with.
	words := []string{term.Quote(l.self), "revive", term.Quote(l.Store.Name(l.ID))}
	if state := l.Env.Getenv("XDG_STATE_HOME"); state != "" {
		words = append([]string{"XDG_STATE_HOME=" + term.Quote(state)}, words...)
	}
	if err := l.server.OnDeath(l.pane, strings.Join(words, " "), "exec "+term.Quote(l.self)+" outlive"); err != nil {
		return fmt.Errorf("cannot start %s: %w", l.Name, err)
	}
	return nil
}

// canRevive reports whether the agent crashed, has --respawn, and ran for minRun at least. If a
// server would report its end late, canRevive first records whether the person left the agent. It
// closes a dead pane that stayed only for this (paneStays), unless the agent crashed and has
// --respawn: after too short a run, the pane shows why.
func (l *Launch) canRevive() (bool, error) {
	if !l.member.Pane.Dead {
		return false, nil
	}
	if l.reportsEndLate() {
		if err := l.recordLeft(); err != nil {
			return false, err
		}
	}
	switch {
	case !l.Respawn && !l.reportsEndLate(): // the pane did not stay for this
		return false, nil
	case l.member.IsWanted() && l.Respawn: // it crashed
		return l.now.Sub(l.StartedAt) >= minRun, nil
	case l.Remain:
		return false, nil
	}
	return false, l.server.KillPane(l.member.Pane.ID)
}

// recordLeft records that the person left an agent that exited with success, and renews l.member.
func (l *Launch) recordLeft() error {
	left, err := l.server.ExitedCleanly(l.member.Pane.ID)
	if err != nil || !left || l.member.Record == nil {
		return err
	}
	end := closing.End{ID: l.member.Record.ID, Outcome: session.Done, Reason: fleet.LeftReason, At: l.now, ByClient: true}
	if err := end.CloseIn(l.Store.State, lockWait, l.Env.WarnError); err != nil {
		return err
	}
	l.member = fleet.Members(l.Env.Getenv, l.Store, l.Table, []*instance.Instance{l.Instance}, l.Env.Now())[0]
	return nil
}
