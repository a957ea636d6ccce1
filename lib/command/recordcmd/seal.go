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

// log returns the person's own event log, which agents in a town cannot write.
func log(env *cli.Env) eventlog.Log { return eventlog.Log(town.Personal(env.Getenv).Events()) }

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
	return log(env).Append(env.Now(), eventlog.RecordHead, Program().Name, sealed{string(h.Session), h.Agent, at})
}

// seals returns the last seal of each record that the log still has.
func seals(env *cli.Env) (map[record.ID]*record.Seal, error) {
	all := map[record.ID]*record.Seal{}
	l := log(env)
	for _, path := range append(l.Segments(), string(l)) {
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
