package seancecmd

import (
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
	"gt/lib/conversation"
)

type follow struct {
	ID    string `arg:"" help:"The session, by its id or the beginning of it."`
	Last  int    `default:"1" placeholder:"N" help:"Begin with the last N turns (default 1); 0 shows only new text."`
	Tools bool   `help:"Tool calls and their results in full."`
	Think bool   `help:"The agent's thoughts, too."`
	JSON  bool   `name:"json" help:"One JSON object per line."`
}

func (c *follow) Validate() error {
	if c.Last < 0 {
		return errors.New("--last needs a number of at least 0")
	}
	return nil
}

// pollInterval is the longest time until a new entry is shown.
const pollInterval = 250 * time.Millisecond

// Run prints a conversation as it grows, until it is interrupted or its output is closed.
func (c *follow) Run(env *cli.Env) error {
	s, err := findSession(env, c.ID)
	if err != nil {
		return err
	}
	f, err := transcriptOf(env, owned(env), s)
	if err != nil {
		return err
	}
	hintCopied(env, s)
	n, err := turnsIn(f)
	if err != nil {
		return err
	}
	r := read{Tools: c.Tools, Think: c.Think, JSON: c.JSON}
	p := r.page(env, s, env.Stdout)
	o := conversation.Options{}
	if o.From, err = p.pages(f, o, n-c.Last+1, 0); err != nil {
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
		now := state(f)
		if now == seen && now != "" {
			continue
		}
		seen = now
		before := o.From
		if o.From, err = p.pages(f, o, 1, 0); err != nil {
			if errors.Is(err, fs.ErrNotExist) {
				return cli.Failf(cli.AnswerNo, "the conversation of session '%s' is gone", s.ID)
			}
			return err
		}
		if o.From-before > conversation.MaxRecord { // else no record was too long
			if err := scan.CheckRead(s.ID, f); err != nil {
				env.Warn("%v", err)
			}
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
