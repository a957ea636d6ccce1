package seancecmd

import (
	"errors"
	"fmt"
	"iter"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"gt/lib/catalog"
	"gt/lib/catalog/scan"
	"gt/lib/cli"
	"gt/lib/client/agent"
	"gt/lib/log/eventlog"
	"gt/lib/place"
	"gt/lib/place/git"
	"gt/lib/place/home"
	"gt/lib/place/identity"
	"gt/lib/place/town"
	"gt/lib/state/instance"
	"gt/lib/state/peer"
	"gt/lib/state/session"
	"gt/lib/sys/atomicfile"
	"gt/lib/text/duration"
	"gt/lib/text/redact"
	"gt/lib/text/term"
)

// selection has the flags that select sessions. A session must match all of them.
type selection struct {
	Agent   string          `placeholder:"NAME" help:"Of this agent (claude, codex, ...)." group:"Which sessions:"`
	Work    string          `placeholder:"UNIT" help:"That worked on this task, by its id." group:"Which sessions:"`
	Chain   string          `placeholder:"ID" help:"In this chain: its id, the id of a session in it, or the beginning of either." group:"Which sessions:"`
	Outcome string          `placeholder:"WORD" enum:",handoff,done,crash,killed,active,gone,unknown" default:"" help:"With this outcome: handoff, done, crash or killed; or without one: active, gone, or on another host unknown." group:"Which sessions:"`
	Host    string          `placeholder:"NAME" help:"That ran on this host." group:"Which sessions:"`
	Since   duration.Moment `placeholder:"WHEN" help:"Active then or later: 24h, '2 weeks ago', yesterday, last monday, 2026-11, 2026-01-17, or a time in RFC 3339." group:"Which sessions:"`
	Until   duration.Moment `placeholder:"WHEN" help:"That began before then." group:"Which sessions:"`
	CWD     string          `name:"cwd" placeholder:"DIR" xor:"where" help:"That worked in this folder or below." group:"Which sessions:"`
	Here    bool            `xor:"where" help:"That worked in this repository, in any of its worktrees (or in this folder)." group:"Which sessions:"`
	Live    bool            `help:"Running now." group:"Which sessions:"`
	All     bool            `short:"a" help:"Include subagents, and do not limit the number." group:"Which sessions:"`

	unknownAgents []*catalog.Session // running agents of an unknown session, with --live

	Log []string `placeholder:"FILE" type:"path" sep:"none" help:"Read this event log as well, such as another machine's; may be given more than once." group:"Which sessions:"`

	Role string `placeholder:"ROLE" help:"Of agents in this role: crew, polecat, witness, refinery, mayor, … (--agent also takes an address, such as crew/max)." group:"In a town:"`
	Rig  string `placeholder:"RIG" help:"Of agents in this rig." group:"In a town:"`
	Town bool   `help:"In the event log of this town." group:"In a town:"`
}

// logs has the flag of commands that select no sessions.
type logs struct {
	Log []string `placeholder:"FILE" type:"path" sep:"none" help:"Read this event log as well, such as another machine's; may be given more than once."`
}

func (c *selection) selectsAll() bool {
	return c.Agent+c.Role+c.Rig+c.Work+c.Chain+c.Outcome+c.Host+c.CWD == "" && !c.Here && !c.Live && !c.Town &&
		c.Since+c.Until == ""
}

