// Package relaycmd is the gt-relay command: it joins this host to others.
package relaycmd

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/url"
	"os/signal"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"gt/lib/cli"
	"gt/lib/client/startenv"
	"gt/lib/place"
	"gt/lib/reconcile/config"
	"gt/lib/relay"
	"gt/lib/relay/dial"
	"gt/lib/relay/invite"
	"gt/lib/relay/local"
	"gt/lib/relay/mirror"
	"gt/lib/relay/seal"
	"gt/lib/state/peer"
	"gt/lib/state/post"
	"gt/lib/sys/atomicfile"
	"gt/lib/text/duration"
	"gt/lib/text/term"
)

const summary = `
Joins your machines: agents on one see the sessions of the others, and send them
notes. With ssh between two machines it takes one command, and one to stay
connected:

  gt-relay join ssh://HOST      gt is installed on HOST as well
  gt-relay run                  relay until ctrl-C; gt-relay service installs it
  gt-relay                      the hosts, when each was seen, what waits

Then:

  gt-seance list --host HOST
  gt-mail send NAME@HOST -s 'Tests are red' -m 'since 4f2c1'

With gt-hub on a machine that all reach: 'gt-relay join -', and paste the
invitation that it prints.
`

const exitCodes = `
   0  done
   1  this host belongs to no fleet; there is no such host
  75  another gt-relay runs; sync: not everything was sent and taken in time
`

func Program() cli.Program {
	return cli.Program{Name: "gt-relay", Summary: summary, Exits: exitCodes, Prepare: startenv.Restore, Grammar: &grammar{}, Complete: map[string]cli.Completer{"host": completeHosts}}
}

type grammar struct {
	cli.Flags
	Status  status  `cmd:"" default:"withargs" help:"Show the hosts, and what waits for them (the default)."`
	Join    join    `cmd:"" help:"Join a hub: by ssh, with an invitation, or a NATS server of your own."`
	Run     run     `cmd:"" help:"Relay until ctrl-C. It connects again by itself."`
	Sync    syncNow `cmd:"" help:"Send and receive what waits, and exit."`
	Allow   allow   `cmd:"" help:"Allow a host to run commands here."`
	Block   block   `cmd:"" help:"Take nothing more from a host."`
	Rename  rename  `cmd:"" help:"Call a host by another name here."`
	Forget  forget  `cmd:"" help:"Remove what this host knows of another one."`
	Leave   leave   `cmd:"" help:"Leave the fleet: what waits is not sent, and a service ends."`
	Service service `cmd:"" help:"Install gt-relay run as a service of yours."`
}

var errNoFleet = cli.Fail(cli.AnswerNo, errors.New("this host belongs to no fleet"), "gt-relay join ssh://HOST joins it to another machine with gt")

type fleetFiles struct {
	env    *cli.Env
	state  place.State
	hosts  peer.Hosts
	outbox peer.Outbox
}

func openFleet(env *cli.Env) (fleetFiles, error) {
	state := place.StateOf(env.Getenv)
	if err := state.Check(); err != nil {
		return fleetFiles{}, err
	}
	return fleetFiles{env, state, peer.NewHosts(state), peer.OutboxOf(state)}, nil
}

// openJoined returns the files of a host that belongs to a fleet, and the host itself.
func openJoined(env *cli.Env) (fleetFiles, peer.Host, error) {
	f, err := openFleet(env)
	if err != nil {
		return f, peer.Host{}, err
	}
	own, err := f.hosts.LocalHost()
	if errors.Is(err, fs.ErrNotExist) {
		return f, own, errNoFleet
	}
	return f, own, err
}

// withHub returns the files of a host that has a hub: it has not left its fleet.
func withHub(env *cli.Env) (fleetFiles, error) {
	f, _, err := openJoined(env)
	if err != nil {
		return f, err
	}
	if _, err = dial.Load(f.state); errors.Is(err, fs.ErrNotExist) {
		return f, errNoFleet
	}
	return f, err
}

func completeHosts(env *cli.Env, _ string) (offered []cli.Candidate) {
	all, _ := peer.NewHosts(place.StateOf(env.Getenv)).ReadHosts()
	for _, h := range all {
		offered = append(offered, cli.Candidate{Word: h.Name})
	}
	return offered
}

type join struct {
	Hub    string `arg:"" help:"ssh://[USER@]HOST[:PORT], nats://HOST, local: (gt-hub on this machine), or - for an invitation on standard input."`
	Name   string `help:"This host's name in the fleet (default: the machine's)." placeholder:"NAME"`
	Creds  string `help:"Credentials file for a NATS server." type:"path" placeholder:"FILE"`
	NewKey bool   `name:"new-key" help:"Get new keys: this machine is a copy of another one."`
}

