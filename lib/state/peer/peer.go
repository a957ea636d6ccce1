// Package peer keeps what this host knows of other hosts, and what waits to be sent to
// them. gt-relay carries it between the machines; every other program reads and writes
// only these files:
//
//	<state>/relay/host.json                this host: its name and public keys
//	<state>/relay/out/<host>/<id>.<kind>   a letter that the host does not have yet
//	<state>/relay/out/any/<id>.work        work for one session of any host
//	<state>/relay/any/<id>.json            to whom that was offered
//	<state>/relay/refused/<host>/<id>.<kind>, .reason   a letter that the host does not take
//	<state>/relay/forgotten/<key>/         what guards against replays of a host that was forgotten
//	<state>/peers/<host>/host.json         another host: its keys, when it was last seen
//	<state>/peers/<host>/trust.json        what the person allows it here
//	<state>/peers/<host>/.events.jsonl     copy of its event log
//	<state>/peers/<host>/towns/<name>-<hash>/.events.jsonl   copies of its towns' logs
//	<state>/peers/<host>/instances.jsonl   its agents, as gt-session list --json prints them
//	<state>/peers/<host>/records/<id>.jsonl   copies of its recorded conversations
//	<state>/peers/<host>/letters           ids of the letters that came, a line each
//
// All of it is a claim of the other host, except trust.json.
package peer

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"sort"
	"strconv"
	"strings"
	"time"

	"gt/lib/cli"
	"gt/lib/place"
	"gt/lib/state/mail"
	"gt/lib/sys/atomicfile"
	"gt/lib/text/duration"
	"gt/lib/text/lazyregexp"
)

const (
	folder   = "peers"
	maxFile  = 1 << 20
	hostFile = "host.json"
)

// AwayAfter is the time after which a host that was not seen counts as away: the state of
// its agents is then unknown.
const AwayAfter = 90 * time.Second

// MaxLetter bounds a letter, in bytes, and MaxLarge one that PutLarge puts.
const (
	MaxLetter = 24 << 20
	MaxLarge  = 1 << 30
)

var hostName = lazyregexp.New(`^[a-z0-9]([a-z0-9.-]{0,61}[a-z0-9])?$`)

// CheckName returns an error unless s can name a host: 1 to 63 lower-case letters, digits,
// '-' and '.', beginning and ending with a letter or digit. No host is called any.
func CheckName(s string) error {
	if !hostName().MatchString(s) || strings.Contains(s, "..") || s == AnyHost {
		return fmt.Errorf("invalid host name '%.80s' (1 to 63 lower-case letters, digits, '-' and '.')", s)
	}
	return nil
}

// SplitAddress splits NAME@HOST at its last '@'. ok reports whether host is a valid host name or
// AnyHost, and name is not empty.
func SplitAddress(address string) (name, host string, ok bool) {
	i := strings.LastIndexByte(address, '@')
	if i < 1 || checkHost(address[i+1:]) != nil {
		return "", "", false
	}
	return address[:i], address[i+1:], true
}

// Host is a host of the fleet.
type Host struct {
	Name string `json:"name"`
	Key  string `json:"key"` // public signing key, an nkey of a user: U…
	Box  string `json:"box"` // age recipient of what is for this host: age1…
	// LastSeen is the time of the last message of the host, by this host's clock.
	LastSeen time.Time `json:"last_seen,omitzero"`
	// Clock is the time of that message, by the host's own clock.
	Clock time.Time `json:"clock,omitzero"`
	// Every is how often the host beats, in seconds; 0 in a small fleet, Ended for one whose
	// relay was stopped.
	Every int `json:"every,omitempty"`
	// Current is the time at which the copies of its logs were last known to be complete.
	Current time.Time `json:"current,omitzero"`
	Version string    `json:"version,omitempty"` // of its gt
	// Allows is what it allows this host; nil if it does not say.
	Allows []string `json:"allows,omitzero"`
	// Latest is when its newest message of a kind was written that was taken here, by its own
	// clock, in milliseconds since 1970. An older one is not taken any more.
	Latest map[string]int64 `json:"latest,omitempty"`
	// SSH is where it can be reached by ssh, or "".
	SSH string `json:"ssh,omitempty"`
	// Clash says why messages under this name are refused: another key uses it as well.
	Clash string `json:"clash,omitempty"`
}

