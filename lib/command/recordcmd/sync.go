package recordcmd

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"gt/lib/catalog/scan"
	"gt/lib/cli"
	"gt/lib/conversation"
	"gt/lib/place/town"
	"gt/lib/record"
	"gt/lib/record/hookfile"
	"gt/lib/state/instance"
	"gt/lib/state/session"
	"gt/lib/text/count"
	"gt/lib/text/redact"
	"gt/lib/text/term"
)

type syncCmd struct {
	ID  []string `arg:"" optional:"" name:"id" help:"The sessions: the agents' ids of them, the ids of their records, or the beginnings of either."`
	All bool     `help:"All conversations that agents keep on this machine."`

	Hook   bool   `help:"For an agent's hook: only where [record] in config.toml has on = true; exit 0 whatever happens."`
	Agent  string `placeholder:"NAME" help:"With --hook: the session's agent (claude, codex, ...)."`
	Why    string `placeholder:"WORD" enum:",turn,end" default:"" help:"With --hook: what is over: a turn, or the session (end)."`
	Reason string `placeholder:"TEXT" help:"With --hook: why the session ended."`
}

func (c *syncCmd) Validate() error {
	if c.All == (len(c.ID) > 0) {
		return errors.New("give the ids of sessions, or --all")
	}
	return nil
}

func (c *syncCmd) Run(env *cli.Env) error {
	if c.Hook {
		return c.runHook(env)
	}
	s, err := openStore(env)
	if err != nil {
		return err
	}
	all := conversations(env)
	if !c.All {
		if all, err = c.chooseConversations(env, s, all); err != nil {
			return err
		}
	}
	sum, err := syncAll(env, s, all)
	if c.All && err == nil {
		err = s.PackOld(env.Now().Add(-packAge))
	}
	if _, werr := fmt.Fprintf(env.Stdout, "%s read, %s added, %s\n", count.Plural(sum.read, "conversation"),
		count.Plural(sum.lines, "line"), count.Plural(sum.new, "new record")); err == nil {
		err = werr
	}
	return err
}

// conversations returns all conversations on this machine, each once: those that clients keep, and
// those that hooks stored.
func conversations(env *cli.Env) []conversation.Conversation {
	reading := term.NewProgress(env.Stderr, env.Getenv, "reading conversations", env.Now)
	found, errs := scan.FindConversations(env.Getenv, redact.NewCutRedactor(env.Environ), town.Personal(env.Getenv).Transcripts(), reading.Show)
	reading.Finish()
	env.WarnError(errors.Join(errs...))
	found = slices.DeleteFunc(found, func(c conversation.Conversation) bool { return c.File.Client == record.Client })
	scan.Locate(town.Personal(env.Getenv).State, found)
	told := hookConversations(env)
	found = slices.DeleteFunc(found, func(c conversation.Conversation) bool { // hooks have more
		return slices.ContainsFunc(told, func(t conversation.Conversation) bool {
			return t.File.Client == c.File.Client && t.Metadata.ID == c.Metadata.ID && c.Metadata.Parent == ""
		})
	})
	return keepLatest(append(found, told...))
}

// hookConversations returns the conversations that hooks stored, of clients that keep none or less of them.
func hookConversations(env *cli.Env) (found []conversation.Conversation) {
	root, err := hookfile.Root(env.Getenv)
	if err != nil {
		return nil
	}
	for _, agent := range hookfile.Agents(root) {
		r := hookfile.Reader{Agent: agent}
		for _, store := range r.Stores(root) {
			err := r.Find(store, func(f conversation.File) {
				m, err := r.Metadata(f)
				env.WarnError(err)
				found = append(found, conversation.Conversation{File: f, Metadata: m})
			})
			env.WarnError(err)
		}
	}
	return found
}

// keepLatest keeps, of conversations with the same id, the one that changed last. Copies of a
// store have the same ids.
func keepLatest(found []conversation.Conversation) []conversation.Conversation {
	at := map[record.Key]int{}
	all := found[:0]
	for _, c := range found {
		k := record.KeyOf(c)
		if k.Session == "" {
			continue
		}
		if i, there := at[k]; !there {
			at[k] = len(all)
			all = append(all, c)
		} else if c.File.Changed > all[i].File.Changed {
			all[i] = c
		}
	}
	return all
}

