package prime

import (
	"cmp"
	"os"

	"gt/lib/catalog/history"
	"gt/lib/client/account"
	"gt/lib/client/hook"
	"gt/lib/conversation/transcript"
	"gt/lib/state/session"
	"gt/lib/sys/atomicfile"
)

// tail is what the conversation of the session before says of it, if it is one of
// the person's: a record is as good as who wrote it.
func (s *start) tail(parent *session.Record) (transcript.Summary, error) {
	client := cmp.Or(parent.Agent, hook.DefaultAgent)
	if _, err := os.Stat(parent.Transcript); err != nil || !history.Reads(client) {
		return transcript.Summary{}, atomicfile.Error("read", parent.Transcript, err)
	}
	own := account.Own{Getenv: s.env.Getenv, Projects: []string{s.call.Home.Dir, s.call.Dir}}
	_, path, err := own.File(client, parent.Transcript)
	if err != nil {
		return transcript.Summary{}, err
	}
	return history.Tail(client, path, parent.ID, parent.CWD, s.env.Redact)
}
