package recordcmd

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"

	"gt/lib/cli"
	"gt/lib/log/eventlog"
	"gt/lib/place/town"
	"gt/lib/record"
	"gt/lib/sys/atomicfile"
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

// Run checks the named records, or all, and prints what is wrong with each. Of a named record that
// is right, it prints the last digest. The error has AnswerNo if one is not what was written.
func (c *verify) Run(env *cli.Env) error {
	s, err := openStore(env)
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
		id, err := findRecord(env, s, name)
		if err != nil {
			return err
		}
		ids = append(ids, id)
	}
	type answer struct {
		lines int
		head  string
		torn  bool
		err   error
	}
	all := make([]answer, len(ids))
	ends, err := readSeals(env)
	if err != nil {
		return err
	}
	cli.Parallel(cli.Numbers(len(ids)), func(i int) {
		a := &all[i]
		a.lines, a.head, a.torn, a.err = s.Verify(ids[i], ends[ids[i]])
	})
	bad, lines := 0, 0
	for i, a := range all {
		lines += a.lines
		var fault *record.Fault
		switch {
		case errors.As(a.err, &fault):
			bad++
			if err := env.Printf("%s  %v\n", ids[i], fault); err != nil {
				return err
			}
		case a.err != nil:
			return a.err
		case !c.All:
			torn := ""
			if a.torn {
				torn = ", and one that is being written or was torn off: the next sync removes it"
			}
			if err := env.Printf("%s  %s, the last is %s%s\n", ids[i], count.Plural(a.lines, "line"), a.head, torn); err != nil {
				return err
			}
		}
	}
	switch {
	case bad > 0:
		return cli.Failf(cli.AnswerNo, "%s not what was written", count.PluralForm(bad, "record is", "records are"))
	case c.All:
		err = env.Printf("%s, %s: each is what was written\n", count.Plural(len(ids), "record"), count.Plural(lines, "line"))
	}
	return err
}

// sealPayload is the payload of the event with the last digest of a record. It is logged when
// the session ends.
type sealPayload struct {
	Session string `json:"session_id"`
	Agent   string `json:"agent"`
	record.Seal
}

// logSeal logs the last digest of a record, so that lines missing from its end are noticed.
func logSeal(env *cli.Env, s record.Store, id record.ID) error {
	at, err := s.Seal(id)
	if err != nil || at.ID == "" { // "": the record was removed
		return err
	}
	h, err := s.Head(id)
	if err != nil {
		return err
	}
	own := town.Personal(env.Getenv) // agents in a town cannot write this log
	return eventlog.Log(own.Events()).AppendOr(eventlog.Log(own.SpareEvents()), env.WarnError, env.Now(), eventlog.RecordHead, Program().Name, sealPayload{string(h.Session), h.Agent, at})
}

// readSeals returns the last seal of each record. It reads the person's event logs, oldest first.
func readSeals(env *cli.Env) (map[record.ID]*record.Seal, error) {
	all := map[record.ID]*record.Seal{}
	own := town.Personal(env.Getenv)
	for _, path := range append(eventlog.Log(own.Events()).Segments(), own.Events(), own.SpareEvents()) {
		f, err := atomicfile.Open(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		} else if err != nil {
			return all, err
		}
		err = eventlog.Scan(f, func(line []byte) bool {
			if !bytes.Contains(line, []byte(eventlog.RecordHead)) {
				return true
			}
			var e eventlog.Event
			var at sealPayload
			if json.Unmarshal(line, &e) == nil && e.Type == eventlog.RecordHead && json.Unmarshal(e.Payload, &at) == nil {
				all[at.ID] = &at.Seal
			}
			return true
		})
		f.Close()
		if err != nil {
			return all, atomicfile.Error("read", path, err)
		}
	}
	return all, nil
}
