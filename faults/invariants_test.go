//go:build linux

package faults

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"

	"gt/lib/log/eventlog"
	"gt/lib/state/checkpoint"
	"gt/lib/state/handover"
	"gt/lib/state/keepalive"
	"gt/lib/state/mail"
	"gt/lib/state/marker"
	"gt/lib/state/pidfile"
	"gt/lib/state/session"
)

// A snapshot is what lies in a world: the content of each file by its path,
// with what differs from run to run taken out. Locks and temporary files, and
// what is git's own, are no state.
type snapshot struct {
	state  map[string]string // state files, and the notes by their box
	log    map[string][]byte // event logs, as they are
	litter []string          // temporary files
	locks  []string
	rest   string // what else a program can see: names, modes, links, notes
}

// key is the same for two worlds in which a command does the same.
func (s snapshot) key() string {
	h := sha256.New()
	put := func(text string) { fmt.Fprintln(h, len(text), text) }
	put(s.rest)
	for _, path := range slices.Sorted(maps.Keys(s.state)) {
		put(path)
		put(s.state[path])
	}
	for _, path := range slices.Sorted(maps.Keys(s.log)) {
		put(path)
		put(normal(string(s.log[path])))
	}
	return string(h.Sum(nil))
}

// killed is what differs in a hand-over after a run that was killed: its text says more, and its
// marker has the name that was free.
var killed = regexp.MustCompile(`"(body|marker)": ".*"`)

// comparable is the content of a file without what differs from run to run; of a hand-over
// without its text, as of a note in a box.
func comparable(path, text string) string {
	if strings.Contains(path, "/handover/") {
		text = killed.ReplaceAllString(text, `"$1": ""`)
	}
	return normal(text)
}

const tmpMark = ".gt-tmp-"

func isLock(name string) bool {
	return name == "lock" || strings.HasSuffix(name, ".lock") || strings.HasSuffix(name, ".gt-lock")
}

// inBox reports whether a path is that of a note, and in which folder of a box.
func inBox(rel string) (box, folder string, ok bool) {
	dir := filepath.Dir(rel)
	folder = filepath.Base(dir)
	box = filepath.Dir(dir)
	return box, folder, (folder == "tmp" || folder == "new" || folder == "cur") && strings.Contains("/"+box+"/", "/mail/")
}

func (w *world) look() (snapshot, error) {
	s := snapshot{state: map[string]string{}, log: map[string][]byte{}}
	var rest strings.Builder
	names := func(dir string) {
		_ = filepath.WalkDir(dir, func(path string, _ fs.DirEntry, _ error) error {
			fmt.Fprintln(&rest, normal(path))
			return nil
		})
	}
	err := filepath.WalkDir(w.Root, func(path string, e fs.DirEntry, err error) error {
		if err == nil {
			to, _ := os.Readlink(path)
			mode := fs.FileMode(0)
			if info, err := e.Info(); err == nil {
				mode = info.Mode()
			}
			fmt.Fprintln(&rest, normal(path), mode, to)
		}
		if err != nil || e.IsDir() && (e.Name() == ".git" || path == w.Path("tmp") || path == w.Path("home/.local/state/gt/git")) {
			if err == nil {
				if data, rerr := os.ReadFile(filepath.Join(path, "info", "exclude")); rerr == nil {
					rel, _ := filepath.Rel(w.Root, path)
					s.state[rel+"/info/exclude"] = string(data)
				}
				if e.Name() == ".git" {
					path = filepath.Join(path, "info")
				}
				names(path)
				return fs.SkipDir
			}
			if errors.Is(err, fs.ErrNotExist) {
				return nil // git's own, in a process that outlives a kill
			}
			return err
		}
		if !e.Type().IsRegular() {
			return nil
		}
		rel, err := filepath.Rel(w.Root, path)
		if err != nil {
			return err
		}
		if isLock(e.Name()) {
			s.locks = append(s.locks, path)
			return nil
		}
		box, folder, note := inBox(rel)
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		switch {
		case strings.Contains(e.Name(), tmpMark) || note && folder == "tmp":
			s.litter = append(s.litter, path)
			fmt.Fprintln(&rest, normal(string(data)))
		case e.Name() == ".events.jsonl":
			s.log[rel] = data
		case note:
			_, flags, _ := strings.Cut(e.Name(), ":")
			key := box + "/notes"
			fmt.Fprintln(&rest, normal(string(data)))
			all := append(strings.SplitAfter(s.state[key], "\n"), fmt.Sprintf("%s %s: %s\n", folder, flags, noteSubject(data)))
			slices.Sort(all)
			s.state[key] = strings.Join(all, "")
		case strings.Contains(rel, "/handover/"):
			fmt.Fprintln(&rest, normal(string(data)))
			s.keep(normal(rel), comparable(rel, string(data)))
		default:
			s.keep(normal(rel), normal(string(data)))
		}
		return nil
	})
	s.rest = rest.String()
	return s, err
}