// chooseConversations returns for each of c.ID the one conversation that it means: by the id of the
// session or record, the beginning of the session's, or the name of an agent. Two are an error.
func (c *syncCmd) chooseConversations(env *cli.Env, s record.Store, all []conversation.Conversation) (chosen []conversation.Conversation, err error) {
	for _, name := range c.ID {
		wanted := name
		if id, err := record.ParseID(name); err == nil {
			h, err := s.Head(id)
			if err != nil {
				return nil, cli.Fail(cli.AnswerNo, err)
			}
			wanted = string(h.Session)
		}
		// The beginning of an id counts first, in any case of its letters, then an agent's name.
		begins := func(wanted string) bool {
			return slices.ContainsFunc(all, func(c conversation.Conversation) bool { return strings.HasPrefix(idOf(c), wanted) })
		}
		var agents []instance.ListedAgent
		var called []string
		cases := session.Cases(wanted)
		if i := slices.IndexFunc(cases, begins); i >= 0 {
			wanted = cases[i]
		} else {
			agents = calledAgents(env, wanted)
			if called = sessionsOf(agents); len(called) == 1 {
				wanted = called[0]
			}
		}
		var found []conversation.Conversation
		for _, c := range all {
			switch id := idOf(c); {
			case len(called) > 1 && slices.Contains(called, id):
				found = append(found, c)
			case id == wanted:
				found = append([]conversation.Conversation{}, c)
			case strings.HasPrefix(id, wanted) && (len(found) == 0 || idOf(found[0]) != wanted):
				found = append(found, c)
			}
		}
		switch {
		case len(found) == 0:
			if ids, err := findMatching(s, wanted); err == nil && len(ids) > 0 {
				return nil, cli.Failf(cli.AnswerNo, "the client keeps no conversation '%s' any more; the record '%s' has what was taken in", wanted, ids[0])
			}
			if len(agents) > 0 {
				return nil, cli.Fail(cli.AnswerNo, fmt.Errorf("%s has no conversation yet", agents[0].Name), "gt-session show "+agents[0].Name+" shows what is known of it")
			}
			return nil, noneHereError(env, missingError{"conversation", name}, "gt-seance list --limit 0 lists all")
		case len(found) > 1:
			err := cli.Failf(cli.AnswerNo, "'%s' means %d conversations", name, len(found))
			for _, c := range found[:min(len(found), maxCandidates)] {
				err = cli.WithHint(err, "%s  %s  %s", idOf(c), c.File.Client, cmp.Or(c.Metadata.Title, c.Metadata.Prompt))
			}
			return nil, err
		}
		chosen = append(chosen, found[0])
	}
	return chosen, nil
}

func idOf(c conversation.Conversation) string { return string(record.KeyOf(c).Session) }

// syncAll records conversations in parallel. It warns of each that fails, and stops at a signal.
func syncAll(env *cli.Env, s record.Store, all []conversation.Conversation) (sum syncTotals, err error) {
	x, err := s.Index()
	if err != nil {
		return sum, err
	}
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, cli.EndSignals()...)
	defer signal.Stop(stop)
	var stopped atomic.Bool
	y := &record.Syncer{Store: s, Index: x, Redact: env.Redact, Now: env.Now, Bulk: len(all) > 1, Stop: func() bool {
		select {
		case <-stop:
			stopped.Store(true)
		default:
		}
		return stopped.Load()
	}}
	bar := term.NewProgress(env.Stderr, env.Getenv, "recording", env.Now)
	var size, done int64
	for _, c := range all {
		size += c.File.Size
	}
	// The largest come first, so that none keeps one processor busy at the end.
	slices.SortStableFunc(all, func(a, b conversation.Conversation) int { return cmp.Compare(b.File.Size, a.File.Size) })
	var mu sync.Mutex
	cli.Parallel(all, func(c conversation.Conversation) {
		if y.Stop() { // Sync checks this only within long conversations
			return
		}
		got, err := y.Sync(readerOfFile(env, c.File), c)
		mu.Lock()
		defer mu.Unlock()
		if sum.read++; err != nil {
			sum.failed++
			env.Warn("%s's session %s: %v", c.File.Client, idOf(c), err)
		} else if err := scan.CheckRead(session.ID(idOf(c)), c.File); got.Lines > 0 && err != nil {
			env.WarnError(err)
		}
		if got.Gone != "" && len(all) == 1 {
			env.Hint("the record '%s' was %s, and is not made again", got.ID, got.Gone)
		}
		if got.New {
			sum.new++
		}
		sum.lines += got.Lines
		done += c.File.Size
		bar.Show(done, size)
	})
	bar.Finish()
	switch {
	case stopped.Load():
		return sum, cli.WithHint(errors.New("interrupted"), "the next sync goes on from here")
	case sum.failed > 0:
		return sum, cli.Failf(cli.IO, "%s could not be recorded", count.Plural(sum.failed, "conversation"))
	}
	return sum, nil
}

type syncTotals struct{ read, lines, new, failed int }
