// Conformance measures which kinds of what a person said still reach the model after five
// compactions and a hand-over: it plants twenty sentences, four of each kind, among other
// messages, and looks for their exact tokens. No model takes part. It follows the public
// description of the Compaction Conformance Kit (typed canaries, rounds, survival by kind),
// with sentences, values and noise of its own.
//
//	go run ./bench/conformance [-set held,pasted] [-first 101] [-seeds 3] [-keep DIR]
//
// Beside gt stand the end of the conversation and the first words of each message, in as
// much room.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"gt/bench/measure"
	"gt/internal/testenv"
	"gt/lib/client/contract"
)

type object = map[string]any

func main() {
	if len(os.Args) == 2 && os.Args[1] == "client" {
		client(os.Stdin, os.Stdout)
		return
	}
	b := bench{}
	sets := flag.String("set", "held,pasted", "the sentences and the noise: held, pasted, or tuned on which the ranking was tuned; several one after the other")
	first := flag.Uint64("first", 101, "the first seed")
	seeds := flag.Uint64("seeds", 3, "how many seeds")
	flag.StringVar(&b.keep, "keep", "", "leave everything that was written in this folder")
	flag.StringVar(&b.bin, "programs", "", "take gt's programs from this folder (default: build them)")
	flag.Parse()
	measure.Head("go run ./bench/conformance")
	if err := b.run(strings.Split(*sets, ","), *first, *seeds); err != nil {
		fmt.Fprintln(os.Stderr, "conformance: error:", err)
		os.Exit(1)
	}
}

// lengths are the lengths of the sessions in messages, and rooms those of the start-up
// texts in UTF-16 units.
var (
	lengths = []int{60, 180, 600}
	rooms   = []int{2000, 4000, 10_000}
)

const rounds = 5

type bench struct{ set, keep, bin, dir string }

// column is what one way tells in one room, over all seeds.
type column struct {
	name           string
	planted, found map[string]int
	stale, units   int
	missed         []string
}

func (c *column) count(all []canary, text string) {
	c.units += contract.UTF16Units(text)
	lower := strings.ToLower(text)
	for _, canary := range all {
		c.planted[canary.kind]++
		survived := true
		for _, token := range canary.tokens {
			survived = survived && strings.Contains(lower, token)
		}
		if survived {
			c.found[canary.kind]++
		} else {
			c.missed = append(c.missed, canary.text)
		}
		for line := range strings.Lines(lower) {
			for _, old := range canary.stale {
				now := canary.tokens[len(canary.tokens)-1]
				if i := strings.Index(line, old); i >= 0 && !strings.Contains(line[:i], now) {
					c.stale++
				}
			}
		}
	}
}

func (b *bench) run(sets []string, first, seeds uint64) (err error) {
	if b.dir = b.keep; b.dir == "" {
		var remove func()
		if b.dir, remove, err = testenv.Folder(); err != nil {
			return err
		}
		defer remove()
	}
	if b.bin == "" {
		b.bin = filepath.Join(b.dir, "bin")
		if out, err := exec.Command("go", "build", "-o", b.bin+"/", "gt/cmd/...").CombinedOutput(); err != nil {
			return fmt.Errorf("cannot build: %w\n%s", err, out)
		}
	}
	var detail strings.Builder
	fmt.Printf("| %% of %d sentences that are told, with a label/without |", len(kinds)*4)
	for _, length := range lengths {
		fmt.Printf(" of %d messages |", length)
	}
	fmt.Println("\n|---|" + strings.Repeat("---|", len(lengths)))
	for _, b.set = range sets {
		var order []string
		cells := map[string][]string{}
		for _, length := range lengths {
			for _, labelled := range []bool{true, false} {
				columns, err := b.columns(length, labelled, first, seeds)
				if err != nil {
					return err
				}
				report(&detail, fmt.Sprintf("%s, %d messages", b.set, length), labelled, columns)
				for _, c := range columns {
					if cells[c.name] == nil {
						order = append(order, c.name)
					}
					cells[c.name] = append(cells[c.name], c.percent())
				}
			}
		}
		for _, name := range order {
			fmt.Printf("| %s: %s |", b.set, name)
			for i := range lengths {
				fmt.Printf(" %s/%s |", cells[name][2*i], cells[name][2*i+1])
			}
			fmt.Println()
		}
	}
	fmt.Printf("\n%s\n%s", measure.Detail, detail.String())
	fmt.Println("\nA client's own summary, as published for another protocol: 53 % of safety rules after one round and 10 % after five; over 43 compactions 77 % of decisions, 10 % of paths, 2 % of numbers, 0.2 % of commands.")
	return nil
}