// filter returns what the flags select. --here is every worktree of the repository, or the folder.
func (c *selection) filter(env *cli.Env, all catalog.Catalog) (catalog.Filter, error) {
	now := env.Now()
	filter := catalog.Filter{
		State: town.Personal(env.Getenv).State,
		Agent: strings.TrimSuffix(c.Agent, "/"), Role: c.Role, Rig: c.Rig, Work: c.Work, Host: c.Host, Here: c.Here,
		Outcome: session.Outcome(c.Outcome), Since: c.Since.TimeBefore(now), Until: c.Until.TimeBefore(now), Subagents: c.All, Logged: c.Town,
	}
	if !filter.Since.IsZero() && !filter.Until.IsZero() && !filter.Since.Before(filter.Until) {
		return filter, cli.Fail(cli.Usage, errors.New("--since is not before --until"))
	}
	if c.Host != "" && all.HasPeers() {
		filter.OwnHost = ownHost(env)
	}
	if c.Live {
		if filter.Outcome != "" && filter.Outcome != catalog.Active {
			return filter, cli.Fail(cli.Usage, fmt.Errorf("no session with the outcome %s is running", c.Outcome))
		}
		filter.Outcome = catalog.Active
	}
	if c.Chain != "" {
		chain, err := all.Chain(c.Chain)
		if err != nil {
			return filter, cli.Fail(cli.AnswerNo, err)
		}
		filter.Chain = chain
	}
	switch {
	case c.Here:
		dir := home.Find(env.Getenv, env.Dir, "").Dir
		filter.Folders = []string{dir}
		if git.Top(env.Dir) == dir {
			trees, _ := git.Worktrees(dir) // none outside git
			for _, w := range trees {
				filter.Folders = append(filter.Folders, w.Path)
			}
		}
	case filepath.IsAbs(c.CWD):
		filter.Folders = []string{filepath.Clean(c.CWD)}
	case c.CWD != "":
		filter.Folders = []string{filepath.Join(env.Dir, c.CWD)}
	}
	return filter, nil
}

// openCatalog returns the catalog, and the filter for what the flags select in it. With --live it also
// looks for running agents whose session is unknown.
func (c *selection) openCatalog(env *cli.Env) (all catalog.Catalog, f catalog.Filter, err error) {
	if all, err = readCatalog(env, c.Town, c.Log); err != nil {
		return all, f, err
	}
	if c.Live {
		c.unknownAgents = findRunningAgents(env, all)
	}
	if f, err = c.filter(env, all); err == nil {
		err = c.checkAgentName(env, all, f)
	}
	c.unknownAgents = slices.DeleteFunc(c.unknownAgents, func(s *catalog.Session) bool { return !f.Matches(s) })
	return all, f, err
}

// checkAgentName returns an error for an agent's name that neither gt nor any session knows. It
// accepts any address, which may not have a session yet.
func (c *selection) checkAgentName(env *cli.Env, all catalog.Catalog, f catalog.Filter) error {
	if f.Agent == "" || len(all.Select(catalog.Filter{State: f.State, Agent: f.Agent, Subagents: true}, 1)) > 0 {
		return nil
	}
	if id, err := identity.Parse(f.Agent); err == nil && id.Role != "" {
		return nil
	}
	known, err := agent.Load(place.Config(env.Getenv), town.Find(env.Getenv, env.Dir))
	if err != nil || known.HasClient(f.Agent) {
		return nil
	}
	return known.UnknownError(f.Agent)
}

// selectNewest returns the matching sessions, newest first; the caller stops when it has enough.
// With active, they are the running ones and then the last active ones, at most limit (0: all).
func selectNewest(all catalog.Catalog, f catalog.Filter, limit int, active bool) iter.Seq[*catalog.Session] {
	if active {
		return slices.Values(all.SelectLatest(f, limit))
	}
	return all.MatchingSessions(f)
}

// forEachSession calls print for sessions, redacted, at most limit of them (0: all), and returns how
// many there were.
func forEachSession(env *cli.Env, all catalog.Catalog, found iter.Seq[*catalog.Session], limit int, print func(*catalog.Session) error) (n int, err error) {
	for s := range redactSessions(env, found) {
		if err := print(s); err != nil {
			return n, err
		}
		if n++; n == limit {
			break
		}
	}
	warnUnread(env, all)
	return n, nil
}

