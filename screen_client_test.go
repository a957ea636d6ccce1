package gt_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"
)

// screen is the terminal of claude in a pane: an input box, as Claude Code shows it, and
// bracketed paste. With SCREEN=1 there are its questions and the hooks of a turn as well;
// without, of one that gt-session starts, what it is told stands in claude-N.prompts, and
// nothing more happens.
//
//	a prompt with "work"  is worked on until $WORK/go is there, which it removes; not a beacon
//	a prompt with "run"   is asked permission for, with three options, which have no numbers
//	                      where it has "auto" as well: arrow keys and Enter take one
//	a prompt with "disk"  has its answer in the conversation only once $WORK/disk is there
//	a prompt with "leave" has the client end, as /exit does; with "then leave" it answers first
//
// What it is told stands in claude-N.prompts, a JSON text a line, and what it was answered
// in claude-N.answers; what it was told while it worked, in claude-N.queued; and what it was
// told last when a turn had ended and its hook had run, in claude-N.ended.
// LOSES=x has it lose as many texts as that has letters, DROPS=x as many pastes, and DELAYS=x
// draw as many pastes only behind the next key; FREEZES=1 has it read nothing while $WORK/frozen is there; SWALLOW=xx has it miss as many
// Enters, as clients do in whose box a menu is open, and LATE=1 tells of an earlier prompt then; NOHOOKS=1 has it run no hook at a prompt, and
// SLOW=1 take up what it was told while it worked only once $WORK/next is there. EAGER=1
// has it submit what is pasted by itself, STAYS=1 leave /exit in its box when it ends, and
// ASKS=1, without SCREEN, ask at its start. BEGINS_LATE=1 has it run its first hook with its
// first prompt, as Codex does. SAVES=1 has a question stay for three seconds
// after an answer, drawn anew, and take another.
type screen struct {
	path         string
	hook         func(event string, fields ...string) // with more fields, as "error=rate_limit"
	work         func(prompt string) (asks bool)      // what it does in a turn, nil: as above
	ended        func()                               // and at its end
	conversation string                               // its file
	end          func()
	mu           sync.Mutex
	said         []string
	draft        string
	queue        []string
	busy         bool
	quiet        bool // it does nothing
	asking       bool
	saving       bool
	arrows       bool // its options have no numbers
	selected     int
	swallow      int
	loses        int
	drops        int
	delays       int
	freezes      bool
	delayed      string // what is pasted before the draft that is shown, and not drawn yet
}

var questions = []string{"Yes", "Yes, and do not ask again", "No"}

func (s *screen) run() error {
	raw := exec.Command("stty", "raw", "-echo")
	raw.Stdin = os.Stdin
	if err := raw.Run(); err != nil {
		return err
	}
	s.swallow, s.loses = len(os.Getenv("SWALLOW")), len(os.Getenv("LOSES"))
	s.freezes = os.Getenv("FREEZES") != ""
	s.drops, s.delays = len(os.Getenv("DROPS")), len(os.Getenv("DELAYS"))
	s.asking = os.Getenv("ASKS") != ""
	fmt.Print("\x1b[?2004h")
	s.draw()
	var pasted strings.Builder
	pasting := false
	seq := ""
	buf := make([]byte, 64<<10)
	for {
		n, err := os.Stdin.Read(buf)
		if err != nil {
			return err
		}
		for s.freezes {
			if _, err := os.Stat(filepath.Join(os.Getenv("WORK"), "frozen")); err != nil {
				break
			}
			time.Sleep(5 * time.Millisecond)
		}
		s.mu.Lock()
		for _, c := range buf[:n] {
			if c == '\x1b' || seq != "" {
				seq += string(c)
				switch {
				case seq == "\x1b[200~":
					pasting, seq = true, ""
				case seq == "\x1b[201~":
					switch text := strings.ReplaceAll(pasted.String(), "\r", "\n"); {
					case s.drops > 0:
						s.drops--
					case s.delays > 0:
						s.delays--
						s.delayed += text
					default:
						s.draft += text
					}
					pasting, seq = false, ""
					pasted.Reset()
					if os.Getenv("EAGER") != "" {
						s.key('\r')
					}
				case s.asking && s.arrows && (seq == "\x1b[A" || seq == "\x1bOA"):
					s.selected, seq = max(s.selected-1, 0), ""
				case s.asking && s.arrows && (seq == "\x1b[B" || seq == "\x1bOB"):
					s.selected, seq = min(s.selected+1, len(questions)-1), ""
				case s.asking && s.arrows && seq == "\x1bO":
				case len(seq) >= 6 || len(seq) > 1 && !strings.HasPrefix("\x1b[200~\x1b[201~", seq) && !strings.HasPrefix("\x1b[201~", seq):
					seq = ""
				}
				continue
			}
			if pasting {
				pasted.WriteByte(c)
				continue
			}
			s.key(c)
		}
		s.mu.Unlock()
		s.draw()
	}
}

