package seancecmd

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"

	"gt/lib/catalog"
	"gt/lib/catalog/scan"
	"gt/lib/cli"
	"gt/lib/log/eventlog"
	"gt/lib/place/town"
	"gt/lib/state/peer"
	"gt/lib/state/session"
	"gt/lib/text/redact"
)

func peersOf(env *cli.Env) peer.Hosts { return peer.NewHosts(town.Personal(env.Getenv).State) }

// joinPeers adds the sessions of other hosts. What cannot be read of one is a warning.
func joinPeers(env *cli.Env, all catalog.Catalog, progress catalog.Progress) catalog.Catalog {
	hosts, clean := peersOf(env), redact.NewCutRedactor(env.Environ)
	known, err := hosts.ReadHosts()
	env.WarnError(err)
	for _, h := range known {
		logs, err := hosts.Logs(h.Name)
		var read catalog.Catalog
		for _, path := range logs {
			one, failed := catalog.Read(eventlog.Log(path), progress)
			if err = errors.Join(err, failed); failed == nil {
				read = read.Join(one)
			}
		}
		p := catalog.Peer{Name: h.Name}
		if now := env.Now(); !h.IsAway(now) {
			agents, failed := hosts.Agents(h, now)
			err = errors.Join(err, failed)
			p.Runs = map[session.ID]bool{} // nil would say that nothing is known
			for _, a := range agents {
				if a.Runs() {
					p.Runs[session.ID(a.SessionID)] = true
				}
			}
		}
		records, failed := scan.Records(hosts.Records(h.Name), clean, hosts.Path(h.Name, "transcripts.db"))
		if err = errors.Join(err, failed); err != nil {
			env.Warn("%s: %v", h.Name, err)
		}
		all = all.JoinPeer(p, read, records...)
	}
	return all
}

func ownHost(env *cli.Env) string {
	own, err := peersOf(env).LocalHost()
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		env.WarnError(err)
	}
	return own.Name
}

// hostColumn returns the column of hosts, where this host is its own name or "-".
func hostColumn(env *cli.Env) func(*catalog.Session) string {
	own := cmp.Or(ownHost(env), "-")
	return func(s *catalog.Session) string { return cmp.Or(s.OtherHost(), own) }
}

// warnStale says for each other host of which there are sessions how old its news are,
// unless they are new.
func warnStale(env *cli.Env, found ...*catalog.Session) {
	seen := map[string]bool{}
	for _, s := range found {
		name := s.OtherHost()
		if name == "" || seen[name] {
			continue
		}
		seen[name] = true
		h, err := peersOf(env).Get(name)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			continue // it was reported
		}
		if how := h.Stale(env.Now()); how != "" {
			env.Hint("%s: %s", name, how)
		}
	}
}

// checkLocal returns an error for a session of another host, with hints at what can be done here.
func checkLocal(s *catalog.Session) error {
	if !s.IsForeign() {
		return nil
	}
	err := cli.Fail(cli.AnswerNo, fmt.Errorf("session %s is not here: it is on %s", s.ID, s.OtherHost()))
	if s.File.Path == "" {
		return cli.WithHint(err, "gt-seance show %s shows what is known of it here", s.ID)
	}
	return cli.WithHint(err, "gt-seance resume %s resumes it there; gt-record convert %s --to AGENT converts the copy of its record into a conversation that continues here", s.ID, s.ID)
}

// hintCopied says of which host's record a conversation is the copy, and how old that is. It
// returns false if the conversation is no copy.
func hintCopied(env *cli.Env, s *catalog.Session) bool {
	host, at := s.Copied()
	if host == "" {
		return false
	}
	env.Hint("%s is the copy of a record of %s, which last changed %s ago", s.ID, host, peer.Age(env.Now().Sub(at)))
	warnStale(env, s)
	return true
}
