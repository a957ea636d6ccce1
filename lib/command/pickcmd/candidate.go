package pickcmd

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"gt/lib/catalog"
	"gt/lib/cli"
	"gt/lib/text/term"
)

// candidate has the fields of a session that are used. Others are ignored.
type candidate struct {
	ID        string    `json:"id"`
	Agent     string    `json:"agent"`
	Actor     string    `json:"actor"`
	CWD       string    `json:"cwd"`
	StartedAt time.Time `json:"started_at"`
	EndedAt   time.Time `json:"ended_at"`
	LastAt    time.Time `json:"last_at"`

	// what it was about
	Branch   string `json:"branch"`
	Title    string `json:"title"`
	Subject  string `json:"subject"`
	Received string `json:"received"`
	Prompt   string `json:"prompt"`
	WorkUnit string `json:"work_unit"`
	Topic    string `json:"topic"`
}

// maxLine limits a line of the input and maxID an id, in bytes. Longer ones are skipped.
const (
	maxLine = 1 << 20
	maxID   = 128
)

// candidates reads sessions from standard input.
type candidates struct {
	env  *cli.Env
	home string
	now  time.Time
	in   *bufio.Reader
}

func newCandidates(env *cli.Env) *candidates {
	return &candidates{env: env, home: env.Getenv("HOME"), now: env.Now(), in: bufio.NewReaderSize(env.Stdin, maxLine)}
}

// next returns the finder's line for the next session, and io.EOF at the end. It skips
// lines that are not a session.
func (c *candidates) next() (string, error) {
	for rest := false; ; {
		data, more, err := c.in.ReadLine()
		if err == io.EOF {
			return "", err
		} else if err != nil {
			return "", fmt.Errorf("cannot read the sessions: %w", err)
		}
		whole := !more && !rest
		rest = more
		if !whole {
			continue
		}
		var s candidate
		var wrongType *json.UnmarshalTypeError // Unmarshal fills the other fields
		if err := json.Unmarshal(data, &s); err != nil && !errors.As(err, &wrongType) {
			continue
		}
		if line, ok := c.line(s); ok {
			return line, nil
		}
	}
}

// Widths of the columns before the title.
const (
	idWidth    = 13 // covers the random part of ids that begin with a time (Codex, pi)
	ageWidth   = 3
	agentWidth = 8
	whoWidth   = 18
)

// line returns a session in the finder's form: its id, a tab and the visible text. It
// rejects an id that is not one plain word, or that could be a flag, because the finder
// puts it into a shell command.
func (c *candidates) line(s candidate) (string, bool) {
	if s.ID == "" || len(s.ID) > maxID || s.ID[0] == '-' || term.Quote(s.ID) != s.ID {
		return "", false
	}
	clean := func(text string) string { return term.OneLine(term.Clean(c.env.Redact(text))) }
	who := clean(s.Actor)
	if who == "" {
		place := term.Tilde(s.CWD, c.home)
		who = clean(place)
	}
	shown := strings.Join([]string{
		term.Pad(s.ID[:min(idWidth, len(s.ID))], idWidth),
		term.Pad(age(c.now, s.last()), ageWidth),
		term.Pad(clean(s.Agent), agentWidth),
		term.Pad(term.CutFront(who, whoWidth), whoWidth),
		clean(s.about()),
	}, " ")
	return s.ID + "\t" + strings.TrimRight(shown, " "), true
}

func (s candidate) about() string {
	return (&catalog.Session{
		Branch: s.Branch, Title: s.Title, Subject: s.Subject, Received: s.Received, Prompt: s.Prompt, WorkUnit: s.WorkUnit, Topic: s.Topic,
	}).About()
}

// last returns the time of the last activity.
func (s candidate) last() time.Time {
	last := s.StartedAt
	for _, t := range []time.Time{s.EndedAt, s.LastAt} {
		if t.After(last) {
			last = t
		}
	}
	return last
}

// age formats the time since t, in the unit with the fewest digits.
func age(now, t time.Time) string {
	const day = 24 * time.Hour
	switch d := now.Sub(t); {
	case t.IsZero():
		return ""
	case d < time.Minute:
		return "now"
	case d < time.Hour:
		return fmt.Sprintf("%dm", d/time.Minute)
	case d < day:
		return fmt.Sprintf("%dh", d/time.Hour)
	case d < 100*day:
		return fmt.Sprintf("%dd", d/day)
	case d < 2*365*day:
		return fmt.Sprintf("%dw", d/(7*day))
	default:
		return fmt.Sprintf("%dy", d/(365*day))
	}
}
