package mailcmd

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"gt/lib/cli"
	"gt/lib/place"
	"gt/lib/place/home"
	"gt/lib/reconcile/config"
	"gt/lib/state/instance"
	"gt/lib/state/mail"
	"gt/lib/state/peer"
	"gt/lib/state/post"
	"gt/lib/state/request"
	"gt/lib/state/session"
	"gt/lib/state/work"
)

type workCmd struct {
	Give  workGive  `cmd:"" help:"Leave work for any session of a template."`
	Claim workClaim `cmd:"" help:"Take the oldest work for this session, and print it."`
	Done  workDone  `cmd:"" help:"Close work that this session has claimed."`
	Back  workBack  `cmd:"" help:"Give claimed or blocked work back: any session may claim it."`
	Asked workAsked `cmd:"" hidden:"" help:"Do what a command of this session has asked for in its sandbox; its hook runs this."`
	List  workList  `cmd:"" default:"withargs" help:"List the work that is not done, and who has it (the default)."`
}

type workGive struct {
	Template string `arg:"" help:"The template whose sessions may claim it; TEMPLATE@HOST is one of another host, TEMPLATE@any one of any host."`
	message
}

// findWork returns the home and its work: of the agent's profile or town, or of the folder's town.
func findWork(env *cli.Env) (home.Home, work.Work) {
	h := home.Find(env.Getenv, env.Dir, "")
	if s, in := instance.OfAgent(h.Town.State, env.Getenv(instance.Variable)); in != nil {
		return h, work.NewWork(s)
	}
	if h.Town.Personal {
		return h, work.NewWork(instance.Personal(h.Town.State, ""))
	}
	return h, work.NewWork(instance.OfTown(h.Town.State, h.Town.Root))
}

// Run leaves the work for a template's sessions here, or puts it into the outbox for other hosts.
func (c *workGive) Run(env *cli.Env) error {
	if err := c.checkSubject(); err != nil {
		return err
	}
	h, w := findWork(env)
	if name, at, ok := peer.SplitAddress(c.Template); ok && at == peer.AnyHost {
		return currentAgent(env).sendToHost(env, peer.Host{Name: peer.AnyHost}, peer.Work, name, c.message, false)
	}
	name, host, err := post.ResolveRemote(h.Town.State, env.Dir, c.Template)
	if err != nil {
		return err
	}
	if host.Name != "" {
		return currentAgent(env).sendToHost(env, host, peer.Work, name, c.message, false)
	}
	c.Template = name
	if err := c.checkTemplate(env, h); err != nil {
		return err
	}
	body, err := c.readBody(env)
	if err != nil {
		return err
	}
	id, err := w.Give(c.Template, currentAgent(env).signNote(env, mail.Note{Type: mail.Plain, Subject: c.Subject, Body: body}), env.Now())
	if err != nil {
		return explainRefusal(err)
	}
	if _, err = fmt.Fprintf(env.Stdout, "%s  left for %s\n", id, c.Template); err == nil && !w.HasSession(c.Template) {
		env.Hint("no session of %s runs; gt-reconcile plan says whether one will, and gt-session new --template %s makes one", c.Template, c.Template)
	}
	return err
}

// checkTemplate returns an error for a template that does not exist. It accepts any name from an
// agent of gt-session, whose profile can have other templates, and if they cannot be read.
func (c *workGive) checkTemplate(env *cli.Env, h home.Home) error {
	if env.Getenv(instance.Variable) != "" {
		return nil
	}
	from := config.NewSource(place.ScopeOf(env.Getenv), h.Town, "")
	all, err := from.Read()
	if err != nil || all.Find(c.Template) != nil {
		return nil
	}
	var names []string
	for _, t := range all.Templates {
		names = append(names, t.Name)
	}
	hint := fmt.Sprintf("an [[agent]] block in '%s' makes a template", from.File)
	if len(names) > 0 {
		hint = fmt.Sprintf("'%s' has %s", from.File, strings.Join(names, ", "))
	}
	return cli.Fail(cli.AnswerNo, fmt.Errorf("no template is called '%s'", c.Template), hint)
}

