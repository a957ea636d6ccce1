package gt_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/google/uuid"

	"gt/internal/testenv"
	"gt/lib/client/readers/files"
	"gt/lib/sys/process"
)

// client stands for an agent's client where a scenario needs one: a process
// that runs hooks and commands as its children.
//
//	client key=value... -- command [arg...]
//	    a client that runs one command and is gone. The pairs become the JSON
//	    on the command's standard input, key:=value with a value that is JSON;
//	    without any, the input is empty.
//	client -serve NAME
//	    a client that lives on; run it in the background.
//	client -at NAME [key=value...] -- command [arg...]
//	    has that client run the command, in this directory and environment.
//	client -kill NAME
//	    kills that client, as a crash would.
//
// NAME is a file in $WORK.
func client() {
	if err := runClient(os.Args[1:]); err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			os.Exit(exit.ExitCode())
		}
		fmt.Fprintln(os.Stderr, "client:", err)
		os.Exit(99)
	}
}

type (
	job    = testenv.Job
	result = testenv.Result
)

func runClient(args []string) error {
	if len(args) == 2 {
		path := filepath.Join(os.Getenv("WORK"), args[1])
		switch args[0] {
		case "-serve":
			return serve(path, func(*job) {})
		case "-kill":
			var pid int
			data, err := os.ReadFile(path + ".pid")
			if err != nil {
				return err
			}
			if _, err := fmt.Sscan(string(data), &pid); err != nil {
				return err
			}
			p, err := os.FindProcess(pid)
			if err != nil {
				return err
			}
			if err := p.Kill(); err != nil {
				return err
			}
			// Its end is over when nobody listens any more, and a little later:
			// the kernel closes what a process has before it says that it is dead.
			for {
				c, err := net.Dial("tcp", addressOf(path))
				if err != nil {
					break
				}
				c.Close()
			}
			for p, err := process.Find(pid); err == nil && p.IsAlive(); {
				time.Sleep(time.Millisecond)
			}
			return nil
		}
	}
	at := ""
	if len(args) > 1 && args[0] == "-at" {
		at, args = filepath.Join(os.Getenv("WORK"), args[1]), args[2:]
	}
	j := job{Env: os.Environ()}
	input := map[string]any{}
	for i, arg := range args {
		if arg == "--" {
			j.Args = args[i+1:]
			break
		}
		key, value, _ := strings.Cut(arg, "=")
		if name, isJSON := strings.CutSuffix(key, ":"); isJSON {
			input[name] = json.RawMessage(value)
			continue
		}
		input[key] = value
	}
	if len(j.Args) == 0 {
		return errors.New("no command")
	}
	dir, err := os.Getwd()
	if err != nil {
		return err
	}
	j.Dir = dir
	if len(input) > 0 {
		if _, ok := input["cwd"]; !ok {
			input["cwd"] = dir
		}
		data, err := json.Marshal(input)
		if err != nil {
			return err
		}
		j.Stdin = string(data) + "\n"
	}
	if at == "" {
		return report(j.Run())
	}
	c, err := net.Dial("tcp", addressOf(at))
	if err != nil {
		return err
	}
	defer c.Close()
	if err := json.NewEncoder(c).Encode(j); err != nil {
		return err
	}
	var r result
	if err := json.NewDecoder(c).Decode(&r); err != nil && !errors.Is(err, io.EOF) {
		return err // at io.EOF the client is gone: its pane was handed over
	}
	return report(r)
}

// inPane stands for an agent's client in a tmux pane, claude or whichever name
// it is run under: it starts a session, runs the hooks that gt wires, and lives
// on until it is killed. What "client -at claude-N" has it run, it runs in its
// own folder and environment, as an agent runs a command.
//
// TRANSCRIPT is the file in which it says that its conversation is.
//
// The N-th one of a name to start in a script leaves claude-N.args, a line an
// argument, and claude-N.start, what gt-prime told it, before claude-N is there.
func inPane() {
	if err := runInPane(filepath.Base(os.Args[0])); err != nil {
		fmt.Fprintln(os.Stderr, os.Args[0]+":", err)
		os.Exit(99)
	}
}

// printedVersions is what clients print as theirs.
var printedVersions = map[string]string{"claude": "2.1.332 (Claude Code)", "codex": "codex-cli 0.171.0", "gemini": "0.61.0"}

