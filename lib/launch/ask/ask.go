// Package ask asks a session what it knows. It starts the session's client on a temporary
// copy of the conversation, with hooks off and without anything that could change a file,
// and writes the question to its standard input. Afterwards nothing in the client's folder
// or the project has changed, and no event is logged; e2e's TestTalk shows this with the
// real clients.
package ask

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/BurntSushi/toml"

	"gt/lib/cli"
	"gt/lib/client/account"
	"gt/lib/client/agent"
	"gt/lib/client/readers/files"
	"gt/lib/conversation"
	"gt/lib/place"
	"gt/lib/state/session"
	"gt/lib/sys/atomicfile"
	"gt/lib/sys/process"
	"gt/lib/text/term"
)

const (
	grace      = 5 * time.Second // for a client to end after SIGTERM
	importWait = 5 * time.Minute // for an import; a client's first start alone can take a minute
	maxAnswer  = 16 << 20        // bytes
)

// Predecessor is the session that is asked.
type Predecessor struct {
	Client     agent.Client
	ID         session.ID
	Dir        string // its own folder if it exists, else the caller's
	Transcript string
	Store      string // the client's folder with the transcript; "" if unknown

	env    *cli.Env
	agents *agent.Table
}

// NewPredecessor prepares questions to a session of a client that worked in cwd. cwd, path and store
// may be empty if unknown. It fails if the client cannot be asked without a trace or the
// session's conversation is gone.
func NewPredecessor(env *cli.Env, agents *agent.Table, client agent.Client, id session.ID, cwd, path, store string) (*Predecessor, error) {
	if client.Ask == nil {
		err := cli.Fail(cli.AnswerNo, fmt.Errorf("%s cannot be asked without leaving a trace", client.Name),
			fmt.Sprintf("gt-seance read %s prints the conversation, for yourself or for another agent", id))
		if client.CanFork() && !id.Invented() {
			err = cli.WithHint(err, "gt-seance resume --fork %s asks a copy of it, which stays", id)
		}
		return nil, err
	}
	p := &Predecessor{Client: client, ID: id, Dir: cwd, Transcript: path, Store: store, env: env, agents: agents}
	if info, err := os.Stat(cwd); err != nil || !info.IsDir() || !filepath.IsAbs(cwd) {
		p.Dir = env.Dir
	}
	if !filepath.IsAbs(path) { // it becomes an argument
		p.Transcript = files.Path(client.Name, env.Getenv, cwd, string(id))
	}
	if p.Transcript != "" {
		if _, err := os.Stat(p.Transcript); err != nil {
			return nil, cli.Fail(cli.AnswerNo, fmt.Errorf("the conversation is gone: %w", atomicfile.Error("read", p.Transcript, err)))
		}
	}
	return p, nil
}

// WithoutSession returns an environment without the calling session's own variables, whichever
// agent that is, and without its pane.
func WithoutSession(agents *agent.Table, environ []string) []string {
	return slices.DeleteFunc(slices.Clone(agents.StripRunVars(process.Inherited(environ))), func(kv string) bool {
		return strings.HasPrefix(kv, "TMUX=") || strings.HasPrefix(kv, "TMUX_PANE=")
	})
}

// WithAccount returns an environment with the account that agent.Client.Account chose: change is
// NAME=value, or NAME to remove that variable, or "" for none.
func WithAccount(environ []string, change string) []string {
	if change == "" {
		return environ
	}
	name, _, set := strings.Cut(change, "=")
	out := slices.DeleteFunc(slices.Clone(environ), func(kv string) bool { return strings.HasPrefix(kv, name+"=") })
	if set {
		out = append(out, change)
	}
	return out
}

func (p *Predecessor) accountChange() string {
	if !p.Client.Ask.OwnAccount {
		return ""
	}
	return p.Client.AccountChange(p.env.Getenv, p.Store)
}

// prepareCall prepares a run of the client, which ends with ctx. stream keeps it open for many
// questions. seeded gives it copies of the databases that it would need long to make. scratch is
// a folder to be removed afterwards; it may be "".
func (p *Predecessor) prepareCall(ctx context.Context, stream, seeded bool) (cmd *exec.Cmd, scratch string, err error) {
	a, dir := p.Client.Ask, p.Dir
	if a.NeedsScratch() {
		if scratch, err = MakeScratch(cmp.Or(p.env.Getenv("TMPDIR"), "/tmp")); err != nil {
			return nil, "", err
		}
		if folder, _ := p.Client.Folder(p.env.Getenv); seeded {
			seedDatabases(cmp.Or(p.Store, folder), a.Seed, scratch)
		}
		if a.Elsewhere {
			dir = scratch
		}
	}
	environ := a.Environ(WithAccount(WithoutSession(p.agents, p.env.ChildEnviron()), p.accountChange()), scratch)
	cmd, err = prepareProcess(ctx, dir, slices.Concat(p.Client.Command, p.askArguments(scratch, stream)), environ)
	if err != nil {
		err = errors.Join(err, os.RemoveAll(scratch))
	}
	return cmd, scratch, err
}