// templateAgent returns the instance whose agent runs this. Only one of a template can have work.
func templateAgent(env *cli.Env) (work.Work, *instance.Instance, error) {
	h := home.Find(env.Getenv, env.Dir, "")
	s, in := instance.OfAgent(h.Town.State, env.Getenv(instance.Variable))
	if in == nil || in.Managed == nil {
		return work.Work{}, nil, cli.Fail(cli.AnswerNo, errors.New("this is not an agent of a template"), "gt-reconcile starts them; gt-mail work list shows the work")
	}
	return work.NewWork(s), in, nil
}

type workClaim struct{}

// Run claims and prints work, or has a hook claim it if a sandbox does not let this command.
func (workClaim) Run(env *cli.Env) error {
	w, in, err := templateAgent(env)
	if err != nil {
		return err
	}
	n, err := w.Claim(in.Managed.Template, in.Name)
	switch {
	case errors.Is(err, work.ErrNone), errors.Is(err, work.ErrUnrouted):
		return cli.Fail(cli.AnswerNo, err)
	case err != nil:
		return currentAgent(env).askWork(env, request.Item{Kind: request.Claim}, "claim work: it is claimed when your turn ends, and comes as a note", err)
	}
	// Indent lines that begin as a request does: the agent's hook would take them for one.
	body := strings.TrimPrefix(strings.ReplaceAll("\n"+env.Text(n.Body), "\n"+request.Kind, "\n "+request.Kind), "\n")
	return env.Printf("%s  %s\n\n%s\ngt-mail work done %s closes it.\n", n.ID, env.Line(n.Subject, mail.MaxSubject), body, n.ID)
}

type workDone struct {
	ID string `arg:"" help:"The work, by its id or a beginning of it."`
}

func (c *workDone) Run(env *cli.Env) error {
	w, in, err := templateAgent(env)
	if err != nil {
		return err
	}
	// Late work is closed all the same, so it is only a warning.
	if err = w.MarkDone(in.Name, c.ID); errors.Is(err, work.ErrLate) {
		env.WarnError(err)
		return nil
	} else if request.Denied(err) {
		return currentAgent(env).askWork(env, request.Item{Kind: request.Done, Work: c.ID}, "close work: it is closed when your turn ends", err)
	}
	if errors.Is(err, work.ErrBlocked) {
		return cli.Fail(cli.AnswerNo, err, "gt-mail work back "+c.ID+" gives it back, to be claimed anew")
	}
	return unclaimedError(err, "this session has no such work", c.ID)
}

type workBack struct {
	ID string `arg:"" help:"The work, by its id or a beginning of it."`
}

func (c *workBack) Run(env *cli.Env) error {
	_, w := findWork(env)
	err := w.GiveBack(c.ID)
	if request.Denied(err) {
		return currentAgent(env).askWork(env, request.Item{Kind: request.GiveBack, Work: c.ID}, "give work back: what is this session's is given back when your turn ends", err)
	}
	return unclaimedError(err, "no session has or had such work", c.ID)
}

// unclaimedError returns the error for work that is not there to be closed or given back.
func unclaimedError(err error, not, id string) error {
	if errors.Is(err, work.ErrNotFound) {
		return cli.Fail(cli.AnswerNo, fmt.Errorf("%s: '%s'", not, id), "gt-mail work lists all work, and who has it")
	}
	return err
}

// askWork requests a change of work that a sandbox prevents. Otherwise it returns the error.
func (a agent) askWork(env *cli.Env, item request.Item, what string, failed error) error {
	said, err := a.askHook(env, item, failed)
	if err != nil {
		return err
	}
	return env.Printf("%sThe sandbox does not let this command %s.\n", said, what)
}

type workAsked struct {
	Session string `required:"" help:"The session that has asked."`
	Do      string `arg:"" enum:"claim,done,back" help:"What."`
	ID      string `arg:"" optional:"" help:"The work."`
}