// key takes a key that was typed.
func (s *screen) key(c byte) {
	switch {
	case s.asking && c == '\r':
		s.choose(s.selected)
	case s.asking && s.arrows:
	case s.asking:
		if n := int(c - '0'); n >= 1 && n <= len(questions) {
			s.choose(n - 1)
		}
	case c == '\r' && s.draft == "/exit" && os.Getenv("STAYS") != "":
		go s.end()
	case c == '\r' && s.draft != "":
		if s.swallow > 0 {
			s.swallow--
			if os.Getenv("LATE") != "" {
				go s.hook("UserPromptSubmit")
			}
			return
		}
		prompt := s.draft
		s.draft = ""
		if s.loses > 0 {
			s.loses--
			return
		}
		if s.busy {
			s.queue = append(s.queue, prompt)
			appendTo(s.path+".queued", prompt)
			return
		}
		s.busy = true
		go s.turn(prompt)
	case c == 0x15: // Ctrl-U
		s.draft = ""
	case c == 0x7f: // Backspace
		if r := []rune(s.draft); len(r) > 0 {
			s.draft = string(r[:len(r)-1])
		}
	case c == 3: // Ctrl-C
		go s.end()
	case c >= ' ':
		s.draft, s.delayed = s.delayed+s.draft+string(rune(c)), ""
	}
}

// choose takes an option of the question, which goes at once. With SAVES=1 it stays while
// the answer is saved.
func (s *screen) choose(n int) {
	appendTo(s.path+".answers", questions[n])
	if os.Getenv("SAVES") == "" {
		s.asking = false
		go s.endTurn()
		return
	}
	if s.saving {
		return
	}
	s.saving = true
	time.AfterFunc(3*time.Second, func() {
		s.mu.Lock()
		s.asking, s.saving = false, false
		s.mu.Unlock()
		s.endTurn()
	})
}

func appendTo(path string, text string) {
	var line bytes.Buffer
	to := json.NewEncoder(&line)
	to.SetEscapeHTML(false)
	_ = to.Encode(text) // it is a text
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		panic(err)
	}
	defer f.Close()
	f.Write(line.Bytes())
}

// write adds a record to the conversation.
func (s *screen) write(kind string, message any) {
	data, err := json.Marshal(map[string]any{
		"type": kind, "message": message, "uuid": uuid.NewString(), "timestamp": time.Now().UTC(), "sessionId": filepath.Base(strings.TrimSuffix(s.conversation, ".jsonl")),
	})
	if err == nil {
		err = os.MkdirAll(filepath.Dir(s.conversation), 0o700)
	}
	if err != nil {
		panic(err)
	}
	f, err := os.OpenFile(s.conversation, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		panic(err)
	}
	defer f.Close()
	f.Write(append(data, '\n'))
}

// turn does what it is told.
func (s *screen) turn(prompt string) {
	appendTo(s.path+".prompts", prompt)
	if s.quiet {
		s.mu.Lock()
		s.said, s.busy = append(s.said, "❯ "+prompt), false
		s.mu.Unlock()
		s.draw()
		if prompt == "/exit" {
			s.end()
		}
		return
	}
	s.write("user", map[string]any{"role": "user", "content": strings.TrimSpace(prompt)})
	s.mu.Lock()
	s.said = append(s.said, "❯ "+prompt)
	s.mu.Unlock()
	s.draw()
	if os.Getenv("NOHOOKS") == "" {
		s.hook("UserPromptSubmit")
	}
	go_ := filepath.Join(os.Getenv("WORK"), "go")
	switch {
	case s.work != nil && prompt != "/exit":
		if s.work(prompt) {
			s.mu.Lock()
			s.asking = true
			s.mu.Unlock()
			s.draw()
			s.hook("PermissionRequest")
			return
		}
	case strings.HasPrefix(prompt, "[GAS TOWN]"):
	case strings.Contains(prompt, "work"):
		for os.Remove(go_) != nil {
			time.Sleep(5 * time.Millisecond)
		}
	case strings.Contains(prompt, "leave"), prompt == "/exit":
		if strings.Contains(prompt, "then leave") {
			s.endTurn()
		}
		s.end()
		return
	case strings.Contains(prompt, "run"):
		s.mu.Lock()
		s.asking, s.arrows, s.selected = true, strings.Contains(prompt, "auto"), 0
		s.mu.Unlock()
		s.draw()
		return
	}
	s.endTurn()
}

