package relaycmd

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"gt/lib/cli"
	"gt/lib/relay"
	"gt/lib/relay/dial"
	"gt/lib/relay/local"
	"gt/lib/state/peer"
	"gt/lib/sys/atomicfile"
	"gt/lib/sys/flock"
	"gt/lib/text/duration"
)

// isRunning reports whether a relay holds its lock. A lock that cannot be tried counts as held.
func (f fleetFiles) isRunning() bool {
	lock, err := flock.Acquire(f.state.Path("relay", "lock"), 0)
	if err != nil {
		return true
	}
	lock.Unlock()
	return false
}

func formatAge(at, now time.Time) string {
	if at.IsZero() {
		return "never"
	}
	if d := now.Sub(at); d >= time.Second {
		return duration.Format(d.Truncate(time.Second)) + " ago"
	}
	return "now"
}

type allow struct {
	Host string   `arg:"" completer:"host" help:"The host."`
	What []string `arg:"" help:"What it may do here: peek, send, answer, start, stop, work, move; records (copy this host's records of conversations); or all. This is added to what it may do already; none takes all of that back first."`
}

// Run adds to what a host may do here. The new Trust also ends a block.
func (c *allow) Run(env *cli.Env) error {
	f, h, err := openWithHost(env, c.Host)
	if err != nil {
		return err
	}
	trust, err := f.hosts.Trust(h)
	if err != nil {
		return err
	}
	may := slices.Clone(trust.Allowed)
	for _, w := range c.What {
		switch {
		case w == "all":
			may = append(may, peer.Allowable...)
		case w == "none":
			may = nil
		case slices.Contains(peer.Allowable, w):
			may = append(may, w)
		default:
			return cli.Fail(cli.Usage, fmt.Errorf("unknown permission '%s'", env.Line(w, 40)), strings.Join(peer.Allowable, ", ")+", all, none")
		}
	}
	slices.Sort(may)
	may = slices.Compact(may)
	if err := f.hosts.SetTrust(h.Name, peer.Trust{Key: h.Key, Allowed: may}); err != nil {
		return err
	}
	if len(may) == 0 {
		return env.Printf("%s may run nothing here\n", h.Name)
	}
	return env.Printf("%s may here: %s\n", h.Name, strings.Join(may, ", "))
}

// openWithHost returns the files of a host that belongs to a fleet, and another host that it knows.
func openWithHost(env *cli.Env, name string) (fleetFiles, peer.Host, error) {
	f, _, err := openJoined(env)
	if err != nil {
		return f, peer.Host{}, err
	}
	h, err := f.hosts.Find(name)
	return f, h, err
}

type block struct {
	Host string `arg:"" completer:"host" help:"The host."`
}

// Run blocks a host. The new Trust also takes back what the host was allowed.
func (c *block) Run(env *cli.Env) error {
	f, h, err := openWithHost(env, c.Host)
	if err != nil {
		return err
	}
	if err := f.hosts.SetTrust(h.Name, peer.Trust{Key: h.Key, Revoked: true}); err != nil {
		return err
	}
	if err := env.Printf("nothing of %s is taken any more\n", h.Name); err != nil {
		return err
	}
	env.Hint("it reads this host's log until gt-hub remove %s keeps it off the hub; gt-relay allow %s none takes the block back", h.Name, h.Name)
	return nil
}

// lockWhileStopped takes the relay's lock: names and hosts change while no relay runs.
func (f fleetFiles) lockWhileStopped() (*flock.Lock, error) {
	lock, err := flock.Acquire(f.state.Path("relay", "lock"), 0)
	if err != nil {
		return nil, f.busyError("stop it first: ctrl-C where it runs; the service: " + stopService())
	}
	return lock, nil
}

