// Package dial connects a host to its hub: through ssh or a program on this machine, with
// a certificate that an invitation named, or as any NATS server is reached.
package dial

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os/exec"
	"strings"
	"time"

	"github.com/nats-io/nats.go"

	"gt/lib/cli"
	"gt/lib/place"
	"gt/lib/relay/invite"
	"gt/lib/relay/seal"
	"gt/lib/relay/streams"
	"gt/lib/state/peer"
	"gt/lib/sys/atomicfile"
	"gt/lib/sys/process"
	"gt/lib/text/term"
)

// Ready is the line that gt-hub --stdio prints before the first byte of NATS. What a login
// prints before it is skipped.
const Ready = "gt-hub ready 1"

// answerTimeout bounds how long a hub may take to answer.
const answerTimeout = 20 * time.Second

// maxNoise bounds what is skipped, in bytes.
const maxNoise = 64 << 10

// Hub is where a host's hub is: <state>/relay/hub.json.
type Hub struct {
	// URL is ssh://[user@]host[:port], local: (gt-hub of this user on this machine),
	// gt://host:port (a hub that Fingerprint identifies), or a NATS server's
	// (nats://, tls://, ws://, wss://).
	URL         string `json:"url"`
	Fingerprint string `json:"fingerprint,omitempty"`
	// Creds is the path of a NATS credentials file, or "".
	Creds string `json:"creds,omitempty"`
}

// Local is the URL of the hub that runs for this user on this machine.
const Local = "local:"

func hubPath(state place.State) string { return state.Path("relay", "hub.json") }

// Load returns this host's hub, or fs.ErrNotExist.
func Load(state place.State) (h Hub, err error) {
	return h, atomicfile.ReadJSON(hubPath(state), 64<<10, &h)
}

// Store keeps this host's hub, synced to disk.
func (h Hub) Store(state place.State) error {
	return state.WriteJSON(hubPath(state), h, atomicfile.Synced)
}

// Forget removes this host's hub.
func Forget(state place.State) error { return atomicfile.Remove(hubPath(state)) }

// Check returns an error unless the hub can be dialled.
func (h Hub) Check() error {
	if h.URL == Local {
		return nil
	}
	u, err := url.Parse(h.URL)
	if err != nil {
		return fmt.Errorf("invalid address '%.200s'", h.URL)
	}
	switch u.Scheme {
	case "ssh":
		_, err := sshArgs(u, false)
		return err
	case "gt", "nats", "tls", "ws", "wss":
		if u.Hostname() == "" {
			return fmt.Errorf("invalid address '%.200s'", h.URL)
		}
		if u.User != nil {
			return errors.New("an address with a password would be seen by all; use --creds")
		}
		return nil
	}
	return fmt.Errorf("invalid address '%.200s' (ssh://HOST, nats://HOST or an invitation of gt-hub)", h.URL)
}

// Program starts programs for a dialler.
type Program struct {
	Environ []string
	// Terminal is where ssh may ask for a password; nil for never.
	Terminal io.Writer
	Hub      string // path of gt-hub on this machine
}

// Connect connects to the hub: through a program here (Local) or over ssh, to gt-hub by a pinned
// certificate (gt://), or to any NATS server. The connection does not reconnect by itself.
func (h Hub) Connect(ctx context.Context, keys *seal.Keys, p Program) (*nats.Conn, error) {
	if err := h.Check(); err != nil {
		return nil, err
	}
	opts := []nats.Option{
		nats.NoReconnect(), nats.NoEcho(), nats.Name("gt-relay"), nats.Timeout(answerTimeout), nats.PingInterval(2 * time.Minute), nats.MaxPingsOutstanding(2),
		nats.CustomInboxPrefix(streams.InboxPrefix(keys.Public())),
	}
	u, err := url.Parse(h.URL)
	if err != nil {
		return nil, err
	}
	address := h.URL
	var program []string // its standard input and output are the connection; nil for a socket
	switch {
	case h.URL == Local:
		program, address = []string{p.Hub, "--stdio"}, "nats://local"
	case u.Scheme == "ssh":
		address = "nats://" + u.Hostname()
		if program, err = sshArgs(u, p.Terminal != nil); err != nil {
			return nil, err
		}
	case u.Scheme == "gt":
		opts, address = append(opts, nats.Secure(invite.Pinned(h.Fingerprint)), nkeyOption(keys)), "tls://"+u.Host
	case h.Creds != "":
		opts = append(opts, nats.UserCredentials(h.Creds))
	default:
		opts = append(opts, nkeyOption(keys))
	}
	if program != nil {
		c, err := p.startPiped(ctx, program)
		if err != nil {
			return nil, err
		}
		opts = append(opts, nats.SetCustomDialer(singleConn{c}))
	} else {
		d := &ctxDialer{ctx: ctx}
		defer d.stop()
		opts = append(opts, nats.SetCustomDialer(d))
	}
	nc, err := nats.Connect(address, opts...)
	if err != nil && ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if errors.Is(err, nats.ErrNoServers) && u.Host != "" { // NATS's error if nothing answers
		return nil, fmt.Errorf("no hub answers at %s", u.Host)
	}
	return nc, err
}

