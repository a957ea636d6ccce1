package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"gt/e2e/client"
	"gt/e2e/model"
)

// key is no key: the model is on this machine and asks for none.
const key = "sk-ant-picture-0123456789abcdef0123456789"

// handover draws Claude Code before and after a hand-over.
func handover(s *stage) ([]Frame, error) {
	claude, err := client.Find("claude")
	if err != nil {
		return nil, err
	}
	m := model.Start(answer)
	defer m.Close()
	s.env = append(s.env, "ANTHROPIC_API_KEY="+key, "ANTHROPIC_BASE_URL="+m.URL,
		"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1", "DISABLE_AUTOUPDATER=1")
	project := filepath.Join(s.home, "parser")
	settings := map[string]any{"theme": "dark", "hasCompletedOnboarding": true,
		"customApiKeyResponses": map[string]any{"approved": []string{key[len(key)-20:]}, "rejected": []string{}},
		"projects":              map[string]any{project: map[string]any{"hasTrustDialogAccepted": true, "hasCompletedProjectOnboarding": true}},
	}
	text, err := json.Marshal(settings)
	if err != nil {
		return nil, err
	}
	if err := s.write(".claude.json", string(text)); err != nil {
		return nil, err
	}
	if err := s.write("parser/README.md", "a parser\n"); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(filepath.Join(s.home, "bin"), 0o700); err != nil {
		return nil, err
	}
	if err := os.Symlink(claude.Path, filepath.Join(s.home, "bin", "claude")); err != nil {
		return nil, err
	}
	if _, err := s.runProgram("parser", "git", "init", "-q"); err != nil {
		return nil, err
	}
	if _, err := s.runProgram(".", "gt-hooks", "install", "claude"); err != nil {
		return nil, err
	}
	pane := "=parser:"
	if _, err := s.tmux("new-session", "-d", "-s", "parser", "-c", project, "-x", fmt.Sprint(columns), "-y", fmt.Sprint(rows), "claude"); err != nil {
		return nil, err
	}
	if err := s.await(pane, "\n❯"); err != nil {
		return nil, err
	}
	if err := s.typ(pane, "Port the parser from C, one file at a time"); err != nil {
		return nil, err
	}
	if err := s.await(pane, "TestEmpty"); err != nil {
		return nil, err
	}
	if err := s.typing(pane, "/handoff"); err != nil {
		return nil, err
	}
	before, err := s.capture(pane)
	if err != nil {
		return nil, err
	}
	if _, err := s.tmux("send-keys", "-t", pane, "Enter"); err != nil {
		return nil, err
	}
	if err := s.await(pane, "I go on"); err != nil {
		return nil, err
	}
	if err := s.await(pane, "\n❯"); err != nil {
		return nil, err
	}
	after, err := s.capture(pane)
	if err != nil {
		return nil, err
	}
	for _, screen := range []*string{&before, &after} {
		*screen = strings.TrimLeft(worked.ReplaceAllString(*screen, "Worked for 2s"), "\n ")
	}
	return []Frame{{"the agent's context is nearly full", before}, {"the same pane, a fresh agent that knows where to go on", after}}, nil
}

// worked is what Claude Code says at the end of a turn, each time in other words.
var worked = regexp.MustCompile(`\p{Lu}\p{L}+ for [0-9]+s`)

// answer is what the model says.
func answer(r *model.Request) model.Reply {
	switch asked := r.Asked(); {
	case r.Result() != "":
		return model.Say("Handed over.")
	case strings.Contains(asked, "Go on from the note"):
		return model.Say("The note says that lexer.c and token.c are ported and that TestEmpty still fails. I go on with empty input in parse.go.")
	case strings.Contains(asked, "Port the parser"):
		return model.Say("lexer.c and token.c are ported, and their tests pass. TestEmpty still fails: empty input is next.")
	case strings.Contains(r.Text(), "gt-handoff -s"):
		return model.Bash("gt-handoff -s 'the parser is half done' -m 'lexer.c and token.c are ported. Next: empty input in parse.go; TestEmpty fails.'")
	}
	return model.Reply{}
}

// typing types a text into a pane, and waits until it is seen.
func (s *stage) typing(pane, text string) error {
	if _, err := s.tmux("send-keys", "-t", pane, "-l", text); err != nil {
		return err
	}
	return s.await(pane, "❯\u00a0"+text)
}

// typ types a line.
func (s *stage) typ(pane, line string) error {
	if err := s.typing(pane, line); err != nil {
		return err
	}
	_, err := s.tmux("send-keys", "-t", pane, "Enter")
	return err
}
