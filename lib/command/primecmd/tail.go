package primecmd

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"time"

	"gt/lib/client/contract"
	"gt/lib/client/registry"
	"gt/lib/conversation"
	"gt/lib/conversation/summary"
	"gt/lib/conversation/tail"
	"gt/lib/launch/gtexec"
	"gt/lib/state/session"
	"gt/lib/sys/atomicfile"
)

// readWait limits the run of gt-seance that reads the rest of a conversation.
const readWait = 2 * time.Second

// tail returns the summary of the parent's conversation. It was stored at the end of each
// turn, before a compaction or at a hand-over. If the conversation has grown since, the
// session died in the middle of a turn and gt-seance reads the rest. If that fails, tail
// returns the stored summary with the error.
//
// Readers check themselves that a conversation is the person's: a record proves only who
// wrote the record.
func (s *start) tail(a access, parent *session.Record) (summary.Summary, error) {
	client := cmp.Or(parent.Agent, contract.Default)
	if _, err := os.Stat(parent.Transcript); err != nil || !registry.HasReader(client) {
		return summary.Summary{}, atomicfile.Error("read", parent.Transcript, err)
	}
	f := conversation.File{Client: client, Path: parent.Transcript, ID: parent.ID}
	stored, current, err := tail.NewFile(s.call.Home, parent).Stored(f, s.env.Redact)
	if err == nil && current {
		return stored, nil
	}
	args := []string{"tail", string(parent.ID), "--home", s.call.Home.Dir}
	if a == locked {
		args = append(args, "--update")
	}
	out, err := gtexec.Output("gt-seance", s.call.Dir, s.env.Environ, readWait, args...)
	var grown summary.Summary
	if err == nil {
		err = json.Unmarshal(out, &grown)
	}
	switch {
	case err == nil:
		return summary.Clean(grown, s.env.Redact), nil
	case len(stored.Requests) > 0:
		err = fmt.Errorf("%w; using what was read of the conversation before", err)
	}
	return stored, err
}
