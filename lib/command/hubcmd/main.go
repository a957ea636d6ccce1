// Package hubcmd is the gt-hub command: it runs the server between the hosts of a fleet.
package hubcmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"gt/lib/cli"
	"gt/lib/client/startenv"
	"gt/lib/place"
	"gt/lib/relay"
	"gt/lib/relay/dial"
	"gt/lib/relay/hub"
	"gt/lib/relay/local"
	"gt/lib/sys/atomicfile"
	"gt/lib/sys/flock"
	"gt/lib/sys/process"
	"gt/lib/text/term"
)

const summary = `
The server between the machines that gt-relay joins. With ssh you never start
it: 'gt-relay join ssh://HOST' does.

For a team, on a machine that all of them reach:

  gt-hub                        run it, and print an invitation for one host
  gt-hub invite                 another invitation, for 15 minutes
  gt-hub hosts                  who may connect
  gt-hub remove NAME            end this at once

It keeps what hosts have not taken yet, each message synced to disk. Whoever
runs it can read the hosts' event logs and lists of agents, without secrets, and
who sends how much to whom. Letters and records are sealed.
`

const exitCodes = `
   0  done
   1  remove: there is no such host
  75  another gt-hub uses the store
`

func Program() cli.Program {
	return cli.Program{Name: "gt-hub", Summary: summary, Exits: exitCodes, Prepare: startenv.Restore, Grammar: &grammar{}}
}

type grammar struct {
	cli.Flags
	Run    run    `cmd:"" default:"withargs" help:"Run the hub, and print an invitation as one line (the default)."`
	Invite invite `cmd:"" help:"Print an invitation for one host, which can be used for 15 minutes."`
	Hosts  hosts  `cmd:"" help:"List the hosts that may connect."`
	Remove remove `cmd:"" help:"Keep a host from connecting, and end its connection."`
}

type storeFlag struct {
	Store string `help:"Folder of the hub's data (default: relay/hub in gt's state folder)." placeholder:"DIR"`
}

func (d storeFlag) storePath(env *cli.Env) (string, place.State, error) {
	state := place.StateOf(env.Getenv)
	if err := state.Check(); err != nil {
		return "", state, err
	}
	if d.Store == "" {
		return state.Path("relay", "hub"), state, nil
	}
	return filepath.Clean(env.Abs(d.Store)), state, nil
}

// readHosts returns the names of the hosts that may connect, by their keys, and the folder.
func (d storeFlag) readHosts(env *cli.Env) (store string, all map[string]string, err error) {
	if store, _, err = d.storePath(env); err == nil {
		all, err = hub.Hosts(store)
	}
	return store, all, err
}

const (
	addressFile = "address"
	pidName     = "pid"
	idleName    = "idle" // made by a hub that ends by itself; removing the file ends that hub
	socketName  = "s"    // short: a socket's path has little room
)

const tickEvery = 5 * time.Second // how often a hub looks whether it is to go on

type run struct {
	storeFlag
	Listen      string        `help:"Address to listen on." default:":4222" placeholder:"ADDR"`
	Address     string        `help:"Where hosts reach the hub, if not at this machine's name." placeholder:"HOST:PORT"`
	MaxDisk     string        `help:"Most that the hub keeps on disk." default:"8G" placeholder:"SIZE"`
	Stdio       bool          `help:"Connect standard input and output to the hub of this user, and start it if necessary. ssh runs this."`
	PrintConfig bool          `name:"print-config" help:"Print what a NATS server of your own needs instead of gt-hub."`
	Name        string        `hidden:"" help:"What this host is called if it has no name yet."`
	Idle        time.Duration `hidden:"" help:"Serve only this user's programs, and end after this time without any."`
}

func (c *run) Run(env *cli.Env) error {
	store, state, err := c.storePath(env)
	if err != nil {
		return err
	}
	switch {
	case c.PrintConfig:
		return env.Print(serverConfig)
	case c.Stdio:
		return c.connectStdio(env, store)
	}
	most, ok := term.ParseSize(c.MaxDisk)
	if !ok || most < 1<<20 {
		return cli.Failf(cli.Usage, "invalid size '%s' (try 512M or 8G)", c.MaxDisk)
	}
	return c.serveHub(env, state, store, most)
}