func nkeyOption(keys *seal.Keys) nats.Option { return nats.Nkey(keys.Public(), keys.Sign) }

// ctxDialer dials connections that close when the context ends before stop: NATS knows no
// context, and an address that answers nothing would hold up ctrl-C.
type ctxDialer struct {
	ctx   context.Context
	conns []func() bool
}

func (i *ctxDialer) Dial(network, address string) (net.Conn, error) {
	c, err := (&net.Dialer{Timeout: answerTimeout}).DialContext(i.ctx, network, address)
	if err == nil {
		i.conns = append(i.conns, context.AfterFunc(i.ctx, func() { c.Close() }))
	}
	return c, err
}

func (i *ctxDialer) stop() {
	for _, stop := range i.conns {
		stop()
	}
}

// singleConn dials a connection that is there already.
type singleConn struct{ c net.Conn }

func (o singleConn) Dial(string, string) (net.Conn, error) { return o.c, nil }

// remoteHub starts gt-hub on a host whose PATH for programs without a terminal may lack
// the usual folders of a person's own programs. Single quotes mean the same in every shell.
const remoteHub = `sh -c 'PATH="$PATH:$HOME/.local/bin:$HOME/go/bin:$HOME/bin:/usr/local/bin"; exec gt-hub --stdio%s'`

// sshArgs returns the command line for a hub behind ssh. Without ask, ssh asks nobody.
func sshArgs(u *url.URL, ask bool) ([]string, error) {
	host := u.Hostname()
	user := ""
	if u.User != nil {
		if _, set := u.User.Password(); set {
			return nil, errors.New("ssh takes no password in an address")
		}
		user = u.User.Username()
	}
	if host == "" || strings.HasPrefix(host, "-") || strings.HasPrefix(user, "-") || u.Path != "" && u.Path != "/" {
		return nil, fmt.Errorf("invalid address '%.200s' (try ssh://HOST)", u)
	}
	args := []string{"ssh", "-T", "-o", "ServerAliveInterval=20", "-o", "ServerAliveCountMax=3"}
	if !ask {
		args = append(args, "-o", "BatchMode=yes")
	}
	if port := u.Port(); port != "" {
		args = append(args, "-p", port)
	}
	if user != "" {
		host = user + "@" + host
	}
	name := "" // what the person calls that host, unless it has a name
	if n := strings.ToLower(u.Hostname()); peer.CheckName(n) == nil && strings.ContainsAny(n, "abcdefghijklmnopqrstuvwxyz") {
		name = " --name " + n
	}
	return append(args, "--", host, fmt.Sprintf(remoteHub, name)), nil
}

// startPiped starts a program that speaks NATS on its standard input and output, waits until it is
// ready, and returns a connection to it. The end of ctx kills it.
func (p Program) startPiped(ctx context.Context, args []string) (net.Conn, error) {
	path, err := process.LookPath(args[0], "", p.Environ)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	cmd := exec.CommandContext(ctx, path, args[1:]...)
	cmd.Env = p.Environ
	stderr := new(tailBuffer)
	cmd.Stderr = stderr
	if p.Terminal != nil {
		cmd.Stderr = io.MultiWriter(stderr, p.Terminal)
	}
	cmd.WaitDelay = time.Second
	in, err := cmd.StdinPipe()
	out, oerr := cmd.StdoutPipe()
	if err = errors.Join(err, oerr); err == nil {
		err = cmd.Start()
	}
	if err != nil {
		cancel()
		return nil, err
	}
	from := bufio.NewReader(out)
	if err := awaitReady(from); err != nil {
		cancel()
		_ = cmd.Wait()
		if last := term.LastLine(string(stderr.data)); last != "" {
			return nil, fmt.Errorf("%s: %s", args[0], strings.TrimPrefix(last, args[0]+": "))
		}
		return nil, fmt.Errorf("%s: %w", args[0], err)
	}
	ours, theirs := net.Pipe()
	cli.Go(func() {
		_, _ = io.Copy(in, theirs)
		in.Close()
	})
	cli.Go(func() {
		_, _ = io.Copy(theirs, from)
		theirs.Close()
		cancel()
		_ = cmd.Wait()
	})
	return ours, nil
}

// awaitReady reads up to the line Ready. What follows stays in from, for NATS.
func awaitReady(from *bufio.Reader) error {
	for read := 0; read < maxNoise; {
		line, err := from.ReadSlice('\n')
		read += len(line)
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			return errors.New("it ended before gt-hub was ready")
		}
		if strings.TrimRight(string(line), "\r\n") == Ready {
			return nil
		}
	}
	return errors.New("it printed too much before gt-hub was ready")
}

// tailBuffer keeps the end of what a program writes.
type tailBuffer struct{ data []byte }

func (t *tailBuffer) Write(p []byte) (int, error) {
	t.data = append(t.data, p...)
	t.data = t.data[max(len(t.data)-4096, 0):]
	return len(p), nil
}
