package seancecmd

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"gt/lib/catalog"
	"gt/lib/cli"
	"gt/lib/client/agent"
	"gt/lib/client/writers"
	"gt/lib/conversation"
	"gt/lib/launch/ask"
	"gt/lib/record"
	"gt/lib/sys/atomicfile"
	"gt/lib/sys/process"
)

// fromRecord returns a session that its client has deleted in a form that can be asked: it
// writes the record as a conversation that an agent reads from any file. done removes that
// file.
func (c *talk) fromRecord(env *cli.Env, s *catalog.Session) (p *ask.Predecessor, done func(), err error) {
	all := agents(env)
	client, w, err := answering(env, all, s)
	if err != nil {
		return nil, nil, err
	}
	if c.DryRun {
		return nil, nil, cli.Fail(cli.No, fmt.Errorf("%s does not keep the conversation of session %s any more: a copy of its record is asked, which is there only meanwhile", s.Agent, s.ID),
			fmt.Sprintf("gt-record convert %s --to %s makes one that stays", s.ID, client.Name))
	}
	source, err := record.SourceOf(s.File)
	if err != nil {
		return nil, nil, err
	}
	settled, err := conversation.PairResults(source)
	if err != nil {
		return nil, nil, err
	}
	if settled.Len == 0 {
		return nil, nil, cli.Failf(cli.No, "nothing was said in session %s", s.ID)
	}
	scratch, err := ask.Scratch(cmp.Or(env.Getenv("TMPDIR"), "/tmp"))
	if err != nil {
		return nil, nil, err
	}
	done = func() { os.RemoveAll(scratch) }
	id := w.NewID(env.Now())
	copied := &conversation.Copy{ID: id, From: s.Agent, CWD: s.CWD, Branch: s.Branch, Title: s.Title, Now: env.Now(), Settled: settled}
	path, store, err := inScratch(env, client, w, copied, scratch)
	if err == nil {
		err = atomicfile.Stream(path, func(out io.Writer) error { return w.Write(out, copied) })
	}
	if err == nil {
		dir, _, _ := folder(owned(env), s)
		p, err = ask.Of(env, all, client, id, dir, path, store)
	}
	if err != nil {
		done()
		return nil, nil, err
	}
	return p, done, nil
}

// inScratch returns the path of the conversation below the folder scratch. It is any file,
// or the place that the client expects in store, a folder of its own.
func inScratch(env *cli.Env, client agent.Client, w conversation.Writer, copied *conversation.Copy, scratch string) (path, store string, err error) {
	if store, err = ask.OwnFolder(client, env.Getenv, scratch); err != nil || store == "" {
		return filepath.Join(scratch, string(copied.ID)+".jsonl"), "", err
	}
	path, _, err = w.Place(func(name string) string {
		if name == client.StoreEnv {
			return store
		}
		return env.Getenv(name)
	}, copied)
	if err != nil {
		return "", "", err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return "", "", atomicfile.Error("create", filepath.Dir(path), err)
	}
	return path, store, nil
}

// answering returns an installed agent that can read a conversation from any file, the
// session's own first.
func answering(env *cli.Env, all *agent.Table, s *catalog.Session) (agent.Client, conversation.Writer, error) {
	names := []string{s.Agent}
	for _, w := range writers.All {
		names = append(names, w.Client())
	}
	var could []string
	for _, name := range names {
		w, client := writers.Of(name), all.Of(name)
		if w == nil || !client.OfFile() {
			continue
		}
		if _, err := process.LookPath(client.Command[0], env.Dir, env.ChildEnviron()); err == nil {
			return client, w, nil
		}
		if !slices.Contains(could, client.Command[0]) {
			could = append(could, client.Command[0])
		}
	}
	return agent.Client{}, nil, cli.WithHint(onlyRecorded(s), "with %s on PATH it could be asked", strings.Join(could, " or "))
}
