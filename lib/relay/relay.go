// Package relay carries what this host's files say to the other hosts of its fleet, and
// writes what they say into files here.
//
// Files are the truth on both sides. A letter stays in the sender's outbox until its
// receiver says that it is on its disk; a log is copied from its size on. The hub between
// them may lose everything, and it comes again. Nothing here trusts the hub: each message
// is signed by its host, and what is for one host is sealed to it (seal).
package relay

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	mathrand "math/rand/v2"
	"os"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"gt/lib/cli"
	"gt/lib/place"
	"gt/lib/record"
	"gt/lib/relay/feed"
	"gt/lib/relay/mirror"
	"gt/lib/relay/seal"
	"gt/lib/relay/streams"
	"gt/lib/state/peer"
	"gt/lib/sys/atomicfile"
	"gt/lib/sys/flock"
)

// Intervals of a relay.
const (
	scanEvery      = 2 * time.Second // where no change was reported
	stateEvery     = 15 * time.Second
	resendAfter    = time.Minute
	askAgain       = 3 * time.Second
	missEvery      = time.Second // looking for what is missing takes some calls for each host
	publishWait    = 10 * time.Second
	answerWait     = 5 * time.Second
	sleepGap       = 30 * time.Second // without a tick: this machine slept, and its connection may be dead
	heedBeatsAfter = 5 * time.Second  // from then on another beat with its keys is another machine's
)

// Options are what a relay works with.
type Options struct {
	State place.State
	// Connect connects to the hub. It returns once the connection is there or has failed.
	Connect func(ctx context.Context, keys *seal.Keys) (*nats.Conn, error)
	// Hub names the hub that this host has now. If it becomes another one, the relay connects to
	// that.
	Hub func() string
	// Kinds are the kinds of letters that this host takes.
	Kinds map[string]Kind
	// Logs returns the logs of this host, by the name of their feed.
	Logs func() map[string]string
	// Records, if set, returns the records of this host's conversations.
	Records func() (record.Store, error)
	// Instances returns the agents of this host, a JSON object a line.
	Instances func(ctx context.Context) ([]byte, error)
	// FindWork returns where work is that a host gave: the letter of its last offer, its state.
	FindWork func(from peer.Host, l peer.Lease) (peer.Try, error)
	// LostAfter is the time after which a host that is not heard loses work that any host may
	// do, and the hub keeps what waits for it.
	LostAfter time.Duration
	// Beat is how often this host beats in a fleet of up to Small hosts: 40 s and 20 if 0.
	Beat  time.Duration
	Small int
	// TakeBack takes back what a letter of this host brings that its receiver does not
	// take. If it fails, or a kill interrupts it, it is called again.
	TakeBack func(peer.Letter) error
	// Started is called when this relay is the only one of the host.
	Started func()
	Version string
	Now     func() time.Time
	// Changed, if set, reports that a file may have changed.
	Changed <-chan struct{}
	Warn    func(error)
}

// Kind says what becomes of the letters of a kind.
type Kind struct {
	// Takes reports whether a letter of a sender is taken at all, and why not; nil if every host
	// may send one. Nothing of one that is not is fetched or kept. Without a reason its sender is
	// not told.
	Takes func(Sender) (ok bool, reason string)
	Most  int64 // bytes; 0 stands for peer.MaxLetter
	Deliver
}

// TakesIfAllowed returns a Kind's Takes for what a person allows a host.
func TakesIfAllowed(what, does string) func(Sender) (bool, string) {
	return func(from Sender) (bool, string) {
		if slices.Contains(from.Trust.Allowed, what) { // mutant never: ./lib/relay/local TestNotAllowed
			return true, ""
		}
		return false, fmt.Sprintf("%s; its person allows it with: gt-relay allow %s %s", does, from.Name, what)
	}
}

// Deliver puts a letter where it belongs on this host. The letter is on disk when it
// returns nil. It may come again after a kill, with the same ID. A *Refused error ends the
// letter; after any other it comes again later.
type Deliver func(from Sender, l peer.Letter, text io.Reader) error

// Sender is the host of a letter.
type Sender struct {
	peer.Host
	Trust peer.Trust
	// Sent is when a letter that is timed was written, by this host's clock; zero if its
	// sender does not say.
	Sent time.Time
}

