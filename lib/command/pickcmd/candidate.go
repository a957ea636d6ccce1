package pickcmd

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"gt/lib/catalog"
	"gt/lib/cli"
	"gt/lib/text/fold"
	"gt/lib/text/term"
)

// maxLine limits a line of the input and maxID an id, in bytes. Longer ones are skipped.
const (
	maxLine = 1 << 20
	maxID   = 128
)

type sessionReader struct {
	env  *cli.Env
	home string
	now  time.Time
	in   *bufio.Reader

	narrow bool
}

func newCandidates(env *cli.Env) *sessionReader {
	return &sessionReader{env: env, home: env.Getenv("HOME"), now: env.Now(), in: bufio.NewReaderSize(env.Stdin, maxLine)}
}

// nextLine returns the finder's line for the next session, and io.EOF at the end. It skips
// lines that are not a session.
func (c *sessionReader) nextLine() (string, error) {
	for rest := false; ; { // rest: ReadLine goes on with a line over maxLine
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
		var s catalog.Session
		var wrongType *json.UnmarshalTypeError // Unmarshal fills the other fields
		if err := json.Unmarshal(data, &s); err != nil && !errors.As(err, &wrongType) {
			continue
		}
		if line, ok := c.formatLine(&s); ok {
			return line, nil
		}
	}
}

// Widths of the columns before the title.
const (
	idWidth     = 13 // covers the random part of ids that begin with a time (Codex, pi)
	idNarrow    = 8
	narrowBelow = 64 // the list has so little room that only the title stands beside the id
	ageWidth    = 3
	agentWidth  = 8
	whoWidth    = 18
)

// formatLine returns a session in the finder's form: its id, what the preview reads of it, and the
// visible text, with tabs between them. It returns false for an id that is not one plain word, or
// that could be a flag, because the finder puts it into a shell command.
func (c *sessionReader) formatLine(s *catalog.Session) (string, bool) {
	id := string(s.ID)
	if id == "" || len(id) > maxID || id[0] == '-' || term.Quote(id) != id {
		return "", false
	}
	clean := func(text string) string { return term.OneLine(term.Clean(c.env.Redact(fold.Name(text)))) }
	who := clean(s.Actor)
	if who == "" {
		place := term.Tilde(s.CWD, c.home)
		who = clean(place)
	}
	columns := []string{
		term.Pad(id[:min(idWidth, len(id))], idWidth),
		term.Pad(formatAge(c.now, slices.MaxFunc([]time.Time{s.StartedAt, s.EndedAt, s.LastAt}, time.Time.Compare)), ageWidth),
		term.Pad(clean(s.Agent), agentWidth),
		term.Pad(term.CutFront(who, whoWidth), whoWidth),
		clean(s.Headline()),
	}
	if c.narrow { // what is cut at the end is still looked through
		columns[0] = term.Pad(id[:min(idNarrow, len(id))], idNarrow)
		columns = []string{columns[0], columns[1], columns[4], "·", strings.TrimSpace(columns[2]), who}
	}
	shown := strings.Join(columns, " ")
	return id + "\t--last=3\t" + strings.TrimRight(shown, " "), true // preview the last 3 turns
}

// formatAge formats the time since t, in the unit with the fewest digits.
func formatAge(now, t time.Time) string {
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
