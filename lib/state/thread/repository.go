package thread

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"slices"

	"gt/lib/place"
	"gt/lib/state/session"
)

// RepositoryID returns the name of the thread that has the rules of a repository, by the git
// directory that its worktrees share. That thread has instructions and nothing else.
func RepositoryID(gitDir string) session.ID {
	sum := sha256.Sum256([]byte(gitDir))
	return session.ID("repository-" + hex.EncodeToString(sum[:16]))
}

// Rules returns the rules of a repository, none if they cannot be read, which causes a
// warning.
func Rules(state place.State, gitDir string, warn func(error)) []Instruction {
	t, err := Read(state, RepositoryID(gitDir), warn)
	if err != nil {
		if !errors.Is(err, ErrNone) && warn != nil {
			warn(err)
		}
		return nil
	}
	return t.Instructions
}

// WithRules returns the thread of a chain with a repository's rules before its own
// instructions, without those that an instruction of the chain replaces. A chain that has no
// thread gets one if there are rules.
func WithRules(t *Thread, chain session.ID, rules []Instruction) *Thread {
	if len(rules) == 0 {
		return t
	}
	joined := Thread{ChainID: chain}
	if t != nil {
		joined = *t
	}
	rules = slices.DeleteFunc(slices.Clone(rules), func(rule Instruction) bool {
		return slices.ContainsFunc(joined.Instructions, func(own Instruction) bool { return own.Replaces(rule.Instruction) })
	})
	joined.Instructions = slices.Concat(rules, joined.Instructions)
	return &joined
}
