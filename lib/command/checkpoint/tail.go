package checkpoint

import (
	"cmp"
	"errors"
	"io/fs"
	"time"

	"gt/lib/cli"
	"gt/lib/client/account"
	"gt/lib/client/contract"
	"gt/lib/client/hook"
	"gt/lib/client/readers"
	"gt/lib/conversation"
	"gt/lib/conversation/tail"
	"gt/lib/launch/sibling"
)

// readWait bounds gt-seance, which reads what lies in a database.
const readWait = 2 * time.Second

// advance reads what the turn has added to the conversation, so that a start after a
// crash need not. Only a conversation in one of the person's own stores is read:
// where it lies is what a hook's input said.
func advance(env *cli.Env, call *hook.Invocation) error {
	r, err := call.Store.Get(call.ID)
	if err != nil || r == nil || r.Ended() || r.Transcript == "" {
		return nil // without a record nothing would be removed with it; save warns
	}
	client := cmp.Or(r.Agent, contract.Default)
	if !conversation.HasReader(client) {
		return nil
	}
	own := account.Own{Getenv: env.Getenv, Projects: []string{call.Home.Dir, call.Dir}}
	_, path, err := own.File(client, r.Transcript)
	switch {
	case account.Unreadable(err):
		return err
	case err != nil:
		return nil // a start after a crash says whose it is, where it matters
	}
	read := readers.ReadFile(client)
	if read == nil {
		_, err = sibling.Output("gt-seance", call.Dir, env.Environ, readWait, "tail", string(r.ID), "--home", call.Home.Dir, "--update")
		return err
	}
	f := conversation.File{Client: client, Path: path, ID: r.ID}
	_, err = tail.Of(call.Home, r).Advance(f, r.CWD, read, env.Redact)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // nothing was said yet
	}
	return err
}
