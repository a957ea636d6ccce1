// Package recorded reads the conversation that a session's record names, from where the
// last read ended. Programs that keep its summary use it: at the end of a turn, at a
// hand-over, and at a start after a crash.
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
	"gt/lib/state/thread"
)

type Conversation struct {
	File         conversation.File
	SavedSummary tail.File // the saved summary
	CWD          string    // where the session began
}

// FindConversation returns the conversation that a session's record names. A record can name any path,
// so FindConversation returns own's error if the conversation is not the person's.
func FindConversation(own account.StoreGuard, h home.Home, r *session.Record) (Conversation, error) {
	client := cmp.Or(r.Agent, contract.Default)
	_, path, err := own.FindAccount(client, r.Transcript)
	if err != nil {
		return Conversation{}, err
	}
	return Conversation{conversation.File{Client: client, Path: path, ID: r.ID}, tail.NewFile(h, r), r.CWD}, nil
}

// Read returns the summary of the whole conversation, and saves nothing.
func (c Conversation) Read(read tail.Read, clean func(string) string) (*summary.Fold, error) {
	return c.SavedSummary.Fold(c.File, c.CWD, read, clean)
}

// Carry is Read, but adds what is new to the session's thread and saves the summary (see
// tail.File.Advance). With a tail.SaveError it also returns the summary.
func (c Conversation) Carry(read tail.Read, to tail.Carry, clean func(string) string) (fold *summary.Fold, t *thread.Thread, err error) {
	fold, err = c.SavedSummary.Advance(c.File, c.CWD, read, clean, func(fold *summary.Fold) (err error) {
		t, err = to.Add(fold)
		return err
	})
	return fold, t, err
}
