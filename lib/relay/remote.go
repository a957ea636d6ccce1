package relay

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"golang.org/x/time/rate"

	"gt/lib/relay/feed"
	"gt/lib/relay/mirror"
	"gt/lib/relay/seal"
	"gt/lib/relay/streams"
	"gt/lib/state/peer"
	"gt/lib/sys/atomicfile"
)

// Limits of what this host takes from another one.
const (
	maxHosts      = 4096
	maxVersion    = 100
	lettersPerSec = 20
	lettersAtOnce = 2000
	bytesPerSec   = 1 << 20
	bytesAtOnce   = 256 << 20
	savedEvery    = 5 * time.Second
	asksAtOnce    = 8
	clocksKept    = 32 // beats: more than a hub keeps for a machine that sleeps
)

// remoteHost is another host, as a running relay knows it.
type remoteHost struct {
	host       peer.Host
	trust      peer.Trust
	logs       *feed.Copies
	fedAt      int64                // when the latest part of a log was sent, by its clock
	heads      map[string]feed.Head // how far its logs have grown; nil before its first beat
	asked      map[string]question  // what was asked for, by questionKey
	partSize   int64                // bytes of a file that are asked for at once
	failedAt   map[string]time.Time // when a long letter could not be delivered, by its ID
	underway   map[string]bool      // letters that are delivered beside the relay, by their ID
	letters    *arrivedLetters
	allowsSent bool // it was told over this connection what it may do here
	savedAt    time.Time
	silence    time.Duration // for how long it was not heard while this host listened
	records    recordExchange
	isUnsaved  bool // host was changed since savedAt
	beats      beatState

	clocks []time.Duration // how much this host's clock seemed to be ahead, by its latest beats that came at once

	letterRate, byteRate *rate.Limiter
	answerRate           *rate.Limiter // of bytes of files that it is sent; see questionCost
}

// openRemote reads what this host keeps of another one: its logs, records, letters and trust.
func (r *Relay) openRemote(h peer.Host) (*remoteHost, error) {
	m := &remoteHost{
		host: h, asked: map[string]question{}, partSize: feed.MaxChunk / 4, failedAt: map[string]time.Time{}, underway: map[string]bool{},
		letterRate: rate.NewLimiter(lettersPerSec, lettersAtOnce),
		byteRate:   rate.NewLimiter(bytesPerSec, bytesAtOnce),
		answerRate: rate.NewLimiter(bytesPerSec, bytesAtOnce),
	}
	var err error
	if m.logs, err = feed.OpenCopies(r.hosts.Path(h.Name)); err != nil {
		return nil, err
	}
	m.records.pages = rate.NewLimiter(pagesPerSec, pagesAtOnce)
	if m.records.copies, err = mirror.Open(r.hosts.Records(m.host.Name)); err != nil {
		return nil, err
	}
	if m.letters, err = openLetters(r.hosts.Letters(h)); err != nil {
		return nil, err
	}
	m.trust, err = r.hosts.Trust(h)
	return m, err
}

// findOrAdd returns the host with a key. A host that was never seen gets a name that no other
// one has here: its own, if it can.
func (r *Relay) findOrAdd(key string, says hello) (*remoteHost, error) {
	if m := r.remotes[key]; m != nil {
		return m, nil
	}
	if len(r.remotes) >= maxHosts {
		return nil, errors.New("there are too many hosts")
	}
	h, err := r.hosts.Recall(key)
	if err != nil {
		return nil, err
	}
	h.Name, h.Key = strings.ToLower(says.Name), key
	short := strings.ToLower(key[len(key)-6:])
	if peer.CheckName(h.Name) != nil || len(h.Name) > 56 { // -SHORT has to fit into 63 bytes
		h.Name = "host-" + short
	}
	if h.Clash = r.nameClash(key, h.Name); h.Clash != "" {
		h.Name += "-" + short
		if other, err := r.hosts.Get(h.Name); err == nil && other.Key != key { // mutant never: TestNamesTaken
			h.Name = "host-" + strings.ToLower(key) // no host can call itself so: that is too long
		}
	}
	h.Box = says.Box
	if err := r.hosts.Put(h); err != nil {
		return nil, err
	}
	m, err := r.openRemote(h)
	if err != nil {
		return nil, err
	}
	r.remotes[key] = m
	return m, nil
}

