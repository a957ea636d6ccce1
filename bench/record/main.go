// Record measures what it costs to record conversations: all of a store at once, against
// what taking out the secrets alone costs; and the hook at the end of a turn with and
// without it.
//
// One conversation of -large megabytes is taken in, shown, verified, packed, exported and
// converted, with the most memory that each took.
//
//	go run ./bench/record [-mb 200] [-large 400]
package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"gt/bench/measure"
	"gt/internal/testenv"
	"gt/lib/cli"
	"gt/lib/client/account"
	claude "gt/lib/client/claude/conversation"
	"gt/lib/conversation"
	"gt/lib/text/redact"
)

func main() {
	mb := flag.Int("mb", 200, "how large the store is")
	most := flag.Int("large", 400, "how large a single conversation is that is taken in; 0 for none")
	flag.Parse()
	if err := run(*mb, *most); err != nil {
		fmt.Fprintln(os.Stderr, "record: error:", err)
		os.Exit(1)
	}
}

func run(mb, most int) error {
	measure.Head("go run ./bench/record")
	root, err := os.MkdirTemp("", "gt-bench-record-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(root)
	if err := testenv.Build(root, "gt/cmd/gt-record", "gt/cmd/gt-checkpoint", "gt/bench/hooks/peak"); err != nil {
		return err
	}
	home := filepath.Join(root, "home")
	size, err := store(filepath.Join(home, ".claude", "projects", "-work"), mb)
	if err != nil {
		return err
	}
	environ := []string{"HOME=" + home, "PATH=" + root + ":" + os.Getenv("PATH")}

	getenv := func(key string) string { return map[string]string{"HOME": home}[key] }
	var texts [][]string
	bytesOf := 0
	r := claude.Reader{}
	for _, store := range account.Stores(r.Client(), getenv) {
		if err := r.Find(store, func(f conversation.File) {
			var all []string
			r.Read(f, conversation.Options{}, func(e conversation.Entry) bool {
				all = append(all, strings.Clone(e.Text))
				bytesOf += len(e.Text)
				return true
			})
			texts = append(texts, all)
		}); err != nil {
			return err
		}
	}
	clean := redact.NewRedactor(environ)
	begun := time.Now()
	cli.Parallel(texts, func(all []string) {
		for _, t := range all {
			clean(t)
		}
	})
	alone := time.Since(begun)
	texts = nil
	command := func(args ...string) (time.Duration, error) {
		cmd := exec.Command(filepath.Join(root, args[0]), args[1:]...)
		cmd.Env, cmd.Dir = environ, home
		begun := time.Now()
		out, err := cmd.CombinedOutput()
		if err != nil {
			err = fmt.Errorf("%q: %w\n%s", args, err, out)
		}
		return time.Since(begun), err
	}
	all, err := command("gt-record", "sync", "--all")
	if err != nil {
		return err
	}
	again, err := command("gt-record", "sync", "--all")
	if err != nil {
		return err
	}
	verified, err := command("gt-record", "verify", "--all")
	if err != nil {
		return err
	}
	rate := func(d time.Duration) float64 { return float64(size) / (1 << 20) / d.Seconds() }
	fmt.Printf("| a store of %d MB, %d MB of it words | s | MB a second | of redaction alone | budget |\n|---|--:|--:|--:|---|\n", size>>20, bytesOf>>20)
	fmt.Printf("| redaction alone | %.2f | %.0f | | |\n", alone.Seconds(), rate(alone))
	ratio, budget := alone.Seconds()/all.Seconds(), "0.5"
	if ratio < 0.5 {
		budget += ", missed"
	}
	fmt.Printf("| sync --all | %.2f | %.0f | %.2f | %s |\n", all.Seconds(), rate(all), ratio, budget)
	fmt.Printf("| sync --all, once more | %.2f | | | |\n", again.Seconds())
	fmt.Printf("| verify --all | %.2f | %.0f | | |\n\n", verified.Seconds(), rate(verified))
	if err := hooks(root, home, environ); err != nil || most == 0 {
		return err
	}
	return large(root, most)
}

// large takes in one conversation, and prints the time and the memory that it took.
func large(root string, mb int) error {
	home := filepath.Join(root, "large")
	dir := filepath.Join(home, ".claude", "projects", "-work")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	f, err := os.Create(filepath.Join(dir, "s-0.jsonl"))
	if err != nil {
		return err
	}
	size := 0
	for n := 0; size < mb<<20; n++ {
		data := conversationOf(rand.New(rand.NewPCG(3, uint64(n))), n, 4<<20)
		size += len(data)
		if _, err := f.Write(data); err != nil {
			return err
		}
	}
	if err := f.Close(); err != nil {
		return err
	}
	for _, folder := range []string{".codex", ".gemini", ".qwen", ".pi/agent", ".local/share/opencode", ".kimi-code"} {
		if err := os.MkdirAll(filepath.Join(home, folder), 0o700); err != nil {
			return err
		}
	}
	// What each command takes at most, in the order in which it is first run.
	var commands []string
	most := map[string][2]float64{}
	detail := ""
	run := func(args ...string) (out []byte, took time.Duration, memory float64, err error) {
		peak := filepath.Join(root, "peak.kib")
		cmd := exec.Command(filepath.Join(root, "peak"), append([]string{peak, filepath.Join(root, "gt-record")}, args...)...)
		cmd.Env, cmd.Dir = []string{"HOME=" + home, "PATH=" + root + ":" + os.Getenv("PATH")}, home
		begun := time.Now()
		if args[len(args)-1] == "--json" {
			out, err = cmd.Output()
		} else {
			err = cmd.Run()
		}
		if err != nil {
			return nil, 0, 0, fmt.Errorf("%q: %w", args, err)
		}
		took = time.Since(begun)
		kib, err := os.ReadFile(peak)
		if err == nil {
			memory, err = strconv.ParseFloat(string(kib), 64)
		}
		return out, took, memory / (1 << 10), err
	}
	print := func(what string, took time.Duration, memory float64) {
		detail += fmt.Sprintf("| %s | %.2f | %.0f |\n", what, took.Seconds(), memory)
		command, _, _ := strings.Cut(what, " ")
		if strings.Contains(what, "as one object") {
			command = what
		}
		if _, found := most[command]; !found {
			commands = append(commands, command)
		}
		most[command] = [2]float64{max(most[command][0], took.Seconds()), max(most[command][1], memory)}
	}
	for _, args := range [][]string{
		{"sync", "s-0"}, {"verify", "s-0"}, {"show", "s-0"}, {"list"}, {"tail", "s-0"},
		{"export", "s-0"}, {"export", "s-0", "--format", "otlp"}, {"export", "s-0", "--format", "html"},
		{"convert", "s-0", "--to", "opencode", "--dry-run"},
	} {
		_, took, memory, err := run(args...)
		if err != nil {
			return err
		}
		print(strings.Join(args, " "), took, memory)
	}
	// To each client, and from the file that was written for it: as many words, all verified.
	// One after the other, so that there is one such file at a time.
	words, err := messages(run, "s-0")
	if err != nil {
		return err
	}
	for _, client := range []string{"claude", "codex", "gemini", "qwen", "pi"} {
		out, took, memory, err := run("convert", "s-0", "--to", client, "--json")
		if err != nil {
			return err
		}
		var written struct {
			Session string `json:"session_id"`
			Path    string
		}
		if err := json.Unmarshal(out, &written); err != nil {
			return err
		}
		info, err := os.Stat(written.Path)
		if err != nil {
			return err
		}
		print(fmt.Sprintf("convert to %s, %d MB", client, info.Size()>>20), took, memory)
		taken := func(what, id, path string) error {
			for _, command := range []string{"sync", "verify"} {
				_, took, memory, err := run(command, id)
				if err != nil {
					return err
				}
				print(command+" "+what, took, memory)
			}
			if n, err := messages(run, id); err != nil || n != words {
				return fmt.Errorf("of %d messages the record of %s has %d, %w", words, what, n, err)
			}
			if _, _, _, err := run("forget", id); err != nil {
				return err
			}
			return os.Remove(path)
		}
		if client == "gemini" { // which kept one JSON object before
			const id = "0f2c81d0-1111-4111-8111-111111111111"
			path, err := document(written.Path, written.Session, id)
			if err == nil {
				err = taken("gemini's as one object", id, path)
			}
			if err != nil {
				return err
			}
		}
		if err := taken(client+"'s", written.Session, written.Path); err != nil {
			return err
		}
	}
	if err := packed(home, func(args ...string) error {
		_, took, memory, err := run(args...)
		print(strings.Join(args, " ")+" (packed)", took, memory)
		return err
	}); err != nil {
		return err
	}
	fmt.Printf("\n| one conversation of %d MB | s at most | MB of memory at most |\n|---|--:|--:|\n", size>>20)
	for _, command := range commands {
		fmt.Printf("| %s | %.2f | %.0f |\n", command, most[command][0], most[command][1])
	}
	fmt.Printf("\n%s\n\n| one conversation of %d MB | s | MB of memory |\n|---|--:|--:|\n%s", measure.Detail, size>>20, detail)
	return nil
}

// document writes what Gemini CLI keeps as lines in its older form, under another id.
func document(path, session, id string) (string, error) {
	in, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer in.Close()
	to := filepath.Join(filepath.Dir(path), "session-2026-01-17T01-00-"+id[:8]+".json")
	f, err := os.Create(to)
	if err != nil {
		return "", err
	}
	defer f.Close()
	out := bufio.NewWriter(f)
	lines := bufio.NewReaderSize(in, 1<<20)
	head, err := lines.ReadBytes('\n')
	if err != nil {
		return "", err
	}
	out.Write(bytes.TrimSuffix(bytes.ReplaceAll(head, []byte(session), []byte(id)), []byte("}\n")))
	out.WriteString(`,"messages":[`)
	for n := 0; ; {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			break
		}
		if bytes.HasPrefix(line, []byte(`{"$`)) {
			continue
		}
		if n++; n > 1 {
			out.WriteByte(',')
		}
		out.Write(line)
	}
	out.WriteString("]}")
	return to, out.Flush()
}