// serveHub runs the hub until a signal, until its data is gone, or with Idle until it was unused for
// that long or another hub takes its place. most is the limit on disk, in bytes.
func (c *run) serveHub(env *cli.Env, state place.State, store string, most int64) error {
	if err := atomicfile.EnsurePrivateDir(store); err != nil {
		return err
	}
	var wait time.Duration
	if c.Idle == 0 && atomicfile.Exists(filepath.Join(store, idleName)) {
		// The relay of this host starts a hub as soon as none runs, for itself alone. That one
		// makes room for one that all reach.
		if err := atomicfile.Remove(filepath.Join(store, idleName)); err != nil {
			return err
		}
		wait = 4 * tickEvery // the other hub looks for the file at each tick
	}
	lock, err := flock.Acquire(filepath.Join(store, "lock"), wait)
	if err != nil {
		return cli.Fail(cli.Busy, fmt.Errorf("another gt-hub uses '%s'", store))
	}
	defer lock.Unlock()
	socket, err := listenSocket(store) // before anything else makes files: it sets the umask
	if err != nil {
		return err
	}
	defer socket.Close()
	o := hub.Options{Store: store, MaxStore: most, Now: env.Now, Warn: env.WarnError}
	if c.Idle == 0 {
		o.Listen = c.Listen
	}
	h, err := hub.Start(o)
	if err != nil {
		return err
	}
	defer h.Close()
	if err := atomicfile.Write(filepath.Join(store, pidName), fmt.Appendln(nil, os.Getpid()), atomicfile.Unsynced); err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), cli.EndSignals()...)
	defer stop()
	cli.Go(func() { h.ServeLocal(socket) })
	if c.Idle > 0 {
		if err := atomicfile.Write(filepath.Join(store, idleName), nil, atomicfile.Unsynced); err != nil {
			return err
		}
		cli.Go(func() { relayThisHost(ctx, env, state, h, c.Name) })
	} else {
		address := cmp.Or(c.Address, externalAddress(c.Listen, h.Addr()))
		if err := atomicfile.Write(filepath.Join(store, addressFile), []byte(address+"\n"), atomicfile.Synced); err != nil {
			return err
		}
		i, err := hub.Invite(store, address, env.Now())
		if err != nil {
			return err
		}
		if err := env.Println(i); err != nil {
			return err
		}
		env.Hint("the hub runs at %s; on a host: gt-relay join - (and paste that line); gt-hub invite makes another", address)
	}
	tick := time.NewTicker(tickEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
			h.Sweep()
			if c.Idle > 0 && (h.Idle() > c.Idle || !atomicfile.Exists(filepath.Join(store, idleName))) || !atomicfile.Exists(filepath.Join(store, pidName)) { // or its data is gone
				return nil
			}
		}
	}
}

// listenSocket opens the socket for this user's programs, who may do everything there: the folder can be one
// that others enter. Its path is relative, because the system allows about a hundred bytes.
func listenSocket(store string) (net.Listener, error) {
	if err := os.Chdir(store); err != nil {
		return nil, err
	}
	if err := atomicfile.Remove(filepath.Join(store, socketName)); err != nil { // of a hub that was killed: the lock is ours
		return nil, err
	}
	defer syscall.Umask(syscall.Umask(0o177))
	return net.Listen("unix", socketName)
}

// externalAddress returns the address for other machines: listen's host, or else this machine's
// name, and the port of bound.
func externalAddress(listen, bound string) string {
	host, _, err := net.SplitHostPort(listen)
	_, port, perr := net.SplitHostPort(bound)
	if err != nil || perr != nil {
		return bound
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		if host, err = os.Hostname(); err != nil {
			host = "localhost"
		}
	}
	return net.JoinHostPort(host, port)
}