// Run joins a hub. It stores the hub only after a connection to it has worked.
func (c *join) Run(env *cli.Env) error {
	f, err := openFleet(env)
	if err != nil {
		return err
	}
	at := dial.Hub{URL: c.Hub, Creds: c.Creds}
	var with *invite.Invitation
	if c.Hub == "-" {
		i, err := readInvitation(env)
		if err != nil {
			return err
		}
		with = &i
		at = dial.Hub{URL: "gt://" + i.Address, Fingerprint: i.Fingerprint}
	} else if strings.HasPrefix(c.Hub, "gt-invitation-") {
		return cli.Fail(cli.Usage, errors.New("an invitation on the command line can be seen by others"), "gt-relay join - reads it from standard input")
	}
	if err := at.Check(); err != nil {
		return cli.Fail(cli.Usage, err)
	}
	if c.NewKey {
		if err := atomicfile.Remove(f.state.Path("relay", "keys.json")); err != nil {
			return err
		}
	}
	if err := peer.CheckName(c.Name); c.Name != "" && err != nil {
		return cli.Fail(cli.Usage, err)
	}
	own, err := local.Join(f.state, c.Name, false)
	if err != nil {
		return err
	}
	// This host has a name and keys now. It belongs to the fleet only after at.Store.
	keys, err := seal.Load(f.state, false)
	if err != nil {
		return err
	}
	var used error
	if with != nil {
		err := invite.Accept(*with, keys, own.Name)
		if errors.Is(err, invite.ErrUsed) { // perhaps by this host: then it can connect
			used = err
		} else if err != nil {
			return fmt.Errorf("cannot join: %w", err)
		}
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	nc, err := at.Connect(ctx, keys, local.Programs(env, terminal(env)))
	if ctx.Err() != nil {
		return errors.New("interrupted")
	}
	signal.Reset(syscall.SIGINT, syscall.SIGTERM) // from here on ctrl-C ends it at once
	if used != nil && err != nil {
		return fmt.Errorf("cannot join: %w", used)
	} else if err != nil {
		return cli.WithHint(fmt.Errorf("cannot connect: %w", err), "%s", connectHint(at))
	}
	nc.Close()
	if err := at.Store(f.state); err != nil {
		return err
	}
	fmt.Fprintf(env.Stdout, "this host is %s now, in the fleet of %s\n", own.Name, hubName(at))
	// The status below then has the other hosts. A sync that is late is no failure of the join.
	s := syncNow{Wait: duration.Flag(20 * time.Second), quiet: true}
	if err := s.Run(env); err != nil && cli.ExitCode(err) != cli.Busy {
		return err
	}
	if u, err := url.Parse(at.URL); err == nil && u.Scheme == "ssh" { // gt-session attach takes the same way
		if h, err := f.hosts.Get(strings.ToLower(u.Hostname())); err == nil {
			h.SSH = at.URL
			if err := f.hosts.Put(h); err != nil {
				return err
			}
		}
	}
	if err := (&status{}).Run(env); err != nil {
		return err
	}
	env.Hint("gt-relay run stays connected; gt-relay service installs that as a service")
	return nil
}

// terminal returns where ssh may ask, or nil if nobody is there.
func terminal(env *cli.Env) io.Writer {
	if term.IsTerminal(env.Stderr) {
		return env.Stderr
	}
	return nil
}

func connectHint(at dial.Hub) string {
	if strings.HasPrefix(at.URL, "ssh:") {
		return "it takes 'ssh HOST' without a question, and gt-hub on that host's PATH or in ~/.local/bin"
	}
	return "is the hub running, and reachable from here?"
}

func hubName(at dial.Hub) string {
	u, err := url.Parse(at.URL)
	if err != nil || u.Host == "" {
		return "this machine"
	}
	return u.Host
}

// readInvitation reads an invitation from standard input: a line of 16 KiB at most.
func readInvitation(env *cli.Env) (invite.Invitation, error) {
	if term.IsTerminal(env.Stderr) {
		env.Hint("the invitation that gt-hub printed, in one line:")
	}
	line, err := bufio.NewReader(io.LimitReader(env.Stdin, 16<<10)).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return invite.Invitation{}, err
	}
	i, err := invite.Parse(line)
	if err != nil {
		return i, cli.Fail(cli.Usage, err)
	}
	return i, nil
}

type run struct{}

func (run) Run(env *cli.Env) error {
	f, err := withHub(env)
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), cli.EndSignals()...)
	defer stop()
	return f.runRelay(ctx, f.env.WarnError)
}