// Refused says that a letter cannot be delivered here, now or later.
type Refused struct{ Reason string }

func (r *Refused) Error() string { return r.Reason }

// Status is what a relay says about itself, in <state>/relay/status.json.
type Status struct {
	PID       int       `json:"pid"`
	Hub       string    `json:"hub,omitempty"`
	Connected time.Time `json:"connected,omitzero"` // zero: not connected
	Error     string    `json:"error,omitempty"`    // of the last attempt
	// CurrentAt is when everything that was there had been sent and taken.
	CurrentAt time.Time `json:"current_at,omitzero"`
	// Copying says that records are being copied, without which it would be current.
	Copying bool `json:"copying,omitempty"`
	// Refused counts messages that were not accepted, by their reason.
	Refused map[string]int `json:"refused,omitempty"`
	// Left counts the records of each host that are not copied, because they are too many.
	Left map[string]int `json:"left,omitempty"`
	// Clone says that another machine uses this host's keys.
	Clone string `json:"clone,omitempty"`
}

// Relay is a running relay.
type Relay struct {
	Options
	keys          *seal.Keys
	keysFile      fs.FileInfo // the file of the keys when they were read
	self          peer.Host
	hosts         peer.Hosts
	outbox        peer.Outbox
	source        *feed.Source
	remotes       map[string]*remoteHost // by public key
	status        Status
	writtenStatus Status // as in the file
	process       string // this process among those that use the same keys
	began         time.Time
	leases        leases
	// newestAt is the time of the newest message of this host that the hub keeps, as its receivers
	// know it: this host's clock may have been set back.
	newestAt int64
	// newestStored are those messages by their subject, over this connection.
	newestStored map[string]storedMessage
	lastAt       int64 // of a header

	recordSource *mirror.Source // nil before a host may read the records
	recordsAt    time.Time      // when they were last looked at

	ctx      context.Context // ends with Run
	underway int             // letters that are delivered beside the relay
	ended    chan endedDelivery

	// of a connection
	nc            *nats.Conn
	js            jetstream.JetStream
	server        string                    // the hub's process, as it calls itself
	sent          map[peer.Letter]time.Time // to it
	lastTaken     uint64                    // the number of the last message for this host from it
	states        []byte
	statesAt      time.Time
	pending       map[string]bool // streams whose past is not read yet
	lastBeat      time.Time
	promisedEvery time.Duration // after the last beat
	lastMiss      time.Time
	helloSent     bool
}

// ErrRunning is returned if another process relays for this host.
var ErrRunning = errors.New("gt-relay is running already")

// New returns a relay with the state of the last run, and its lock, which the caller unlocks.
func New(o Options) (*Relay, *flock.Lock, error) {
	if err := o.State.Prepare(o.State.Path("relay")); err != nil {
		return nil, nil, err
	}
	lock, err := flock.Acquire(o.State.Path("relay", "lock"), 0)
	if err != nil {
		return nil, nil, fmt.Errorf("%w: %w", ErrRunning, err)
	}
	o.Warn = limitWarnings(o.Warn, o.Now)
	o.LostAfter, o.Beat, o.Small = cmp.Or(o.LostAfter, LostAfter), cmp.Or(o.Beat, beatEvery), cmp.Or(o.Small, smallFleet)
	r := &Relay{
		Options: o, hosts: peer.NewHosts(o.State), outbox: peer.OutboxOf(o.State), remotes: map[string]*remoteHost{}, began: o.Now(), process: newNonce(),
		ended: make(chan endedDelivery), status: Status{Refused: map[string]int{}, Left: map[string]int{}},
	}
	if err := r.loadState(); err != nil {
		lock.Unlock()
		return nil, nil, err
	}
	return r, lock, nil
}

// limitWarnings returns warn for a program that tries again every few seconds: the same warning
// comes once a minute at most. It can be called with nil, which is no warning.
func limitWarnings(warn func(error), now func() time.Time) func(error) {
	last := map[string]time.Time{}
	return func(err error) {
		if err == nil {
			return
		}
		text, at := err.Error(), now()
		if at.Sub(last[text]).Abs() < time.Minute {
			return
		}
		if len(last) > 1000 { // bounds the memory
			clear(last)
		}
		last[text] = at
		warn(err)
	}
}