// Ended is the interval of a host that beats no more.
const Ended = -1

// IsAway reports whether the host was not seen lately, or has said that it ends. A time to come
// proves nothing: a clock was wrong.
func (h Host) IsAway(now time.Time) bool {
	return h.Every == Ended || now.Sub(h.LastSeen).Abs() > h.awayAfter()
}

// awayAfter is AwayAfter, or longer for a host of a large fleet.
func (h Host) awayAfter() time.Duration {
	return max(AwayAfter, time.Duration(h.Every)*time.Second*9/4)
}

// Denies reports whether the host has said that it does not allow something.
func (h Host) Denies(what string) bool { return h.Allows != nil && !slices.Contains(h.Allows, what) }

// Seen says when the host was last seen: "last seen 3h ago".
func (h Host) Seen(now time.Time) string {
	if h.LastSeen.IsZero() {
		return "never seen"
	}
	return "last seen " + Age(now.Sub(h.LastSeen)) + " ago"
}

// Age formats a duration without its smaller units.
func Age(d time.Duration) string {
	unit := time.Second
	switch {
	case d >= 24*time.Hour:
		unit = time.Hour
	case d >= time.Minute:
		unit = time.Minute
	}
	return duration.Format(max(d, 0).Truncate(unit))
}

// Stale says how old what is known of the host is, or "" if it is as good as new.
func (h Host) Stale(now time.Time) string {
	switch {
	case h.IsAway(now):
		return h.Seen(now)
	case !h.Current.IsZero() && now.Sub(h.Current) > h.awayAfter():
		return "its log as it was " + Age(now.Sub(h.Current)) + " ago"
	}
	return ""
}

// Trust is what the person decided about a host.
type Trust struct {
	// Key is the host's public key that the decisions are about.
	Key string `json:"key"`
	// Allowed are the commands that the host may run here: start, stop, send, answer, peek, work, move.
	Allowed []string `json:"allowed,omitempty"`
	// Revoked reports that nothing of the host is taken.
	Revoked bool `json:"revoked,omitempty"`
}

// Hosts are the files about other hosts.
type Hosts struct{ state place.State }

func NewHosts(s place.State) Hosts { return Hosts{s} }

// Path returns the path of a host's file.
func (h Hosts) Path(host string, elem ...string) string {
	return h.state.Path(append([]string{folder, host}, elem...)...)
}

// LocalHost returns this host's name and keys. It returns fs.ErrNotExist if it belongs to no fleet.
func (h Hosts) LocalHost() (host Host, err error) {
	return host, read(h.state.Path("relay", hostFile), &host)
}

// LocalName returns a name without the "@HOST" of this host. Any other name stays as it is.
func (h Hosts) LocalName(name string) string {
	at, host, ok := SplitAddress(name)
	if !ok {
		return name
	}
	if own, err := h.LocalHost(); err != nil || own.Name != host {
		return name
	}
	return at
}

// SetOwn stores this host's name and keys, synced to disk.
func (h Hosts) SetOwn(own Host) error {
	return h.write(h.state.Path("relay", hostFile), own, atomicfile.Synced)
}

func read(path string, v any) error { return atomicfile.ReadJSON(path, maxFile, v) }

// readIfExists is read of a file that need not be there.
func readIfExists(path string, v any) error {
	_, err := atomicfile.IfExists(v, read(path, v))
	return err
}

func (h Hosts) write(path string, v any, d atomicfile.Durability) error {
	if err := h.state.Prepare(place.Real(filepath.Dir(path))); err != nil {
		return err
	}
	return atomicfile.WriteJSON(path, v, d)
}

