package seancecmd

import (
	"gt/lib/cli"
	"gt/lib/client/readers"
	"gt/lib/conversation"
	"gt/lib/launch/entries"
	"gt/lib/state/session"
)

// entriesOf reads a conversation for programs that run in hooks and therefore link no
// database (lib/launch/entries).
type entriesOf struct {
	Client string `arg:"" help:"Whose conversation it is."`
	ID     string `arg:"" help:"The session."`
	Path   string `help:"The database." placeholder:"FILE"`
	Store  string `help:"The folder that the database is of." placeholder:"DIR"`
	From   int64  `help:"Where the page before ended."`
}

func (c *entriesOf) Run(env *cli.Env) error {
	id, err := session.ParseID(c.ID)
	if err != nil {
		return err
	}
	r := readers.FindReader(c.Client)
	if r == nil {
		return cli.Failf(cli.AnswerNo, "gt reads no conversations of '%s'", c.Client)
	}
	page, err := entries.ReadPage(r, conversation.File{Client: c.Client, Store: c.Store, Path: c.Path, ID: id}, c.From, env.Redact)
	if err != nil {
		return err
	}
	return env.JSON(page)
}
