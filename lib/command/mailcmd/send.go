package mailcmd

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"gt/lib/cli"
	"gt/lib/client/registry"
	"gt/lib/place/crew"
	"gt/lib/place/home"
	"gt/lib/place/identity"
	"gt/lib/state/mail"
	"gt/lib/state/request"
	"gt/lib/state/session"
	"gt/lib/state/waiting"
	"gt/lib/sys/atomicfile"
)

type send struct {
	To string `arg:"" help:"The path of the folder that the agent works in; self for this agent; in a town, an address."`
	message
	Hook bool `help:"Give it as work: the agent's next session starts on it."`
	JSON bool `name:"json" help:"Print the note as one JSON object."`
}

func (c *send) Run(env *cli.Env) error {
	if err := c.checkSubject(); err != nil {
		return err
	}
	me := self(env)
	to, box, err := me.recipient(env, c.To)
	if err != nil {
		return err
	}
	body, err := c.body(env)
	if err != nil {
		return err
	}
	n := me.signed(env, mail.Note{Type: mail.Plain, To: to, Subject: c.Subject, Body: body})
	if n.To != n.From && me.home.Identity.Role == "" {
		n.From = me.home.Dir // an address that the recipient can reply to
	}
	id, err := box.Deliver(n, c.Hook)
	if err != nil && n.To == me.home.Identity.Address() {
		return me.requestSend(env, n, c.Hook, c.JSON, err)
	}
	if err != nil {
		return refused(err)
	}
	n, err = box.Get(id)
	if err != nil {
		return err
	}
	if c.Hook {
		return printNote(env, c.JSON, n, "given to %s", to)
	}
	return printNote(env, c.JSON, n, "sent to %s", to)
}

// recipient returns the address and the box for self, the agent's own address, that of
// another agent in the town, or the path of an agent's folder.
func (a agent) recipient(env *cli.Env, to string) (string, mail.Box, error) {
	own := a.home.Identity.Address()
	if strings.TrimSpace(to) == "" {
		return "", mail.Box{}, cli.Fail(cli.Usage, errors.New("no recipient"), "self is this agent")
	}
	if to == "self" || to == own {
		return own, a.box, nil
	}
	id, err := identity.Parse(to)
	if !a.home.Town.Personal && err == nil && id.Role != "" {
		return id.Address(), mail.Of(a.home, id.Address()), nil
	}
	switch id, ok, err := crew.Find(a.home.Town, a.home.Identity, to); {
	case err != nil:
		return "", mail.Box{}, cli.Fail(cli.No, err)
	case ok:
		return id.Address(), mail.Of(a.home, id.Address()), nil
	}
	dir := to
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(env.Dir, dir)
	}
	info, statErr := os.Stat(dir)
	switch {
	case statErr == nil && info.IsDir():
		h := home.Elsewhere(env.Getenv, dir)
		if !inhabited(h) {
			return "", mail.Box{}, cli.Fail(cli.Usage, fmt.Errorf("no agent works in '%s': it is not in a repository, and no agent ever ran there", to),
				"start an agent there first, or run git init there")
		}
		address := h.Identity.Address()
		if h.Identity.Role == "" {
			return h.Dir, mail.Of(h, address), nil
		}
		return address, mail.Of(h, address), nil
	case !a.home.Town.Personal && err != nil:
		return "", mail.Box{}, cli.Fail(cli.No, err)
	case !a.home.Town.Personal:
		return "", mail.Box{}, cli.Fail(cli.No, fmt.Errorf("'%s' is neither an agent of this town nor a folder", to),
			"an address is one of mayor, deacon, boot, overseer, <rig>/witness, <rig>/refinery, <rig>/crew/<name>, <rig>/polecats/<name>")
	}
	code := cli.No
	if a.home.Town.Unread != nil {
		code = cli.IO // it may be an agent of the town
	}
	return "", mail.Box{}, cli.Fail(code, fmt.Errorf("there is no folder '%s'", to),
		"outside a town a recipient is self, or the path of the folder that the agent works in")
}

// inhabited reports whether a home has an agent: it is a role's folder, or it belongs to
// the user and is a repository or has sessions. A note alone must not create a home.
func inhabited(h home.Home) bool {
	if h.Identity.Role != "" {
		return true
	}
	if atomicfile.CheckOwner(h.Dir) != nil {
		return false
	}
	for _, sign := range []string{filepath.Join(h.Dir, ".git"), h.Path("sessions")} {
		if _, err := os.Lstat(sign); err == nil {
			return true
		}
	}
	return false
}