// left is the file in relay that says that this host has left its fleet.
const left = "left"

// SetLeft notes whether this host has left its fleet. As long as it has, it knows no other host;
// what it kept of them counts again once it is back.
func (h Hosts) SetLeft(is bool) error {
	if !is {
		return atomicfile.Remove(h.state.Path("relay", left))
	}
	return atomicfile.Write(h.state.Path("relay", left), nil, atomicfile.Synced)
}

func (h Hosts) hasLeft() bool { return atomicfile.Exists(h.state.Path("relay", left)) }

// ReadHosts returns the known hosts, sorted by name. A host whose file cannot be read has only
// its name; err joins the reasons.
func (h Hosts) ReadHosts() (all []Host, err error) {
	if h.hasLeft() {
		return nil, nil
	}
	names, err := atomicfile.Folders(h.state.Path(folder))
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		if CheckName(name) == nil {
			host, failed := h.find(name)
			all, err = append(all, host), errors.Join(err, failed)
		}
	}
	return all, err
}

// Get returns a known host, or fs.ErrNotExist.
func (h Hosts) Get(name string) (Host, error) {
	if err := CheckName(name); err != nil {
		return Host{}, err
	}
	if h.hasLeft() {
		return Host{Name: name}, fs.ErrNotExist
	}
	var host Host
	err := read(h.Path(name, hostFile), &host)
	host.Name = name
	return host, err
}

// find is Get for a host that need not have been seen.
func (h Hosts) find(name string) (Host, error) {
	host, err := h.Get(name)
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return host, err
}

// Find returns a known host, or an error that names those that are known.
func (h Hosts) Find(name string) (Host, error) {
	all, err := h.ReadHosts()
	var names []string
	for _, host := range all {
		if host.Name == name { // its file is read again for its error
			return h.find(name)
		}
		names = append(names, host.Name)
	}
	failed := fmt.Errorf("no host is called '%.80s'", name)
	switch {
	case err != nil:
		return Host{}, err
	case len(names) == 0:
		return Host{}, cli.Fail(cli.AnswerNo, failed, "this host knows no other one")
	}
	return Host{}, cli.Fail(cli.AnswerNo, failed, "the known hosts are "+strings.Join(names, ", "))
}

// Put stores a host. A loss of power can bring back its earlier file.
func (h Hosts) Put(host Host) error {
	if err := CheckName(host.Name); err != nil {
		return err
	}
	return h.write(h.Path(host.Name, hostFile), host, atomicfile.Unsynced)
}

// Trust returns what the person decided about a host. It is zero if there is nothing, or if
// the host has another key by now. Only a revocation holds for any key.
func (h Hosts) Trust(host Host) (Trust, error) {
	var t Trust
	err := readIfExists(h.Path(host.Name, "trust.json"), &t)
	if err == nil && !t.Revoked && t.Key != host.Key {
		return Trust{}, nil
	}
	return t, err
}

// Blocked returns an error for a host that the person has blocked: nothing is sent to it.
func (h Hosts) Blocked(host Host) error {
	t, err := h.Trust(host)
	if err == nil && t.Revoked {
		err = cli.Fail(cli.AnswerNo, fmt.Errorf("%s is blocked here", host.Name), fmt.Sprintf("gt-relay allow %s none takes that back", host.Name))
	}
	return err
}

// SetTrust stores what the person decided about a host, synced to disk.
func (h Hosts) SetTrust(name string, t Trust) error {
	if err := CheckName(name); err != nil {
		return err
	}
	return h.write(h.Path(name, "trust.json"), t, atomicfile.Synced)
}

// Letter is a file that waits until another host has it.
type Letter struct {
	Host string
	ID   string // also the name of a note's file
	Kind string // note, work, offer, command, session
}

