package peer

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"gt/lib/place"
	"gt/lib/sys/atomicfile"
)

// Commands are what a host can ask another one to do with an agent there, if the person
// there allows it: gt-relay allow.
var Commands = []string{"peek", "send", "answer", "start", "stop", Move}

// Allowable are the commands, and what else a host can be allowed.
var Allowable = append(slices.Clone(Commands), Work, Records)

// Records allows a host to copy the records of this host's conversations.
const Records = "records"

// Move asks whether a session may move to a host.
const Move = "move"

// CommandFor is how long a command can be carried out. A command that was sent while a
// host was away must not answer a question of the next day.
const CommandFor = 2 * time.Minute

// maxOutput bounds what a command prints, in bytes.
const maxOutput = 256 << 10

// Ask is the text of a command letter.
type Ask struct {
	Command string `json:"command"`
	Name    string `json:"name"`           // the agent
	Text    string `json:"text,omitempty"` // send: the prompt; start: the first prompt
	N       int    `json:"n,omitempty"`    // answer: the option
	// Question is, for answer, the digest of the question that it belongs to.
	Question string `json:"question,omitempty"`
	JSON     bool   `json:"json,omitempty"`  // answer: the options as JSON
	Slash    bool   `json:"slash,omitempty"` // send: the text is a command of the client's own
	Now      bool   `json:"now,omitempty"`   // stop: at once
}

// Answer is the text of a result letter, which answers a command.
type Answer struct {
	To     string `json:"to"` // ID of the command
	Code   int    `json:"code"`
	Stdout string `json:"stdout,omitempty"`
	Stderr string `json:"stderr,omitempty"`
}

// Result is the kind of a letter with an Answer.
const Result = "result"

// Cut bounds what the command printed.
func (a Answer) Cut() Answer {
	a.Stdout, a.Stderr = a.Stdout[:min(len(a.Stdout), maxOutput)], a.Stderr[:min(len(a.Stderr), maxOutput)]
	return a
}

// Results holds the answers that came, a file each, until somebody takes them.
type Results struct{ state place.State }

func ResultsOf(s place.State) Results { return Results{s} }

func (r Results) path(host, id, ext string) string {
	return r.state.Path("relay", "results", host, id+ext)
}

// Files of an answer: asked is there while somebody waits for it.
const (
	answer = ".json"
	asked  = ".asked"
)

// Expect notes that somebody waits for the answer to a letter.
func (r Results) Expect(l Letter) error {
	return r.state.Write(r.path(l.Host, l.ID, asked), nil, atomicfile.Unsynced)
}

// Open reports whether somebody waits for an answer of a host.
func (r Results) Open(host string) bool {
	names, _ := atomicfile.Files(r.state.Path("relay", "results", host))
	return slices.ContainsFunc(names, func(name string) bool { return strings.HasSuffix(name, asked) })
}

// Put keeps an answer of a host, if somebody waits for it: only what that host was asked is
// answered by it. The file appears whole or not at all.
func (r Results) Put(host string, a Answer) error {
	if err := errors.Join(CheckName(host), CheckID(a.To)); err != nil {
		return err
	}
	if !atomicfile.Exists(r.path(host, a.To, asked)) { // mutant never: TestUnasked
		return nil
	}
	return atomicfile.WriteJSON(r.path(host, a.To, answer), a.Cut(), atomicfile.Unsynced)
}

// remove forgets an answer, and that somebody waits for it.
func (r Results) remove(l Letter) {
	_ = atomicfile.Remove(r.path(l.Host, l.ID, asked)) // Sweep does it otherwise
	_ = atomicfile.Remove(r.path(l.Host, l.ID, answer))
}

// Sweep removes answers that nobody took for a day.
func (r Results) Sweep(now time.Time) {
	hosts, _ := atomicfile.ReadDir(r.state.Path("relay", "results"))
	for _, h := range hosts {
		dir := r.state.Path("relay", "results", h.Name())
		entries, _ := atomicfile.ReadDir(dir)
		for _, e := range entries {
			if info, err := e.Info(); err == nil && now.Sub(info.ModTime()).Abs() > 24*time.Hour {
				_ = atomicfile.Remove(place.Join(dir, e.Name()))
			}
		}
	}
}

