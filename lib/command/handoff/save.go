package handoff

import (
	"slices"
	"time"

	"gt/lib/log/eventlog"
	"gt/lib/state/mail"
	"gt/lib/state/marker"
	"gt/lib/state/request"
	"gt/lib/state/session"
	"gt/lib/sys/atomicfile"
)

// saveWait is how long a hand-over waits for others that work in the same home:
// half of the time that a client gives the hook before a compaction. What it
// gives up is lost.
const saveWait = 15 * time.Second

// save makes the hand-over durable: the note, the marker, the record, the
// event. It reports false when the same hook input was acted on already.
func (h *handover) save() (bool, error) {
	now := h.env.Now()
	lock, err := h.home.LockWithin(saveWait)
	if err != nil {
		return false, err
	}
	defer lock.Unlock()

	id, previous, from := session.ID(""), "", h.pane.Session
	if h.record != nil {
		// Another hook may have written it since.
		if h.record, err = h.store.Get(h.record.ID); err != nil {
			h.warn(err)
		}
	}
	if r := h.record; r != nil {
		if h.g.Client.Hook && h.call.Input.Key != "" {
			if !r.Claim(now, h.call.Input.Key) {
				return false, nil
			}
		}
		if h.kind == session.KindAuto && request.Waits(h.home, r.ID) {
			return false, nil // it hands over, and waits for the end of its turn
		}
		id = r.ID
		if r.Handoff != nil {
			previous = r.Handoff.Marker
		}
		if from == "" {
			from = string(r.ID)
		}
	} else {
		id = session.NewID() // a person hands over to whoever starts here next
		if h.call.ID != "" && !h.remote {
			id = h.call.ID // a session whose record cannot be read
		}
		if from == "" {
			from = h.home.Identity.Address()
		}
	}

	box := mail.Of(h.home, h.home.Identity.Address())
	note, err := box.Deliver(h.note, true)
	if err != nil {
		return false, err
	}
	h.warn(box.Supersede(h.note.Chain, note)) // at the worst it is told again
	h.note.ID = note
	reason := h.reason()
	if h.record != nil {
		h.record.Handoff = &session.Pending{
			Kind: h.kind, Note: note, Reason: reason, At: now, Respawn: h.respawns(), Marker: previous,
		}
	}
	if h.record != nil && previous == "" {
		previous = h.unclaimed(from)
	}
	durable := atomicfile.Synced
	if h.kind == session.KindAuto {
		durable = atomicfile.Unsynced // no process is about to be killed, and the note is on disk
	}
	name, err := marker.Write(h.home, id, from, reason, previous, durable)
	if err != nil {
		return false, err
	}
	if h.record != nil {
		h.record.Handoff.Marker = name
		h.record.Full = h.full
		if h.pane.Session != "" {
			h.record.TmuxSession = h.pane.Session
		}
		if err := h.store.Put(h.record, durable); err != nil {
			if h.record.Handoff.Respawn {
				return false, err // an agent that could go on is not ended for this
			}
			h.warn(err) // who starts next finds note and marker all the same
		}
	}
	h.log(now)
	return true, nil
}

// log tells of the hand-over. A town that cannot be written to keeps nobody from
// handing over: note, marker and record are there.
func (h *handover) log(now time.Time) {
	payload := struct {
		SessionID session.ID `json:"session_id,omitempty"`
		Subject   string     `json:"subject"`
		ToSession bool       `json:"to_session"`
		Reason    string     `json:"reason,omitempty"`
		Kind      string     `json:"kind"`
		Note      string     `json:"note"`
		Waits     string     `json:"waits,omitempty"` // why the pane was not given away
	}{Subject: h.note.Subject, Kind: h.kind, Note: h.note.ID, Waits: h.redact()(h.hold)}
	if r := h.record; r != nil {
		payload.SessionID, payload.ToSession, payload.Reason = r.ID, r.Handoff.Respawn, r.Handoff.Reason
	} else {
		payload.ToSession, payload.Reason = h.respawns(), h.reason()
		if !h.remote {
			payload.SessionID = h.call.ID // one whose record cannot be read
		}
	}
	t := h.home.Town
	h.warn(eventlog.Log(t.Events()).AppendOr(eventlog.Log(t.Spare()), h.warn, now, eventlog.Handoff, h.home.Identity.Address(), payload))
}

// unclaimed is the marker that an earlier hand-over of this session wrote and
// was killed before it came to note: it names us, and no record owns it. The
// new one takes its place, or a second start would be told of the same note.
func (h *handover) unclaimed(from string) string {
	markers, _ := marker.List(h.home) // what cannot be read is not taken for ours
	for _, m := range markers {
		if m.From != from {
			continue
		}
		records, err := h.store.All()
		owned := slices.ContainsFunc(records, func(r *session.Record) bool {
			return r.Handoff != nil && r.Handoff.Marker == m.Name
		})
		if err == nil && !owned {
			return m.Name
		}
	}
	return ""
}

func (h *handover) reason() string {
	if h.g.Reason == "" && h.kind != session.KindHandoff {
		return marker.Compaction
	}
	return h.redact()(h.g.Reason)
}
