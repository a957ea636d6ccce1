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
	"gt/lib/catalog/scan"
	"gt/lib/cli"
	"gt/lib/client/account"
	"gt/lib/client/agent"
	"gt/lib/client/writers"
	"gt/lib/conversation"
	"gt/lib/launch/ask"
	"gt/lib/record"
	"gt/lib/sys/atomicfile"
	"gt/lib/sys/process"
)

// copyPredecessor returns a copy that can be asked in place of a session which its client has
// deleted or whose client cannot be asked. It writes the session's record as a conversation into a
// scratch folder, from where any installed agent can read it. done removes that folder.
func (c *talk) copyPredecessor(env *cli.Env, all *agent.Table, guard account.StoreGuard, s *catalog.Session) (p *ask.Predecessor, done func(), err error) {
	client, w, err := answering(env, all, s)
	if err != nil {
		return nil, nil, err
	}
	if c.DryRun {
		return nil, nil, cli.Fail(cli.AnswerNo, fmt.Errorf("this asks a copy of the conversation of session %s, which is removed afterwards", s.ID),
			fmt.Sprintf("gt-record convert %s --to %s makes one that stays", s.ID, client.Name))
	}
	scratch, err := ask.MakeScratch(cmp.Or(env.Getenv("TMPDIR"), "/tmp"))
	if err != nil {
		return nil, nil, err
	}
	done = func() { os.RemoveAll(scratch) }
	defer func() {
		if err != nil {
			done()
		}
	}()
	source, err := sourceOf(env, guard, s, scratch)
	if err != nil {
		return nil, nil, err
	}
	settled, err := conversation.PairResults(source)
	if err != nil {
		return nil, nil, err
	}
	if settled.MaxEntries == 0 {
		return nil, nil, cli.Failf(cli.AnswerNo, "nothing was said in session %s", s.ID)
	}
	id := w.NewID(env.Now())
	copied := &conversation.Copy{ID: id, FromClient: s.Agent, CWD: s.CWD, Branch: s.Branch, Title: s.Title, Now: env.Now(), Settled: settled}
	path, store, err := inScratch(env, client, w, copied, scratch)
	if err == nil {
		err = atomicfile.Stream(path, func(out io.Writer) error { return w.Write(out, copied) })
	}
	if err == nil {
		dir, _, _ := resumeFolder(guard, s)
		p, err = ask.NewPredecessor(env, all, client, id, dir, path, store)
	}
	if client.Name != s.Agent && err == nil {
		env.Hint("%s answers from a copy of the conversation", client.Name)
	}
	return p, done, err
}

// sourceOf returns a session's conversation as its record has it, without secrets, because it
// goes to the maker of another agent. It makes the record in the folder scratch if there is none.
func sourceOf(env *cli.Env, guard account.StoreGuard, s *catalog.Session, scratch string) (conversation.Source, error) {
	if s.Recorded {
		return record.SourceOf(s.File)
	}
	f, err := transcriptOf(env, guard, s)
	if err != nil {
		return nil, err
	}
	store := record.Store{Sessions: filepath.Join(scratch, "sessions"), Contexts: filepath.Join(scratch, "context")}
	y := &record.Syncer{Store: store, Index: record.Index{}, Redact: env.Redact, Now: env.Now, Bulk: true}
	made, err := y.Sync(scan.ReaderOf(f.Client), conversation.Conversation{File: f, Metadata: conversation.Metadata{ID: s.ID, Started: s.StartedAt}})
	if err == nil && made.ID == "" {
		err = cli.Failf(cli.AnswerNo, "nothing was said in session %s", s.ID)
	}
	return store.Conversation(made.ID), err
}

// inScratch returns the path of the conversation below the folder scratch: where the client expects
// it in store, a folder of its own, or with store "" any file.
func inScratch(env *cli.Env, client agent.Client, w conversation.Writer, copied *conversation.Copy, scratch string) (path, store string, err error) {
	if store, err = ask.OwnFolder(client, env.Getenv, scratch); err != nil || store == "" {
		return filepath.Join(scratch, string(copied.ID)+".jsonl"), "", err
	}
	own, err := account.FindCurrent(w.Client(), func(name string) string {
		if name == client.StoreEnv {
			return store
		}
		return env.Getenv(name)
	})
	if err == nil {
		path, err = w.TranscriptPath(own, copied)
	}
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
	for _, w := range writers.Writers {
		names = append(names, w.Client())
	}
	var could []string
	for _, name := range names {
		w, client := writers.FindWriter(name), all.FindClient(name)
		if w == nil || !client.CanAskFile() {
			continue
		}
		if _, err := process.LookPath(client.Command[0], env.Dir, env.ChildEnviron()); err == nil {
			return client, w, nil
		}
		if !slices.Contains(could, client.Command[0]) {
			could = append(could, client.Command[0])
		}
	}
	refused := onlyRecorded(s)
	if !s.Recorded {
		_, refused = ask.NewPredecessor(env, all, all.FindClient(s.Agent), s.ID, "", "", "")
	}
	return agent.Client{}, nil, cli.WithHint(refused, "with %s on PATH it could be asked", strings.Join(could, " or "))
}