// loadState reads the state of the last run. It leaves out hosts without a valid key.
func (r *Relay) loadState() (err error) {
	if err := r.reloadKeys(); err != nil {
		return err
	}
	if r.self, err = r.hosts.LocalHost(); err != nil {
		return err
	}
	r.self.Key = r.keys.Public()
	if r.leases.tries, err = r.outbox.AllTries(); err != nil {
		return err
	}
	if r.source, err = feed.NewSource(r.State); err != nil {
		return err
	}
	all, err := r.hosts.ReadHosts()
	r.Warn(err)
	for _, h := range all {
		if seal.CheckKey(h.Key) != nil {
			continue
		}
		if r.remotes[h.Key], err = r.openRemote(h); err != nil {
			return err
		}
	}
	return nil
}

// ErrLeft is returned by Connect, and then by Run, if this relay has no hub any more.
var ErrLeft = errors.New("this host has left its fleet")

// Run relays until the context ends, and connects again whenever the connection is lost. It also
// ends if the host has left its fleet, or its keys are gone or in use on another machine.
func (r *Relay) Run(ctx context.Context) error {
	r.Started()
	ctx, cancel := context.WithCancel(ctx)
	r.ctx = ctx
	defer func() {
		cancel()
		for r.underway > 0 {
			r.finishSlow(<-r.ended)
		}
		for _, m := range r.remotes {
			r.saveHost(m)
		}
	}()
	lost := r.Now()
	for ctx.Err() == nil {
		connected, err := false, r.reloadKeys()
		if err == nil {
			connected, err = r.connectOnce(ctx)
		}
		if connected {
			lost = r.Now()
		}
		if ctx.Err() != nil || errors.Is(err, errClone) || errors.Is(err, errKeysGone) || errors.Is(err, ErrLeft) {
			if r.status.Connected = (time.Time{}); errors.Is(err, ErrLeft) {
				r.status.Error = ""
			}
			r.writeStatus()
			return err
		}
		r.status.Connected, r.status.Error = time.Time{}, fmt.Sprint(err)
		r.writeStatus()
		if errors.Is(err, errOtherHub) {
			continue
		}
		select {
		case <-ctx.Done():
		case <-time.After(reconnectWait(r.Now().Sub(lost))):
		}
	}
	return nil
}

// connectOnce connects to this host's hub, and relays until the connection is lost. It stops and fails
// as soon as this host has another hub or none, even while it still tries to connect.
func (r *Relay) connectOnce(ctx context.Context) (connected bool, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	hub := r.Hub() // before Connect: what this host has once it is connected can be another one
	cli.Go(func() {
		for r.Hub() == hub { // mutant always: TestAnotherHub
			select {
			case <-ctx.Done():
				return
			case <-time.After(scanEvery):
			}
		}
		cancel(errOtherHub)
	})
	nc, err := r.Connect(ctx, r.keys)
	if err == nil {
		err = r.Session(ctx, nc)
		nc.Close()
	}
	if errors.Is(context.Cause(ctx), errOtherHub) {
		err = errOtherHub
	}
	return nc != nil, err
}

// reconnectWait returns how long to wait before the next attempt to connect, after a time without a
// connection: up to two seconds at first, then five, after five minutes more, at most a minute.
// It is up to chance, so that the hosts of a hub that starts again do not come all at once.
func reconnectWait(without time.Duration) time.Duration {
	without = without.Abs()
	most := min(max(2*time.Second, min(without, 5*time.Second), without/60), time.Minute)
	return most/10 + mathrand.N(most*9/10)
}

// message is what came from the hub.
type message struct {
	subject string
	data    []byte
	stream  string // "" if it was not kept
	seq     uint64 // its number there
	last    bool   // no more are waiting in the stream
	// age is for how long the hub had a beat that it kept.
	age time.Duration
}

var errConnectionLost = errors.New("the connection to the hub was lost")