// nameClash returns why a host cannot have the name that it gives itself, or "": this host or one
// with another key has it, or the file of the host that has it cannot be read.
func (r *Relay) nameClash(key, name string) string {
	other, err := r.hosts.Get(name)
	if name == r.self.Name || err == nil && other.Key != key || err != nil && peer.CheckName(name) == nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Sprintf("it calls itself %s, like another host", name)
	}
	return ""
}

// handleMessage takes one message. It counts a refused one and warns of other errors, so that none
// ends the relay. It also notes how far the hub's streams were read (pending, lastTaken).
func (r *Relay) handleMessage(msg message) {
	if msg.last {
		delete(r.pending, msg.stream)
	}
	switch err := r.receiveMessage(msg).(type) {
	case nil:
	case refusal:
		r.countRefused(string(err))
	default:
		r.Warn(err)
	}
	if msg.stream == streams.InboxStream(r.keys.Public()) {
		r.lastTaken = msg.seq
	}
}

// refusal is the error for a message that is not accepted.
type refusal string

func (r refusal) Error() string { return string(r) }

// receiveMessage checks the signature, the sender and the subject (gt.SENDER.KIND…) of a message,
// and passes it to the function for its kind. A refusal is an error that is only counted.
func (r *Relay) receiveMessage(msg message) error {
	parts := strings.Split(msg.subject, ".")
	if len(parts) < 3 {
		return nil
	}
	if len(msg.data) > streams.MaxPayload { // mutant never: TestLongMessage
		return refusal("a message that is too long")
	}
	m, err := seal.Parse(msg.data)
	if err != nil {
		return refusal(err.Error())
	}
	own := r.keys.Public()
	if m.From != parts[1] {
		return refusal("a message under another host's subject")
	}
	if m.From == own && msg.stream == streams.Fleet && m.Kind != "hello" {
		r.newestAt = max(r.newestAt, m.At)
		r.tellAgain(parts, m.At, msg.seq) // if the hub replaced a newer one by it
	}
	if m.To != "" && m.To != own { // it is only wrong if its subject names this host
		if len(parts) > 3 && parts[3] == own {
			r.countRefused("a message for another host")
		}
		return nil
	}
	if m.From == own {
		return r.checkClone(m)
	}
	if m.Kind == "hello" && parts[2] == "hello" {
		return r.takeHello(m)
	}
	from := r.remotes[m.From]
	if from == nil { // its hello stands before what is kept of it; anything else comes again
		return nil
	}
	if err := r.readTrust(from); err != nil {
		return err
	}
	if from.trust.Revoked {
		return refusal("a message of " + from.host.Name + ", which is revoked")
	}
	kind := parts[2]
	if !fitsSubject(m.Kind, kind) { // mutant never: TestReplayed
		return refusal("a message under the subject of another kind")
	}
	live := msg.stream == ""
	current := (live || kind == "beat") && r.noteSeen(from, m.Header, live, msg.age) // not of other kept messages, which are old
	if !from.byteRate.AllowN(r.Now(), len(msg.data)) {
		return refusal("too much of " + from.host.Name)
	}
	if m.Kind == "beat" && (kind == "beat" || kind == "chunk") { // a chunk is an answer
		if !current {
			return nil
		}
		return r.takeBeat(from, m, live)
	}
	switch kind {
	case "states":
		if !r.isNewest(from, m) {
			return nil
		}
		return atomicfile.Write(r.hosts.Path(from.host.Name, "instances.jsonl"), m.PlainBody(), atomicfile.Unsynced)
	case "allows":
		return r.takeAllows(from, m)
	case "feed":
		if m.At < from.fedAt { // what the hub sends again
			return nil
		}
		from.fedAt = m.At
		c, err := feed.Unmarshal(m.PlainBody())
		if err != nil || c.None || feed.CheckName(c.Name) != nil {
			return refusal(feed.ErrChunk.Error())
		}
		return r.takeLog(from, c, false)
	case "to":
		return r.takeLetter(from, m)
	case "receipt":
		return r.takeReceipt(from, m)
	case "ask":
		return r.answerQuestion(from, m)
	case "chunk":
		body, err := r.keys.OpenBody(m, feed.MaxChunk+4096)
		if err != nil {
			return refusal("a chunk that cannot be opened")
		}
		switch m.Kind {
		case kindFile:
			return r.takeFile(from, m.ID, body)
		case "leases":
			return r.takeLeases(from, body)
		case kindRecords:
			return r.takeSharing(from, body)
		}
	}
	return nil
}