// runRelay relays until ctx ends or this host leaves its fleet, which is no error.
func (f fleetFiles) runRelay(ctx context.Context, warn func(error)) error {
	r, lock, err := relay.New(local.Options(ctx, f.env, f.state, warn))
	if errors.Is(err, relay.ErrRunning) {
		return f.busyError("gt-relay shows what it does")
	} else if err != nil {
		return err
	}
	defer lock.Unlock()
	if err = r.Run(ctx); errors.Is(err, relay.ErrLeft) {
		return nil
	}
	return err
}

type syncNow struct {
	Wait duration.Flag `help:"Exit after this long at the latest." default:"30s" placeholder:"TIME"`

	quiet bool
}

// Run waits until everything is sent and taken. It relays in this process if no other one does.
func (c *syncNow) Run(env *cli.Env) error {
	f, err := withHub(env)
	if err != nil {
		return err
	}
	began := env.Now()
	ctx, cancel := context.WithTimeout(context.Background(), time.Duration(c.Wait))
	defer cancel()
	// As long as this file exists, a relay writes its status even if only its times have changed.
	mark := f.state.Path("relay", "sync")
	if err := f.state.Write(mark, nil, atomicfile.Unsynced); err != nil {
		return err
	}
	defer func() { _ = atomicfile.Remove(mark) }()
	var last atomic.Pointer[error] // what a letter started warns at any time
	warn := func(err error) {
		if err != nil {
			last.Store(&err)
		}
	}
	done := make(chan error, 1)
	relays := func() { // if no relay runs, this process is one
		cli.Go(func() { done <- f.runRelay(ctx, warn) })
	}
	relays()
	var again <-chan time.Time
	for {
		select {
		case err := <-done:
			if err != nil && cli.ExitCode(err) != cli.Busy {
				return err
			}
			again = time.After(time.Second) // another process relays, unless it has just ended
		case <-again:
			again = nil
			relays()
		case <-ctx.Done():
			s, _ := relay.ReadStatus(f.state)
			why := "not everything was sent and taken in time"
			if s.Error != "" {
				why = "no connection: " + f.env.Line(s.Error, 300)
			} else if err := last.Load(); err != nil {
				why = f.env.Line((*err).Error(), 300)
			}
			return cli.Fail(cli.Busy, errors.New(why))
		case <-time.After(50 * time.Millisecond):
		}
		// Everything was sent and taken, and answers had settleTime to come.
		if s, err := relay.ReadStatus(f.state); err == nil && s.CurrentAt.After(began.Add(settleTime)) {
			// If again is set, the relay of this process has ended already.
			if cancel(); again == nil {
				<-done
			}
			if c.quiet {
				return nil
			}
			return (&status{}).Run(env)
		}
	}
}

// settleTime is how long a sync waits for answers once there is nothing more to send: receipts,
// and the beats of others that say how far their logs have grown.
const settleTime = 1500 * time.Millisecond

type status struct {
	JSON bool `name:"json" help:"One JSON object a host, this one first."`
}

type hostStatus struct {
	Name     string        `json:"name"`
	Key      string        `json:"key"`
	Own      bool          `json:"own,omitempty"`
	LastSeen time.Time     `json:"last_seen,omitzero"`
	Current  time.Time     `json:"current,omitzero"`
	Away     bool          `json:"away,omitempty"`
	Waiting  int           `json:"waiting"` // letters for it
	Refused  []string      `json:"refused,omitempty"`
	Allowed  []string      `json:"allowed,omitempty"`
	Allows   []string      `json:"allows,omitzero"` // what it allows this host; absent if it does not say
	Blocked  bool          `json:"blocked,omitempty"`
	Clash    string        `json:"clash,omitempty"`
	Version  string        `json:"version,omitempty"`
	Hub      string        `json:"hub,omitempty"`
	Relay    *relay.Status `json:"relay,omitempty"`
}

// Run shows this host and the others, with what waits for each and what each refused.
func (c *status) Run(env *cli.Env) error {
	f, own, err := openJoined(env)
	if err != nil {
		return err
	}
	all, err := f.hosts.ReadHosts()
	f.env.WarnError(err)
	letters, err := f.outbox.ReadLetters()
	f.env.WarnError(err)
	refused, err := f.outbox.Refused()
	f.env.WarnError(err)
	at, err := dial.Load(f.state)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	s, serr := relay.ReadStatus(f.state)
	now := env.Now()
	lines := []hostStatus{{Name: own.Name, Key: own.Key, Own: true, Hub: at.URL}}
	if serr == nil {
		lines[0].Relay = &s
	}
	for _, h := range all {
		l := hostStatus{
			Name: h.Name, Key: h.Key, LastSeen: h.LastSeen, Current: h.Current, Away: h.IsAway(now), Clash: h.Clash, Version: h.Version, Allows: h.Allows,
		}
		if t, err := f.hosts.Trust(h); err != nil {
			f.env.WarnError(err)
		} else {
			l.Allowed, l.Blocked = t.Allowed, t.Revoked
		}
		for _, letter := range letters {
			if letter.Host == h.Name {
				l.Waiting++
			}
		}
		for _, letter := range refused {
			if letter.Host == h.Name {
				l.Refused = append(l.Refused, letter.ID+"."+letter.Kind+": "+env.Line(letter.Reason, 200))
			}
		}
		lines = append(lines, l)
	}
	if c.JSON {
		return cli.JSONLines(env, lines)
	}
	if err := f.printHosts(at, s, lines, now); err != nil {
		return err
	}
	return f.printAnyWork(letters, now)
}

