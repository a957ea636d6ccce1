package cli

import (
	"strings"

	"github.com/alecthomas/kong"
)

// Model returns the program's grammar, for documentation other than its help.
func (p Program) Model() (*kong.Application, error) {
	parser, err := newParser(&Env{}, p)
	if err != nil {
		return nil, err
	}
	return parser.Model, nil
}

// ExitStatus returns the program's exit codes and their meaning: its own, then the shared
// ones.
func (p Program) ExitStatus() (codes [][2]string) {
	for line := range strings.Lines(strings.TrimSpace(p.Exits)) {
		if code, meaning, ok := strings.Cut(strings.TrimSpace(line), " "); ok {
			codes = append(codes, [2]string{code, strings.TrimSpace(meaning)})
		}
	}
	return append(codes, shared()...)
}

func shared() [][2]string {
	return [][2]string{{"70", "a bug"}, {"74", "cannot read or write"}, {"75", "busy, try again"}, {"80", "wrong usage"}}
}