// takeAllows takes what a host says that this one may do there.
func (r *Relay) takeAllows(from *remoteHost, m seal.Message) error {
	body, err := r.keys.OpenBody(m, 1024)
	if err != nil {
		return refusal("what is allowed here cannot be opened")
	}
	if !r.isNewest(from, m) {
		return nil
	}
	from.host.Allows, from.isUnsaved = append([]string{}, strings.Fields(string(body))...), true
	return nil
}

// isNewest reports whether no newer message of the kind was taken, and notes this one. It counts an
// older one as refused: the hub was set back, or sends again what is past.
func (r *Relay) isNewest(from *remoteHost, m seal.Message) bool {
	last, known := from.host.Latest[m.Kind]
	if known && m.At < last { // mutant never: TestReplayed
		r.countRefused(fmt.Sprintf("an older %s of %s than its last one", m.Kind, from.host.Name))
		return false
	}
	if from.host.Latest == nil {
		from.host.Latest = map[string]int64{}
	}
	if m.At != last {
		from.host.Latest[m.Kind], from.isUnsaved = m.At, true
	}
	return true
}

// fitsSubject reports whether a message of a kind belongs under a subject. The hub could put any there.
func fitsSubject(kind, subject string) bool {
	switch subject {
	case "ask", "chunk":
		return slices.Contains([]string{"beat", "leases", kindFile, kindRecords}, kind)
	case "to":
		return true // letters have many kinds
	}
	return kind == subject
}

// checkClone takes a message with this host's own key. A beat of another process that runs now
// shows that another machine uses the key, a clone or the original of a backup. The status says so.
func (r *Relay) checkClone(m seal.Message) error {
	if m.Kind != "beat" {
		return nil
	}
	var b beatMessage
	if json.Unmarshal(m.PlainBody(), &b) != nil || b.Process == r.process || b.Process == "" {
		return nil
	}
	if r.Now().Sub(r.began) < heedBeatsAfter || // it may be of the process before this one
		m.Time().Before(r.began) { // mutant never: TestReplayed
		return nil
	}
	r.status.Clone = "another machine uses this host's keys"
	return nil
}

// saveChanged saves the hosts that have changed, each at most once in savedEvery.
func (r *Relay) saveChanged(now time.Time) {
	for _, m := range r.remotes {
		if m.isUnsaved && now.Sub(m.savedAt).Abs() >= savedEvery {
			m.savedAt = now
			r.saveHost(m)
		}
	}
}

func (r *Relay) saveHost(m *remoteHost) {
	if err := r.hosts.Put(m.host); err != nil {
		r.Warn(err)
		return
	}
	m.isUnsaved = false
}

