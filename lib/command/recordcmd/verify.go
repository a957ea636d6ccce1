package recordcmd

import (
	"errors"
	"fmt"

	"gt/lib/cli"
	"gt/lib/record"
	"gt/lib/text/count"
)

type verify struct {
	ID  []string `arg:"" optional:"" name:"id" help:"The records."`
	All bool     `help:"All records."`
}

func (c *verify) Validate() error {
	if c.All == (len(c.ID) > 0) {
		return errors.New("give the ids of records, or --all")
	}
	return nil
}

// Run verifies records, and prints the first line of each that differs from what was
// written.
func (c *verify) Run(env *cli.Env) error {
	s, err := store(env)
	if err != nil {
		return err
	}
	var ids []record.ID
	if c.All {
		if ids, err = s.IDs(); err != nil {
			return err
		}
	}
	for _, name := range c.ID {
		id, err := find(env, s, name)
		if err != nil {
			return err
		}
		ids = append(ids, id)
	}
	type answer struct {
		id    record.ID
		lines int
		head  string
		torn  bool
		err   error
	}
	all := make([]answer, len(ids))
	at := make([]*answer, len(ids))
	for i := range all {
		all[i].id = ids[i]
		at[i] = &all[i]
	}
	ends, err := seals(env)
	if err != nil {
		return err
	}
	cli.Parallel(at, func(a *answer) { a.lines, a.head, a.torn, a.err = s.Verify(a.id, ends[a.id]) })
	bad, lines := 0, 0
	for _, a := range all {
		lines += a.lines
		var fault *record.Fault
		switch {
		case errors.As(a.err, &fault):
			bad++
			if _, err := fmt.Fprintf(env.Stdout, "%s  %v\n", a.id, fault); err != nil {
				return err
			}
		case a.err != nil:
			return a.err
		case !c.All:
			torn := ""
			if a.torn {
				torn = ", and one that is being written or was torn off: the next sync removes it"
			}
			if _, err := fmt.Fprintf(env.Stdout, "%s  %s, the last is %s%s\n", a.id, count.Plural(a.lines, "line"), a.head, torn); err != nil {
				return err
			}
		}
	}
	switch {
	case bad > 0:
		return cli.Failf(cli.AnswerNo, "%s not what was written", count.PluralForm(bad, "record is", "records are"))
	case c.All:
		_, err = fmt.Fprintf(env.Stdout, "%s, %s: each is what was written\n", count.Plural(len(ids), "record"), count.Plural(lines, "line"))
	}
	return err
}
