package recordcmd

import (
	"errors"
	"io"
	"slices"
	"time"

	"gt/lib/cli"
	"gt/lib/client/account"
	"gt/lib/client/agent"
	"gt/lib/client/hook"
	"gt/lib/client/readers"
	"gt/lib/client/registry"
	"gt/lib/conversation"
	"gt/lib/place"
	"gt/lib/record"
	"gt/lib/record/hookfile"
	"gt/lib/record/stop"
	"gt/lib/state/session"
	"gt/lib/sys/flock"
)

// runHook updates the record of one session as the person's settings want it. A hook starts
// it and does not wait, so it notes a failure for the person (package stop).
func (c *syncCmd) runHook(env *cli.Env) error {
	state := place.StateOf(env.Getenv)
	var unread error
	own := agent.LoadRecord(place.Config(env.Getenv), func(err error) {
		env.WarnError(err)
		unread = errors.Join(unread, err)
	})
	err := unread
	if own.On {
		err = c.keepRecord(env, own)
	}
	switch {
	case errors.Is(err, flock.ErrBusy): // another process updates it
		return err
	case err != nil:
		return errors.Join(err, stop.Note(state, env.Redact(err.Error()), env.Now()))
	}
	return stop.Clear(state)
}

// keepRecord updates the record of the hook's session until the client's file has settled. If the session
// has ended, it also closes and seals the record. For an excluded folder it records nothing.
func (c *syncCmd) keepRecord(env *cli.Env, own agent.Record) error {
	r := readerOf(c.Agent)
	if len(c.ID) != 1 {
		return nil
	}
	id, err := session.ParseID(c.ID[0])
	if err != nil {
		return err
	}
	s, err := record.StoreOf(env.Getenv)
	if err != nil {
		return err
	}
	last := "" // the files and their times at the check before
	for looks := 0; ; {
		all, err := sessionFiles(env, r, id)
		env.WarnError(err)
		files := ""
		for _, f := range all {
			m, err := r.Metadata(f)
			if err != nil {
				return err
			}
			if own.Excludes(env.Getenv("HOME"), m.CWD) {
				return s.RemoveHookFile(c.Agent, id)
			}
			x, err := s.Index()
			if err != nil {
				return err
			}
			y := &record.Syncer{Store: s, Index: x, Redact: env.Redact, Now: env.Now}
			if _, err := y.Sync(r, conversation.Conversation{File: f, Metadata: m}); err != nil {
				return err
			}
			files += f.Path + time.Unix(0, f.Changed).String()
		}
		// A client may write after its hook: Claude Code delays the last words of a turn for a
		// moment, and on a busy machine makes its file seconds later.
		most := maxTurnLooks
		if c.Why == hook.SessionEnded || files == "" {
			most = maxEndLooks
		}
		if looks++; looks >= most || files != "" && files == last {
			break
		}
		last = files
		time.Sleep(settleTime)
	}
	if c.Why != hook.SessionEnded {
		return nil
	}
	ended, err := s.End(record.Key{Agent: c.Agent, Session: id}, c.Reason, env.Redact, env.Now())
	if err == nil && ended != "" {
		err = logSeal(env, s, ended)
	}
	return errors.Join(err, packAndPrune(env, s, own))
}

// readerOf returns the reader for a client's conversations. For a client that keeps none, or less
// than its hooks are told, that reads what the hooks received.
func readerOf(client string) conversation.Reader {
	if r := readers.FindReader(client); r != nil && !registry.RecordsHooks(client) {
		return r
	}
	return hookfile.Reader{Agent: client}
}

// storesOf returns the folders that r reads: the client's own, or the one with what hooks stored.
func storesOf(env *cli.Env, r conversation.Reader) []string {
	told, ok := r.(hookfile.Reader)
	if !ok {
		return account.Stores(r.Client(), env.Getenv)
	}
	root, err := hookfile.Root(env.Getenv)
	if err != nil {
		return nil
	}
	return told.Stores(root)
}

func readerOfFile(env *cli.Env, f conversation.File) conversation.Reader {
	told := hookfile.Reader{Agent: f.Client}
	if r := readers.FindReader(f.Client); r != nil && !slices.Contains(storesOf(env, told), f.Store) {
		return r
	}
	return told
}

// After a hook, a client's file is read once it has not changed for settleTime. The
// number of checks is limited, because the next turn may have begun.
const (
	settleTime   = time.Second
	maxTurnLooks = 3
	maxEndLooks  = 10
)

// sessionFiles returns the files of a session's subagents, and then its own, joined to one.
func sessionFiles(env *cli.Env, r conversation.Reader, id session.ID) (found []conversation.File, err error) {
	var own []conversation.Conversation
	for _, store := range storesOf(env, r) {
		err = errors.Join(err, r.Find(store, func(f conversation.File) {
			fileID := f.ID
			if fileID == "" {
				if m, err := r.Metadata(f); err == nil {
					fileID = m.ID
				}
			}
			// The session is this file's own, or the parent of the subagent that wrote it.
			switch id {
			case fileID:
				m, merr := r.Metadata(f)
				err = errors.Join(err, merr)
				own = append(own, conversation.Conversation{File: f, Metadata: m})
			case f.Parent:
				found = append(found, f)
			}
		}))
	}
	if len(own) > 0 {
		found = append(found, conversation.JoinFiles(own).File)
	}
	return found, err
}

const packAge = 30 * 24 * time.Hour // the age from which on a record is packed

// packAndPrune packs old records, and prunes those that the person's settings do not keep.
func packAndPrune(env *cli.Env, s record.Store, own agent.Record) error {
	if err := s.PackOld(env.Now().Add(-packAge)); err != nil {
		return err
	}
	if own.Keep == 0 && own.MaxSize == 0 {
		return nil
	}
	all, err := listInfos(env, s)
	if err != nil {
		return err
	}
	for _, i := range findOutdated(env, all, time.Duration(own.Keep), int64(own.MaxSize)) {
		if _, err := s.Remove(i.ID, record.Pruned, env.Now()); err != nil {
			return err
		}
	}
	return nil
}

// fromHook stores input of a hook that would take too long to redact there.
type fromHook struct {
	ID    string `arg:""`
	Agent string `required:""`
}

// maxHookInput limits the input, in bytes. Clients send less.
const maxHookInput = 256 << 20

func (c *fromHook) Run(env *cli.Env) error {
	err := c.storeInput(env)
	if err != nil {
		err = errors.Join(err, stop.Note(place.StateOf(env.Getenv), env.Redact(err.Error()), env.Now()))
	}
	return err
}

func (c *fromHook) storeInput(env *cli.Env) error {
	id, err := session.ParseID(c.ID)
	if err != nil {
		return err
	}
	data, err := io.ReadAll(io.LimitReader(env.Stdin, maxHookInput))
	if err != nil {
		return err
	}
	l, err := hookfile.ParseUnwritten(data)
	if err != nil {
		return err
	}
	root, err := hookfile.Root(env.Getenv)
	if err != nil {
		return err
	}
	l.Redact(env.Redact) // mutant skip: . TestScripts/record_told
	return hookfile.Append(root, c.Agent, id, l)
}