// busyError returns the error for a relay that runs already: a person's, or the one in gt-hub.
func (f fleetFiles) busyError(hint string) error {
	s, err := relay.ReadStatus(f.state)
	pid, perr := atomicfile.Read(f.state.Path("relay", "hub", "pid"), 64)
	if err == nil && perr == nil && strings.TrimSpace(string(pid)) == fmt.Sprint(s.PID) {
		return cli.Fail(cli.Busy, errors.New("gt-hub relays for this host already"), fmt.Sprintf("it does for as long as its hub runs; kill %d ends both", s.PID))
	}
	return cli.Fail(cli.Busy, relay.ErrRunning, hint)
}

type rename struct {
	Host string `arg:"" completer:"host" help:"The host."`
	Name string `arg:"" help:"Its new name here."`
}

// Run gives this host, or another one, another name here, while no relay runs.
func (c *rename) Run(env *cli.Env) error {
	f, own, err := openJoined(env)
	if err != nil {
		return err
	}
	if err := peer.CheckName(c.Name); err != nil {
		return cli.Fail(cli.Usage, err)
	}
	lock, err := f.lockWhileStopped()
	if err != nil {
		return err
	}
	defer lock.Unlock()
	isTaken := atomicfile.Exists(f.hosts.Path(c.Name))
	if c.Host == own.Name {
		if isTaken {
			return hostExists(c.Name)
		}
		own.Name = c.Name
		if err := f.hosts.SetOwn(own); err != nil {
			return err
		}
	} else {
		h, err := f.hosts.Find(c.Host)
		if err != nil {
			return err
		}
		if isTaken || c.Name == own.Name {
			return hostExists(c.Name)
		}
		if err := f.hosts.Rename(h, c.Name, env.Now()); err != nil {
			return err
		}
	}
	return env.Printf("%s is called %s now\n", c.Host, c.Name)
}

func hostExists(name string) error {
	return cli.Fail(cli.AnswerNo, fmt.Errorf("there is a host '%s' already", name))
}

type forget struct {
	Host string `arg:"" completer:"host" help:"The host."`
}

// Run refuses the letters that wait for a host, and removes what is known of the host here.
func (c *forget) Run(env *cli.Env) error {
	f, h, err := openWithHost(env, c.Host)
	if err != nil {
		return err
	}
	lock, err := f.lockWhileStopped()
	if err != nil {
		return err
	}
	defer lock.Unlock()
	// First: another host may take the name.
	unsent, err := f.refuseUnsent(h.Name+" was forgotten here", func(l peer.Letter) bool { return l.Host == h.Name })
	if err != nil {
		return err
	}
	if err := f.hosts.Forget(h); err != nil {
		return err
	}
	if err := env.Printf("%s is forgotten here\n", h.Name); err != nil {
		return err
	}
	f.hintUnsent(unsent)
	env.Hint("if it is still in the fleet, it comes back as a new host that is allowed nothing; gt-relay block keeps it out")
	return nil
}

type leave struct{}

const leaveWait = time.Minute // how long a relay that runs may take to see that it has no hub any more

// Run removes the hub first, so that a relay that runs ends and frees the lock.
func (c *leave) Run(env *cli.Env) error {
	f, own, err := openJoined(env)
	if err != nil {
		return err
	}
	if err := dial.Forget(f.state); err != nil {
		return err
	}
	lock, err := flock.Acquire(f.state.Path("relay", "lock"), leaveWait) // a relay ends without a hub
	if err != nil {
		return f.busyError("it should have ended by itself; end it, and try again")
	}
	defer lock.Unlock()
	unsent, err := f.refuseUnsent(own.Name+" has left its fleet", func(peer.Letter) bool { return true })
	if err != nil {
		return err
	}
	if err := f.hosts.SetLeft(true); err != nil {
		return err
	}
	if err := removeService(env); err != nil {
		return err
	}
	if err := env.Printf("%s has left its fleet; gt-relay join comes back to it\n", own.Name); err != nil {
		return err
	}
	f.hintUnsent(unsent)
	return nil
}