// relayThisHost relays for this host while its hub runs, unless the host belongs to another fleet.
// A host of no fleet joins that of h, as name. While another process relays, it tries again.
func relayThisHost(ctx context.Context, env *cli.Env, state place.State, h *hub.Hub, name string) {
	at, err := dial.Load(state)
	if errors.Is(err, fs.ErrNotExist) {
		at = dial.Hub{URL: dial.Local}
		if _, err = local.Join(state, name, true); err == nil {
			err = at.Store(state)
		}
	}
	if err != nil || at.URL != dial.Local {
		env.WarnError(err)
		return
	}
	o := local.Options(ctx, env, state, env.WarnError)
	o.Connect = h.ConnectIf(func() error {
		if at, err := dial.Load(state); err != nil || at.URL != dial.Local {
			return errors.Join(relay.ErrLeft, err)
		}
		return nil
	})
	for ctx.Err() == nil {
		r, lock, err := relay.New(o)
		if err == nil {
			err = r.Run(ctx)
			lock.Unlock()
		}
		if errors.Is(err, relay.ErrLeft) {
			return
		}
		if !errors.Is(err, relay.ErrRunning) {
			env.WarnError(err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(5 * time.Second):
		}
	}
}

// connectStdio joins standard input and output to the hub. First it prints dial.Ready, by which the
// other side knows where the text that a login prints ends.
func (c *run) connectStdio(env *cli.Env, store string) error {
	conn, err := connectHub(env, store, c.Name)
	if err != nil {
		return err
	}
	if err := env.Println(dial.Ready); err != nil {
		return err
	}
	hub.JoinConns(conn, stdioPipes{env.Stdin, env.Stdout})
	return nil
}

type stdioPipes struct {
	io.Reader
	io.Writer
}

func (stdioPipes) Close() error { return nil }

const idleTime = 10 * time.Minute // how long a hub that was started for a connection outlives the last one

// connectHub connects to this user's hub, which it starts if none answers, and waits ten seconds for it.
// It changes to the store's folder, because the path of a socket must be short.
func connectHub(env *cli.Env, store, name string) (net.Conn, error) {
	if err := atomicfile.EnsurePrivateDir(store); err != nil {
		return nil, err
	}
	if err := os.Chdir(store); err != nil {
		return nil, err
	}
	var last error
	for try := range 100 {
		c, err := net.Dial("unix", socketName)
		if err == nil {
			return c, nil
		}
		last = err
		if try%25 == 0 { // a second one finds the lock taken, and ends
			if _, err := process.RestartDetached("/", env.ChildEnviron(), []string{"run", "--store", store, "--idle", idleTime.String(), "--name", name}); err != nil {
				return nil, err
			}
		}
		time.Sleep(100 * time.Millisecond)
	}
	return nil, fmt.Errorf("the hub does not start: %w", last)
}

type invite struct{ storeFlag }

func (c *invite) Run(env *cli.Env) error {
	store, _, err := c.storePath(env)
	if err != nil {
		return err
	}
	address, err := atomicfile.Read(filepath.Join(store, addressFile), 1024)
	if errors.Is(err, fs.ErrNotExist) {
		return cli.Fail(cli.AnswerNo, errors.New("no hub has run here"), "gt-hub runs one")
	} else if err != nil {
		return err
	}
	i, err := hub.Invite(store, strings.TrimSpace(string(address)), env.Now())
	if err != nil {
		return err
	}
	return env.Println(i)
}

type hosts struct {
	storeFlag
	JSON bool `name:"json" help:"One JSON object a line."`
}

func (c *hosts) Run(env *cli.Env) error {
	_, all, err := c.readHosts(env)
	if err != nil {
		return err
	}
	rows, lines := [][]string{{"HOST", "KEY"}}, []map[string]string{}
	for _, key := range slices.SortedFunc(maps.Keys(all), func(a, b string) int { return strings.Compare(all[a]+a, all[b]+b) }) {
		rows, lines = append(rows, []string{env.Line(all[key], 64), key}), append(lines, map[string]string{"name": all[key], "key": key})
	}
	if c.JSON {
		return cli.JSONLines(env, lines)
	}
	if len(rows) == 1 {
		env.Hint("no host has joined yet: gt-hub invite")
		return nil
	}
	return term.StyleFor(env.Stdout, env.Getenv).Table(env.Stdout, term.Width(env.Stdout, env.Getenv), rows, nil)
}

type remove struct {
	storeFlag
	Host string `arg:"" help:"Name or key, as gt-hub hosts shows them."`
}

func (c *remove) Run(env *cli.Env) error {
	store, all, err := c.readHosts(env)
	if err != nil {
		return err
	}
	var keys []string
	for key, name := range all {
		if key == c.Host || name == c.Host {
			keys = append(keys, key)
		}
	}
	switch len(keys) {
	case 0:
		return cli.Fail(cli.AnswerNo, fmt.Errorf("there is no host '%s'", env.Line(c.Host, 80)), "gt-hub hosts lists them")
	case 1:
		if err := hub.RemoveHost(store, keys[0]); err != nil {
			return err
		}
		return env.Printf("%s cannot connect any more\n", env.Line(all[keys[0]], 64))
	}
	return cli.Fail(cli.Usage, fmt.Errorf("%d hosts are called '%s'", len(keys), env.Line(c.Host, 80)), "name it by its key: gt-hub hosts")
}

const serverConfig = `# For a NATS server of your own (nats-server -c this file), or as a list of what an
# account at a provider needs. gt-relay join nats://HOST --creds FILE uses it.
jetstream {
  store_dir: /var/lib/nats
  max_file_store: 8G
  sync_interval: always   # the default, two minutes, loses acknowledged messages at a power cut
  limits { default_max_consumers: -1 }   # for more than 500 hosts
}
max_payload: 1114112      # 1 MiB and what a message needs besides
# A host needs JetStream, and these rights; KEY is its key, from gt-relay status --json:
#   publish    gt.KEY.>  $JS.API.>
#   subscribe  _INBOX_KEY.>  gt.*.beat  gt.*.ask.KEY  gt.*.chunk.KEY
# The first host that connects makes the streams GT_HERE, GT_FLEET, GT_FEEDS and
# GT_IN_<key>; a cluster keeps each on three servers. A leaf node that keeps none needs default_js_domain,
# with the domain of the servers that do.
`