func runInPane(name string) error {
	if slices.Equal(os.Args[1:], []string{"--version"}) {
		version, err := os.ReadFile(filepath.Join(os.Getenv("WORK"), "version"))
		if err != nil {
			version = []byte(printedVersions[name] + "\n")
		}
		_, err = os.Stdout.Write(version)
		return err
	}
	var path string
	for n := 1; ; n++ {
		path = filepath.Join(os.Getenv("WORK"), fmt.Sprint(name, "-", n))
		f, err := os.OpenFile(path+".args", os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
		if errors.Is(err, fs.ErrExist) {
			continue
		} else if err != nil {
			return err
		}
		fmt.Fprintln(f, strings.Join(os.Args[1:], "\n"))
		f.Close()
		break
	}
	id, source := uuid.NewString(), "startup"
	for i, arg := range os.Args {
		switch arg {
		case "--resume", "resume": // the second is Codex's
			id, source = os.Args[i+1], "resume"
		case "--fork-session":
			id, source = uuid.NewString(), "fork"
		case "--session-id":
			id = os.Args[i+1]
		}
	}
	dir, err := os.Getwd()
	if err != nil {
		return err
	}
	own := []string{"CLAUDE_PROJECT_DIR=" + dir, "CLAUDE_CODE_SESSION_ID=" + id}
	if name != "claude" { // which tells its commands nothing
		own = nil
	}
	hook := func(event string, fields map[string]string, command ...string) result {
		fields["session_id"], fields["hook_event_name"], fields["cwd"] = id, event, dir
		data, err := json.Marshal(fields)
		if err != nil {
			panic(err)
		}
		return job{Args: append(command, "--agent", name), Env: append(os.Environ(), own...), Dir: dir, Stdin: string(data)}.Run()
	}
	begin := map[string]string{"source": source}
	if at := os.Getenv("TRANSCRIPT"); at != "" {
		begin["transcript_path"] = at
	}
	start := sync.OnceValue(func() error {
		r := hook("SessionStart", begin, "gt-prime", "--hook")
		return os.WriteFile(path+".start", []byte(r.Out+r.Errs), 0o600)
	})
	if os.Getenv("BEGINS_LATE") == "" {
		if err := start(); err != nil {
			return err
		}
	}
	end := make(chan os.Signal, 1)
	signal.Notify(end, syscall.SIGHUP, syscall.SIGTERM, syscall.SIGINT)
	go func() {
		reason := "other"
		if <-end == syscall.SIGINT { // Ctrl-C: the person leaves it
			reason = "prompt_input_exit"
		}
		if own := os.Getenv("END_REASON"); own != "" { // as clients that tell no signal from an exit
			reason = own
		}
		hook("SessionEnd", map[string]string{"reason": reason}, "gt-keepalive", "end", "--hook")
		os.Exit(0)
	}()
	if quiet := os.Getenv("SCREEN") == ""; !quiet || name == "claude" && os.Getenv("GT_INSTANCE") != "" {
		at := files.Path("claude", os.Getenv, dir, id)
		turn := func(event string, more ...string) {
			if err := start(); err != nil {
				panic(err)
			}
			fields := map[string]string{"transcript_path": at}
			for _, pair := range more {
				key, value, _ := strings.Cut(pair, "=")
				fields[key] = value
			}
			hook(event, fields, "gt-keepalive", "touch", "--hook")
		}
		leave := func() { end <- syscall.SIGINT }
		s := &screen{path: path, conversation: at, hook: turn, end: leave, quiet: quiet}
		if l := ledger(filepath.Join(os.Getenv("HOME"), ledgerFile)); l.exists() {
			a := &townAgent{l, s, append(os.Environ(), own...), dir}
			s.quiet, s.work, s.ended = false, a.work, a.ended
		}
		go s.run()
	}
	return serve(path, func(j *job) {
		j.Dir, j.Env = dir, append(os.Environ(), own...)
	})
}

// serve runs what it is asked to over a connection, as children of this
// process.
func serve(path string, prepare func(*job)) error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	if err := os.WriteFile(path+".pid", fmt.Append(nil, os.Getpid()), 0o600); err != nil {
		return err
	}
	if err := os.WriteFile(path+".tmp", []byte(l.Addr().String()), 0o600); err != nil {
		return err
	}
	if err := os.Rename(path+".tmp", path); err != nil {
		return err
	}
	for {
		c, err := l.Accept()
		if err != nil {
			return err
		}
		go func() {
			defer c.Close()
			var j job
			if err := json.NewDecoder(c).Decode(&j); err == nil {
				prepare(&j)
				_ = json.NewEncoder(c).Encode(j.Run()) // who asked may be gone
			}
		}()
	}
}

func addressOf(path string) string {
	data, err := os.ReadFile(path)
	if err != nil {
		return "127.0.0.1:0"
	}
	return string(data)
}

func report(r result) error {
	os.Stdout.WriteString(r.Out)
	os.Stderr.WriteString(r.Errs)
	if r.Code != 0 {
		os.Exit(r.Code)
	}
	return nil
}