// Session relays over one connection, until it is lost or the context ends.
func (r *Relay) Session(ctx context.Context, nc *nats.Conn) (err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	r.nc = nc
	if r.js, err = jetstream.New(nc); err != nil {
		return err
	}
	mctx, done := context.WithTimeout(ctx, publishWait)
	err = streams.MakeStreams(mctx, r.js, r.keys.Public())
	done()
	if err != nil {
		return fmt.Errorf("the hub has no room for this host: %w", err)
	}
	// A hub that restarted may have lost letters: send all again, and read the inbox from the first.
	if server := nc.ConnectedServerId(); server == "" || server != r.server { // mutant always: TestNewConnection
		r.server, r.sent, r.lastTaken = server, map[peer.Letter]time.Time{}, 0
	}
	r.states, r.statesAt, r.lastBeat = nil, time.Time{}, time.Time{}
	r.pending, r.newestStored, r.helloSent = map[string]bool{}, map[string]storedMessage{}, false
	for _, m := range r.remotes {
		m.allowsSent, m.silence, m.beats = false, 0, beatState{}
		r.exchangeRecordLists(m)
	}
	r.leases.scannedAt = r.Now()
	incoming := make(chan message, 64)
	if err := r.subscribe(ctx, incoming); err != nil {
		return err
	}
	lost := make(chan struct{})
	closed := sync.OnceFunc(func() { close(lost) })
	nc.SetClosedHandler(func(*nats.Conn) { closed() })
	if nc.IsClosed() {
		return errConnectionLost
	}
	r.status.Connected, r.status.Error, r.status.Hub = r.Now(), "", nc.ConnectedUrlRedacted()
	tick := time.NewTicker(scanEvery)
	defer tick.Stop()
	ticked := r.Now()
	for {
		if err := r.scan(ctx); errors.Is(err, errKeysGone) {
			return err
		} else if errors.Is(err, errSilent) && nc.FlushTimeout(answerWait) != nil { // mutant never: TestDeadConnection
			return errConnectionLost // a hub with a full disk would answer
		} else if err != nil && !nc.IsClosed() {
			r.status.Error = err.Error() // such as a full disk at the hub: what comes is still taken
			r.writeStatus()
		} else if err == nil {
			r.status.Error = ""
		}
		select {
		case <-ctx.Done():
			if !errors.Is(context.Cause(ctx), errOtherHub) {
				r.publishEnd()
			}
			return nil
		case <-lost:
			return errConnectionLost
		case <-tick.C:
			now := r.Now()
			if now.Sub(ticked).Abs() > sleepGap && nc.FlushTimeout(answerWait) != nil { // mutant never: TestDeadConnection
				return errConnectionLost
			}
			ticked = now
		case <-r.Changed:
		case e := <-r.ended:
			r.finishSlow(e)
		case m := <-incoming:
			r.handleMessage(m)
		}
		// Take all messages before the next scan, which costs more than a message: to send many
		// letters takes it as long as a tick.
		for len(incoming) > 0 {
			r.handleMessage(<-incoming)
		}
		if r.status.Clone != "" {
			return r.stopBoth(ctx, nc)
		}
	}
}

// stopBoth returns errClone once the other machine with this host's keys can know as well. That
// machine heeds no beat in its first seconds, see checkClone.
func (r *Relay) stopBoth(ctx context.Context, nc *nats.Conn) error {
	select {
	case <-ctx.Done():
		return errClone
	case <-time.After(heedBeatsAfter + time.Second):
	}
	r.lastBeat = time.Time{}
	if err := r.sendBeat(ctx, r.Now()); err != nil {
		return errors.Join(errClone, err)
	}
	return errors.Join(errClone, nc.FlushTimeout(publishWait))
}