// messages is how many messages a record has.
func messages(run func(...string) ([]byte, time.Duration, float64, error), id string) (int, error) {
	out, _, _, err := run("list", "--json")
	for line := range bytes.Lines(out) {
		var r struct {
			Session  string `json:"session_id"`
			Messages int
		}
		if json.Unmarshal(line, &r) == nil && r.Session == id {
			return r.Messages, nil
		}
	}
	return 0, err
}

// packed has the only record that is left packed, and reads it.
func packed(home string, run func(args ...string) error) error {
	found, err := filepath.Glob(filepath.Join(home, ".agent", "sessions", "*.jsonl"))
	if err != nil {
		return err
	}
	old := time.Now().Add(-100 * 24 * time.Hour) // the next sync packs it
	for _, path := range found {
		if err := os.Chtimes(path, old, old); err != nil {
			return err
		}
	}
	for _, args := range [][]string{{"sync", "--all"}, {"list"}, {"tail", "s-0"}, {"verify", "s-0"}} {
		if err := run(args...); err != nil {
			return err
		}
	}
	found, err = filepath.Glob(filepath.Join(home, ".agent", "sessions", "*.gz"))
	if err != nil || len(found) == 0 {
		return fmt.Errorf("it was not packed: %w", err)
	}
	return nil
}

