package cli

import (
	"strings"

	"github.com/alecthomas/kong"
)

// Model returns the program's grammar as kong has it, for what shows it elsewhere than in
// its help.
func (p Program) Model() (*kong.Application, error) {
	parser, err := newParser(&Env{}, p)
	if err != nil {
		return nil, err
	}
	return parser.Model, nil
}

// ExitStatus returns the program's exit codes and what each means: its own, then those
// that all programs share.
func (p Program) ExitStatus() (codes [][2]string) {
	for line := range strings.Lines(strings.TrimSpace(p.Exits)) {
		if code, meaning, ok := strings.Cut(strings.TrimSpace(line), " "); ok {
			codes = append(codes, [2]string{code, strings.TrimSpace(meaning)})
		}
	}
	return append(codes, shared()...)
}

// shared are the exit codes of every program besides its own.
func shared() [][2]string {
	return [][2]string{{"70", "a bug"}, {"74", "cannot read or write"}, {"75", "busy, try again"}, {"80", "wrong usage"}}
}
