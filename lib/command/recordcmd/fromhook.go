package recordcmd

import (
	"errors"
	"io"

	"gt/lib/cli"
	"gt/lib/place"
	"gt/lib/record/hookfile"
	"gt/lib/record/stop"
	"gt/lib/state/session"
)

// fromHook stores input of a hook that would take too long to redact there.
type fromHook struct {
	ID    string `arg:""`
	Agent string `required:""`
}

// maxTold limits the input, in bytes. Clients send less.
const maxTold = 256 << 20

// Run redacts the input and appends it to the session's file.
func (c *fromHook) Run(env *cli.Env) error {
	err := c.keep(env)
	if err != nil {
		err = errors.Join(err, stop.Note(place.StateOf(env.Getenv), env.Redact(err.Error()), env.Now()))
	}
	return err
}

func (c *fromHook) keep(env *cli.Env) error {
	id, err := session.ParseID(c.ID)
	if err != nil {
		return err
	}
	data, err := io.ReadAll(io.LimitReader(env.Stdin, maxTold))
	if err != nil {
		return err
	}
	l, err := hookfile.ParseUnwritten(data)
	if err != nil {
		return err
	}
	root, err := hookfile.Root(env.Getenv)
	if err != nil {
		return err
	}
	l.Clean(env.Redact) // mutant skip: . TestScripts/record_told
	return hookfile.Append(root, c.Agent, id, l)
}