// columns has the sessions of all seeds told in each way.
func (b *bench) columns(length int, labelled bool, first, seeds uint64) (order []*column, err error) {
	columns := map[string]*column{}
	for seed := first; seed < first+seeds; seed++ {
		v := values{rand.New(rand.NewPCG(seed, uint64(length)))}
		all := v.canaries(b.set, labelled)
		said := v.session(b.set, all, length)
		if err := b.session(fmt.Sprintf("%s-%d-%v-%d", b.set, length, labelled, seed), said, func(name, text string) {
			c := columns[name]
			if c == nil {
				c = &column{name: name, planted: map[string]int{}, found: map[string]int{}}
				columns[name], order = c, append(order, c)
			}
			c.count(all, text)
		}); err != nil {
			return nil, err
		}
	}
	return order, nil
}

// percent is how much of all was told.
func (c *column) percent() string {
	planted, found := 0, 0
	for kind, n := range c.planted {
		planted += n
		found += c.found[kind]
	}
	return fmt.Sprint(100 * found / planted)
}

func report(to io.Writer, of string, labelled bool, columns []*column) {
	form := "bare"
	if labelled {
		form = "labelled"
	}
	fmt.Fprintf(to, "\n%s, %s:\n\n| told |", of, form)
	for _, kind := range kinds {
		fmt.Fprintf(to, " %s |", kind)
	}
	fmt.Fprintln(to, " replaced values as current | units |\n|---|"+strings.Repeat("---|", len(kinds)+2))
	for _, c := range columns {
		planted := 0
		fmt.Fprintf(to, "| %s |", c.name)
		for _, kind := range kinds {
			planted += c.planted[kind]
			fmt.Fprintf(to, " %d %% |", 100*c.found[kind]/c.planted[kind])
		}
		fmt.Fprintf(to, " %d | %d |\n", c.stale, c.units*len(kinds)*4/planted)
	}
	for _, c := range columns {
		if strings.HasPrefix(c.name, "gt") && strings.Contains(c.name, "10000") {
			for _, text := range c.missed {
				fmt.Fprintf(os.Stderr, "missed in %s: %s\n", c.name, text)
			}
		}
	}
}

// session lets a person say all of it to a client with gt's hooks, and gives what the model
// is told after the last compaction and after the hand-over.
func (b *bench) session(name string, said []string, told func(name, text string)) error {
	w := &world{dir: filepath.Join(b.dir, name), bin: b.bin, id: "5e55104a-0000-4000-8000-000000000001"}
	if err := w.begin(); err != nil {
		return err
	}
	defer w.end()
	hook := func(event string, more object, args ...string) string {
		input := object{"session_id": w.id, "transcript_path": w.path, "cwd": w.repo, "hook_event_name": event}
		for k, x := range more {
			input[k] = x
		}
		return w.run(input, args...)
	}
	v := values{rand.New(rand.NewPCG(uint64(len(said)), 7))}
	hook("SessionStart", object{"source": "startup"}, "gt-prime", "--hook", "--agent", "claude")
	text := ""
	for round := range rounds {
		for _, message := range said[round*len(said)/rounds : (round+1)*len(said)/rounds] {
			w.says("user", message)
			w.works(v)
		}
		hook("Stop", object{"stop_hook_active": false}, "gt-checkpoint", "write", "--hook", "--agent", "claude")
		hook("PreCompact", object{"trigger": "auto"}, "gt-handoff", "--auto", "--hook", "--reason", "compaction", "--agent", "claude")
		w.compact("The person and the agent worked on the repository. The work goes on.")
		text = hook("SessionStart", object{"source": "compact"}, "gt-prime", "--hook", "--agent", "claude")
	}
	if b.keep != "" {
		w.fail(os.WriteFile(filepath.Join(w.dir, "compacted.txt"), []byte(text), 0o600))
	}
	told("gt, compaction 5, 10000", text)
	w.run(nil, "gt-handoff", "--no-git-check", "-s", "The work so far", "-m", "Half of it is done; the rest is open.")
	w.end()
	for _, room := range rooms {
		told(fmt.Sprintf("gt, %d", room), w.run(nil, "gt-prime", "--dry-run", "--agent", "claude", "--cap", fmt.Sprint(room)))
	}
	end := ""
	for _, m := range said {
		end += "user: " + m + "\nassistant: Noted. I go on with the plan.\n"
	}
	first := ""
	for _, m := range said {
		r := []rune(m)
		first += string(r[:min(len(r), 10_000/len(said)-1)]) + "\n"
	}
	told("end, 10000", end[max(0, len(end)-10_000):])
	told("first words, 10000", first)
	if w.err == nil && b.keep == "" {
		w.err = os.RemoveAll(w.dir)
	}
	return w.err
}

// world is a person's home and repository, and a client that runs there.
type world struct {
	dir, bin, repo, id, path string
	person                   []string
	now                      time.Time
	n                        int
	client                   *exec.Cmd
	in                       io.WriteCloser
	jobs                     *json.Encoder
	results                  *json.Decoder
	err                      error // the first one
}

func (w *world) fail(err error) {
	if w.err == nil {
		w.err = err
	}
}