type hook struct {
	ID  string `arg:"" optional:"" help:"The note, by its ID or the beginning of it."`
	New bool   `help:"Write a note to this agent itself, with -s and -m, and hook it."`
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
	me := self(env)
	id := c.ID
	if c.New {
		if err := c.checkSubject(); err != nil {
			return err
		}
		body, err := c.body(env)
		if err != nil {
			return err
		}
		n := me.signed(env, mail.Note{Type: mail.Plain, To: me.home.Identity.Address(), Subject: c.Subject, Body: body})
		if id, err = me.box.Deliver(n, true); err != nil {
			return me.requestSend(env, n, true, c.JSON, err)
		}
	}
	return me.change(env, id, c.JSON, mail.Box.Hook, me.word("given", "hooked"))
}

func (a agent) word(outside, town string) string {
	if a.home.Town.Personal {
		return outside
	}
	return town
}

// request leaves an item for the hook at the end of the turn, if failed is the error of a
// sandbox, and returns the line to print. Otherwise it returns the error.
func (a agent) request(env *cli.Env, item request.Item, failed error) (said string, err error) {
	store := session.Store{Home: a.home}
	r, err := store.Get(store.Current(env.Getenv, registry.SessionVars(), false))
	if !request.Denied(failed) || err != nil || r == nil || r.Hook == nil || r.Ended() {
		return "", refused(failed)
	}
	item.At = env.Now()
	said, err = request.Leave(request.HomeOf(env.Getenv, a.home, r.ID), r.ID, item)
	switch {
	case err != nil:
		return "", err
	case said == "": // if the request could be delivered after all, it was not the sandbox
		env.Warn("%v", failed)
		return "", nil
	}
	return said + "\n", nil
}

func (a agent) requestSend(env *cli.Env, n mail.Note, given, asJSON bool, failed error) error {
	said, err := a.request(env, request.Item{Kind: request.Note, Subject: n.Subject, Message: n.Body, Given: given}, failed)
	if err != nil {
		return err
	}
	if asJSON {
		return env.JSON(struct {
			Request string `json:"request"`
		}{strings.TrimSuffix(said, "\n")})
	}
	_, err = fmt.Fprintf(env.Stdout, "%sThe sandbox does not let this command write notes; the note is delivered when your turn ends.\n", said)
	return err
}

type unhook struct {
	ID   string `arg:"" help:"The note, by its ID or the beginning of it."`
	JSON bool   `name:"json" help:"Print the note as one JSON object."`
}

func (c *unhook) Run(env *cli.Env) error {
	me := self(env)
	return me.change(env, c.ID, c.JSON, mail.Box.Unhook, me.word("no longer given", "unhooked"))
}

type done struct {
	ID   string `arg:"" help:"The note, by its ID or the beginning of it."`
	JSON bool   `name:"json" help:"Print the note as one JSON object."`
}

// Run closes a note, and cancels its hand-over if that still waits.
func (c *done) Run(env *cli.Env) error {
	me := self(env)
	n, err := me.box.Get(c.ID)
	if err != nil {
		return unfound(err)
	}
	if n.Type == mail.Handoff {
		if cancelled, err := me.cancel(env, n); err != nil {
			return err
		} else if cancelled {
			if n, err = me.box.Get(n.ID); err != nil {
				return unfound(err)
			}
			return printNote(env, c.JSON, n, "done, and its hand-over is cancelled: %s", strings.TrimSpace(n.Subject))
		}
	}
	return me.change(env, n.ID, c.JSON, mail.Box.DoneWith, "done")
}

// cancelWait limits the wait for the home's lock.
const cancelWait = 5 * time.Second

// cancel cancels the hand-over of a note, if it still waits.
func (a agent) cancel(env *cli.Env, n mail.Note) (cancelled bool, err error) {
	lock, err := a.home.LockWithin(cancelWait)
	if err != nil {
		return false, err
	}
	defer lock.Unlock()
	warn := func(err error) {
		if err != nil {
			env.Warn("%v", err)
		}
	}
	all, err := waiting.In(a.home, warn)
	if err != nil {
		return false, err
	}
	for _, w := range all {
		if w.Note.ID == n.ID {
			return true, w.Cancel(a.home, env.Now(), warn)
		}
	}
	return false, nil
}

// change changes the flags of a note and prints the new status.
func (a agent) change(env *cli.Env, id string, asJSON bool, do func(mail.Box, string) error, what string) error {
	n, err := a.box.Get(id)
	if err == nil {
		err = do(a.box, n.ID)
	}
	if err == nil {
		n, err = a.box.Get(n.ID)
	}
	if err != nil {
		return unfound(err)
	}
	return printNote(env, asJSON, n, "%s: %s", what, strings.TrimSpace(n.Subject))
}
