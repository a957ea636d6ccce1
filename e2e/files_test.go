//go:build e2e

package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"time"

	"gt/lib/place"
)

// town is the folder that the world's sessions share: nobody made one, so it
// is the personal one.
func (w *world) town() string { return filepath.Join(w.home, ".local", "state", "gt") }

// runtime is a path in the folder that keeps what belongs to the project.
func (w *world) runtime(elem ...string) string { return w.kept(w.project, elem...) }

// kept is a path in the folder of the state that keeps what belongs to a home.
func (w *world) kept(home string, elem ...string) string {
	return filepath.Join(append([]string{place.State(w.town()).Home(place.Real(home), false).At}, elem...)...)
}

// event is one line of the event log.
type event struct {
	TS, Source, Type, Actor string
	Payload                 struct {
		SessionID   string `json:"session_id"`
		Agent       string
		Source      string
		ParentID    string `json:"parent_id"`
		ChainID     string `json:"chain_id"`
		Outcome     string
		Reason      string
		Subject     string
		Note        string
		ToSession   bool `json:"to_session"`
		CWD         string
		TmuxSession string `json:"tmux_session"`
		Topic       string
		Error       string
	}
}

// events are the lines of the event log of one type, about one session where
// id is not empty. Every line has to be whole.
func (w *world) events(kind, id string) []event {
	w.Helper()
	data, err := os.ReadFile(filepath.Join(w.town(), ".events.jsonl"))
	if err != nil && !os.IsNotExist(err) {
		w.Fatal(err)
	}
	var all []event
	for line := range strings.Lines(string(data)) {
		var e event
		if err := json.Unmarshal([]byte(line), &e); err != nil || !strings.HasSuffix(line, "\n") {
			w.Errorf("the event log has a line that is none: %q (%v)", line, err)
			continue
		}
		if (kind == "" || e.Type == kind) && (id == "" || e.Payload.SessionID == id) {
			all = append(all, e)
		}
	}
	return all
}

// noHookErrors fails the test if a hook failed.
func (w *world) noHookErrors() {
	w.Helper()
	if errs := w.events("hook_error", ""); len(errs) > 0 {
		w.Errorf("hooks failed: %+v", errs)
	}
}

// oneEvent is the only event of its type about the session.
func (w *world) oneEvent(kind, id string) event {
	w.Helper()
	all := w.events(kind, id)
	if len(all) != 1 {
		w.Errorf("session %s has %d events %s, want one: %+v", id, len(all), kind, all)
		return event{}
	}
	return all[0]
}

// sessionRecord is what a session's record says.
type sessionRecord struct {
	ID          string
	Agent       string
	Source      string
	ChainID     string `json:"chain_id"`
	ParentID    string `json:"parent_id"`
	ChildID     string `json:"child_id"`
	PID         int
	TmuxSession string    `json:"tmux_session"`
	TmuxPane    string    `json:"tmux_pane"`
	StartedAt   time.Time `json:"started_at"`
	EndedAt     string    `json:"ended_at"`
	Outcome     string
	Transcript  string `json:"transcript_path"`
}

// records are the records of the project's sessions, by their ids.
func (w *world) records() map[string]sessionRecord {
	w.Helper()
	files, _ := filepath.Glob(filepath.Join(globEscape(w.runtime("sessions")), "*.json"))
	all := map[string]sessionRecord{}
	for _, file := range files {
		var r sessionRecord
		if err := json.Unmarshal([]byte(w.read(file)), &r); err != nil {
			w.Errorf("%s: %v", file, err)
		}
		all[r.ID] = r
	}
	return all
}

// record is the record of one session, which has to be there.
func (w *world) record(id string) sessionRecord {
	w.Helper()
	r, ok := w.records()[id]
	if !ok {
		w.Errorf("there is no record of session %s", id)
	}
	return r
}

// newest is the session whose record began last, with a person or without.
func (w *world) newest() string {
	w.Helper()
	var newest sessionRecord
	for _, r := range w.records() {
		if newest.ID == "" || r.StartedAt.After(newest.StartedAt) {
			newest = r
		}
	}
	if newest.ID == "" {
		w.Fatal("there is no record of a session")
	}
	return newest.ID
}

// latest is the session that session_id names: the latest of a person.
func (w *world) latest() string {
	w.Helper()
	id, _, _ := strings.Cut(w.read(w.runtime("session_id")), "\n")
	return id
}

// markers are the hand-over markers that are kept of the project.
func (w *world) markers() []string {
	files, _ := filepath.Glob(filepath.Join(globEscape(w.runtime()), "handoff*"))
	return files
}

// notes are the texts of all notes in the world. One that is read meanwhile goes from new to
// cur: there it is looked for afterwards, and it counts once.
func (w *world) notes() []string {
	var all []string
	seen := map[string]bool{}
	for _, folder := range []string{"new", "cur"} {
		for _, box := range []string{filepath.Join(w.town(), "mail"), w.runtime("mail")} {
			filepath.WalkDir(box, func(path string, d os.DirEntry, err error) error {
				name, _, _ := strings.Cut(filepath.Base(path), ":")
				if err != nil || !d.Type().IsRegular() || filepath.Base(filepath.Dir(path)) != folder || seen[box+name] {
					return nil
				}
				if data, err := os.ReadFile(path); err == nil {
					seen[box+name] = true
					all = append(all, string(data))
				}
				return nil
			})
		}
	}
	return all
}

// globEscape takes the meaning from the characters that a pattern gives one.
func globEscape(path string) string {
	return strings.NewReplacer(`[`, `\[`, `*`, `\*`, `?`, `\?`, `\`, `\\`).Replace(path)
}
