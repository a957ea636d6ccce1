package relay

import (
	"encoding/json"
	"maps"
	"os"
	"reflect"
	"time"

	"gt/lib/place"
	"gt/lib/sys/atomicfile"
)

// statusEvery is how often an unchanged status is written.
const statusEvery = 20 * time.Second

// writeStatus writes the status if it has changed. Times alone change it every 20 seconds.
func (r *Relay) writeStatus() {
	r.status.PID = os.Getpid()
	s, w := r.status, r.written
	young := s.CurrentAt.Sub(w.CurrentAt).Abs() < statusEvery && s.CurrentAt.IsZero() == w.CurrentAt.IsZero()
	s.CurrentAt, w.CurrentAt = time.Time{}, time.Time{}
	if young && reflect.DeepEqual(s, w) && !r.wanted() {
		return
	}
	data, err := json.Marshal(r.status)
	if err == nil {
		err = atomicfile.Write(r.State.Path("relay", "status.json"), append(data, '\n'), atomicfile.Unsynced)
	}
	if err != nil {
		r.Warn(err)
		return
	}
	r.written = r.status
	r.written.Refused = maps.Clone(r.status.Refused)
	r.written.Left = maps.Clone(r.status.Left)
}

// wanted reports whether somebody waits for the status: gt-relay sync.
func (r *Relay) wanted() bool {
	info, err := os.Lstat(r.State.Path("relay", "sync"))
	return err == nil && r.Now().Sub(info.ModTime()).Abs() < 10*time.Minute // an older one was left by a kill
}

// ReadStatus returns the status of the relay that runs, or ran last.
func ReadStatus(state place.State) (s Status, err error) {
	data, err := atomicfile.Read(state.Path("relay", "status.json"), 1<<20)
	if err != nil {
		return s, err
	}
	return s, json.Unmarshal(data, &s)
}