// subscribe begins to pass on to the channel what comes live (LiveSubjects) and what the hub's four
// streams keep. It closes the connection if a stream cannot be read any more.
func (r *Relay) subscribe(ctx context.Context, to chan<- message) error {
	enqueue := func(m message) {
		select {
		case to <- m:
		case <-ctx.Done():
		}
	}
	key := r.keys.Public()
	for _, subject := range streams.LiveSubjects(key) {
		if _, err := r.nc.Subscribe(subject, func(m *nats.Msg) {
			enqueue(message{subject: m.Subject, data: m.Data})
		}); err != nil {
			return err
		}
	}
	var since *time.Time
	if last := r.lastCurrent(); !last.IsZero() { // what came earlier is in the copies, or is asked for
		at := last.Add(-10 * time.Minute)
		since = &at
	}
	sources := []struct {
		stream string
		after  uint64
		since  *time.Time
		filter []string
		jetstream.Consumer
	}{
		{stream: streams.Fleet, filter: []string{"gt.*.hello", "gt.*.states", "gt.*.allows." + key, "gt." + key + ".allows.*"}},
		{stream: streams.PresenceStream},
		{stream: streams.Feeds, since: since},
		{stream: streams.InboxStream(key), after: r.lastTaken},
	}
	// Open all before the first is read: on a slow line the answers would wait behind its messages.
	for i := range sources {
		at := &sources[i]
		octx, done := context.WithTimeout(ctx, publishWait)
		var err error
		at.Consumer, err = streams.OpenConsumer(octx, r.js, at.stream, at.after, at.since, at.filter...)
		done()
		if err != nil {
			return fmt.Errorf("cannot read the hub's %s: %w", at.stream, err)
		}
	}
	if err := r.nc.Flush(); err != nil {
		return err
	}
	nc := r.nc
	fleetRead := make(chan struct{}) // closed once the hosts of the fleet are known
	for _, at := range sources {
		info := at.CachedInfo()
		isPresence := at.stream == streams.PresenceStream // read once: later beats are live messages
		switch {
		case info.NumPending > 0:
			r.pending[at.stream] = true
		case isPresence:
			continue
		case at.stream == streams.Fleet:
			close(fleetRead)
		}
		cli.Go(func() {
			fctx, stop := context.WithCancel(ctx)
			defer stop()
			if isPresence {
				select {
				case <-fleetRead:
				case <-ctx.Done():
					return
				}
			}
			_ = streams.Follow(fctx, at.Consumer, func(m jetstream.Msg, last bool) {
				got := message{subject: m.Subject(), data: m.Data(), stream: at.stream, last: last}
				if meta, err := m.Metadata(); err == nil {
					got.seq, got.age = meta.Sequence.Stream, max(info.TimeStamp.Sub(meta.Timestamp), 0)
				}
				enqueue(got)
				switch {
				case got.last && isPresence:
					stop()
				case got.last && at.stream == streams.Fleet:
					close(fleetRead)
				}
			})
			if fctx.Err() == nil {
				nc.Close() // a new connection goes on
			}
		})
	}
	return nil
}

// lastCurrent returns when this host last had complete news, zero if it never had.
func (r *Relay) lastCurrent() (last time.Time) {
	for _, m := range r.remotes {
		if m.host.Current.IsZero() {
			return time.Time{}
		}
		if last.IsZero() || m.host.Current.Before(last) {
			last = m.host.Current
		}
	}
	return last
}

func (r *Relay) subject(kind string, to ...string) string {
	return strings.Join(append([]string{"gt", r.keys.Public(), kind}, to...), ".")
}

// publish publishes a message that everybody may read, and that need not be kept.
func (r *Relay) publish(subject string, h seal.Header, body []byte) error {
	msg, err := r.keys.Plain(h, body)
	if err != nil {
		return err
	}
	return r.nc.Publish(subject, msg)
}

// storePlain stores a message that everybody may read.
func (r *Relay) storePlain(ctx context.Context, kind string, body []byte) error {
	msg, err := r.keys.Plain(r.header(kind, "", ""), body)
	if err == nil {
		_, err = r.storeMessage(ctx, r.subject(kind), msg)
	}
	return err
}

// storeMessage publishes a message, waits until the hub has stored it, and returns its number in its stream.
func (r *Relay) storeMessage(ctx context.Context, subject string, data []byte, opts ...jetstream.PublishOpt) (seq uint64, err error) {
	ctx, done := context.WithTimeout(ctx, publishWait)
	defer done()
	ack, err := r.js.Publish(ctx, subject, data, opts...)
	if errors.Is(err, context.DeadlineExceeded) { // no acknowledgement came in time
		return 0, errSilent
	} else if err != nil {
		return 0, err
	}
	return ack.Sequence, nil
}

// storedMessage is the newest message of a subject of which the hub keeps the last one.
type storedMessage struct {
	at  int64
	seq uint64
}

// storeNewest stores a message with a header of newestHeader, in the place of the one before.
func (r *Relay) storeNewest(ctx context.Context, subject string, data []byte) error {
	at := r.newestAt
	seq, err := r.storeMessage(ctx, subject, data)
	if err == nil {
		r.newestStored[subject] = storedMessage{at, seq}
	}
	return err
}