// redactSessions redacts sessions, which another program may have logged. At the end it says how
// old the news of their hosts is.
func redactSessions(env *cli.Env, all iter.Seq[*catalog.Session]) iter.Seq[*catalog.Session] {
	return func(yield func(*catalog.Session) bool) {
		on := map[string]*catalog.Session{} // one of each host
		defer func() { warnStale(env, slices.Collect(maps.Values(on))...) }()
		for s := range all {
			on[s.OtherHost()] = s
			if s.Clean(env.Redact); !yield(s) {
				return
			}
		}
	}
}

func warnUnread(env *cli.Env, all catalog.Catalog) { env.WarnError(all.ReadErrors()) }

// readCatalog reads the sessions of the surrounding town's log, of further logs, of what clients
// keep on this machine and, unless only is set, of this user's log, of every town in which
// an agent worked, and of other hosts.
func readCatalog(env *cli.Env, only bool, logs []string) (catalog.Catalog, error) {
	local, personal := home.Find(env.Getenv, env.Dir, "").Town, town.Personal(env.Getenv)
	if err := personal.State.CheckOwner(); err != nil {
		return catalog.Catalog{}, err
	}
	env.WarnError(local.TrustErr)
	reading := term.NewProgress(env.Stderr, env.Getenv, "reading conversations", env.Now)
	found, errs := scan.FindConversations(env.Getenv, redact.NewCutRedactor(env.Environ), personal.Transcripts(), reading.Show)
	reading.Finish()
	env.WarnError(errors.Join(errs...))
	scan.Locate(personal.State, found, env.Dir, home.Find(env.Getenv, env.Dir, "").Dir)
	var more []eventlog.Log
	for _, path := range logs {
		if _, err := os.Stat(path); err != nil {
			return catalog.Catalog{}, atomicfile.Error("read", path, err) // a named log must exist
		}
		more = append(more, eventlog.Log(path))
	}
	reading = term.NewProgress(env.Stderr, env.Getenv, "reading the event log", env.Now)
	defer reading.Finish()
	all, err := catalog.ReadTown(local, reading.Show, more...)
	if err != nil {
		return all, err
	}
	run, errs := scan.Running(env.Getenv)
	env.WarnError(errors.Join(errs...))
	if only {
		return all.Merge(found, run), nil
	}
	var folders []string
	for _, c := range found {
		folders = append(folders, c.Metadata.CWD)
	}
	others := append([]town.Town{personal}, town.FindContaining(personal.State, slices.Values(folders))...)
	others = slices.DeleteFunc(others, func(t town.Town) bool { return t.Root == local.Root })
	all = all.Join(catalog.ReadTowns(others, reading.Show, env.WarnError))
	return joinPeers(env, all, reading.Show).Merge(found, run), nil
}

const noSessions = "no session was found: your agents have kept no conversation here, and no event log names one"

const maxCandidates = 10

// findSession returns the session that a name stands for, and the catalog, also of further logs.
func findSession(env *cli.Env, name string, logs ...string) (s *catalog.Session, all catalog.Catalog, err error) {
	if all, err = readCatalog(env, false, logs); err == nil {
		s, err = findNamed(env, all, name)
	}
	return s, all, err
}

// findNamed returns the session that an id, its beginning or an agent's name stands for, with its
// outcome and redacted. The name may end in @HOST.
func findNamed(env *cli.Env, all catalog.Catalog, name string) (*catalog.Session, error) {
	found, called := findCalled(env, all, name)
	if at, host, ok := peer.SplitAddress(name); ok && found == nil && called == nil {
		found, called = findCalledOn(env, all, at, host)
	}
	switch len(found) {
	case 0:
		if called != nil {
			return nil, cli.Fail(cli.AnswerNo, fmt.Errorf("%s has no conversation yet", called[0].Name), "gt-session show "+called[0].Name+" shows what is known of it")
		}
		if all.CountSessions() == 0 {
			return nil, cli.Failf(cli.AnswerNo, noSessions)
		}
		return nil, cli.Fail(cli.AnswerNo, fmt.Errorf("%w '%s'", errNoSession, name), instance.HintNamed(place.StateOf(env.Getenv), name, "gt-seance list --limit 0 lists all"))
	case 1:
		s := found[0]
		s.ResolveOutcome(town.Personal(env.Getenv).State)
		warnUnread(env, all)
		s.Clean(env.Redact)
		return s, nil
	}
	return nil, ambiguousError(env, all, name, found)
}

