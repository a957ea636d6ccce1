package recordcmd

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"gt/lib/cli"
	"gt/lib/client/account"
	"gt/lib/client/agent"
	"gt/lib/client/writers"
	"gt/lib/conversation"
	"gt/lib/launch/ask"
	"gt/lib/launch/resume"
	"gt/lib/place"
	"gt/lib/place/town"
	"gt/lib/record"
	"gt/lib/state/session"
	"gt/lib/sys/atomicfile"
	"gt/lib/text/term"
)

type convert struct {
	ID     string `arg:"" help:"The record."`
	To     string `required:"" placeholder:"AGENT" help:"The agent that continues it (claude, codex, gemini, qwen, opencode, pi, kimi)."`
	CWD    string `name:"cwd" placeholder:"DIR" help:"The folder in which it continues (default: the session's, or this one if that is gone)."`
	JSON   bool   `name:"json" help:"One JSON object: the id and the file of what was written, and the arguments that continue it."`
	DryRun bool   `short:"n" help:"Print what would be written where, and write nothing."`
}

type converted struct {
	Record  record.ID  `json:"id"`
	Agent   string     `json:"agent"`
	Session session.ID `json:"session_id"`
	CWD     string     `json:"cwd"`
	Path    string     `json:"path,omitempty"` // empty for a client that imports the file
	Args    []string   `json:"args"`
}

// Run converts a record to a conversation that another agent can resume, and prints the
// command for that.
func (c *convert) Run(env *cli.Env) error {
	w := writers.FindWriter(c.To)
	if w == nil {
		var names []string
		for _, w := range writers.Writers {
			names = append(names, w.Client())
		}
		return cli.Failf(cli.Usage, "gt does not know how %s keeps a conversation that it resumes (try %s)", c.To, strings.Join(names, ", "))
	}
	s, err := findContinuable(env, c.ID)
	if err != nil {
		return err
	}
	id := s.id
	i, err := s.Info(id)
	switch {
	case err != nil:
		return err
	case i.Gone != "":
		return cli.Failf(cli.AnswerNo, "the record '%s' was %s", id, i.Gone)
	}
	head, err := s.Head(id)
	if err != nil {
		return err
	}
	if s.host != "" {
		i.CWD = env.Dir // the record has a folder of that host
	}
	dir, err := c.chooseFolder(env, i)
	if err != nil {
		return err
	}
	settled, err := conversation.PairResults(s.Conversation(id))
	if err != nil {
		return err
	}
	if settled.MaxEntries == 0 {
		return cli.Failf(cli.AnswerNo, "nothing was said in '%s'", id)
	}
	to := &conversation.Copy{
		ID: w.NewID(env.Now()), FromClient: i.Agent, CWD: dir, Branch: head.Branch, Title: i.Title, Now: env.Now(), Settled: settled,
	}
	own, err := account.FindCurrent(c.To, env.Getenv)
	if err != nil {
		return err
	}
	path, err := w.TranscriptPath(own, to)
	if err != nil {
		return err
	}
	if info, err := os.Stat(own.Dir); err != nil || !info.IsDir() {
		return cli.Fail(cli.AnswerNo, fmt.Errorf("%s has no folder '%s' here", c.To, own.Dir), "start it once, or name its folder as you do for it")
	}
	known, err := agent.Load(place.Config(env.Getenv), town.Personal(env.Getenv))
	env.WarnError(err)
	client := known.FindClient(c.To)
	size, err := c.writeConversation(w, to, path, func(i conversation.Importer, write func(io.Writer) error) error {
		return ask.Import(env, known, client, i, to, write)
	})
	if err != nil {
		return err
	}
	verb, where := "wrote", env.DisplayPath(path)
	if path == "" {
		verb, where = "had it take in", "a conversation"
	}
	if c.DryRun {
		verb = "would write"
	}
	env.Hint("%s %s (%s) for %s; the record and the original stay as they are", verb, where, term.FormatSize(size), c.To)
	cmd := resume.BuildCommand(known, client, resume.Session{ID: to.ID, Dir: dir}, false, env.Getenv)
	if c.JSON {
		return env.JSON(converted{id, c.To, to.ID, dir, path, cmd.Args})
	}
	return env.Println(term.Clean(env.Redact(cmd.String())))
}

// writeConversation writes the conversation to path and returns its size in bytes. A client that
// imports conversations takes it in instead. Some clients need a second file beside it.
func (c *convert) writeConversation(w conversation.Writer, to *conversation.Copy, path string, take func(conversation.Importer, func(io.Writer) error) error) (int64, error) {
	n := new(byteCounter)
	all := func(out io.Writer) error { return w.Write(io.MultiWriter(out, n), to) }
	imported, byItself := w.(conversation.Importer)
	switch {
	case c.DryRun:
		err := all(io.Discard)
		return int64(*n), err
	case byItself:
		err := take(imported, all)
		return int64(*n), err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return 0, atomicfile.Error("create", filepath.Dir(path), err)
	}
	if err := atomicfile.Stream(path, all); err != nil {
		return int64(*n), err
	}
	second, ok := w.(conversation.Companion)
	if !ok {
		return int64(*n), nil
	}
	file, content, err := second.CompanionFile(path, to)
	if err == nil {
		err = atomicfile.Write(file, content, atomicfile.Synced)
	}
	return int64(*n), err
}

type byteCounter int64

func (c *byteCounter) Write(p []byte) (int, error) {
	*c += byteCounter(len(p))
	return len(p), nil
}

// chooseFolder returns where the conversation goes on: --cwd, else its own folder, else this one.
func (c *convert) chooseFolder(env *cli.Env, i record.Info) (string, error) {
	dir := env.Abs(cmp.Or(c.CWD, i.CWD))
	info, err := os.Stat(dir)
	switch {
	case err == nil && info.IsDir():
		return filepath.Clean(dir), nil
	case c.CWD != "":
		return "", cli.Fail(cli.Usage, atomicfile.Error("use", dir, cmp.Or(err, errors.New("it is not a folder"))))
	}
	env.Hint("the folder '%s' is gone: it goes on in this one", dir)
	return env.Dir, nil
}