// hooks measures the end of a turn: the program alone, the hook, and the hook that has the
// conversation recorded.
func hooks(root, home string, environ []string) error {
	config := filepath.Join(home, ".config", "gt")
	if err := os.MkdirAll(config, 0o700); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(config, "config.toml"), []byte("[record]\non = true\n"), 0o600); err != nil {
		return err
	}
	const runs = 60
	input := `{"hook_event_name":"Stop","session_id":"s-0","cwd":"` + home + `"}`
	kinds := []struct {
		name string
		args []string
		took []time.Duration
	}{
		{"gt-checkpoint --version", []string{"--version"}, nil},
		{"end of a turn", []string{"write", "--hook", "--agent", "claude"}, nil},
		{"end of a turn, recorded", []string{"write", "--hook", "--agent", "claude", "--record", "on"}, nil},
	}
	for range runs {
		for i := range kinds {
			k := &kinds[i]
			cmd := exec.Command(filepath.Join(root, "gt-checkpoint"), k.args...)
			cmd.Env, cmd.Dir, cmd.Stdin = environ, home, strings.NewReader(input)
			begun := time.Now()
			if err := cmd.Run(); err != nil {
				return err
			}
			k.took = append(k.took, time.Since(begun))
			if i == len(kinds)-1 {
				time.Sleep(50 * time.Millisecond) // until what it has started is over
			}
		}
	}
	fmt.Println("| hook | ms | of 95 % at most |\n|---|--:|--:|")
	for _, k := range kinds {
		slices.Sort(k.took)
		fmt.Printf("| %s | %.2f | %.2f |\n", k.name, ms(k.took[runs/2]), ms(k.took[runs*95/100]))
	}
	return nil
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// store makes conversations of some megabytes each: prompts, answers, calls and results,
// of which most are short and some are long.
func store(dir string, mb int) (size int64, err error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return 0, err
	}
	rnd := rand.New(rand.NewPCG(1, 2))
	for n := 0; size < int64(mb)<<20; n++ {
		data := conversationOf(rnd, n, (1+rnd.IntN(6))<<20)
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("s-%d.jsonl", n)), data, 0o600); err != nil {
			return 0, err
		}
		size += int64(len(data))
	}
	return size, nil
}