// findCalled returns the sessions that a name stands for, and the agents of that name if it is not
// a session's own.
func findCalled(env *cli.Env, all catalog.Catalog, name string) (found []*catalog.Session, called []instance.ListedAgent) {
	// Tables end an id that they cut with an ellipsis.
	found = all.Find(term.TrimEllipsis(name))
	if len(found) == 0 {
		called, _ = instance.FindListed(town.Personal(env.Getenv).State, name, env.Abs(name)) // gt-session says what is unreadable
		for _, c := range called {
			if c.Session == "" {
				continue
			}
			found = append(found, all.Find(string(c.Session))...)
		}
	}
	if len(found) == 0 && called == nil { // as the column ACTOR shows it
		for s := range all.MatchingSessions(catalog.Filter{}) {
			if s.AgentLabel() == name || s.Address() == name {
				found = append(found, s)
			}
		}
	}
	return found, called
}

// findCalledOn is findCalled for a name on a host, which may be this one.
func findCalledOn(env *cli.Env, all catalog.Catalog, name, host string) (found []*catalog.Session, agents []instance.ListedAgent) {
	hosts := peersOf(env)
	found, agents = findCalled(env, all, name)
	if hosts.LocalName(name+"@"+host) == name {
		host = "" // what OtherHost returns for this one
	} else {
		agents = nil // they are of this host
	}
	found = slices.DeleteFunc(found, func(s *catalog.Session) bool { return s.OtherHost() != host })
	if host == "" || len(found) > 0 {
		return found, agents
	}
	known, _ := hosts.Agents(peer.Host{Name: host}, env.Now()) // gt-session says what is unreadable
	there, _ := peer.FindAgents(known, name, "")
	for _, a := range there {
		found = append(found, all.Find(a.SessionID)...)
	}
	return found, nil
}

// errNoSession is findNamed's error for a name that means none.
var errNoSession = errors.New("no session")

// ambiguousError returns the error for a name of several sessions, with some of them as hints.
func ambiguousError(env *cli.Env, all catalog.Catalog, name string, found []*catalog.Session) error {
	err := cli.Failf(cli.AnswerNo, "'%s' means %d sessions", name, len(found))
	short := all.IDShortener()
	for i, s := range found {
		if i == maxCandidates {
			err = cli.WithHint(err, "and %d more", len(found)-i)
			break
		}
		about := fmt.Sprintf("%s  %s  %s  %s", short(s.ID), term.FormatDay(s.StartedAt, env.Now()), s.Address(), s.Headline())
		if width := term.Width(env.Stderr, env.Getenv); width > 0 { // one line each
			about = term.Cut(term.Clean(env.Redact(about)), max(width-len("gt-seance: hint: "), minText))
		}
		err = cli.WithHint(err, "%s", strings.TrimRight(about, " "))
	}
	return err
}

// selectOldest returns the sessions that match f and that keep accepts, oldest first. It is an
// error if none matches f.
func selectOldest(env *cli.Env, all catalog.Catalog, f catalog.Filter, keep func(*catalog.Session) bool) (found []*catalog.Session, err error) {
	none := true
	for s := range redactSessions(env, all.MatchingSessions(f)) {
		if none = false; keep(s) {
			found = append(found, s)
		}
	}
	warnUnread(env, all)
	switch {
	case none && all.CountSessions() == 0:
		err = cli.Failf(cli.AnswerNo, noSessions)
	case none:
		err = cli.Fail(cli.AnswerNo, errors.New("no session matches"), "gt-seance list shows the sessions")
	}
	slices.Reverse(found)
	return found, err
}
