package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// standIn plays an agent: it tells gt that its session starts, and then does what it reads.
const standIn = `#!/bin/bash
agent=${0##*/}
while [ $# -gt 0 ]; do
	[ "$1" != --session-id ] || id=$2
	shift
done
id=${id:-$(cat /proc/sys/kernel/random/uuid)}
tell() { # PROGRAM... EVENT [MORE]
	printf '{"session_id":"%s","cwd":"%s","hook_event_name":"%s"%s}' $id "$PWD" "$1" "$2" |
		$3 --hook --agent $agent >/dev/null
}
tell SessionStart ',"source":"startup"' gt-prime
echo '? for shortcuts'
while read -r line; do eval "$line"; done
`

// A member of the fleet, and what its hooks tell.
type member struct {
	agent, folder, group, tells, then string
	lasts                             string // in the picture
}

var agents = []member{
	{"claude", "api", "shop", "tell UserPromptSubmit '' 'gt-keepalive touch'", "", "4m12s"},
	{"codex", "web", "shop", `tell UserPromptSubmit '' 'gt-keepalive touch'; tell PermissionRequest ',"tool_name":"Bash","tool_input":{"command":"npm test"}' 'gt-keepalive touch'`, "", "38s"},
	{"claude", "docs", "shop", "tell UserPromptSubmit '' 'gt-keepalive touch'; tell Stop '' 'gt-keepalive touch'", "", "12m8s"},
	{"claude", "parser", "", "tell UserPromptSubmit '' 'gt-keepalive touch'; tell Stop '' 'gt-keepalive touch'", "ack", "3h20m"},
	{"gemini", "bench", "", "", "stop", ""},
}

// fleet draws the list of a few agents.
func fleet(s *stage) ([]Frame, error) {
	for _, a := range agents {
		if err := s.begin(a); err != nil {
			return nil, err
		}
	}
	shell := `PS1='$ ' exec bash --norc --noprofile -i`
	if _, err := s.tmux("new-session", "-d", "-s", "shell", "-c", s.home, "-x", fmt.Sprint(columns), "-y", fmt.Sprint(rows), shell); err != nil {
		return nil, err
	}
	if err := s.await("=shell:", "$"); err != nil {
		return nil, err
	}
	for _, c := range []struct{ line, shows string }{
		{"gt-session", "bench"},
		{"gt-session status", "waiting (done) for"},
	} {
		if _, err := s.tmux("send-keys", "-t", "=shell:", c.line, "Enter"); err != nil {
			return nil, err
		}
		if err := s.await("=shell:", c.shows); err != nil {
			return nil, err
		}
	}
	screen, err := s.capture("=shell:")
	if err != nil {
		return nil, err
	}
	return []Frame{{"what each agent does now", sameTimes(screen)}}, nil
}

// begin starts an agent, and has its hooks tell what it does.
func (s *stage) begin(a member) error {
	if err := s.write("bin/"+a.agent, standIn); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Join(s.home, "src", a.folder), 0o700); err != nil {
		return err
	}
	args := []string{"new", "--agent", a.agent}
	if a.group != "" {
		args = append(args, "-g", a.group)
	}
	if _, err := s.runProgram("src/"+a.folder, "gt-session", args...); err != nil {
		return err
	}
	pane, err := s.runProgram(".", "sh", "-c", fmt.Sprintf(`gt-session list --json | sed -n 's/.*"name":"%s".*"pane":"\([^"]*\)".*/\1/p'`, a.folder))
	if err != nil {
		return err
	}
	if a.tells != "" {
		if _, err := s.tmux("send-keys", "-t", pane, "-l", a.tells+"; echo told"); err != nil {
			return err
		}
		if _, err := s.tmux("send-keys", "-t", pane, "Enter"); err != nil {
			return err
		}
		if err := s.await(pane, "\ntold"); err != nil {
			return err
		}
	}
	if a.then == "" {
		return nil
	}
	_, err = s.runProgram(".", "gt-session", a.then, a.folder)
	return err
}

// The cells of the list that say how long an agent has been as it is, with the blanks
// behind them, and the agent; and what says so in the sentences of the count.
var (
	cell     = regexp.MustCompile(`^((?:\x1b\[[0-9;]*m)*)([a-z]+)(.*)(.{5})(claude|codex|gemini) `)
	sentence = regexp.MustCompile(`^(  )([a-z]+)(  .* for )[0-9]+s$`)
)

// sameTimes puts the times of the agents in the place of those of the run, which took
// seconds.
func sameTimes(screen string) string {
	lasts := map[string]string{}
	for _, a := range agents {
		lasts[a.folder] = a.lasts
	}
	lines := strings.Split(screen, "\n")
	for i, line := range lines {
		if m := cell.FindStringSubmatch(line); m != nil {
			line = m[1] + m[2] + m[3] + fmt.Sprintf("%-7s", lasts[m[2]]) + line[len(m[0])-len(m[5])-1:]
		} else if m := sentence.FindStringSubmatch(line); m != nil {
			line = m[1] + m[2] + m[3] + lasts[m[2]]
		}
		lines[i] = strings.Replace(line, "FOR", "FOR  ", 1)
	}
	return strings.Join(lines, "\n")
}
