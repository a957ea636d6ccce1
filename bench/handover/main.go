// Handover measures what a hand-over keeps: it plants facts in a long session
// and its repository, lets the session end in the ways that sessions end, and
// counts how many of the facts the successor is told of.
//
//	go run ./bench/handover [-mb 30] [-keep DIR]
//
// Counted is what reaches the model: at most 10,000 UTF-16 code units, of which
// a client that finds the text too long shows only the first 2 KB. Beside gt
// stands what a person has without it: the end of the transcript as text, and
// what git says.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"gt/bench/measure"
	"gt/lib/client/contract"
)

func main() {
	if len(os.Args) == 2 && os.Args[1] == "client" {
		client()
		return
	}
	mb := flag.Int("mb", 30, "megabytes of transcript")
	keep := flag.String("keep", "", "leave everything that was written in this folder")
	flag.Parse()
	if err := run(*mb, *keep); err != nil {
		fmt.Fprintln(os.Stderr, "handover: error:", err)
		os.Exit(1)
	}
}

// The limits of a client's start-up text.
const (
	limit   = 10_000
	preview = 2048
)

// way is one way in which a session can end and another begin.
type way struct {
	name string
	text func(*world) (string, error) // what the successor is told
}

var ways = []way{
	{"gt-handoff", handedOver},
	{"killed after --auto", killedAfterAuto},
	{"killed", killed},
	{"told the summariser", toldSummariser},
	{"conversation's end", transcriptEnd},
	{"git status, log", gitSays},
}

func run(mb int, keep string) error {
	measure.Head("go run ./bench/handover")
	dir := keep
	if dir == "" {
		// Of the same length each time: it stands in many paths.
		dir = filepath.Join(os.TempDir(), fmt.Sprintf("gt-handover-%08d", os.Getpid()))
		if err := os.Mkdir(dir, 0o700); err != nil {
			return err
		}
		defer os.RemoveAll(dir)
	}
	// The client is a copy of this program, so that its processes are real.
	bin = filepath.Join(dir, "bin")
	build := exec.Command("go", "build", "-o", bin+"/", "gt/cmd/...", "gt/bench/handover")
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("cannot build: %w\n%s", err, out)
	}

	results := map[form][]result{}
	for _, f := range []form{tasks, todoWrite} {
		for i, y := range ways {
			w, err := newWorld(filepath.Join(dir, fmt.Sprintf("%d-%d", f, i)))
			if err != nil {
				return err
			}
			if err := w.write(mb<<20, f); err != nil {
				return err
			}
			text, err := y.text(w)
			if err != nil {
				return fmt.Errorf("%s: %w", y.name, err)
			}
			if err := os.WriteFile(filepath.Join(w.dir, "told.txt"), []byte(text), 0o600); err != nil {
				return err
			}
			results[f] = append(results[f], count(w, text))
			if keep == "" {
				os.RemoveAll(w.dir)
			}
		}
	}
	report(mb, results)
	details, err := lineage(dir, keep != "")
	if err != nil {
		return err
	}
	fmt.Printf("\n%s\n\nMissed:\n\n", measure.Detail)
	for i, r := range results[tasks] {
		fmt.Printf("- %s: %s\n", ways[i].name, strings.Join(r.missed, " "))
	}
	fmt.Print(details)
	return nil
}

// result says how many facts of a kind reached the successor.
type result struct {
	planted, whole, first map[string]int
	units                 int
	missed                []string
}

func count(w *world, text string) result {
	r := result{map[string]int{}, map[string]int{}, map[string]int{}, contract.UTF16Units(text), nil}
	front := text[:min(preview, len(text))]
	for _, f := range w.facts {
		r.planted[f.kind]++
		if strings.Contains(text, f.marker) {
			r.whole[f.kind]++
		} else {
			r.missed = append(r.missed, f.marker)
		}
		if strings.Contains(front, f.marker) {
			r.first[f.kind]++
		}
	}
	return r
}

