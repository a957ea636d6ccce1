// Package checkpoint is the gt-checkpoint command: it writes, reads and clears
// what a session saves in case it dies without a word.
package checkpoint

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"gt/lib/checkpoint"
	"gt/lib/cli"
	"gt/lib/git"
	"gt/lib/hook"
	"gt/lib/mail"
	"gt/lib/redact"
	"gt/lib/transcript"
)

// Main runs gt-checkpoint and returns its exit code.
func Main(env *cli.Env) int {
	return cli.Run(env, cli.Program{
		Name: "gt-checkpoint",
		Summary: `
Saves where a session stands, for the one after it in case it dies without a
word. Claude's Stop hook writes one after every turn; an agent adds what only
it knows:

  gt-checkpoint write --notes 'tests pass; next: the migration'
  gt-checkpoint write --molecule mol-7 --step p2 --step-title 'parse flags'
  gt-checkpoint read`,
		Exits: `
0  done; with --hook always
1  read: there is no checkpoint`,
		Grammar: &grammar{},
	})
}

type grammar struct {
	cli.Flags
	Write write `cmd:"" help:"Save where this session stands."`
	Read  read  `cmd:"" help:"Show what was saved here last."`
	Clear clear `cmd:"" help:"Remove what was saved here."`
}

type write struct {
	hook.Flags
	Notes     *string `help:"What the successor must know." placeholder:"TEXT"`
	Molecule  *string `help:"The molecule that is worked on." placeholder:"ID"`
	Step      *string `help:"The step of it." placeholder:"ID"`
	StepTitle *string `help:"What that step is called." placeholder:"TEXT"`
}

// gitWait bounds git, which may be slow in a huge worktree. A checkpoint
// without git's part is better than none.
const gitWait = 3 * time.Second

// lastAnswer is how many characters of the agent's last words are kept.
const lastAnswer = 1500

// Run saves what git says and what the caller knows. What is not given stays
// as the same session saved it before.
func (w *write) Run(env *cli.Env) error {
	call := hook.Begin(env, w.Flags)
	return call.End(w.save(env, call))
}

func (w *write) save(env *cli.Env, call *hook.Call) error {
	if r := call.Home.Identity.Role; !r.Works() {
		if !w.Hook {
			env.Warn("nothing was saved: the %s has no work of its own to recover", r)
		}
		return nil
	}
	if err := call.Adopt(); err != nil {
		return err
	}
	state, err := git.Status(call.Home.Dir, gitWait)
	if err != nil && !errors.Is(err, git.ErrNotRepository) {
		env.Warn("%v", err)
	}
	lock, err := call.Home.Lock()
	if err != nil {
		return err
	}
	defer lock.Unlock()
	if r, err := call.Store.Get(call.ID); err == nil && r != nil && r.Ended() && w.Hook {
		return nil // a hook that was late: the session is over
	}
	c, err := checkpoint.Of(call.Home, call.ID)
	if err != nil {
		env.Warn("%v", err)
	}
	if c == nil {
		c = &checkpoint.Checkpoint{SessionID: call.ID}
	}
	c.Timestamp, c.TakenBy = env.Now().UTC(), ""
	c.Branch, c.LastCommit, c.ModifiedFiles = state.Branch, state.Head, nil
	for _, change := range state.Changes {
		c.ModifiedFiles = append(c.ModifiedFiles, git.Quote(change.Path))
	}
	w.tell(env, c, call.Input.LastAnswer)
	c.HookedBead = hooked(call)
	return checkpoint.Write(call.Home, c)
}

// tell adds what the caller knows.
func (w *write) tell(env *cli.Env, c *checkpoint.Checkpoint, answer string) {
	for to, given := range map[*string]*string{
		&c.Notes: w.Notes, &c.MoleculeID: w.Molecule, &c.CurrentStep: w.Step, &c.StepTitle: w.StepTitle,
	} {
		if given != nil {
			*to = redact.Text(*given, env.Environ)
		}
	}
	if answer != "" {
		c.LastAnswer = transcript.Cut(redact.Text(answer, env.Environ), lastAnswer)
	}
}

// hooked is the id of the work that is hooked to the agent.
func hooked(call *hook.Call) string {
	notes, err := mail.Of(call.Home, call.Home.Identity.Address()).Hooked()
	if err != nil {
		return ""
	}
	for _, n := range notes {
		if n.Type != mail.Handoff {
			return n.ID
		}
	}
	return ""
}

type read struct {
	JSON bool `name:"json" help:"Print the file's fields as one JSON object."`
}

// Run prints the newest checkpoint of the home.
func (r *read) Run(env *cli.Env) error {
	call := hook.Begin(env, hook.Flags{})
	all, err := checkpoint.List(call.Home)
	if err != nil {
		env.Warn("%v", err)
	}
	if len(all) == 0 {
		return cli.Failf(cli.No, "there is no checkpoint in '%s'", call.Home.Dir)
	}
	if r.JSON {
		data, err := json.Marshal(all[0])
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(env.Stdout, "%s\n", data)
		return err
	}
	text := all[0].Found(env.Now())
	if all[0].Stale(env.Now()) {
		text += " (stale: a start ignores it)"
	}
	_, err = fmt.Fprintf(env.Stdout, "%s\n%s", text, all[0].Text())
	return err
}

type clear struct{}

// Run removes this session's checkpoint, or all of the home's when no session
// is known. That there is none is no error.
func (*clear) Run(env *cli.Env) error {
	call := hook.Begin(env, hook.Flags{})
	lock, err := call.Home.Lock()
	if err != nil {
		return err
	}
	defer lock.Unlock()
	return checkpoint.Clear(call.Home, call.ID)
}
