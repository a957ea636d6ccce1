package upgrade

import (
	"cmp"
	"strings"
	"syscall"
	"time"

	"gt/lib/place"
	"gt/lib/place/home"
	"gt/lib/state/session"
	"gt/lib/sys/process"
)

// believed returns a new record of a session. It prefers what the log and the client say.
// From the old record it takes only harmless fields: not a waiting hand-over, and not
// which process runs where, unless that process is verified to be alive.
func (k *Known) believed(old *session.Record, h home.Home) *session.Record {
	f := k.sessions[old.ID]
	l := f.logged
	r := &session.Record{
		ID: old.ID, Actor: cmp.Or(l.Actor, h.Identity.Address()), Agent: cmp.Or(l.Agent, f.client, old.Agent),
		Role: cmp.Or(l.Role, string(h.Identity.Role)), Rig: cmp.Or(l.Rig, h.Identity.Rig), Source: cmp.Or(l.Source, old.Source),
		ChainID:  cmp.Or(l.ChainID, k.known(old.ChainID, h), old.ID),
		ParentID: cmp.Or(l.ParentID, k.known(old.ParentID, h)), ChildID: cmp.Or(k.known(old.ChildID, h), l.ChildID),
		CWD: l.CWD, Branch: cmp.Or(old.Branch, l.Branch), Host: cmp.Or(l.Host, old.Host),
		StartedAt: l.StartedAt, EndedAt: l.EndedAt, Outcome: l.Outcome, Reason: l.Reason, Commits: hashes(old.Commits),
		WorkUnit: cmp.Or(l.WorkUnit, old.WorkUnit), MoleculeID: old.MoleculeID, StepRef: old.StepRef, Note: noteID(old.Note), Full: old.Full,
	}
	if l.ID != "" && l.ChainID != "" {
		r.ParentID = l.ParentID // the log has its start event, which names the parent
	}
	if r.CWD == "" && len(f.dirs) > 0 {
		r.CWD = f.dirs[0]
	}
	if r.StartedAt.IsZero() {
		r.StartedAt = old.StartedAt
	}
	if k.transcripts[old.Transcript] {
		r.Transcript = old.Transcript
	} else if k.transcripts[l.Transcript] {
		r.Transcript = l.Transcript
	}
	if _, err := session.ParseOutcome(string(r.Outcome)); err != nil || r.EndedAt.IsZero() {
		r.EndedAt, r.Outcome, r.Reason = time.Time{}, "", ""
	}
	if _, err := session.ParseOutcome(string(old.Outcome)); err == nil && !r.Ended() {
		r.EndedAt, r.Outcome, r.Reason = old.EndedAt, old.Outcome, old.Reason
	}
	if !r.Ended() && cmp.Or(old.Host, r.Host, host()) == host() {
		k.place(r, old, h)
	}
	return r
}

// place records where a session runs that has not ended. If its process is gone, it keeps
// only enough for the next start to detect the crash.
func (k *Known) place(r, old *session.Record, h home.Home) {
	p := old.Process()
	switch {
	case k.runs(p, h):
		r.SetProcess(p)
		if s := old.Server(); s.Alive() && s.Signal(syscall.Signal(0)) == nil {
			r.SetServer(s)
		}
		if environ, err := p.Environ(); err == nil && inPane(environ, old.TmuxServer, old.TmuxPane) {
			r.TmuxPane, r.TmuxServer = old.TmuxPane, old.TmuxServer
			if old.TmuxSession == k.sessions[old.ID].logged.TmuxSession {
				r.TmuxSession = old.TmuxSession
			}
		}
	case p.IsSet() && p.Gone():
		// Without a boot ID, this matches no process that exists or ever will.
		r.PID, r.PIDStart = p.PID, p.Start
	}
}

// runs reports whether a process is alive, belongs to this user, and works in the home.
func (k *Known) runs(p process.Proc, h home.Home) bool {
	if !p.Alive() || p.Signal(syscall.Signal(0)) != nil {
		return false
	}
	dir, err := p.Dir()
	return err == nil && place.Real(k.find(dir).Dir) == place.Real(h.Dir)
}

// inPane reports whether the environment of a process names that pane of that tmux
// server. The record alone could name any pane.
func inPane(environ []string, server, pane string) bool {
	var sock, at string
	for _, kv := range environ {
		if v, ok := strings.CutPrefix(kv, "TMUX="); ok {
			sock, _, _ = strings.Cut(v, ",")
		}
		if v, ok := strings.CutPrefix(kv, "TMUX_PANE="); ok {
			at = v
		}
	}
	return pane != "" && pane == at && server == sock
}

// hashes returns the elements that can be hashes of commits.
func hashes(all []string) []string {
	var good []string
	for _, c := range all {
		if len(c) >= 4 && len(c) <= 64 && strings.Trim(c, "0123456789abcdef") == "" {
			good = append(good, c)
		}
	}
	return good
}

// noteID returns id if it can be the ID of a note, else "".
func noteID(id string) string {
	if len(id) > 64 || strings.Trim(id, "0123456789abcdef") != "" {
		return ""
	}
	return id
}
