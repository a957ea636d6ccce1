// Package local gives a relay this host's files and programs. gt-relay uses it, and gt-hub
// on a host whose hub was started by ssh.
package local

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/fsnotify/fsnotify"
	"github.com/nats-io/nats.go"

	"gt/lib/cli"
	"gt/lib/client/agent"
	"gt/lib/place"
	"gt/lib/place/town"
	"gt/lib/reconcile/config"
	"gt/lib/record"
	"gt/lib/relay"
	"gt/lib/relay/dial"
	"gt/lib/relay/seal"
	"gt/lib/state/peer"
	"gt/lib/sys/atomicfile"
	"gt/lib/sys/bounded"
	"gt/lib/sys/process"
	"gt/lib/text/lazyregexp"
)

// Join makes this host one of a fleet, also again after it has left: it gets keys and a name if it
// has none. An empty name stands for the one that it has, else for the machine's own. With ifNew, a
// host that has a name keeps it.
func Join(state place.State, name string, ifNew bool) (peer.Host, error) {
	hosts := peer.NewHosts(state)
	own, err := hosts.LocalHost()
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return own, err
	}
	if name == "" || own.Name != "" && ifNew {
		name = own.Name
	}
	if name == "" {
		name = machineName()
	}
	if err := peer.CheckName(name); err != nil {
		return own, err
	}
	keys, err := seal.Load(state, true)
	if err != nil {
		return own, err
	}
	own = peer.Host{Name: name, Key: keys.Public(), Box: keys.Recipient()}
	return own, errors.Join(hosts.SetOwn(own), hosts.SetLeft(false))
}

var notInName = lazyregexp.New(`[^a-z0-9-]+`)

// machineName returns the machine's name, without its domain.
func machineName() string {
	name, err := os.Hostname()
	if err != nil {
		return "host"
	}
	name, _, _ = strings.Cut(strings.ToLower(name), ".")
	name = strings.Trim(notInName().ReplaceAllString(name, "-"), "-")
	if len(name) > 63 || name == "" {
		return "host"
	}
	return name
}

// Options returns what a relay of this host works with. warn is called with nil, too.
func Options(ctx context.Context, env *cli.Env, state place.State, warn func(error)) relay.Options {
	c := letterHandler{env, state, warn, &runCounts{byHost: map[string]int{}}}
	preferences := agent.LoadPreferences(place.Config(env.Getenv), warn)
	return relay.Options{
		State: state, LostAfter: time.Duration(preferences.Relay.LostAfter), Version: cli.Version(), Now: env.Now, Warn: warn,
		Logs:      func() map[string]string { return hostLogs(state, warn) },
		Records:   func() (record.Store, error) { return record.StoreOf(env.Getenv) },
		Instances: func(ctx context.Context) ([]byte, error) { return hostStates(ctx, env, state) },
		Kinds: map[string]relay.Kind{
			peer.Note:    {Deliver: c.deliverNote},
			peer.Work:    {Takes: relay.TakesIfAllowed(peer.Work, "this host may give no work there"), Deliver: c.deliverWork},
			peer.Offer:   {Takes: relay.TakesIfAllowed(peer.Work, "this host may give no work there"), Deliver: c.deliverWork},
			peer.Command: {Most: maxAsk, Deliver: c.deliverCommand},
			peer.Result:  {Takes: c.awaitsAnswer, Most: maxAsk, Deliver: c.keepResult},
			peer.Session: {Takes: relay.TakesIfAllowed(peer.Move, "no session of this host may move there"), Most: peer.MaxLarge, Deliver: c.deliverSession},
		},
		TakeBack: func(l peer.Letter) error { return TakeBack(env, state, l) },
		FindWork: c.findWork,
		Started: func() {
			c.answerInterrupted()
			peer.ResultsOf(state).Sweep(env.Now())
		},
		Changed: watchChanges(ctx, state, warn),
		Hub: func() string {
			h, _ := dial.Load(state) // Connect says what is wrong with it
			return h.URL + " " + h.Fingerprint + " " + h.Creds
		},
		Connect: func(ctx context.Context, keys *seal.Keys) (*nats.Conn, error) {
			h, err := dial.Load(state)
			if errors.Is(err, fs.ErrNotExist) {
				return nil, relay.ErrLeft
			} else if err != nil {
				return nil, err
			}
			return h.Connect(ctx, keys, Programs(env, nil))
		},
	}
}

// Programs returns how the programs of a dialler are started. ssh may ask the person at a
// terminal, if there is one.
func Programs(env *cli.Env, terminal io.Writer) dial.Program {
	return dial.Program{Environ: env.ChildEnviron(), Terminal: terminal, Hub: process.SiblingBinary("gt-hub")}
}

// hostLogs returns the logs of this host's towns by the names of their feeds.
func hostLogs(state place.State, warn func(error)) map[string]string {
	all := map[string]string{"events": state.Path(".events.jsonl")}
	trusted, err := state.TrustedTowns()
	warn(err)
	for _, trust := range trusted {
		t := town.Town{Root: trust.Path, State: state, Trust: trust}
		all["town."+filepath.Base(state.Town(trust.Path))] = t.Events()
	}
	return all
}

// hostStates returns what this host's agents do, and before it which templates it has.
func hostStates(ctx context.Context, env *cli.Env, state place.State) ([]byte, error) {
	agents, err := runSession(ctx, env, bounded.Program{Args: []string{"list", "--everywhere", "--json", "--moves"}, Within: 10 * time.Second, Most: 4 << 20})
	if failed := new(bounded.Failed); err != nil && !(errors.As(err, &failed) && failed.Code == cli.AnswerNo) { // there are none
		return nil, err
	}
	names, err := config.TemplateNames(place.ScopeIn(state, env.Getenv))
	if err != nil || len(names) == 0 {
		return agents.Out, err
	}
	line, err := json.Marshal(peer.Templates{Names: names})
	return append(append(line, '\n'), agents.Out...), err
}

// watchChanges reports changes of what a relay sends: letters, and the event log. What the system
// cannot watch, because other programs watch as much as it allows, the relay looks at every few
// seconds.
func watchChanges(ctx context.Context, state place.State, warn func(error)) <-chan struct{} {
	changed := make(chan struct{}, 1)
	w, err := fsnotify.NewWatcher()
	if err != nil {
		return changed
	}
	out := peer.OutboxOf(state).Dir()
	add := func(dir string) { _ = w.Add(dir) }
	warn(state.Prepare(out))
	add(string(state))
	add(out)
	hosts, _ := atomicfile.Folders(out)
	for _, host := range hosts {
		add(filepath.Join(out, host))
	}
	context.AfterFunc(ctx, func() { w.Close() })
	cli.Go(func() {
		for e := range w.Events {
			dir, name := filepath.Split(e.Name)
			if filepath.Clean(dir) == string(state) && name != ".events.jsonl" {
				continue
			}
			if filepath.Clean(dir) == out && e.Has(fsnotify.Create) {
				add(e.Name)
			}
			select {
			case changed <- struct{}{}:
			default:
			}
		}
	})
	cli.Go(func() {
		for range w.Errors {
		}
	})
	return changed
}