// askArguments returns the arguments of a question, with those that switch off the client's MCP servers.
func (p *Predecessor) askArguments(scratch string, stream bool) []string {
	a := p.Client.Ask
	words := a.Arguments(p.Transcript, string(p.ID), scratch, stream)
	if len(a.Servers) == 0 {
		return words
	}
	var off []string
	for _, name := range p.serverNames() {
		for _, w := range a.Servers {
			off = append(off, strings.Replace(w, "{name}", name, 1))
		}
	}
	return slices.Insert(words, 1, off...) // options of the command come before its arguments
}

// serverNames returns the names of the MCP servers that the client would start, so that they
// can be switched off.
func (p *Predecessor) serverNames() []string {
	a := p.Client.Ask
	folder, usual := p.Client.Folder(p.env.Getenv)
	files := []string{filepath.Join(cmp.Or(p.Store, folder), a.ServersFile)}
	if real, err := filepath.EvalSymlinks(files[0]); err == nil { // a link of the person or of gt to the account
		files[0] = real
	}
	for dir := p.Dir; !a.Elsewhere; dir = filepath.Dir(dir) { // of the folder and of all above it
		files = append(files, filepath.Join(dir, filepath.Base(usual), a.ServersFile))
		if dir == filepath.Dir(dir) {
			break
		}
	}
	var names []string
	for _, path := range files {
		var config map[string]any
		data, _ := atomicfile.Read(path, atomicfile.MaxSize)
		_ = toml.Unmarshal(data, &config) // the client reports what is wrong with it
		table, _ := config[a.ServersKey].(map[string]any)
		for name := range table {
			if !slices.Contains(names, name) && strings.Trim(strings.ToLower(name), "abcdefghijklmnopqrstuvwxyz0123456789_-") == "" {
				names = append(names, name)
			}
		}
	}
	slices.Sort(names)
	return names
}

// Command returns a shell command that asks the question on its standard input, as prepareCall
// would: env -u removes what the question's environment does not have.
func (p *Predecessor) Command(stream bool) string {
	a := p.Client.Ask
	kept := a.Environ(WithAccount(WithoutSession(p.agents, p.env.Environ), p.accountChange()), "")
	var gone []string
	for _, kv := range p.env.Environ {
		name, _, _ := strings.Cut(kv, "=")
		if !slices.ContainsFunc(kept, func(kv string) bool { return strings.HasPrefix(kv, name+"=") }) {
			gone = append(gone, name)
		}
	}
	slices.Sort(gone)
	words := []string{"env"}
	for _, name := range slices.Compact(gone) {
		words = append(words, "-u", name)
	}
	if change := p.accountChange(); strings.Contains(change, "=") {
		words = append(words, change)
	}
	const scratch, folder = "\x00", `"$(mktemp -d)"` // scratch stands for folder until the rest is quoted
	words = slices.Concat(words, a.Variables(scratch), p.Client.Command, p.askArguments(scratch, stream && len(a.Stream) > 0))
	for i, w := range words {
		if name, ok := strings.CutSuffix(w, scratch); ok { // a variable, or ""
			words[i] = name + folder
		} else {
			words[i] = term.Typed(w)
		}
	}
	dir := term.Typed(p.Dir)
	if a.Elsewhere {
		dir = folder
	}
	return "cd " + dir + " && " + strings.Join(words, " ")
}

// prepareProcess prepares a client's process, in a process group of its own so that the terminal's
// signals reach only gt. When ctx ends, the process gets SIGTERM, and SIGKILL after grace.
func prepareProcess(ctx context.Context, dir string, args, environ []string) (*exec.Cmd, error) {
	path, err := process.LookPath(args[0], dir, environ)
	if err != nil {
		return nil, cli.Fail(cli.AnswerNo, err)
	}
	cmd := exec.CommandContext(ctx, path, args[1:]...)
	cmd.Args[0] = args[0]
	cmd.Dir = dir
	cmd.Env = append(slices.Clip(environ), "PWD="+dir, "PATH="+process.SearchPath(dir, environ)) // it may be a script
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
	cmd.WaitDelay = grace
	return cmd, nil
}

// AskOnce asks one question and returns the answer verbatim. If the client complains about the
// copies of its databases, AskOnce asks again without them.
func (p *Predecessor) AskOnce(ctx context.Context, question string) (string, error) {
	a := p.Client.Ask
	answer, complaint, err := p.tryAsk(ctx, question, true)
	if err != nil && ctx.Err() == nil && slices.ContainsFunc(a.Unseed, func(word string) bool { return strings.Contains(complaint, word) }) {
		answer, _, err = p.tryAsk(ctx, question, false)
	}
	return answer, err
}

// tryAsk asks once. complaint is what a client that failed wrote to standard error.
func (p *Predecessor) tryAsk(ctx context.Context, question string, seeded bool) (answer, complaint string, err error) {
	cmd, scratch, err := p.prepareCall(ctx, false, seeded)
	if err != nil {
		return "", "", err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(scratch)) }()
	var stdout, stderr tail
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(question), &stdout, &stderr
	if err := cmd.Run(); err != nil || ctx.Err() != nil {
		return "", stderr.String(), p.unansweredError(ctx, err, stderr.String(), stdout.String())
	}
	return strings.Trim(stdout.String(), "\n"), "", nil
}