// printAnyWork says what the work waits for that any host may do.
func (f fleetFiles) printAnyWork(letters []peer.Letter, now time.Time) error {
	works := map[string]int{}
	for _, l := range letters {
		if l.Host != peer.AnyHost {
			continue
		}
		tries, err := f.outbox.Tries(l.ID)
		if err != nil {
			return err
		}
		if last := tries.LastTry(); last != nil && !last.IsOver() {
			continue // a host has it
		}
		text, err := f.outbox.Read(l)
		if err != nil {
			continue // it was taken back
		}
		if template, err := peer.TemplateOf(text); err == nil {
			works[template]++
		}
	}
	for _, template := range slices.Sorted(maps.Keys(works)) {
		here, err := config.StoresWith(place.ScopeIn(f.state, f.env.Getenv), template)
		why := ""
		if err == nil {
			why, err = post.WaitsFor(f.state, here, template, now)
		}
		f.env.WarnError(err)
		f.env.Warn("%d waiting for %s@any: %s", works[template], f.env.Line(template, 64), f.env.Line(cmp.Or(why, "no session of it is free"), 300))
	}
	return nil
}

// printHosts shows the hosts to a person. The first of lines is this host.
func (f fleetFiles) printHosts(at dial.Hub, s relay.Status, lines []hostStatus, now time.Time) error {
	env := f.env
	// A relay that was killed left its status; the lock shows whether one runs.
	running := (s.Copying || now.Sub(s.CurrentAt) < 2*time.Minute) && f.isRunning()
	is := "not connected (gt-relay run)"
	switch {
	case at.URL == "":
		is = "in no fleet (gt-relay join ssh://HOST)"
	case running && !s.Connected.IsZero():
		is = "connected to " + hubName(at)
	case s.Error != "":
		is = "not connected: " + env.Line(s.Error, 200)
	}
	if s.Clone != "" {
		is += "\n" + s.Clone + ": gt-relay join HUB --new-key makes this one a host of its own"
	}
	if err := env.Printf("%s, %s\n", lines[0].Name, is); err != nil {
		return err
	}
	rows := [][]string{{"HOST", "SEEN", "NEWS", "WAITS", "ALLOWED", "YOU MAY"}}
	for _, l := range lines[1:] {
		allowed := cmp.Or(strings.Join(l.Allowed, ","), "-")
		if l.Blocked {
			allowed = "blocked"
		}
		waits := "-"
		if l.Waiting > 0 {
			waits = fmt.Sprint(l.Waiting)
		}
		may := cmp.Or(strings.Join(l.Allows, ","), "-")
		if l.Allows == nil {
			may = "?"
		}
		rows = append(rows, []string{l.Name, formatAge(l.LastSeen, now), formatAge(l.Current, now), waits, allowed, env.Line(may, 100)})
	}
	if len(rows) > 1 {
		if err := term.StyleFor(env.Stdout, env.Getenv).Table(env.Stdout, term.Width(env.Stdout, env.Getenv), rows, nil); err != nil {
			return err
		}
	} else {
		env.Hint("no other host has been seen yet")
	}
	refused := false
	for _, l := range lines[1:] {
		if l.Clash != "" {
			env.Warn("%s: %s", l.Name, env.Line(l.Clash, 200))
			env.Hint("gt-relay rename %s NAME calls it otherwise here", l.Name)
		}
		for _, r := range l.Refused {
			env.Warn("%s did not take %s", l.Name, r)
			refused = true
		}
	}
	if refused {
		env.Hint("gt-mail outbox lists what was refused, gt-mail unsend ID removes it")
	}
	for _, host := range slices.Sorted(maps.Keys(s.Left)) {
		env.Warn("%s: %d of its records are not copied, over %d MiB each or %d GiB together", host, s.Left[host], mirror.MaxRecord>>20, mirror.MaxBytes>>30)
	}
	for _, reason := range slices.Sorted(maps.Keys(s.Refused)) {
		env.Warn("not accepted: %s (%d)", env.Line(reason, 200), s.Refused[reason])
	}
	return nil
}