// Run claims work for an agent, or closes it or gives it back. The agent asked for that in a
// sandbox, and a hook of its client runs this outside, where the agent does not see the output: the
// outcome comes to it as a note. The session must be the agent's.
func (c *workAsked) Run(env *cli.Env) error {
	id, err := session.ParseID(c.Session)
	if err != nil {
		return cli.Fail(cli.Usage, err)
	}
	h := home.Find(env.Getenv, env.Dir, "")
	s, in := instance.OfAgent(h.Town.State, env.Getenv(instance.Variable))
	if in == nil || in.Managed == nil || s.Session(in) != id {
		return cli.Failf(cli.AnswerNo, "the session is not the agent of a template")
	}
	kept, ok, err := home.OfSession(h.Town.State, string(id))
	if err != nil || !ok {
		return err
	}
	w := work.NewWork(s)
	tell := func(subject, body string) error {
		address := kept.Identity.Address()
		_, err := mail.NewBox(kept, address).Deliver(mail.Note{
			Type: mail.Plain, From: address, To: address, Date: env.Now(), Subject: subject, Body: body, Session: string(id),
		}, false)
		return err
	}
	switch c.Do {
	case request.Claim:
		n, err := w.Claim(in.Managed.Template, in.Name)
		if errors.Is(err, work.ErrNone) || errors.Is(err, work.ErrUnrouted) {
			return tell(err.Error(), "")
		} else if err != nil {
			return err
		}
		if err = tell("Work: "+n.Subject, fmt.Sprintf("%s\n\n`gt-mail work done %s` closes it.", n.Body, n.ID)); err != nil {
			return errors.Join(err, w.BackOf(in.Name, n.ID)) // the agent does not know of the claim
		}
		return nil
	case request.Done:
		if err = w.MarkDone(in.Name, c.ID); errors.Is(err, work.ErrLate) {
			return tell(fmt.Sprintf("The work %.40s came late", c.ID), err.Error())
		}
	default: // request.GiveBack
		err = w.BackOf(in.Name, c.ID)
	}
	if err != nil {
		return errors.Join(err, tell(fmt.Sprintf("The work %.40s is as it was", c.ID), err.Error()))
	}
	return nil
}

type workList struct {
	JSON bool `name:"json" help:"One JSON object per line."`
}

// Run lists the work for this host's sessions, and then what was given for those of any host.
func (c *workList) Run(env *cli.Env) error {
	_, w := findWork(env)
	all, err := w.List()
	if err != nil {
		return err
	}
	given, _, err := outboxLetters(env)
	if err != nil {
		return err
	}
	given = slices.DeleteFunc(given, func(w pendingLetter) bool { return w.Host != peer.AnyHost })
	if len(all)+len(given) == 0 && !c.JSON {
		env.Hint("there is no work that is not done; gt-mail work give TEMPLATE gives some")
	}
	for _, i := range all {
		i.Note = i.Note.Clean(env.Text)
		if c.JSON {
			if err := env.JSON(i); err != nil {
				return err
			}
			continue
		}
		state := "open"
		switch {
		case i.Blocked != "":
			state = fmt.Sprintf("blocked: %s had it (%s)", i.Holder, env.Line(i.Blocked, 64))
		case i.Holder != "":
			state = i.Holder + " has it"
		}
		if i.Late {
			state += ", its giver took it back"
		}
		if err := env.Printf("%s  %s  %s  %s\n", i.ID, env.Line(i.Template, 64), state, env.Line(i.Subject, 200)); err != nil {
			return err
		}
	}
	for _, w := range given { // for a session of any host; gt-mail outbox --json has it
		if c.JSON {
			break
		}
		state := cmp.Or(env.Line(w.describeHosts(), maxReason), "waits for a free session")
		if err := env.Printf("%s  %s  %s  %s\n", w.ID, env.Line(w.To, 64), state, env.Line(w.Subject, 200)); err != nil {
			return err
		}
	}
	return nil
}