// Sent returns when the letter was written, by the clock of its sender.
func (l Letter) Sent() time.Time {
	seconds, rest, _ := strings.Cut(l.ID, ".M")
	micro, _, _ := strings.Cut(rest, "R")
	s, _ := strconv.ParseInt(seconds, 10, 64) // CheckID allows nothing else
	m, _ := strconv.ParseInt(micro, 10, 64)
	return time.Unix(s, m*1000)
}

// Kinds of letters.
const (
	Note    = "note"    // an RFC 5322 message for the Maildir of the agent in To
	Work    = "work"    // the same, for any session of the template in To
	Command = "command" // a JSON object: what to do here, if the person allows it
	Session = "session" // a session that moves, as gt-session pack writes it
)

var (
	letterID   = lazyregexp.New(`^[0-9]{1,12}\.M[0-9]{1,6}R[0-9a-f]{8,32}\.[A-Za-z0-9_-][A-Za-z0-9._-]{0,63}$`)
	letterKind = lazyregexp.New(`^[a-z]{1,16}$`)
)

// CheckID returns an error unless s can be a letter's ID.
func CheckID(s string) error {
	if !letterID().MatchString(s) {
		return fmt.Errorf("invalid letter ID '%.80s'", s)
	}
	return nil
}

// CheckKind returns an error unless s can be a letter's kind.
func CheckKind(s string) error {
	if !letterKind().MatchString(s) {
		return fmt.Errorf("invalid kind of letter '%.40s'", s)
	}
	return nil
}

// Outbox holds the letters for other hosts, a file each. A letter stays until its receiver
// says that it is on its disk.
type Outbox struct{ state place.State }

func OutboxOf(s place.State) Outbox { return Outbox{s} }

// Dir returns the folder that has a folder for each host.
func (o Outbox) Dir() string { return o.state.Path("relay", "out") }

// Path returns the path of a letter.
func (o Outbox) Path(l Letter) string {
	return o.state.Path("relay", "out", l.Host, l.ID+"."+l.Kind)
}

// Put leaves a letter for a host, synced to disk, and returns it with its new ID. The file
// appears whole or not at all.
func (o Outbox) Put(host, kind string, data []byte, now time.Time) (Letter, error) {
	if len(data) > MaxLetter {
		return Letter{}, fmt.Errorf("the letter has %d bytes, over %d", len(data), MaxLetter)
	}
	l, err := o.NewLetter(host, kind, now)
	if err != nil {
		return Letter{}, err
	}
	return l, o.PutAs(l, data)
}

// PutAs is Put for a letter of NewLetter.
func (o Outbox) PutAs(l Letter, data []byte) error {
	return atomicfile.Write(o.Path(l), data, atomicfile.Synced)
}

func checkHost(host string) error {
	if host == AnyHost {
		return nil
	}
	return CheckName(host)
}

// NewLetter returns a letter with a new ID, and makes the folder for it.
func (o Outbox) NewLetter(host, kind string, now time.Time) (Letter, error) {
	name, _ := mail.NewName(now)
	if err := errors.Join(checkHost(host), CheckID(name), CheckKind(kind)); err != nil {
		return Letter{}, err
	}
	dir := o.state.Path("relay", "out", host)
	if err := o.state.Prepare(dir); err != nil {
		return Letter{}, err
	}
	atomicfile.Sweep(dir, now) // left by a killed writer
	return Letter{host, name, kind}, nil
}

// PutLarge is Put for a letter of up to MaxLarge bytes that write writes. Before the letter
// appears, noted is called with its ID.
func (o Outbox) PutLarge(host, kind string, now time.Time, write func(io.Writer) error, noted func(Letter) error) (Letter, error) {
	l, err := o.NewLetter(host, kind, now)
	if err != nil {
		return Letter{}, err
	}
	return l, atomicfile.Stream(o.Path(l), func(w io.Writer) error {
		limited := &limitedWriter{w, MaxLarge}
		if err := write(limited); err != nil {
			return err
		}
		return noted(l)
	})
}

