package agent

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// State is what an agent's screen shows that it does.
type State int

const (
	Unknown State = iota
	Busy          // it works
	Waiting       // it asks the person something, or is ready for a prompt
)

func (s State) String() string { return [...]string{"", "running", "waiting"}[s] }

// ScreenState returns the state that a screen's text shows: Busy if it has one of the
// busy patterns, Waiting if it has one of the prompt patterns or the ready prompt. Old
// text stays on the screen, so the lowest pattern counts.
func (c Client) ScreenState(screen string) State {
	screen = strings.ToLower(screen)
	busy, waiting := c.BusyPatterns.lastMatch(screen), c.PromptPatterns.lastMatch(screen)
	if c.isAnswered(screen) {
		waiting = -1 // the question is still on the screen, above its answer
	}
	switch {
	case busy > waiting:
		return Busy
	case waiting >= 0 || busy < 0 && c.ReadyPrompt.lastMatch(screen) >= 0:
		return Waiting
	case busy >= 0:
		return Busy
	}
	return Unknown
}

// Detect returns the agent whose patterns are on a screen, or a Client without a name.
func (t *Table) Detect(screen string) Client {
	screen = strings.ToLower(screen)
	for c := range t.iterClients() {
		if c.DetectPatterns.lastMatch(screen) >= 0 {
			return c
		}
	}
	return Client{}
}

// Patterns are searched on a screen, ignoring case. Each is a plain text, or a regular
// expression after "re:", with ^ and $ for a line's ends. In a file they are a list or a
// single text.
type Patterns []string

func (p *Patterns) UnmarshalTOML(value any) error {
	list, ok := value.([]any)
	if !ok {
		list = []any{value}
	}
	*p = nil
	for _, v := range list {
		text, ok := v.(string)
		if !ok {
			return fmt.Errorf("%v is not a text", v)
		}
		if _, err := compilePattern(text); err != nil {
			return fmt.Errorf("the pattern %q: %w", text, err)
		}
		*p = append(*p, text)
	}
	return nil
}

func compilePattern(pattern string) (*regexp.Regexp, error) {
	expr, ok := strings.CutPrefix(pattern, "re:")
	if !ok {
		return nil, nil
	}
	return regexp.Compile("(?im)" + expr)
}

// lastMatch returns where the last match of any pattern begins in a lower-case screen, or -1.
func (p Patterns) lastMatch(screen string) int {
	at := -1
	for _, pattern := range p {
		if pattern == "" {
			continue
		}
		if re, _ := compilePattern(pattern); re != nil {
			if all := re.FindAllStringIndex(screen, -1); len(all) > 0 {
				at = max(at, all[len(all)-1][0])
			}
			continue
		}
		at = max(at, strings.LastIndex(screen, strings.ToLower(pattern)))
	}
	return at
}

func (p Patterns) matchesWhole(text string) bool {
	for _, pattern := range p {
		re, _ := compilePattern(pattern)
		if re != nil && re.FindString(text) == text || re == nil && strings.EqualFold(pattern, text) {
			return true
		}
	}
	return false
}

// SessionIDProbe returns the command line that starts a session whose id gt reads from
// the output, for an agent that takes no id: the agent answers the shortest possible
// prompt as JSON. It returns nil if the agent cannot do that.
func (c Client) SessionIDProbe() []string {
	if !c.CanResume() || len(c.OutputFormatFlag) == 0 || c.SessionIDJSONPath == "" {
		return nil
	}
	args := slices.Clone(c.Command)
	if c.DangerousMode {
		args = append(args, c.DangerousFlag...)
	}
	return slices.Concat(args, c.PrintFlag, c.OutputFormatFlag, []string{"."})
}

// SessionIDIn returns the text at SessionIDJSONPath in the agent's output: in the whole
// output, else in the last line that has it. It is "" if there is none, or if it is
// "null".
func (c Client) SessionIDIn(output []byte) string {
	if id := textAtPath(output, c.SessionIDJSONPath); id != "" {
		return id
	}
	lines := bytes.Split(output, []byte("\n"))
	for _, line := range slices.Backward(lines) {
		if id := textAtPath(line, c.SessionIDJSONPath); id != "" {
			return id
		}
	}
	return ""
}

// textAtPath returns the text at a path (".a.b") of a JSON document.
func textAtPath(doc []byte, path string) string {
	var v any
	if json.Unmarshal(doc, &v) != nil {
		return ""
	}
	for _, key := range strings.Split(strings.TrimPrefix(path, "."), ".") {
		object, _ := v.(map[string]any)
		v = object[key]
	}
	if id, _ := v.(string); id != "null" {
		return id
	}
	return ""
}