// unansweredError returns the error for a client that did not answer, with the client's own words as
// hints.
func (p *Predecessor) unansweredError(ctx context.Context, err error, words ...string) error {
	if ctx.Err() != nil {
		return ErrInterrupted
	}
	return refusalError(p.Client, "answer", 8, err, words...)
}

// refusalError returns the error for a client that did not do what it was run for. Its hints are the
// last lines of the first text in words that is not blank, such as the client's standard error.
func refusalError(client agent.Client, task string, maxLines int, err error, words ...string) error {
	if errors.Is(err, ErrInterrupted) {
		return err
	}
	failure := cli.Failf(cli.AnswerNo, "%s did not %s", client.Name, task)
	if err != nil {
		failure = cli.Failf(cli.AnswerNo, "%s did not %s: %v", client.Name, task, err)
	}
	for _, w := range words {
		if lines := strings.Split(strings.TrimSpace(w), "\n"); lines[0] != "" {
			for _, line := range lines[max(0, len(lines)-maxLines):] {
				failure = cli.WithHint(failure, "%s: %s", client.Name, strings.TrimSpace(line))
			}
			break
		}
	}
	return failure
}

// ErrInterrupted reports a question that was cancelled.
var ErrInterrupted = cli.Failf(cli.AnswerNo, "interrupted")

// tail keeps the last maxAnswer bytes that are written to it, and at most twice as many.
type tail struct{ bytes.Buffer }

func (t *tail) Write(p []byte) (int, error) {
	if t.Len()+len(p) > 2*maxAnswer {
		t.Next(t.Len() - maxAnswer)
	}
	return t.Buffer.Write(p)
}

// Import has a client store a conversation that only the client itself can write. write writes
// the file that the client reads. Before, Import sets to.Model to the model that the person used
// last, or the first that the client lists. It fails unless the client prints the conversation's
// id.
func Import(env *cli.Env, agents *agent.Table, client agent.Client, i conversation.Importer, to *conversation.Copy, write func(io.Writer) error) error {
	if to.Model = i.Model(account.Stores(client.Name, env.Getenv), place.ConfigHome(env.Getenv)); to.Model == "" {
		out, complaint, err := runToEnd(env, agents, client, to.CWD, i.Models())
		line, _, _ := strings.Cut(strings.TrimSpace(out), "\n")
		if to.Model = strings.TrimSpace(line); err != nil || to.Model == "" {
			return refusalError(client, "say which models it has", 1, err, complaint, out)
		}
	}
	scratch, err := MakeScratch(cmp.Or(env.Getenv("TMPDIR"), "/tmp"))
	if err != nil {
		return err
	}
	defer os.RemoveAll(scratch)
	file := filepath.Join(scratch, string(to.ID)+".json")
	if err := atomicfile.Stream(file, write); err != nil {
		return err
	}
	out, complaint, err := runToEnd(env, agents, client, to.CWD, i.Import(file))
	if err == nil && strings.Contains(out, string(to.ID)) {
		return nil
	}
	return refusalError(client, "take in the conversation", 1, err, complaint, out)
}

// runToEnd runs a client that ends by itself and returns what it prints.
func runToEnd(env *cli.Env, agents *agent.Table, client agent.Client, dir string, args []string) (out, complaint string, err error) {
	ctx, stop := signal.NotifyContext(context.Background(), cli.EndSignals()...)
	defer stop()
	ctx, cancel := context.WithTimeout(ctx, importWait)
	defer cancel()
	cmd, err := prepareProcess(ctx, dir, slices.Concat(client.Command, args), WithoutSession(agents, env.ChildEnviron()))
	if err != nil {
		return "", "", err
	}
	var stdout, stderr tail
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err = cmd.Run(); ctx.Err() == context.Canceled {
		err = ErrInterrupted
	}
	return stdout.String(), stderr.String(), err
}

// NewSession has a client create a session with the command line of agent.Client.Capture,
// and returns its id, which is at path in the client's JSON output. dir is the current
// folder. The client's standard error goes to stderr. The client has wait to answer; SIGINT
// ends it earlier.
func NewSession(wait time.Duration, dir string, args, environ []string, path string, stderr io.Writer) (session.ID, error) {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	cmd, err := prepareProcess(ctx, dir, args, environ)
	if err != nil {
		return "", err
	}
	cmd.Dir = "" // the current one, whatever has its name by now
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second // one of its children may hold the pipe
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, stderr
	name := filepath.Base(args[0])
	switch err := cmd.Run(); {
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return "", fmt.Errorf("%s did not start a session within %v", name, wait)
	case err != nil:
		return "", fmt.Errorf("%s did not start a session: %w", name, err)
	}
	id, err := session.ParseID(agent.Client{SessionIDJSONPath: path}.SessionIDIn(out.Bytes()))
	if err != nil {
		return "", fmt.Errorf("%s did not start a session: %w", name, err)
	}
	return id, nil
}
