package handoffcmd

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"gt/lib/cli"
	"gt/lib/launch/gtexec"
	"gt/lib/launch/respawn"
	"gt/lib/state/session"
	"gt/lib/text/term"
)

// alongWait limits each run of gt-record: sync and convert read a long conversation whole,
// and a client may have to import it.
const alongWait = 6 * time.Minute

// takeAlong converts the conversation for the successor's client and makes the successor
// resume the copy. Nothing else changes.
func (h handover) takeAlong(looks, asks bool) (handover, error) {
	switch {
	case h.id == "" || h.id.Invented() || h.unknown:
		return h, cli.Fail(cli.AnswerNo, errors.New("gt does not know which conversation this is"),
			"without --with-conversation a fresh session takes over, with the note")
	case asks:
		return h, h.cannotTakeAlong()
	case looks:
		_, err := fmt.Fprintf(h.env.Stdout, "would write the conversation for %s: gt-record convert %s --to %s\n",
			h.successor.Client.Name, h.id, h.successor.Client.Name)
		return h, err
	}
	run := func(args ...string) ([]byte, error) {
		return gtexec.Output("gt-record", h.home.Dir, h.env.Environ, alongWait, args...)
	}
	if _, err := run("sync", string(h.id)); err != nil {
		return h, cli.Fail(cli.AnswerNo, err)
	}
	dir := cmp.Or(h.dir, h.home.Dir)
	out, err := run("convert", string(h.id), "--to", h.successor.Client.Name, "--cwd", dir, "--json")
	if err != nil {
		return h, cli.Fail(cli.AnswerNo, err, "without --with-conversation a fresh session takes over, with the note")
	}
	var written struct {
		Session string `json:"session_id"`
	}
	if err := json.Unmarshal(out, &written); err != nil {
		return h, fmt.Errorf("cannot understand what gt-record says: %w", err)
	}
	if h.carried, err = session.ParseID(written.Session); err != nil {
		return h, fmt.Errorf("cannot understand what gt-record says: %w", err)
	}
	h.successor = respawn.NewSuccessor(h.successor.Client, h.home, h.carried)
	h.env.Hint("%s goes on with conversation %s", h.successor.Client.Name, term.Clean(string(h.carried)))
	return h, nil
}

// cannotTakeAlong returns the error for a hand-over inside a sandbox, where the other
// client's folder is out of reach.
func (h handover) cannotTakeAlong() error {
	return cli.Fail(cli.AnswerNo, errors.New("the conversation cannot be written from within the sandbox"),
		"outside of it: gt-handoff PANE --to AGENT --with-conversation, where PANE is that of this session; without --with-conversation the note is handed over")
}