// Errors of Call.
var (
	// ErrUndelivered says that the command did not reach the host, and will not.
	ErrUndelivered = errors.New("the host does not answer; nothing was done")
	// ErrUnanswered says that the host has the command, and has not answered.
	ErrUnanswered = errors.New("the host has the command, and has not answered")
)

// NotTaken says why a host refused a command.
type NotTaken struct{ Reason string }

func (e *NotTaken) Error() string { return e.Reason }

// Call has a host carry out a command, and waits for the answer. Once the context ends it
// takes the command back, if the host does not have it yet.
func Call(ctx context.Context, state place.State, host Host, ask Ask, now time.Time) (Answer, error) {
	data, err := json.Marshal(ask)
	if err != nil {
		return Answer{}, err
	}
	out := OutboxOf(state)
	letter, err := out.NewLetter(host.Name, Command, now)
	if err == nil {
		err = ResultsOf(state).Expect(letter)
	}
	if err == nil {
		err = out.PutAs(letter, data)
	}
	if err != nil {
		return Answer{}, err
	}
	a, err := Await(ctx, state, host, letter)
	if errors.Is(err, ErrUndelivered) {
		letter.Host = NewHosts(state).Renamed(host)
		err = errors.Join(err, out.Remove(letter))
	}
	return a, err
}

// Await waits for the answer to a letter to a host. Once the context ends, it returns
// ErrUndelivered if the host does not have the letter, and ErrUnanswered if it has. A host
// whose key is given can be renamed meanwhile.
func Await(ctx context.Context, state place.State, host Host, letter Letter) (Answer, error) {
	out, hosts, results := OutboxOf(state), NewHosts(state), ResultsOf(state)
	defer func() { results.remove(letter) }()
	for {
		over := ctx.Err() != nil // before the files are read: what came by then counts
		letter.Host = hosts.Renamed(host)
		var a Answer
		if err := read(results.path(letter.Host, letter.ID, answer), &a); !errors.Is(err, fs.ErrNotExist) {
			return a, err
		}
		if reason, err := out.refusal(letter); err == nil {
			return a, &NotTaken{reason}
		}
		switch {
		case !over:
		case atomicfile.Exists(out.Path(letter)):
			return a, ErrUndelivered
		default:
			return a, ErrUnanswered
		}
		select {
		case <-ctx.Done():
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// refusal returns why a letter was refused, and removes the letter. It returns fs.ErrNotExist if
// it was not refused.
func (o Outbox) refusal(l Letter) (string, error) {
	if !atomicfile.Exists(o.refusedPath(l)) {
		return "", fs.ErrNotExist
	}
	reason, err := atomicfile.Read(o.refusedPath(l)+".reason", 4096)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%.4000s", reason), o.Forget(l)
}

// A file relay/moves/<ID of a letter> says which agent moves with that letter.

// RecordMove records which agent a letter with a session is about, and the id of its parcel.
func (o Outbox) RecordMove(l Letter, name, parcel string) error {
	if err := ResultsOf(o.state).Expect(l); err != nil {
		return err
	}
	return o.state.Write(o.state.Path("relay", "moves", l.ID), []byte(name+" "+parcel+"\n"), atomicfile.Synced)
}

// FindMove returns the agent that a letter with a session is about, and the id of its parcel.
func (o Outbox) FindMove(id string) (name, parcel string, err error) {
	if err := CheckID(id); err != nil {
		return "", "", err
	}
	data, err := atomicfile.Read(o.state.Path("relay", "moves", id), 1024)
	name, parcel, _ = strings.Cut(strings.TrimSpace(string(data)), " ")
	return name, parcel, err
}

// MovingTo returns the letter for a host with a parcel, if it waits.
func (o Outbox) MovingTo(host, parcel string) (l Letter, ok bool, err error) {
	all, err := o.ReadLetters()
	for _, l := range all {
		if l.Host != host || l.Kind != Session {
			continue
		}
		if _, id, err := o.FindMove(l.ID); err == nil && id == parcel {
			return l, true, nil
		}
	}
	return l, false, err
}

// ForgetMove forgets which agent a letter was about.
func (o Outbox) ForgetMove(id string) error {
	return atomicfile.Remove(o.state.Path("relay", "moves", id))
}