type limitedWriter struct {
	w    io.Writer
	left int64
}

func (l *limitedWriter) Write(p []byte) (int, error) {
	if l.left -= int64(len(p)); l.left < 0 {
		return 0, fmt.Errorf("the letter has over %d MiB", MaxLarge>>20)
	}
	return l.w.Write(p)
}

// Read returns a letter's text.
func (o Outbox) Read(l Letter) ([]byte, error) { return atomicfile.Read(o.Path(l), MaxLetter) }

// Remove removes a letter that its receiver has.
func (o Outbox) Remove(l Letter) error { return atomicfile.Remove(o.Path(l)) }

// refusedPath returns the path of a letter that its receiver does not take. The reason is beside
// it, in .reason.
func (o Outbox) refusedPath(l Letter) string {
	return o.state.Path("relay", "refused", l.Host, l.ID+"."+l.Kind)
}

// Refuse sets a letter aside that its receiver does not take, with the reason.
func (o Outbox) Refuse(l Letter, reason string) error {
	name := o.refusedPath(l)
	if err := o.state.Write(name+".reason", []byte(reason+"\n"), atomicfile.Synced); err != nil {
		return err
	}
	return atomicfile.Rename(o.Path(l), name, atomicfile.Synced)
}

// Refused is a letter that its receiver does not take.
type Refused struct {
	Letter
	Reason string
}

// Refused returns the letters that their receivers do not take.
func (o Outbox) Refused() (all []Refused, err error) {
	letters, err := o.readFolder("refused")
	for _, l := range letters {
		if l.Kind == "reason" {
			continue
		}
		reason, _ := atomicfile.Read(o.refusedPath(l)+".reason", maxFile)
		all = append(all, Refused{l, strings.TrimSpace(string(reason))})
	}
	return all, err
}

// ReadRefused returns the text of a letter that its receiver does not take.
func (o Outbox) ReadRefused(l Letter) ([]byte, error) {
	return atomicfile.Read(o.refusedPath(l), MaxLetter)
}

// Forget removes a letter that its receiver does not take.
func (o Outbox) Forget(l Letter) error {
	path := o.refusedPath(l)
	return errors.Join(atomicfile.Remove(path), atomicfile.Remove(path+".reason"))
}

// Find returns the letter for a host with an ID. ok is false if none waits.
func (o Outbox) Find(host, id string) (l Letter, ok bool, err error) {
	all, err := o.ReadLetters()
	i := slices.IndexFunc(all, func(l Letter) bool { return l.Host == host && l.ID == id })
	if i < 0 {
		return Letter{}, false, err
	}
	return all[i], true, nil
}

// ReadLetters returns the letters that wait, oldest first for each host.
func (o Outbox) ReadLetters() ([]Letter, error) { return o.readFolder("out") }

// readFolder returns the letters in a folder, oldest first for each host.
func (o Outbox) readFolder(folder string) ([]Letter, error) {
	hosts, err := atomicfile.Folders(o.state.Path("relay", folder))
	var all []Letter
	for _, h := range hosts {
		if checkHost(h) != nil {
			continue
		}
		letters, err := atomicfile.Entries(o.state.Path("relay", folder, h)) // not Files: letters are written meanwhile
		if err != nil {
			return all, err
		}
		for _, e := range letters {
			kind := filepath.Ext(e.Name())
			l := Letter{h, strings.TrimSuffix(e.Name(), kind), strings.TrimPrefix(kind, ".")}
			if e.Type().IsRegular() && CheckID(l.ID) == nil && CheckKind(l.Kind) == nil {
				all = append(all, l)
			}
		}
	}
	sort.Slice(all, func(i, j int) bool {
		return cmp.Or(cmp.Compare(all[i].Host, all[j].Host), cmp.Compare(all[i].ID, all[j].ID)) < 0
	})
	return all, err
}
