// Package post finds the box of an agent by what people call the agent, and delivers the
// letters that come from other hosts.
package post

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"gt/lib/cli"
	"gt/lib/place"
	"gt/lib/place/crew"
	"gt/lib/place/home"
	"gt/lib/place/identity"
	"gt/lib/place/town"
	"gt/lib/state/instance"
	"gt/lib/state/lifecycle"
	"gt/lib/state/mail"
	"gt/lib/state/peer"
	"gt/lib/sys/atomicfile"
)

// Recipient is an agent and its box.
type Recipient struct {
	// Address is the agent's address in a town, otherwise the path of its folder.
	Address string
	Box     mail.Box
	// Name is the agent's name, if it is one of several of its folder.
	Name string
	// Archived reports that it was found by the name of one agent, which is archived.
	Archived bool
}

// NewRecipient returns the agent of a home.
func NewRecipient(h home.Home) Recipient {
	address := h.Identity.Address()
	if h.Identity.Role == "" {
		return Recipient{Address: h.Dir, Box: mail.NewBox(h, address)}
	}
	return Recipient{Address: address, Box: mail.NewBox(h, address)}
}

// Find returns the agent that the agent of a home means: self or its own address, an
// address or short name in its town, the path of a folder, from dir, in which an agent can
// work, or the name of an agent of gt-session. An error has an exit code.
func Find(from home.Home, scope place.Scope, dir, to string) (Recipient, error) {
	own := from.Identity.Address()
	if strings.TrimSpace(to) == "" {
		return Recipient{}, cli.Fail(cli.Usage, errors.New("no recipient"), "self is this agent")
	}
	if to == "self" || to == own {
		return Recipient{Address: own, Box: mail.NewBox(from, own)}, nil
	}
	id, notAddress := identity.Parse(to)
	if !from.Town.Personal && notAddress == nil && id.Role != "" {
		return Recipient{Address: id.Address(), Box: mail.NewBox(from, id.Address())}, nil
	}
	switch id, ok, err := crew.Find(from.Town, from.Identity, to); {
	case err != nil:
		return Recipient{}, cli.Fail(cli.AnswerNo, err)
	case ok:
		return Recipient{Address: id.Address(), Box: mail.NewBox(from, id.Address())}, nil
	}
	path := to
	if !filepath.IsAbs(path) {
		path = filepath.Join(dir, path)
	}
	if atomicfile.IsFolder(path) {
		h := home.FindOtherHome(scope, path)
		if !inhabited(h) {
			return Recipient{}, cli.Fail(cli.Usage, fmt.Errorf("no agent works in '%s': it is not in a repository, and no agent ever ran there", to),
				"start an agent there first, or run git init there")
		}
		return NewRecipient(h), nil
	}
	var many *crew.Ambiguous
	switch found, err := findNamed(scope, to); {
	case err == nil:
		return found, nil
	case errors.As(err, &many):
		return Recipient{}, cli.Fail(cli.AnswerNo, many)
	case !errors.Is(err, ErrNone):
		return Recipient{}, err
	case !from.Town.Personal && notAddress != nil:
		return Recipient{}, cli.Fail(cli.AnswerNo, notAddress)
	case !from.Town.Personal:
		return Recipient{}, cli.Fail(cli.AnswerNo, fmt.Errorf("'%s' is neither an agent of this town nor a folder", to),
			"an address is one of mayor, deacon, boot, overseer, <rig>/witness, <rig>/refinery, <rig>/crew/<name>, <rig>/polecats/<name>")
	}
	code := cli.AnswerNo
	if from.Town.TrustErr != nil {
		code = cli.IO // it may be an agent of the town
	}
	return Recipient{}, cli.Fail(code, fmt.Errorf("there is no agent and no folder '%s'", to),
		"outside a town a recipient is self, the path of the folder that the agent works in, or the name of an agent of gt-session")
}

// inhabited reports whether a note may go to a home: it is a role's folder, it had sessions, or it
// is the top of a repository that git would trust (see place.HasTrustedOwner). In another folder a note
// would create a home in which no agent works.
func inhabited(h home.Home) bool {
	if h.Identity.Role != "" {
		return true
	}
	if _, err := os.Lstat(h.Path("sessions")); err == nil {
		return true
	}
	info, err := os.Lstat(filepath.Join(h.Dir, ".git"))
	return err == nil && (place.HasTrustedOwner(info, h.Dir) || place.IsSafe(h.Dir))
}

