package seancecmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"gt/lib/catalog/scan"
	"gt/lib/cli"
	"gt/lib/client/account"
	"gt/lib/client/readers"
	"gt/lib/client/recorded"
	"gt/lib/conversation"
	"gt/lib/conversation/summary"
	"gt/lib/conversation/tail"
	"gt/lib/place"
	"gt/lib/place/home"
	"gt/lib/state/session"
)

type follow struct {
	ID    string `arg:"" help:"The session, by its id or the beginning of it."`
	Last  int    `default:"1" placeholder:"N" help:"Begin with the last N turns (default 1); 0 shows only new text."`
	Tools bool   `help:"Tool calls and their results in full."`
	Think bool   `help:"The agent's thoughts, too."`
	JSON  bool   `name:"json" help:"One JSON object per line."`
}

func (c *follow) Validate() error { return cli.CheckAtLeast("--last", c.Last, 0) }

const pollInterval = 250 * time.Millisecond // the longest time until a new entry is shown

// Run prints a conversation as it grows, until it is interrupted or its output is closed.
func (c *follow) Run(env *cli.Env) error {
	s, _, err := findSession(env, c.ID)
	if err != nil {
		return err
	}
	file, err := transcriptOf(env, newStoreGuard(env), s)
	if err != nil {
		return err
	}
	hintCopied(env, s)
	n, err := turnsIn(file)
	if err != nil {
		return err
	}
	r := read{Tools: c.Tools, Think: c.Think, JSON: c.JSON}
	p := r.page(env, s, env.Stdout)
	options := conversation.Options{}
	if options.From, err = p.printTurns(file, options, n-c.Last+1, 0); err != nil {
		return err
	}
	interrupted, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	seen := ""
	tick := time.NewTicker(pollInterval)
	defer tick.Stop()
	for {
		select {
		case <-interrupted.Done():
			return nil
		case <-tick.C:
		}
		current := state(file)
		if current == seen && current != "" {
			continue
		}
		seen = current
		before := options.From
		if options.From, err = p.printTurns(file, options, 1, 0); err != nil {
			if errors.Is(err, fs.ErrNotExist) {
				// Claude Code moves it to the folder of a worktree that the session enters.
				if to, ok := findElsewhere(env, s.ID, file.Path); ok {
					file, options.From = to, before
					continue
				}
				return cli.Failf(cli.AnswerNo, "the conversation of session '%s' is gone", s.ID)
			}
			return err
		}
		if options.From-before > conversation.MaxRecord { // less cannot hold a record that is too long
			env.WarnError(scan.CheckRead(s.ID, file))
		}
	}
}

// state returns a value that changes with the conversation's files, so that an unchanged
// one is not read again: some readers have to start at the beginning. It returns "" if only
// reading can tell, because there are many files or none.
func state(f conversation.File) (state string) {
	paths := []string{f.Path}
	switch filepath.Ext(f.Path) {
	case ".jsonl":
	case ".db":
		paths = append(paths, f.Path+"-wal")
	default:
		return ""
	}
	for i, path := range paths {
		info, err := os.Stat(path)
		if err != nil && i == 0 {
			return ""
		} else if err == nil {
			state += fmt.Sprintln(info.Size(), info.ModTime().UnixNano())
		}
	}
	return state
}

// tailText reads the end of a conversation for gt-prime, which links no readers and needs
// it after a crash.
type tailText struct {
	ID     string `arg:"" help:"The session."`
	Home   string `help:"The home that keeps its record." placeholder:"DIR"`
	Update bool   `help:"Keep what was read, so that the next time goes on from there."`
}

// Run prints the summary of the conversation as JSON. The conversation has to be in one of the
// person's own stores. With --update, it goes on from the saved summary, and saves the new one.
func (c *tailText) Run(env *cli.Env) error {
	id, err := session.ParseID(c.ID)
	if err != nil {
		return err
	}
	state := place.StateOf(env.Getenv)
	if err := state.CheckOwner(); err != nil {
		return err
	}
	h, ok, err := home.OfSession(state, string(id))
	if err != nil {
		return err
	}
	if !ok {
		h = home.Find(env.Getenv, cmp.Or(c.Home, env.Dir), "")
	}
	r, err := session.Store{Home: h}.Get(id)
	if err != nil {
		return err
	}
	if r == nil || r.Transcript == "" {
		return cli.Failf(cli.AnswerNo, "gt knows no conversation of session '%s'", id)
	}
	told, err := recorded.FindConversation(account.StoreGuard{Getenv: env.Getenv, Projects: []string{h.Dir, env.Dir}}, h, r)
	if err != nil {
		return err
	}
	var read tail.Read
	if r := readers.FindReader(told.File.Client); r != nil {
		read = r.Read
	}
	var fold *summary.Fold
	if c.Update {
		fold, _, err = told.Carry(read, tail.Carry{Home: h, Record: r, Now: env.Now(), Warn: env.WarnError}, env.Redact)
	} else {
		fold, err = told.Read(read, env.Redact)
	}
	// Only saving failed: the summary is complete, and the next run reads the same bytes again.
	if unsaved := (*tail.SaveError)(nil); errors.As(err, &unsaved) {
		env.WarnError(err)
		err = nil
	}
	if err != nil {
		return err
	}
	return env.JSON(summary.Summarize(fold))
}

// findElsewhere returns the file of a session's conversation, if it is another one by now.
func findElsewhere(env *cli.Env, id session.ID, path string) (f conversation.File, ok bool) {
	s, _, err := findSession(env, string(id))
	if err == nil {
		f, err = transcriptOf(env, newStoreGuard(env), s)
	}
	return f, err == nil && f.Path != path
}