// conversationOf makes so many bytes of a conversation.
func conversationOf(rnd *rand.Rand, n, size int) []byte {
	words := strings.Fields("func main return error the parser reads a line of text and if it fails err != nil fmt.Println src/lib/parse.go:120 test passes 0x3fa1 import path git commit -m fix TOKEN value := range items { } // comment about state")
	text := func(n int) string {
		var b strings.Builder
		for b.Len() < n {
			b.WriteString(words[rnd.IntN(len(words))])
			b.WriteByte(" \n"[rnd.IntN(12)/11])
		}
		return b.String()
	}
	var b bytes.Buffer
	for i := 0; b.Len() < size; i++ {
		at := time.Date(2026, 1, 17, 1, 0, 0, 0, time.UTC).Add(time.Duration(i) * time.Second).Format(time.RFC3339)
		fmt.Fprintf(&b, `{"type":"user","uuid":"u-%d-%d","sessionId":"s-%d","cwd":"/work","timestamp":%q,"message":{"role":"user","content":%q}}`+"\n", n, i, n, at, text(100))
		fmt.Fprintf(&b, `{"type":"assistant","uuid":"a-%d-%d","timestamp":%q,"message":{"id":"m-%d","model":"m","role":"assistant","usage":{"input_tokens":7,"output_tokens":3},"content":[{"type":"text","text":%q},{"type":"tool_use","id":"t%d","name":"Bash","input":{"command":%q}}]}}`+"\n", n, i, at, i, text(400), i, text(60))
		fmt.Fprintf(&b, `{"type":"user","uuid":"r-%d-%d","timestamp":%q,"message":{"role":"user","content":[{"tool_use_id":"t%d","type":"tool_result","content":%q}]}}`+"\n", n, i, at, i, text([]int{200, 1000, 4000, 20_000}[rnd.IntN(4)]))
	}
	return b.Bytes()
}