// ErrNone is returned if no agent of this host has the name, or if several have.
var ErrNone = errors.New("no such agent here")

// ResolveRemote returns the agent and host of an address NAME@HOST, with no host if it is not an
// address of another host: because a file has this path, from dir, or because HOST is this
// host. An unknown host is an error if there are others.
func ResolveRemote(state place.State, dir, to string) (name string, host peer.Host, err error) {
	name, at, ok := peer.SplitAddress(to)
	if !ok {
		return to, host, nil
	}
	path := to
	if !filepath.IsAbs(path) {
		path = filepath.Join(dir, path)
	}
	if _, err := os.Lstat(path); err == nil {
		return to, host, nil
	}
	hosts := peer.NewHosts(state)
	if own, err := hosts.LocalHost(); err == nil && own.Name == at {
		return name, host, nil
	}
	if all, err := hosts.ReadHosts(); len(all) == 0 {
		return to, host, err
	}
	host, err = hosts.Find(at)
	return name, host, err
}

// Return returns the name by which other hosts can answer an agent. It makes the place of
// its box if there is none. Nobody can answer a folder for which nothing is kept, such as
// the home folder of a new terminal.
func Return(h home.Home) (string, error) {
	own := NewRecipient(h)
	var names []string
	for _, in := range instance.ReadEverywhere(h.Town.State) { // the path names the agent as well
		if in.Path == h.Dir {
			names = append(names, in.Name)
		}
	}
	for _, name := range append(names, own.Address, h.Dir) {
		if r, err := FindRecipient(h.Town.State, name); err == nil && r.Box.Dir() == own.Box.Dir() {
			return name, nil
		}
	}
	if h.Problem != nil { // nobody can answer it; only an unusable state is an error
		return h.Dir, h.Town.State.Check()
	}
	return h.Dir, h.Prepare()
}

// FindRecipient returns the agent of this host that another host means: the name of an agent of
// gt-session, the address or short name of an agent of a trusted town, or the path of a
// folder with notes or sessions. It reads only the state and trusted towns, and no path
// that it does not know: what another host says must not lead it anywhere. It returns
// ErrNone for an unknown or ambiguous name, and other errors if it cannot tell.
func FindRecipient(state place.State, to string) (Recipient, error) {
	return findKnown(place.Scope{State: state}, to) // GT_ROOT of whoever started gt-relay says nothing of other agents
}

// findKnown finds the agent of this host that another host means, in a scope. It looks into towns
// only for names that no agent outside has.
func findKnown(s place.Scope, to string) (Recipient, error) {
	state := s.State
	found, err := findNamed(s, to)
	var many *crew.Ambiguous
	if !errors.Is(err, ErrNone) || errors.As(err, &many) {
		return found, err
	}
	if filepath.IsAbs(to) {
		return recipientAt(s, filepath.Clean(to))
	}
	towns, err := state.TrustedTowns()
	if err != nil {
		return Recipient{}, err
	}
	var all []Recipient
	for _, t := range towns {
		trust, err := state.TrustOf(t.Path)
		if err != nil {
			continue // another folder is there now
		}
		in := town.Town{Root: t.Path, State: state, Trust: trust}
		id, err := identity.Parse(to)
		if err != nil || id.Role == "" {
			if id, _, err = crew.Find(in, identity.Identity{}, to); err != nil {
				return Recipient{}, fmt.Errorf("%w: %w", ErrNone, err)
			}
		}
		dir := filepath.Join(t.Path, filepath.FromSlash(id.Dir()))
		if info, err := os.Lstat(dir); id.Role == "" || err != nil || !info.IsDir() {
			continue
		}
		all = append(all, NewRecipient(home.NewHome(in, id, dir)))
	}
	return singleRecipient(all, to)
}

