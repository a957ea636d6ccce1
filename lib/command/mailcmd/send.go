package mailcmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"gt/lib/cli"
	table "gt/lib/client/agent"
	"gt/lib/client/names"
	"gt/lib/place"
	"gt/lib/place/crew"
	"gt/lib/place/home"
	"gt/lib/place/identity"
	"gt/lib/place/rig"
	"gt/lib/place/town"
	"gt/lib/state/instance"
	"gt/lib/state/mail"
	"gt/lib/state/peer"
	"gt/lib/state/post"
	"gt/lib/state/request"
	"gt/lib/state/session"
	"gt/lib/state/waiting"
	"gt/lib/sys/atomicfile"
	"gt/lib/sys/bounded"
	"gt/lib/sys/process"
	"gt/lib/text/spelling"
)

type send struct {
	To string `arg:"" path:"" help:"The path of the folder that the agent works in, or its name in gt-session; self for this agent; in a town, an address. NAME@HOST is an agent of another host."`
	message
	Wake bool `help:"If the agent waits for a prompt, tell it at once, in its empty input box."`
	Hook bool `help:"Give it as work: the agent's next session starts on it."`
	JSON bool `name:"json" help:"Print the note as one JSON object."`
}

func (c *send) Run(env *cli.Env) error {
	if err := c.checkSubject(); err != nil {
		return err
	}
	me := currentAgent(env)
	name, host, err := post.ResolveRemote(me.home.Town.State, env.Dir, c.To)
	if err != nil {
		return err
	}
	if host.Name != "" {
		if c.Hook {
			return cli.Fail(cli.Usage, fmt.Errorf("an agent of another host cannot be given work"), "without --hook it gets a note; gt-mail work give TEMPLATE@HOST leaves work there")
		}
		return me.sendToHost(env, host, peer.Note, name, c.message, c.JSON)
	}
	if err := checkAddress(me.home, name); err != nil {
		return err
	}
	to, err := post.Find(me.home, place.ScopeOf(env.Getenv), env.Dir, name)
	if err != nil {
		return hintAddress(err, me.home.Town, name)
	}
	body, err := c.readBody(env)
	if err != nil {
		return err
	}
	n := me.signNote(env, mail.Note{Type: mail.Plain, To: to.Address, Subject: c.Subject, Body: body})
	if n.To != n.From && me.home.Identity.Role == "" {
		n.From = me.home.Dir // an address that the recipient can reply to
	}
	id, err := to.Box.Deliver(n, c.Hook)
	// For an agent in a sandbox, its hook can deliver the note, but only to the agent itself.
	if err != nil && n.To == me.home.Identity.Address() {
		return me.requestSend(env, n, c.Hook, c.JSON, err)
	}
	if err != nil {
		return explainRefusal(err)
	}
	n, err = to.Box.Get(id)
	if err != nil {
		return err
	}
	woken, err := c.wakeAgents(env, me, to)
	env.WarnError(err) // the note is there
	what, who := "sent", to.Address
	if c.Hook {
		what = "given"
	}
	if to.Name != "" {
		who = to.Name + " in " + who
	}
	if woken {
		who += ", which is told now"
	} else if to.Archived {
		env.Hint("%s is archived: it is told once gt-session start brings it back", name)
	}
	return printNote(env, c.JSON, n, "%s to %s", what, who)
}

// wakeAgents has gt-session tell running agents of the recipient at once that a note is there: all
// with --wake, else those whose name or role the person's settings list. woken reports whether one
// was told; others are told with their next prompt.
func (c *send) wakeAgents(env *cli.Env, me agent, to post.Recipient) (woken bool, err error) {
	state := me.home.Town.State
	names := table.LoadPreferences(place.Config(env.Getenv), env.WarnError).Mail.Wake
	if !c.Wake && len(names) == 0 {
		return false, nil
	}
	stores, err := instance.Stores(state)
	if err != nil {
		return false, err
	}
	args := []string{"wake", "--"}
	for _, s := range stores {
		all, unread := s.ReadInstances()
		err = errors.Join(err, unread)
		for _, in := range all {
			wanted := c.Wake || slices.Contains(names, in.Name) || in.Role != "" && slices.Contains(names, in.Role)
			if in.Desired == instance.Running && wanted && (to.Name == "" || in.Name == to.Name) &&
				post.NewRecipient(home.FindOtherHome(place.ScopeOf(env.Getenv), in.Path)).Box.Dir() == to.Box.Dir() {
				args = append(args, s.Name(in.ID))
			}
		}
	}
	if len(args) > 2 { // it names an agent
		path, perr := process.LookPath(process.SiblingBinary("gt-session"), env.Dir, env.ChildEnviron())
		if perr != nil {
			return false, errors.Join(err, perr)
		}
		r, rerr := bounded.Program{Path: path, Args: args, Dir: env.Dir, Env: env.ChildEnviron(), Within: time.Minute, Most: 1 << 20}.Run(context.Background())
		woken, err = len(r.Out) > 0, errors.Join(err, rerr)
	}
	if c.Wake && !woken && err == nil {
		env.Hint("no agent was told at once: none there waits with an empty input box; the next prompt tells it")
	}
	return woken, err
}