// keep notes the content of a state file. Several whose names differ only in what is
// random are numbered by what they hold.
func (s *snapshot) keep(path, data string) {
	name := path
	for n := 2; ; n++ {
		there, ok := s.state[name]
		if !ok {
			s.state[name] = data
			return
		}
		s.state[name], data = min(there, data), max(there, data)
		if name = strings.Replace(path, "UUID", fmt.Sprint("UUID-", n), 1); name == path {
			name = fmt.Sprint(path, "-", n) // of a note
		}
	}
}

// noteSubject is what a note is about. What it says depends on what the box held when
// it was written; that it is whole is for its reader to say.
func noteSubject(note []byte) string {
	for line := range strings.Lines(string(note)) {
		if subject, ok := strings.CutPrefix(line, "Subject: "); ok {
			return strings.TrimSpace(normal(subject))
		}
	}
	return "no note"
}

var differing = []struct {
	what *regexp.Regexp
	by   string
}{
	// Before what looks for ids: an inode of eight digits looks like one, and so does the
	// time at which a process started, a day after the machine did.
	{regexp.MustCompile(`"(pid|pid_start)": ?"?\d+"?`), `"$1": 0`},
	{regexp.MustCompile(`"(device|inode|born|named|awake)":( ?)\d+`), `"$1":${2}0`},
	{regexp.MustCompile(`,\s*"disk": ?"[0-9a-f]+-[0-9a-f]+"`), ""}, // optional, and of each run another
	// A program that could not be looked up is named by its path.
	{regexp.MustCompile(`/[^ ]*/gt-faults-\d+/bin/gt-`), "gt-"},
	{regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:?\d\d)?`), "TIME"},
	{regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d-\d\d(-\d\d\b(-\d{3}Z)?)?`), "TIME"}, // in names of files
	{regexp.MustCompile(`\d{4}-\d\d-\d\d \d\d:\d\d(:\d\d)?( UTC)?`), "TIME"},
	{regexp.MustCompile(`\w{3}, \d\d? \w{3} \d{4} \d\d:\d\d:\d\d [+-]\d{4}`), "TIME"},
	{regexp.MustCompile(`\d{9,}\.M\d{6}R[0-9a-f]{8}`), "NOTE"},
	{regexp.MustCompile(`"duration": \d+`), `"duration": 0`},
	{regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`), "UUID"},
	{regexp.MustCompile(`\bses_[0-9A-Za-z]{26}\b`), "UUID"},
	{regexp.MustCompile(`\bgt-ask-[-0-9]+`), "gt-ask-0"},
	{regexp.MustCompile(`\b[0-9a-f]{16}\b`), "KEY"},
	{regexp.MustCompile(`\b[0-9a-f]{8}\b`), "NOTE"},
	{regexp.MustCompile(`-\d+","cwd"`), `-0","cwd"`},
	{regexp.MustCompile(`process \d+`), "process 0"},
	{regexp.MustCompile(`"age_seconds":[\d.]+`), `"age_seconds":0`},
}

// normal takes out of a text what differs from one run to the next: times,
// processes, and ids that are made by chance. Most files are the same in run after
// run, so it remembers what it made of them.
func normal(text string) string {
	normals.Lock()
	is, ok := normals.of[text]
	normals.Unlock()
	if ok {
		return is
	}
	is = text
	for _, d := range differing {
		is = d.what.ReplaceAllString(is, d.by)
	}
	normals.Lock()
	defer normals.Unlock()
	if len(normals.of) >= 10_000 || normals.of == nil {
		normals.of = map[string]string{}
	}
	normals.of[text] = is
	return is
}

var normals struct {
	sync.Mutex
	of map[string]string
}

// An entry is an event as far as two of them are the same.
type entry struct{ kind, session, note string }

// entries reads a log: its whole events, and what is wrong with it.
func entries(log []byte) (all []entry, problems []string) {
	lines := bytes.SplitAfter(log, []byte("\n"))
	for i, line := range lines {
		if len(line) == 0 {
			continue
		}
		var e struct {
			Type    string
			TS      string
			Payload struct {
				SessionID string `json:"session_id"`
				Note      string
			}
		}
		whole := bytes.HasSuffix(line, []byte("\n"))
		if err := json.Unmarshal(line, &e); err != nil || e.Type == "" || e.TS == "" {
			// One that was torn was ended by the next who wrote.
			const begin = `{"ts":"`
			stump := strings.TrimSuffix(string(line), "\n")
			torn := (strings.HasPrefix(stump, begin) || strings.HasPrefix(begin, stump)) && !json.Valid(line)
			if whole && len(bytes.TrimSpace(line)) > 0 && !torn {
				problems = append(problems, fmt.Sprintf("line %d of the log is no event: %q", i+1, line))
			}
			continue
		}
		if whole {
			all = append(all, entry{e.Type, e.Payload.SessionID, e.Payload.Note})
		}
	}
	return all, problems
}