// report prints the table, as Markdown.
func report(mb int, results map[form][]result) {
	fmt.Printf("A cell shows the facts of a session of %d MB within %d units, then those within the first %d bytes.\n\n", mb, limit, preview)
	fmt.Print("| what | planted |")
	for _, y := range ways {
		fmt.Printf(" %s |", y.name)
	}
	fmt.Printf("\n|---|---|%s\n", strings.Repeat("---|", len(ways)))
	row := func(name, kind string, rs []result) {
		fmt.Printf("| %s | %d |", name, rs[0].planted[kind])
		for _, r := range rs {
			fmt.Printf(" %d/%d |", r.whole[kind], r.first[kind])
		}
		fmt.Println()
	}
	for _, kind := range kinds {
		if kind == openTodos {
			row(kind+" (Task tools)", kind, results[tasks])
			row(kind+" (TodoWrite)", kind, results[todoWrite])
			continue
		}
		row(kind, kind, results[tasks])
	}
	total := func(m map[string]int) int {
		n := 0
		for _, v := range m {
			n += v
		}
		return n
	}
	fmt.Printf("| **all** | %d |", total(results[tasks][0].planted))
	for _, r := range results[tasks] {
		fmt.Printf(" %d/%d |", total(r.whole), total(r.first))
	}
	fmt.Print("\n| units | |")
	for _, r := range results[tasks] {
		fmt.Printf(" %d |", r.units)
	}
	fmt.Println()
}

// bin is where the binaries are.
var bin string

// step is a command that runs below a client: a hook of it, or what the agent
// runs in its shell.
type step struct {
	Args  []string
	Env   []string
	Stdin string
}

// client plays an agent's client: it runs the commands that it reads from
// standard input, prints what each said on standard output, and waits to be
// killed or told to end.
func client() {
	in := json.NewDecoder(os.Stdin)
	out := json.NewEncoder(os.Stdout)
	for {
		var s step
		if in.Decode(&s) != nil {
			return
		}
		c := exec.Command(s.Args[0], s.Args[1:]...)
		c.Env, c.Stdin, c.Stderr = append(os.Environ(), s.Env...), strings.NewReader(s.Stdin), os.Stderr
		text, err := c.Output()
		if err != nil {
			fmt.Fprintf(os.Stderr, "%q: %v\n", s.Args, err)
		}
		out.Encode(string(text))
	}
}

// agent is a running client in a session.
type agent struct {
	w       *world
	name    string // claude or codex
	session string
	path    string // of its conversation
	cmd     *exec.Cmd
	in      *json.Encoder
	out     *json.Decoder
	close   func() error
}

func (w *world) start(session string) (*agent, error) {
	c := exec.Command(filepath.Join(bin, "handover"), "client")
	c.Dir, c.Env, c.Stderr = w.repo, w.environ(), os.Stderr
	in, err := c.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := c.StdoutPipe()
	if err != nil {
		return nil, err
	}
	return &agent{w, "claude", session, filepath.Join(filepath.Dir(w.transcript), session+".jsonl"), c, json.NewEncoder(in), json.NewDecoder(out), in.Close}, c.Start()
}

// run runs a command below the client and returns what it printed.
func (a *agent) run(s step) (string, error) {
	s.Args[0] = filepath.Join(bin, s.Args[0])
	switch a.name {
	case "claude":
		s.Env = append(s.Env, "CLAUDECODE=1", "CLAUDE_CODE_SESSION_ID="+a.session)
	case "codex":
		s.Env = append(s.Env, "CODEX_SESSION_ID="+a.session, "CODEX_THREAD_ID="+a.session)
	}
	if err := a.in.Encode(s); err != nil {
		return "", err
	}
	var text string
	return text, a.out.Decode(&text)
}

// hook runs a command as the hook of an event.
func (a *agent) hook(event string, more object, args ...string) (string, error) {
	input := object{
		"session_id": a.session, "transcript_path": a.path,
		"cwd": a.w.repo, "hook_event_name": event,
	}
	maps.Copy(input, more)
	data, err := json.Marshal(input)
	if err != nil {
		return "", err
	}
	return a.run(step{Args: args, Stdin: string(data) + "\n", Env: []string{"CLAUDE_PROJECT_DIR=" + a.w.repo}})
}

func (a *agent) prime() (string, error) {
	return a.hook("SessionStart", object{"source": "startup"}, "gt-prime", "--hook", "--agent", "claude")
}

func (a *agent) kill() { a.cmd.Process.Signal(syscall.SIGKILL); a.cmd.Wait() }

func (a *agent) end() error {
	if _, err := a.hook("SessionEnd", object{"reason": "other"}, "gt-keepalive", "end", "--hook", "--agent", a.name); err != nil {
		return err
	}
	if err := a.close(); err != nil {
		return err
	}
	return a.cmd.Wait()
}