type hook struct {
	ID  string `arg:"" optional:"" help:"The note, by its ID or the beginning of it."`
	New bool   `help:"Write a note to this agent itself, with -s and -m, and give it as work."`
	message
	JSON bool `name:"json" help:"Print the note as one JSON object."`
}

func (c *hook) Validate() error {
	switch written := c.Subject != "" || c.Message != nil; {
	case c.New && c.ID != "":
		return fmt.Errorf("either --new or the ID of a note")
	case !c.New && c.ID == "":
		return fmt.Errorf("which note? give its ID, or --new -s TEXT to write one")
	case !c.New && written:
		return fmt.Errorf("-s and -m need --new")
	}
	return nil
}

// Run hooks a note to this agent. Its next session starts on it.
func (c *hook) Run(env *cli.Env) error {
	me := currentAgent(env)
	id := c.ID
	if c.New {
		if err := c.checkSubject(); err != nil {
			return err
		}
		body, err := c.readBody(env)
		if err != nil {
			return err
		}
		n := me.signNote(env, mail.Note{Type: mail.Plain, To: me.home.Identity.Address(), Subject: c.Subject, Body: body})
		if id, err = me.box.Deliver(n, true); err != nil {
			return me.requestSend(env, n, true, c.JSON, err)
		}
	}
	return me.changeNote(env, id, c.JSON, mail.Box.Hook, me.wordFor("given", "hooked"))
}

func (a agent) wordFor(outside, town string) string {
	if a.home.Town.Personal {
		return outside
	}
	return town
}

// askHook leaves an item for the hook at the end of the turn, if failed is the error of a sandbox.
// It returns the line that the command must print, so that the hook trusts the item; "" if it need
// not. If failed is another error, or no hook serves the session, it returns failed.
func (a agent) askHook(env *cli.Env, item request.Item, failed error) (line string, err error) {
	store := session.Store{Home: a.home}
	r, err := store.Get(store.Current(env.Getenv, names.SessionVars(), false))
	if !request.Denied(failed) || err != nil || r == nil || r.Hook == nil || r.Ended() {
		return "", explainRefusal(failed)
	}
	item.At = env.Now()
	line, err = request.Leave(request.HomeOf(place.ScopeOf(env.Getenv), a.home, r.ID), r.ID, item)
	switch {
	case err != nil:
		return "", err
	case line == "": // if the request could be delivered after all, it was not the sandbox
		env.WarnError(failed)
		return "", nil
	}
	return line + "\n", nil
}

// requestSend asks the hook to send a note to this agent itself (see askHook for failed).
func (a agent) requestSend(env *cli.Env, n mail.Note, given, asJSON bool, failed error) error {
	line, err := a.askHook(env, request.Item{Kind: request.Note, Subject: n.Subject, Message: n.Body, Given: given}, failed)
	if err != nil {
		return err
	}
	if asJSON {
		return env.JSON(struct {
			Request string `json:"request"`
		}{strings.TrimSuffix(line, "\n")})
	}
	return env.Printf("%sThe sandbox does not let this command write notes; the note is sent when your turn ends.\n", line)
}

type noteFlags struct {
	ID   string `arg:"" help:"The note, by its ID or the beginning of it."`
	JSON bool   `name:"json" help:"Print the note as one JSON object."`
}

type unhook struct{ noteFlags }

func (c *unhook) Run(env *cli.Env) error {
	me := currentAgent(env)
	return me.changeNote(env, c.ID, c.JSON, mail.Box.Unhook, me.wordFor("no longer given", "unhooked"))
}

type doneCmd struct{ noteFlags }

// Run closes a note, and cancels its hand-over if that still waits.
func (c *doneCmd) Run(env *cli.Env) error {
	me := currentAgent(env)
	n, err := me.box.Get(c.ID)
	if err != nil {
		return findError(err)
	}
	if n.Type == mail.Handoff {
		if cancelled, err := me.cancelHandover(env, n); err != nil {
			return err
		} else if cancelled {
			if n, err = me.box.Get(n.ID); err != nil {
				return findError(err)
			}
			return printNote(env, c.JSON, n, "done, and its hand-over is cancelled: %s", strings.TrimSpace(n.Subject))
		}
	}
	return me.changeNote(env, n.ID, c.JSON, mail.Box.DoneWith, "done")
}

const cancelWait = 5 * time.Second

// cancelHandover withdraws the waiting hand-over that a note belongs to, and reports if there was one.
func (a agent) cancelHandover(env *cli.Env, n mail.Note) (cancelled bool, err error) {
	lock, err := a.home.LockWithin(cancelWait)
	if err != nil {
		return false, err
	}
	defer lock.Unlock()
	all, err := waiting.ListHandovers(a.home, env.WarnError)
	if err != nil {
		return false, err
	}
	for _, w := range all {
		if w.Note == n.ID {
			return true, w.Cancel(a.home, env.Now(), env.WarnError)
		}
	}
	return false, nil
}

