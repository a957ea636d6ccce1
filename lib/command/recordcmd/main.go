// Package recordcmd is the gt-record command: it keeps redacted conversations for longer
// than their clients do.
package recordcmd

import (
	"strings"

	"gt/lib/cli"
	"gt/lib/client/startenv"
	"gt/lib/place"
	"gt/lib/record"
	"gt/lib/state/instance"
	"gt/lib/state/peer"
	"gt/lib/state/session"
	"gt/lib/text/term"
)

const summary = `
Keeps the conversations of all agents on this machine: it copies each one as it
grows, without secrets. The copy stays when the agent deletes, rewrites or cuts
its own.

  gt-record sync --all                 copy all conversations of this machine
  gt-record sync 4f2c81d0              copy one, by the beginning of its id
  gt-record list                       what is recorded
  gt-record show 4f2c81d0              print a conversation
  gt-record verify --all               was any line changed?
  gt-record forget 4f2c81d0            remove a record for good
  gt-record prune --older-than 90d --dry-run

Records are files of JSON lines in ~/.agent/sessions ($AGENT_HOME/sessions).
`

const exitCodes = `
   0  done
   1  no such record or session, or several; verify: a record is not what was written
`

func Program() cli.Program {
	return cli.Program{Name: "gt-record", Summary: summary, Exits: exitCodes, Prepare: startenv.Restore, Grammar: &grammar{}, Complete: completers()}
}

type grammar struct {
	cli.Flags
	Sync     syncCmd     `cmd:"" help:"Copy what agents keep into records, and bring records up to date."`
	List     list        `cmd:"" default:"withargs" help:"List the records, the newest first (the default)."`
	Show     show        `cmd:"" help:"Print the conversation in a record."`
	Tail     tail        `cmd:"" help:"Print the end of a record."`
	Continue continueCmd `cmd:"" help:"Print what a session knew, for a session that continues its work."`
	Context  contexts    `cmd:"" help:"List, print or clear the large results that were kept aside."`
	Step     step        `cmd:"" help:"Note in this session's record that a step begins or is done."`
	FromHook fromHook    `cmd:"" name:"told" hidden:"" help:"For gt's hooks: keep what one of them tells of a client that keeps no conversation."`
	Convert  convert     `cmd:"" help:"Write a record as a conversation that another agent resumes, and print the command that does."`
	Export   export      `cmd:"" help:"Print a record in another form."`
	Verify   verify      `cmd:"" help:"Check that no line was changed after it was written."`
	Forget   forgetCmd   `cmd:"" help:"Remove a record, and never record that session again."`
	Prune    prune       `cmd:"" help:"Remove records of sessions that ended long ago."`
}

func openStore(env *cli.Env) (record.Store, error) {
	s, err := record.StoreOf(env.Getenv)
	return s, cli.Fail(cli.Usage, err)
}

const maxCandidates = 10

// findRecord returns the record with an id, or with a client's session id. A unique prefix is enough.
func findRecord(env *cli.Env, s record.Store, name string) (record.ID, error) {
	name = term.TrimEllipsis(name)
	if id, err := record.ParseID(name); err == nil {
		if _, err := s.Head(id); err == nil {
			return id, nil
		}
	}
	found, err := findMatching(s, name)
	var agents []instance.ListedAgent
	if err == nil && len(found) == 0 {
		agents = calledAgents(env, name)
		for _, id := range sessionsOf(agents) {
			more, _ := findMatching(s, id)
			found = append(found, more...)
		}
	}
	switch {
	case err != nil:
		return "", err
	case len(found) == 0 && len(agents) > 0:
		return "", cli.Fail(cli.AnswerNo, missingError{"record of", name}, "gt-record sync "+term.Typed(name)+" makes one")
	case len(found) == 0:
		return "", noneHereError(env, missingError{"record of", name}, "gt-record list shows the records; gt-record sync "+name+" makes one")
	case len(found) > 1:
		err := cli.Failf(cli.AnswerNo, "'%s' means %d records", name, len(found))
		for i, id := range found {
			if i == maxCandidates {
				err = cli.WithHint(err, "and %d more", len(found)-i)
				break
			}
			h, _ := s.Head(id)
			err = cli.WithHint(err, "%s  %s  %s  %s", id, h.Agent, h.Session, term.FormatDay(h.Started, env.Now()))
		}
		return "", err
	}
	return found[0], nil
}

// calledAgents returns this host's agents that a name means in gt-session, with or without @HOST.
func calledAgents(env *cli.Env, name string) []instance.ListedAgent {
	state := place.StateOf(env.Getenv)
	called, _ := instance.FindListed(state, name, env.Abs(name)) // gt-session says what is unreadable
	if local := peer.NewHosts(state).LocalName(name); called == nil && local != name {
		called, _ = instance.FindListed(state, local, env.Abs(local))
	}
	return called
}

func sessionsOf(agents []instance.ListedAgent) (ids []string) {
	for _, c := range agents {
		if c.Session != "" {
			ids = append(ids, string(c.Session))
		}
	}
	return ids
}

// findUpdated finds a record to continue or pass on. It first updates the record from the client's
// conversation, or creates it.
func findUpdated(env *cli.Env, s record.Store, name string) (record.ID, error) {
	id, none := findRecord(env, s, name)
	wanted := term.TrimEllipsis(name)
	if none == nil {
		h, err := s.Head(id)
		if err != nil {
			return "", err
		}
		wanted = string(h.Session)
	}
	found, err := (&syncCmd{ID: []string{wanted}}).chooseConversations(env, s, conversations(env))
	switch {
	case err != nil && none == nil:
		return id, nil // its client has deleted it
	case err != nil:
		return "", err
	}
	if _, err := syncAll(env, s, found); err != nil {
		return "", err
	}
	if none == nil {
		return id, nil
	}
	if id, err = findRecord(env, s, idOf(found[0])); err == nil {
		env.Hint("the conversation is recorded now; gt-record forget %s removes the record", id)
	}
	return id, err
}

// findMatching returns the records whose own or client's id begins with name, and only the one
// whose client's id equals name if it exists; or else those with the letters in another case.
func findMatching(s record.Store, name string) (found []record.ID, err error) {
	if name == "" {
		return nil, nil
	}
	all, err := s.IDs()
	if err != nil {
		return nil, err
	}
	heads := make([]record.Session, len(all))
	cli.Parallel(cli.Numbers(len(all)), func(i int) { heads[i], _ = s.Head(all[i]) })
	for _, as := range session.Cases(name) {
		for i, id := range all {
			switch own := string(heads[i].Session); {
			case own == as:
				return []record.ID{id}, nil
			case strings.HasPrefix(string(id), as), strings.HasPrefix(own, as):
				found = append(found, id)
			}
		}
		if len(found) > 0 {
			break
		}
	}
	return found, nil
}