// findNamed returns the agent that lists show under this name, pane or address outside a town.
func findNamed(scope place.Scope, name string) (Recipient, error) {
	state := scope.State
	if name == "" {
		return Recipient{}, unknownName(name)
	}
	found, unread := instance.FindListed(state, name, "")
	var all []Recipient
	for _, c := range found {
		all = append(all, NewRecipient(home.FindOtherHome(scope, c.Path)))
	}
	if len(all) == 0 && unread != nil {
		return Recipient{}, unread // it may be one of those
	}
	if len(all) == 0 {
		homes, err := state.Homes()
		if err != nil {
			return Recipient{}, err
		}
		for _, f := range homes {
			if r, err := recipientAt(scope, f.Path); f.Address == name && err == nil {
				all = append(all, r)
			}
		}
	}
	r, err := singleRecipient(all, name)
	r.Archived = len(found) == 1 && found[0].Archived
	if err == nil && len(found) == 1 && found[0].Instance != "" && isShared(scope, home.FindOtherHome(scope, found[0].Path).Dir) {
		r.Name, r.Box = found[0].Name, r.Box.ForAgent(found[0].Instance)
	}
	return r, err
}

// isShared reports whether several agents of gt-session share a folder's home, and so its box.
func isShared(s place.Scope, folder string) bool {
	agents := 0
	for _, in := range instance.ReadEverywhere(s.State) {
		if in.Path == folder || strings.HasPrefix(in.Path, folder+"/") && home.FindOtherHome(s, in.Path).Dir == folder {
			agents++
		}
	}
	return agents > 1
}

// recipientAt returns the agent of a folder that the state knows.
func recipientAt(s place.Scope, path string) (Recipient, error) {
	homes, err := s.State.Homes()
	if err != nil {
		return Recipient{}, err
	}
	for place, f := range homes {
		if f.Path != path {
			continue
		}
		if h := home.FindOtherHome(s, path); h.Dir == path && h.Runtime() == place && h.Problem == nil {
			return NewRecipient(h), nil
		}
	}
	return Recipient{}, unknownName(path)
}

// singleRecipient returns the only recipient. Several that share a box are one.
func singleRecipient(all []Recipient, name string) (Recipient, error) {
	if len(all) == 0 {
		return Recipient{}, unknownName(name)
	}
	several := &crew.Ambiguous{Name: name}
	for _, r := range all {
		if several.Among = append(several.Among, r.Address); r.Box.Dir() != all[0].Box.Dir() {
			return Recipient{}, fmt.Errorf("%w: %w", ErrNone, several)
		}
	}
	return all[0], nil
}

func unknownName(name string) error { return fmt.Errorf("%w: '%.80s'", ErrNone, name) }

const mostNamed = 3 // hosts that WaitsFor names in one reason; the others it counts

// WaitsFor returns why work of a template, which any host may do, waits: why none of the hosts that
// this one knows gets it. It is "" if one has sessions for the work, which may be busy. here are
// this host's stores with the template.
func WaitsFor(state place.State, here []instance.Store, template string, now time.Time) (string, error) {
	var idle, denied, away, unread []string
	for _, s := range here {
		all, err := s.ReadInstances()
		if err != nil {
			return "", err
		}
		for _, in := range all {
			if m := in.Managed; m != nil && m.Template == template && m.State == lifecycle.Active {
				return "", nil
			}
		}
		idle = []string{"this host"}
	}
	hosts := peer.NewHosts(state)
	all, err := hosts.ReadHosts()
	for _, h := range all {
		if hosts.Blocked(h) != nil {
			continue
		}
		has, sessions, failed := hosts.Staff(h, template, now)
		switch {
		case failed != nil:
			err = errors.Join(err, failed)
			unread = append(unread, h.Name)
		case !has:
		case h.Denies(peer.Work):
			denied = append(denied, h.Name)
		case h.IsAway(now):
			away = append(away, h.Name)
		case slices.ContainsFunc(sessions, func(a peer.Agent) bool { return a.Runs() }):
			return "", err
		default:
			idle = append(idle, h.Name)
		}
	}
	var parts []string
	for _, p := range []struct {
		format string
		hosts  []string
	}{
		{"no session of " + template + " runs on %s", idle},
		{"this host may not give work on %s", denied},
		{"%s: away", away},
	} {
		if n := len(p.hosts); n > mostNamed {
			p.hosts = append(p.hosts[:mostNamed:mostNamed], fmt.Sprintf("%d more", n-mostNamed))
		}
		if len(p.hosts) > 0 {
			parts = append(parts, fmt.Sprintf(p.format, strings.Join(p.hosts, ", ")))
		}
	}
	if len(parts) == 0 && len(unread) == 0 {
		return fmt.Sprintf("no host that this host knows has a template '%s'", template), err
	}
	return strings.Join(parts, "; "), err
}