// doubled are the events that tell the same thing twice.
func doubled(all []entry) (problems []string) {
	state := map[string]string{}
	notes := map[entry]bool{}
	for _, e := range all {
		switch e.kind {
		case eventlog.SessionStart, eventlog.SessionEnd, eventlog.SessionResume:
			if state[e.session] == e.kind && e.kind != eventlog.SessionResume {
				problems = append(problems, fmt.Sprintf("the log has %s of %s twice", e.kind, e.session))
			}
			state[e.session] = e.kind
		case eventlog.Handoff:
			if notes[e] {
				problems = append(problems, fmt.Sprintf("the log has the hand-over with note %s twice", e.note))
			}
			notes[e] = true
		}
	}
	return problems
}

// sound looks at a world with the readers of gt, and says what is wrong:
// anything that is half, a lock that is held, a note that a record or a marker
// promises and that cannot be read. before is the world as it was.
func (w *world) sound(dir string, before snapshot) (now snapshot, problems []string) {
	wrong := func(format string, args ...any) { problems = append(problems, fmt.Sprintf(format, args...)) }
	now, err := w.look()
	if err != nil {
		wrong("%v", err)
		return now, problems
	}
	for _, lock := range now.locks {
		if err := free(lock); err != nil {
			wrong("%v", err)
		}
	}
	for path, old := range before.log {
		if !bytes.HasPrefix(now.log[path], old) {
			wrong("events were lost from %s:\n%s\nis now\n%s", path, old, now.log[path])
		}
	}
	for path, log := range now.log {
		all, p := entries(log)
		problems = append(problems, p...)
		problems = append(problems, doubled(all)...)
		n := 0
		if err := eventlog.Log(w.Path(path)).Read(func(eventlog.Event) bool { n++; return true }); err != nil || n != len(all) {
			wrong("eventlog.Read finds %d of %d events: %v", n, len(all), err)
		}
	}

	h := w.home(dir)
	box := mail.NewBox(h, h.Identity.Address())
	store := session.Store{Home: h}
	records, err := store.ReadRecords()
	if err != nil {
		wrong("records: %v", err)
	}
	files, _ := filepath.Glob(h.Path("sessions", "*.json"))
	for _, f := range files {
		if !slices.ContainsFunc(records, func(r *session.Record) bool { return string(r.ID)+".json" == filepath.Base(f) }) {
			wrong("the record %s cannot be read", f)
		}
	}
	named := map[string]*session.Record{}
	for _, r := range records {
		if r.Handoff == nil {
			continue
		}
		named[r.Handoff.Marker] = r
		if n, err := box.Get(r.Handoff.Note); err != nil || n.Body == "" || r.Handoff.Text == nil || r.Handoff.Text.Body != n.Body {
			wrong("the note %s, which %s handed over, cannot be read: %v", r.Handoff.Note, r.ID, err)
		}
	}
	left, err := handover.Waiting(h)
	if err != nil {
		wrong("hand-overs: %v", err)
	}
	for _, name := range left {
		if _, _, err := handover.Read(h, name); err != nil {
			wrong("the hand-over %s cannot be read: %v", name, err)
		}
	}
	if _, err := marker.List(h); err != nil {
		wrong("markers: %v", err)
	}
	if _, err := checkpoint.List(h); err != nil {
		wrong("checkpoints: %v", err)
	}
	if _, err := os.Lstat(h.Path("keepalive.json")); err == nil && keepalive.Read(h) == nil {
		wrong("the sign of life cannot be read")
	}
	if _, err := os.Lstat(h.Path("session_id")); err == nil && store.Persisted() == "" {
		wrong("session_id cannot be read")
	}
	notes, err := box.List()
	if err != nil {
		wrong("notes: %v", err)
	}
	for _, n := range notes {
		if n.Problem != "" {
			wrong("the note %s cannot be read: %s", n.Path, n.Problem)
		}
	}
	pids, err := pidfile.NewDir(h.Town).List()
	if err != nil {
		wrong("PID files: %v", err)
	}
	for _, p := range pids {
		if p.State == pidfile.Corrupt {
			wrong("the PID file of %s cannot be read", p.Session)
		}
	}
	for path, text := range now.state {
		if strings.HasSuffix(path, ".json") && !json.Valid([]byte(text)) {
			wrong("%s is no JSON: %q", path, text)
		}
	}
	return now, problems
}

// free reports whether a lock can be taken at once.
func free(path string) error {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		return err
	}
	defer f.Close()
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return fmt.Errorf("the lock %s is held: %w", path, err)
	}
	return nil
}