func (w *world) begin() (err error) {
	w.repo, w.now = filepath.Join(w.dir, "work"), time.Now().UTC().Add(-24*time.Hour)
	if w.person, err = testenv.Person(filepath.Join(w.dir, "home")); err != nil {
		return err
	}
	if out, err := exec.Command("git", "init", "-q", w.repo).CombinedOutput(); err != nil {
		return fmt.Errorf("git init: %w: %s", err, out)
	}
	w.path = filepath.Join(w.dir, "home", ".claude", "projects", strings.NewReplacer("/", "-", ".", "-").Replace(w.repo), w.id+".jsonl")
	if err := os.MkdirAll(filepath.Dir(w.path), 0o700); err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	w.client = exec.Command(self, "client")
	w.client.Dir, w.client.Stderr = w.repo, os.Stderr
	if w.in, err = w.client.StdinPipe(); err != nil {
		return err
	}
	out, err := w.client.StdoutPipe()
	if err != nil {
		return err
	}
	w.jobs, w.results = json.NewEncoder(w.in), json.NewDecoder(out)
	return w.client.Start()
}

func (w *world) end() {
	if w.client.ProcessState == nil {
		w.in.Close()
		w.fail(w.client.Wait())
	}
}

// client runs jobs as a client runs hooks and its agent's commands.
func client(in io.Reader, out io.Writer) {
	jobs, results := json.NewDecoder(in), json.NewEncoder(out)
	for {
		var j testenv.Job
		if jobs.Decode(&j) != nil {
			return
		}
		results.Encode(j.Run())
	}
}

// run runs a program of gt's below the client, or once that has ended by itself, and
// returns what it printed.
func (w *world) run(input object, args ...string) string {
	j := testenv.Job{Args: args, Dir: w.repo, Env: w.person}
	j.Args[0] = filepath.Join(w.bin, args[0])
	if input != nil {
		data, err := json.Marshal(input)
		w.fail(err)
		j.Stdin = string(data) + "\n"
	}
	var r testenv.Result
	if w.client.ProcessState != nil {
		r = j.Run()
	} else {
		j.Env = append(append([]string{}, w.person...), "CLAUDECODE=1", "CLAUDE_CODE_SESSION_ID="+w.id, "CLAUDE_PROJECT_DIR="+w.repo)
		w.fail(w.jobs.Encode(j))
		w.fail(w.results.Decode(&r))
	}
	if r.Errs != "" {
		fmt.Fprint(os.Stderr, r.Errs)
	}
	if r.Code != 0 {
		w.fail(fmt.Errorf("%s: exit code %d: %s", strings.Join(args, " "), r.Code, r.Errs))
	}
	return r.Out
}

// put appends a record to the conversation as the client does.
func (w *world) put(kind string, more object) {
	w.n++
	w.now = w.now.Add(20 * time.Second)
	r := object{
		"type": kind, "uuid": fmt.Sprintf("00000000-0000-4000-8000-%012d", w.n), "timestamp": w.now.Format("2006-01-02T15:04:05.000Z"),
		"sessionId": w.id, "cwd": w.repo, "version": "2.1.197", "userType": "external", "isSidechain": false, "parentUuid": nil,
	}
	if w.n > 1 {
		r["parentUuid"] = fmt.Sprintf("00000000-0000-4000-8000-%012d", w.n-1)
	}
	for k, x := range more {
		r[k] = x
	}
	data, err := json.Marshal(r)
	w.fail(err)
	f, err := os.OpenFile(w.path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	w.fail(err)
	_, err = f.Write(append(data, '\n'))
	w.fail(err)
	f.Close()
}

func (w *world) says(role, text string) {
	message := object{"role": role, "content": text}
	if role == "assistant" {
		message = object{"role": role, "type": "message", "id": fmt.Sprint("msg_", w.n), "model": "claude", "stop_reason": "end_turn", "content": []object{{"type": "text", "text": text}}}
	}
	w.put(role, object{"message": message})
}

// works lets the agent run a command and answer.
func (w *world) works(v values) {
	id, test := fmt.Sprint("toolu_", w.n), v.fill("go test ./internal/{zone}/...", map[string]string{})
	w.put("assistant", object{"message": object{"role": "assistant", "type": "message", "id": fmt.Sprint("msg_", w.n), "model": "claude", "stop_reason": "tool_use", "content": []object{
		{"type": "tool_use", "id": id, "name": "Bash", "input": object{"command": strings.ToLower(test)}},
	}}})
	w.put("user", object{"message": object{"role": "user", "content": []object{{"type": "tool_result", "tool_use_id": id, "content": fmt.Sprintf("ok  \twork/internal\t0.%ds", v.IntN(1000))}}}})
	w.says("assistant", v.fill("I went on with {branch}: {tool} is done, {case} has a test of its own, and what {person} said about {host} is in the code. ", map[string]string{})+v.noise("tuned")+".")
}

func (w *world) compact(summary string) {
	w.put("system", object{"subtype": "compact_boundary", "content": "Conversation compacted", "isMeta": false})
	w.put("user", object{"isCompactSummary": true, "message": object{"role": "user", "content": "This session is being continued from a previous conversation that ran out of context. The summary below covers the earlier portion of the conversation.\n\nSummary:\n" + summary}})
}