// refuseUnsent sets the letters aside that wait and match, as refused for that reason, and returns
// how many. A session that was to travel in one is taken back.
func (f fleetFiles) refuseUnsent(reason string, matches func(peer.Letter) bool) (n int, err error) {
	all, err := f.outbox.ReadLetters()
	if err != nil {
		return 0, err
	}
	for _, l := range all {
		if !matches(l) {
			continue
		}
		f.env.WarnError(errors.Join(f.outbox.RemoveTries(l.ID), local.TakeBack(f.env, f.state, l)))
		if err := f.outbox.Refuse(l, reason); err != nil {
			return n, err
		}
		n++
	}
	return n, nil
}

func (f fleetFiles) hintUnsent(n int) {
	if n > 0 {
		f.env.Hint("%d were not sent: gt-mail outbox lists them", n)
	}
}

type service struct {
	Systemd bool `help:"As a systemd service of yours (the default on Linux)." xor:"kind"`
	Launchd bool `help:"As a launchd agent of yours (the default on macOS)." xor:"kind"`
}

const systemdUnit = `[Unit]
Description=gt-relay: agents of several machines
After=network-online.target

[Service]
ExecStart=%s run
Restart=on-failure
RestartSec=30

[Install]
WantedBy=default.target
`

const launchdPlist = `<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<plist version="1.0"><dict>
<key>Label</key><string>gt-relay</string>
<key>ProgramArguments</key><array><string>%s</string><string>run</string></array>
<key>RunAtLoad</key><true/>
<key>KeepAlive</key><dict><key>SuccessfulExit</key><false/></dict>
</dict></plist>
`

func stopService() string {
	if runtime.GOOS == "darwin" {
		return "launchctl bootout gui/$UID/gt-relay"
	}
	return "systemctl --user stop gt-relay"
}

// unitPaths returns where the service of systemd and that of launchd are installed.
func unitPaths(env *cli.Env) (systemd, launchd string, err error) {
	home := env.Getenv("HOME")
	if !filepath.IsAbs(home) {
		return "", "", cli.Fail(cli.Usage, errors.New("HOME is not set"))
	}
	config := filepath.Join(home, ".config")
	if dir := env.Getenv("XDG_CONFIG_HOME"); filepath.IsAbs(dir) {
		config = dir
	}
	return filepath.Join(config, "systemd", "user", "gt-relay.service"), filepath.Join(home, "Library", "LaunchAgents", "gt-relay.plist"), nil
}

// removeService removes the files of the service, which has ended with its relay.
func removeService(env *cli.Env) error {
	systemd, launchd, err := unitPaths(env)
	if err != nil {
		return err
	}
	wants := filepath.Join(filepath.Dir(systemd), "default.target.wants", filepath.Base(systemd)) // of systemctl enable
	for _, path := range []string{wants, systemd, launchd} {
		if err := atomicfile.Remove(path); err != nil {
			return err
		}
	}
	return nil
}

// Run writes the file of the service, which the person starts. It keeps one that differs.
func (c *service) Run(env *cli.Env) error {
	if _, _, err := openJoined(env); err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	path, launchd, err := unitPaths(env)
	if err != nil {
		return err
	}
	text, next := fmt.Sprintf(systemdUnit, systemdQuote(self)), "systemctl --user enable --now gt-relay"
	if c.Launchd || !c.Systemd && runtime.GOOS == "darwin" {
		path = launchd
		text, next = fmt.Sprintf(launchdPlist, xmlEscape(self)), "launchctl bootstrap gui/$UID "+path
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	if old, err := os.ReadFile(path); err == nil && string(old) != text {
		return cli.Fail(cli.AnswerNo, fmt.Errorf("'%s' exists and differs", env.DisplayPath(path)), "remove it to have it made anew")
	} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := atomicfile.WriteMode(path, []byte(text), 0o644, atomicfile.Synced); err != nil {
		return err
	}
	return env.Printf("wrote %s; it begins with:\n  %s\n", env.DisplayPath(path), next)
}

func systemdQuote(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, `%`, `%%`).Replace(s) + `"`
}

func xmlEscape(s string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(s)
}
