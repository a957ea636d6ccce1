// Package recorded reads the conversation that a session's record names, from where it
// was read last, for the programs that keep what it is about: at the end of a turn, at
// a hand-over, and for a start after a crash.
package recorded

import (
	"cmp"

	"gt/lib/client/account"
	"gt/lib/client/contract"
	"gt/lib/conversation"
	"gt/lib/conversation/summary"
	"gt/lib/conversation/tail"
	"gt/lib/place/home"
	"gt/lib/state/session"
)

// Conversation is the conversation of a session.
type Conversation struct {
	File conversation.File
	Kept tail.File // what was read of it
	CWD  string    // where the session began
}

// Of returns the conversation that a record of a home names. A record is as good as who
// wrote it: a conversation that is none of the person's own is own's error.
func Of(own account.Own, h home.Home, r *session.Record) (Conversation, error) {
	client := cmp.Or(r.Agent, contract.Default)
	_, path, err := own.File(client, r.Transcript)
	if err != nil {
		return Conversation{}, err
	}
	return Conversation{conversation.File{Client: client, Path: path, ID: r.ID}, tail.Of(h, r), r.CWD}, nil
}

// Read reads what has come since the last time and returns what is known of the whole
// conversation; see tail.File.Advance, and tail.File.Fold where it is not to be kept.
func (c Conversation) Read(read tail.Read, keep bool, clean func(string) string) (*summary.Fold, error) {
	if keep {
		return c.Kept.Advance(c.File, c.CWD, read, clean)
	}
	return c.Kept.Fold(c.File, c.CWD, read, clean)
}
