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
)

// sealed is the payload of the event with the last digest of a record. It is logged when
// the session ends.
type sealed struct {
	Session string `json:"session_id"`
	Agent   string `json:"agent"`
	record.Seal
}

// seal logs the last digest of a record, so that lines missing from its end are noticed.
func seal(env *cli.Env, s record.Store, id record.ID) error {
	at, err := s.Seal(id)
	if err != nil || at.ID == "" {
		return err
	}
	h, err := s.Head(id)
	if err != nil {
		return err
	}
	own := town.Personal(env.Getenv) // agents in a town cannot write this log
	return eventlog.Log(own.Events()).AppendOr(eventlog.Log(own.Spare()), func(err error) { env.Warn("%v", err) }, env.Now(), eventlog.RecordHead, Program().Name, sealed{string(h.Session), h.Agent, at})
}

// seals returns the last seal of each record that the log still has.
func seals(env *cli.Env) (map[record.ID]*record.Seal, error) {
	all := map[record.ID]*record.Seal{}
	own := town.Personal(env.Getenv)
	for _, path := range append(eventlog.Log(own.Events()).Segments(), own.Events(), own.Spare()) {
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
			var at sealed
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