// takeHello takes what a host says of itself when it connects: name, version, key to encrypt for.
// It adds a new host, has a beat asked for if none came yet, and exchanges lists of records.
func (r *Relay) takeHello(m seal.Message) error {
	var says hello
	if err := json.Unmarshal(m.PlainBody(), &says); err != nil {
		return refusal("a hello that cannot be read")
	}
	if seal.CheckRecipient(says.Box) != nil || len(says.Version) > maxVersion { // mutant never: TestOddHello
		return refusal("a hello with an invalid key or version")
	}
	if known := r.remotes[m.From]; known != nil {
		if trust, err := r.hosts.Trust(known.host); err != nil || trust.Revoked {
			r.countRefused("a message of " + known.host.Name + ", which is revoked")
			return err
		}
	}
	from, err := r.findOrAdd(m.From, says)
	if err != nil {
		return refusal(err.Error())
	}
	from.beats.askCount = 0
	if from.host.LastSeen.IsZero() { // its beat may have come too early to be taken
		from.beats.mustAsk = true
	}
	if from.records.pages.AllowN(r.Now(), 1) { // limited, because it costs a look at all records
		r.exchangeRecordLists(from)
	}
	if from.host.Allows == nil { // nothing is allowed until the host says otherwise
		from.host.Allows, from.isUnsaved = []string{}, true
	}
	if from.host.Clash != "" && r.nameClash(m.From, strings.ToLower(says.Name)) == "" {
		from.host.Clash = ""
		r.saveHost(from)
	}
	// An older hello must not bring back an earlier key, which somebody else may have by now.
	if !r.isNewest(from, m) && from.host.Box != says.Box { // mutant never: TestOlderHello
		return nil
	}
	if from.host.Box != says.Box || from.host.Version != says.Version {
		from.allowsSent = from.allowsSent && from.host.Box == says.Box
		from.host.Box, from.host.Version, from.isUnsaved = says.Box, says.Version, true
	}
	return nil
}

// clockSkew returns how much this host's clock is ahead of the other's. A beat that was held up,
// as while this machine slept, makes it seem more than it is.
func (m *remoteHost) clockSkew() time.Duration { return slices.Min(m.clocks) }

// noteCompleteLogs sets a host's Current to when it was last seen, if the copies of its logs are
// complete. Current goes back only if it lies in the future. The first one is saved at once.
func (r *Relay) noteCompleteLogs(from *remoteHost) {
	at := from.host.LastSeen
	if !r.hasCompleteLogs(from) || at.Before(from.host.Current) && from.host.Current.Before(r.Now()) {
		return
	}
	first := from.host.Current.IsZero()
	from.host.Current = at
	if first {
		from.isUnsaved, from.savedAt = true, time.Time{}
	}
}

// hasCompleteLogs reports whether the copies of a host's logs are as long as its logs.
func (r *Relay) hasCompleteLogs(from *remoteHost) bool {
	for name, head := range from.heads {
		if !from.logs.IsComplete(name, head) {
			return false
		}
	}
	return from.heads != nil
}

// sendTo publishes a message for one host, which the hub need not keep. It does nothing if the key
// to encrypt for (Box) is not known.
func (r *Relay) sendTo(to *remoteHost, subject, kind, id string, body []byte) error {
	if to.host.Box == "" {
		return nil
	}
	msg, err := r.keys.ForHost(to.host.Box, r.header(kind, to.host.Key, id), body)
	if err != nil {
		return err
	}
	return r.nc.Publish(r.subject(subject, to.host.Key), msg)
}

// sendJSON is sendTo for a value as JSON.
func (r *Relay) sendJSON(to *remoteHost, subject, kind, id string, v any) error {
	body, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return r.sendTo(to, subject, kind, id, body)
}

// answerQuestion answers another host's question for a beat, a part of a file, or leases.
func (r *Relay) answerQuestion(from *remoteHost, m seal.Message) error {
	if m.Kind == "beat" { // nothing in it is secret
		return r.publishBeat(from.host.Key, m.ID)
	}
	body, err := r.keys.OpenBody(m, maxLeases)
	if err != nil {
		return refusal("a question that cannot be opened")
	}
	switch m.Kind {
	case kindFile:
		return r.answerFile(from, m.ID, body)
	case "leases":
		return r.answerLeases(from, body)
	}
	return nil
}
