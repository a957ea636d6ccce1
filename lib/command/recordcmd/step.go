package recordcmd

import (
	"errors"

	"gt/lib/cli"
	"gt/lib/client/hook"
	"gt/lib/record"
	"gt/lib/text/duration"
	"gt/lib/text/term"
)

type step struct {
	Start stepStart `cmd:"" help:"Note in this session's record that a step begins."`
	Done  stepDone  `cmd:"" help:"Note in this session's record that a step is done."`
}

type stepFlags struct {
	Name string `arg:"" help:"What the step is called."`
	ID   string `placeholder:"ID" help:"The record (default: that of the session that runs this)."`
}

type stepStart struct{ stepFlags }

func (c *stepStart) Run(env *cli.Env) error { return noteStep(env, c.ID, record.StepBegun, c.Name) }

type stepDone struct{ stepFlags }

func (c *stepDone) Run(env *cli.Env) error { return noteStep(env, c.ID, record.StepDone, c.Name) }

// noteStep adds a line to a record, which says that the step called of begins or is done. name is
// that of the record; "" is this session's, which is made if it is missing.
func noteStep(env *cli.Env, name string, kind record.Kind, of string) error {
	s, err := openStore(env)
	if err != nil {
		return err
	}
	if name == "" {
		call := hook.NewInvocation(env, hook.Flags{})
		if call.ID == "" {
			return cli.Fail(cli.AnswerNo, errors.New("this is not running in a session"), "--id names a record")
		}
		name = string(call.ID)
		if found, err := findMatching(s, name); err == nil && len(found) == 0 {
			all, err := (&syncCmd{ID: []string{name}}).chooseConversations(env, s, conversations(env))
			if err != nil {
				return err
			}
			if _, err := syncAll(env, s, all); err != nil {
				return err
			}
		}
	}
	id, err := findRecord(env, s, name)
	if err != nil {
		return err
	}
	return s.AppendStep(id, kind, env.Redact(of), env.Now())
}

// showSteps prints the steps that were noted in a record, with the time that each took.
func showSteps(env *cli.Env, s record.Store, id record.ID) error {
	all, err := s.Steps(id)
	if err != nil {
		return err
	}
	if len(all) == 0 {
		env.Hint("no step was noted; gt-record step start NAME notes one")
		return nil
	}
	rows := [][]string{{"STARTED", "DONE", "TOOK", "STEP"}}
	for _, st := range all {
		took := ""
		if !st.Done.IsZero() && !st.Begun.IsZero() {
			took = duration.Format(st.Done.Sub(st.Begun))
		}
		rows = append(rows, []string{term.FormatDay(st.Begun, env.Now()), term.FormatDay(st.Done, env.Now()), took, term.Clean(env.Redact(st.Name))})
	}
	return term.StyleFor(env.Stdout, env.Getenv).Table(env.Stdout, term.Width(env.Stdout, env.Getenv), rows, nil)
}