// day lets the session begin, and leaves the repository and the notes as they
// are at its end.
func (w *world) day() (*agent, error) {
	a, err := w.start(w.session)
	if err != nil {
		return nil, err
	}
	if _, err := a.prime(); err != nil {
		return nil, err
	}
	if err := w.repository(); err != nil {
		return nil, err
	}
	p := w.facts.plant
	if _, err := a.run(step{Args: []string{"gt-mail", "send", "ledger", "-s", "Staging is red since " + p(unread), "-m", "please look"}}); err != nil {
		return nil, err
	}
	if _, err := a.run(step{Args: []string{"gt-mail", "hook", "--new", "-s", "Port " + p(hooked), "-m", "- [ ] first\n- [ ] then " + p(hooked)}}); err != nil {
		return nil, err
	}
	// The turn before the last has ended.
	_, err = a.hook("Stop", object{"stop_hook_active": false, "last_assistant_message": "…"}, "gt-checkpoint", "write", "--hook")
	return a, err
}

// successor starts the next session and returns what it is told.
func (w *world) successor() (string, error) {
	a, err := w.start("5e55104a-0000-4000-8000-000000000002")
	if err != nil {
		return "", err
	}
	text, err := a.prime()
	if err != nil {
		return "", err
	}
	return text, a.end()
}

func handedOver(w *world) (string, error) {
	a, err := w.day()
	if err != nil {
		return "", err
	}
	if _, err := a.run(step{Args: []string{"gt-handoff", "--no-git-check"}, Env: []string{"GT_HOME=" + w.repo, "GT_SESSION_UUID=" + w.session}}); err != nil {
		return "", err
	}
	if err := a.end(); err != nil {
		return "", err
	}
	return w.successor()
}

// auto runs the hook before a compaction and returns what the summariser is
// told.
func auto(w *world) (*agent, string, error) {
	a, err := w.day()
	if err != nil {
		return nil, "", err
	}
	start := time.Now()
	text, err := a.hook("PreCompact", object{"trigger": "auto", "custom_instructions": nil}, "gt-handoff", "--auto", "--hook", "--agent", "claude")
	fmt.Fprintf(os.Stderr, "gt-handoff --auto with %d MB of transcript: %v\n", w.size>>20, time.Since(start).Round(100*time.Microsecond))
	return a, text, err
}

func killedAfterAuto(w *world) (string, error) {
	a, _, err := auto(w)
	if err != nil {
		return "", err
	}
	a.kill()
	return w.successor()
}

func toldSummariser(w *world) (string, error) {
	a, text, err := auto(w)
	if err != nil {
		return "", err
	}
	return text, a.end()
}

func killed(w *world) (string, error) {
	a, err := w.day()
	if err != nil {
		return "", err
	}
	a.kill()
	return w.successor()
}

// transcriptEnd is the end of the transcript as a person would paste it: who
// said what, which tool was called with what, and what it returned.
func transcriptEnd(w *world) (string, error) {
	if a, err := w.day(); err != nil {
		return "", err
	} else if err := a.end(); err != nil {
		return "", err
	}
	return endOfFile(w.transcript)
}

func endOfFile(path string) (string, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	lines := strings.Split(string(data[max(0, len(data)-4<<20):]), "\n")
	var said []string
	size := 0
	for _, line := range slices.Backward(lines) {
		var r struct {
			Type    string
			Message struct{ Content any } // Claude Code's
			Payload object                // Codex's
		}
		if json.Unmarshal([]byte(line), &r) != nil {
			continue
		}
		var text string
		switch r.Type {
		case "user", "assistant":
			text = r.Type + ": " + plain(r.Message.Content)
		case "response_item":
			text = fmt.Sprint(r.Payload["role"]) + ": " + plain(r.Payload)
		default:
			continue
		}
		said = append(said, text)
		if size += len(text); size > limit {
			break
		}
	}
	slices.Reverse(said)
	text := strings.Join(said, "\n")
	return text[max(0, len(text)-limit):], nil
}

func plain(content any) string {
	switch c := content.(type) {
	case string:
		return c
	case []any:
		var all []string
		for _, b := range c {
			all = append(all, plain(b))
		}
		return strings.Join(all, "\n")
	case object:
		switch c["type"] {
		case "message":
			return plain(c["content"])
		case "function_call":
			return fmt.Sprintf("%s %s", c["name"], c["arguments"])
		case "function_call_output":
			return plain(c["output"])
		case "text", "input_text", "output_text":
			return plain(c["text"])
		case "tool_result":
			return plain(c["content"])
		case "tool_use":
			input, _ := json.Marshal(c["input"])
			return fmt.Sprintf("%s %s", c["name"], input)
		}
	}
	return ""
}

func gitSays(w *world) (string, error) {
	if a, err := w.day(); err != nil {
		return "", err
	} else if err := a.end(); err != nil {
		return "", err
	}
	c := exec.Command("sh", "-c", "git status; git log --stat -5")
	c.Dir, c.Env = w.repo, w.environ()
	out, err := c.Output()
	return string(out[:min(len(out), limit)]), err
}