// endTurn ends a turn and begins the next.
func (s *screen) endTurn() {
	if s.quiet {
		return
	}
	s.mu.Lock()
	prompt := strings.TrimPrefix(s.said[len(s.said)-1], "❯ ")
	answer := "ANSWER to " + prompt[strings.LastIndex(prompt, "\n")+1:]
	s.said = append(s.said, "● "+answer)
	s.mu.Unlock()
	message := map[string]any{"id": fmt.Sprint("msg_", len(s.said)), "role": "assistant", "content": []any{map[string]string{"type": "text", "text": answer}}}
	if strings.Contains(prompt, "disk") {
		go func() {
			for os.Remove(filepath.Join(os.Getenv("WORK"), "disk")) != nil {
				time.Sleep(5 * time.Millisecond)
			}
			s.write("assistant", message)
		}()
	} else {
		s.write("assistant", message)
	}
	if s.ended != nil {
		s.ended()
	}
	if os.Getenv("NOHOOKS") == "" {
		s.hook("Stop")
	}
	appendTo(s.path+".ended", prompt)
	s.mu.Lock()
	s.busy = len(s.queue) > 0
	if s.busy {
		next := s.queue[0]
		s.queue = s.queue[1:]
		go func() {
			for os.Getenv("SLOW") != "" && os.Remove(filepath.Join(os.Getenv("WORK"), "next")) != nil {
				time.Sleep(5 * time.Millisecond)
			}
			s.turn(next)
		}()
	}
	s.mu.Unlock()
	s.draw()
}

// draw draws the whole screen.
func (s *screen) draw() {
	s.mu.Lock()
	defer s.mu.Unlock()
	lines := append([]string{"Claude Code v0"}, s.said...)
	rule := "\x1b[38;5;244m" + strings.Repeat("─", 60) + "\x1b[39m"
	switch {
	case s.asking:
		lines = append(lines, rule, " Bash command", "   touch made", " Do you want to proceed?")
		for i, q := range questions {
			mark := " "
			if i == s.selected {
				mark = "❯"
			}
			if !s.arrows {
				q = fmt.Sprintf("%d. %s", i+1, q)
			}
			lines = append(lines, fmt.Sprintf(" %s %s", mark, q))
		}
		lines = append(lines, " Esc to cancel · Tab to amend")
	default:
		if s.busy {
			lines = append(lines, "✻ Puzzling…")
			for _, prompt := range s.queue {
				lines = append(lines, "  ❯ "+prompt)
			}
		}
		box := "❯ \x1b[7m \x1b[0m"
		switch {
		case strings.Count(s.draft, "\n") > 3 || len(s.draft) > 800:
			box = fmt.Sprintf("❯ [Pasted text #1 +%d lines]", strings.Count(s.draft, "\n"))
		case s.draft != "":
			box = "❯ " + strings.ReplaceAll(s.draft, "\n", "\n  ") + "\x1b[7m \x1b[0m"
		case len(s.queue) > 0:
			box = "❯ \x1b[7mP\x1b[0;2mress up to edit queued messages\x1b[0m"
		}
		lines = append(lines, rule, box, rule, "  ? for shortcuts")
	}
	text := strings.Join(lines, "\n")
	all := strings.Split(text, "\n")
	all = all[max(len(all)-40, 0):]
	if s.saving { // it is busy
		fmt.Print("\x1b[H\x1b[2J")
		time.Sleep(500 * time.Millisecond)
	}
	fmt.Print("\x1b[H\x1b[2J" + strings.Join(slices.Clip(all), "\r\n"))
}