// tellAgain has the next scan send again what the hub has replaced by an older one of this host:
// whoever reads that now would believe it.
func (r *Relay) tellAgain(subject []string, at int64, seq uint64) {
	newest := r.newestStored[strings.Join(subject, ".")]
	if seq <= newest.seq || at >= newest.at { // it stands before this host's newest, or is as new
		return
	}
	switch subject[2] {
	case "states":
		r.states = nil
	case "allows":
		if to := r.remotes[subject[len(subject)-1]]; to != nil {
			to.allowsSent = false
		}
	}
}

var errSilent = errors.New("the hub acknowledges nothing: its disk may be full")

// header returns the header of a message. Each is later than the one before, so that its
// receiver can tell it from an old one, unless the clock was set back by ten seconds or more.
func (r *Relay) header(kind, to, id string) seal.Header {
	at := r.Now().UnixMilli()
	if r.lastAt >= at && r.lastAt-at < 10_000 {
		at = r.lastAt + 1
	}
	r.lastAt = at
	return seal.Header{To: to, Kind: kind, ID: id, At: at}
}

// newestHeader is header for a message that takes the place of an earlier one.
func (r *Relay) newestHeader(kind, to, id string) seal.Header {
	h := r.header(kind, to, id)
	h.At = max(h.At, r.newestAt+1)
	r.newestAt = h.At
	return h
}

// hello says who this host is.
type hello struct {
	Name    string `json:"name"`
	Box     string `json:"box"`
	Version string `json:"version,omitempty"`
}

// sayHello stores the name of this host at the hub, once for each connection.
func (r *Relay) sayHello(ctx context.Context, _ time.Time) error {
	if r.helloSent {
		return nil
	}
	body, err := json.Marshal(hello{r.self.Name, r.keys.Recipient(), r.Version})
	if err == nil {
		err = r.storePlain(ctx, "hello", body)
	}
	r.helloSent = err == nil
	return err
}

// scan is one round of the relay: it sends what is new on this host, asks for what is missing here,
// and notes in the status when nothing is left to send or to take.
func (r *Relay) scan(ctx context.Context) error {
	if err := r.reloadKeys(); err != nil {
		return err
	}
	now := r.Now()
	for _, send := range []func(context.Context, time.Time) error{r.sayHello, r.sendBeat, r.tellAllowed, r.sendLogs, r.sendStates, r.askForBeats, r.offerWork} {
		if err := send(ctx, now); err != nil {
			return err
		}
	}
	waiting, err := r.sendLetters(ctx, now)
	if err != nil {
		return err
	}
	if now.Sub(r.lastMiss).Abs() >= missEvery {
		r.lastMiss = now
		r.askForMissing(now)
		r.saveChanged(now)
	}
	r.Warn(r.tellOfRecords(now))
	r.status.Copying = r.isCopying(now)
	if len(r.pending) == 0 && !waiting && !r.status.Copying && r.underway == 0 {
		r.status.CurrentAt = now
	}
	r.writeStatus()
	return nil
}

// reloadKeys reads this host's keys if their file is another one than the last time.
func (r *Relay) reloadKeys() error {
	info, err := os.Lstat(r.State.Path("relay", "keys.json")) // before it is read
	if errors.Is(err, fs.ErrNotExist) {
		return errKeysGone
	} else if err != nil {
		return err
	}
	if was := r.keysFile; was != nil && os.SameFile(was, info) && was.ModTime().Equal(info.ModTime()) {
		return nil
	}
	keys, err := seal.Load(r.State, false)
	if err != nil {
		return err
	}
	if r.keys != nil && keys.Public() != r.keys.Public() { // this is another host now
		return errKeysGone
	}
	r.keys, r.keysFile = keys, info
	return nil
}

// readTrust reads what the person decided about a host, and tells the host if its permissions
// here changed.
func (r *Relay) readTrust(m *remoteHost) error {
	trust, err := r.hosts.Trust(m.host)
	if err != nil {
		return err
	}
	if !slices.Equal(trust.Allowed, m.trust.Allowed) {
		m.allowsSent = false
	}
	m.trust = trust
	return nil
}