// changeNote calls do for a note, and prints the note as it is afterwards.
func (a agent) changeNote(env *cli.Env, id string, asJSON bool, do func(mail.Box, string) error, what string) error {
	n, err := a.box.Get(id)
	if err == nil {
		err = do(a.box, n.ID)
	}
	if err == nil {
		n, err = a.box.Get(n.ID)
	}
	if err != nil {
		return findError(err)
	}
	return printNote(env, asJSON, n, "%s: %s", what, strings.TrimSpace(n.Subject))
}

// checkAddress returns an error if to is an address of a rig or worker that the town of from does
// not have, with the nearest addresses that it has. A worker is there if it has a folder, or a
// place in gt-session. Of a text that is no such address it returns nil: post.Find judges that.
func checkAddress(from home.Home, to string) error {
	t := from.Town
	id, err := identity.Parse(to)
	if t.Personal || err != nil || id.Role == "" || id.Rig == "" || id == from.Identity {
		return nil
	}
	prefixes, err := rig.Prefixes(t)
	if err != nil {
		return nil // what the town does not tell cannot be wrong
	}
	_, listed := prefixes[id.Rig]
	there := listed || isRig(t, id.Rig)
	if id.Role == identity.Crew || id.Role == identity.Polecat {
		there = there && atomicfile.IsFolder(filepath.Join(t.Root, filepath.FromSlash(id.Dir())))
	}
	if there {
		return nil
	}
	all, err := addresses(t)
	if err != nil || slices.Contains(all, id.Address()) {
		return err
	}
	err = cli.Fail(cli.AnswerNo, fmt.Errorf("this town has no agent '%s'", id.Address()))
	return cli.WithHint(err, "%s", cmp.Or(spelling.Suggest(nearestAddresses(id.Address(), all)), "gt-session new --role ADDRESS --no-start makes the place of a worker"))
}

// hintAddress adds the nearest addresses of a town, or agents of gt-session, to the error for a
// recipient.
func hintAddress(err error, t town.Town, to string) error {
	var many *crew.Ambiguous // names them itself
	if cli.ExitCode(err) != cli.AnswerNo || errors.As(err, &many) {
		return err
	}
	hint := ""
	if t.Personal {
		hint = instance.HintNamed(t.State, to, "")
	} else {
		all, _ := addresses(t) // it is only a hint
		hint = spelling.Suggest(nearestAddresses(to, all))
	}
	if hint == "" {
		return err
	}
	return cli.WithHint(err, "%s", hint)
}

// addresses returns the addresses of a town.
func addresses(t town.Town) ([]string, error) {
	prefixes, _ := rig.Prefixes(t) // what cannot be read has no rigs
	folders, _ := atomicfile.Folders(t.Root)
	all := []string{"mayor", "deacon", "boot", "overseer"}
	rigs := slices.Collect(maps.Keys(prefixes))
	for _, name := range folders {
		if isRig(t, name) {
			rigs = append(rigs, name)
		}
	}
	for _, r := range rigs {
		for _, role := range []identity.Role{identity.Witness, identity.Refinery} {
			all = append(all, identity.Identity{Role: role, Rig: r}.Address())
		}
		for _, kind := range []string{"crew", "polecats"} {
			members, _ := atomicfile.Folders(filepath.Join(t.Root, r, kind)) // a rig can have none
			for _, name := range members {
				all = append(all, r+"/"+kind+"/"+name)
			}
		}
	}
	placed, err := instance.OfTown(t.State, t.Root).ReadInstances()
	for _, in := range placed {
		all = append(all, in.Role)
	}
	slices.Sort(all)
	return slices.Compact(all), err
}

// isRig reports whether a folder of a town is a rig's, which has folders for its agents. A town
// also keeps its mail, logs and more in folders.
func isRig(t town.Town, name string) bool {
	kinds := []string{"witness", "refinery", "crew", "polecats"}
	return !slices.Contains([]string{"mayor", "deacon", "mail", "logs"}, name) &&
		slices.ContainsFunc(kinds, func(kind string) bool { return atomicfile.IsFolder(filepath.Join(t.Root, name, kind)) })
}

const mostNear = 3

// nearestAddresses returns a few addresses that are spelt most like to at their end: it compares as
// many parts as to has, so only the names with "joe".
func nearestAddresses(to string, all []string) (near []string) {
	byEnd := map[string][]string{}
	for _, address := range all {
		parts := strings.Split(address, "/")
		end := strings.Join(parts[max(0, len(parts)-1-strings.Count(to, "/")):], "/")
		byEnd[end] = append(byEnd[end], address)
	}
	for _, end := range spelling.FindNear(to, slices.Sorted(maps.Keys(byEnd))) {
		near = append(near, byEnd[end]...)
	}
	return near[:min(mostNear, len(near))]
}
