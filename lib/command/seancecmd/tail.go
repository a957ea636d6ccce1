package seancecmd

import (
	"cmp"
	"errors"

	"gt/lib/cli"
	"gt/lib/client/account"
	"gt/lib/client/readers"
	"gt/lib/client/recorded"
	"gt/lib/conversation/summary"
	"gt/lib/conversation/tail"
	"gt/lib/place"
	"gt/lib/place/home"
	"gt/lib/state/session"
)

// tailText reads the end of a conversation for gt-prime, which links no readers and needs
// it after a crash.
type tailText struct {
	ID     string `arg:"" help:"The session."`
	Home   string `help:"The home that keeps its record." placeholder:"DIR"`
	Update bool   `help:"Keep what was read, so that the next time goes on from there."`
}

// Run prints the summary of a session's conversation, reading from where it was read last.
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
	if !c.Update {
		fold, err := told.Read(read, env.Redact)
		if err != nil {
			return err
		}
		return env.JSON(summary.Summarize(fold))
	}
	to := tail.Carry{Home: h, Record: r, Now: env.Now(), Warn: func(err error) { env.Warn("%v", err) }}
	fold, _, err := told.Carry(read, to, env.Redact)
	if unsaved := (*tail.SaveError)(nil); errors.As(err, &unsaved) {
		env.Warn("%v", err)
		err = nil
	}
	if err != nil {
		return err
	}
	return env.JSON(summary.Summarize(fold))
}