// tellAllowed tells each host about which the person has decided what it may do here.
func (r *Relay) tellAllowed(ctx context.Context, _ time.Time) error {
	if r.pending[streams.Fleet] { // until then it is not known how old the last word is
		return nil
	}
	for key, m := range r.remotes {
		if m.allowsSent || m.trust.Key == "" || m.trust.Revoked || m.host.Box == "" {
			continue
		}
		msg, err := r.keys.ForHost(m.host.Box, r.newestHeader("allows", key, ""), []byte(strings.Join(m.trust.Allowed, " ")))
		if err == nil {
			err = r.storeNewest(ctx, r.subject("allows", key), msg)
		}
		if err != nil {
			return err
		}
		m.allowsSent = true
	}
	return nil
}

// sendLogs sends what was appended to this host's logs.
func (r *Relay) sendLogs(ctx context.Context, now time.Time) error {
	logs, sent := r.Logs(), false
	for _, name := range slices.Sorted(maps.Keys(logs)) {
		for {
			c, ok, err := r.source.NextChunk(name, logs[name])
			r.Warn(err)
			if !ok {
				break
			}
			body, err := c.Marshal()
			if err == nil {
				err = r.storePlain(ctx, "feed", body)
			}
			if err != nil {
				return err
			}
			sent = true
			if err := r.source.RecordSent(c, logs[name]); err != nil {
				r.Warn(err)
				break
			}
		}
	}
	if !sent {
		return nil
	}
	if err := r.source.Store(); err != nil || !r.lastBeat.Equal(now) {
		return err
	}
	return r.publishBeat("", "") // the beat of this scan lacks the new sizes of the logs
}

// sendStates sends what this host's agents do, if it has changed.
func (r *Relay) sendStates(ctx context.Context, now time.Time) error {
	if r.Instances == nil || r.pending[streams.Fleet] || now.Sub(r.statesAt).Abs() < stateEvery {
		return nil // the time of this host's last states is known once the fleet was read
	}
	r.statesAt = now
	states, err := r.Instances(ctx)
	if err != nil {
		r.Warn(err)
		return nil
	}
	if len(states) > streams.MaxMessage/2 { // send only the whole lines that fit
		states = states[:1+strings.LastIndexByte(string(states[:streams.MaxMessage/2]), '\n')]
	}
	if r.states != nil && string(states) == string(r.states) {
		return nil
	}
	msg, err := r.keys.Plain(r.newestHeader("states", "", ""), states)
	if err != nil {
		return err
	}
	if err := r.storeNewest(ctx, r.subject("states"), msg); err != nil {
		return err
	}
	r.states = append([]byte{}, states...)
	return nil
}

func (r *Relay) countRefused(reason string) {
	if len(r.status.Refused) < 64 || r.status.Refused[reason] > 0 {
		r.status.Refused[reason]++
	}
}

var errOtherHub = errors.New("this host has another hub now")

var errKeysGone = errors.New("the keys of this host are gone")

var errClone = errors.New("another machine uses the keys of this host: gt-relay join HUB --new-key makes this one a host of its own")

// statusEvery is how often an unchanged status is written.
const statusEvery = 20 * time.Second

// writeStatus writes the status if somebody waits for it or it changed, CurrentAt by statusEvery.
func (r *Relay) writeStatus() {
	r.status.PID = os.Getpid()
	s, w := r.status, r.writtenStatus
	young := s.CurrentAt.Sub(w.CurrentAt).Abs() < statusEvery && s.CurrentAt.IsZero() == w.CurrentAt.IsZero() // CurrentAt has not changed by much
	s.CurrentAt, w.CurrentAt = time.Time{}, time.Time{}
	if young && reflect.DeepEqual(s, w) && !r.statusWanted() {
		return
	}
	if err := atomicfile.WriteJSON(r.State.Path("relay", "status.json"), r.status, atomicfile.Unsynced); err != nil {
		r.Warn(err)
		return
	}
	r.writtenStatus = r.status
	r.writtenStatus.Refused = maps.Clone(r.status.Refused)
	r.writtenStatus.Left = maps.Clone(r.status.Left)
}

// statusWanted reports whether somebody waits for the status: gt-relay sync.
func (r *Relay) statusWanted() bool {
	info, err := os.Lstat(r.State.Path("relay", "sync"))
	return err == nil && r.Now().Sub(info.ModTime()).Abs() < 10*time.Minute // an older one was left by a kill
}

// ReadStatus returns the status of the relay that runs, or ran last.
func ReadStatus(state place.State) (s Status, err error) {
	return s, atomicfile.ReadJSON(state.Path("relay", "status.json"), 1<<20, &s)
}
