package relay

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"gt/lib/cli"
	"gt/lib/relay/seal"
	"gt/lib/relay/streams"
	"gt/lib/state/peer"
	"gt/lib/sys/atomicfile"
)

const (
	// maxInline is the size up to which a letter is kept by the hub. A longer one goes from
	// host to host, in parts, while both are there.
	maxInline = 64 << 10
	// maxUnreceipted is how many letters for a host may be without a receipt: the hub keeps that
	// many.
	maxUnreceipted = streams.MaxLetters
	// receiptWait is how long a host that is there may take to deliver a letter, until this one
	// counts as having sent what there is.
	receiptWait = 10 * time.Second
	// maxParcels is how many long letters of a host may be on their way, and maxComing how many
	// bytes they may have together. Letters of a kind whose own limit (Kind.Most) is over maxComing
	// do not count there: together they may have twice that limit.
	maxParcels = 64
	maxComing  = 64 << 20
	// parcelLifetime is how long the relay asks for a long letter before it drops that.
	parcelLifetime = 14 * 24 * time.Hour
)

// envelope is the first line of a letter's body.
type envelope struct {
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256"`
	// ReceiverTime is when a letter that counts for a short time only was written: milliseconds since
	// 1970 by its receiver's clock, which its sender knows from the receiver's beats. A hub that
	// keeps beats and letters back only makes them older.
	ReceiverTime int64 `json:"yours,omitempty"`
}

// isTimed reports whether letters of a kind count for a short time only.
func isTimed(kind string) bool { return kind == peer.Command || kind == peer.Offer }

// arrivedLetters are the letters that came from a host: a file of lines, an ID each, with the
// reason if the letter was refused. The file only grows: an old letter may come again
// after a restored backup.
type arrivedLetters struct {
	path    string
	arrived map[string]string // the reason of a refusal, or ""
}

// openLetters reads the letters that came, and those from before their host was forgotten.
func openLetters(path, before string) (*arrivedLetters, error) {
	l := &arrivedLetters{path, map[string]string{}}
	return l, errors.Join(l.readLines(before), l.readLines(path))
}

// readLines adds the letters that a file has. A missing file has none.
func (l *arrivedLetters) readLines(path string) error {
	f, err := atomicfile.IfExists(atomicfile.Open(path))
	if err != nil || f == nil {
		return err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		id, reason, _ := strings.Cut(lines.Text(), " ")
		if peer.CheckID(id) == nil { // a torn line names none
			l.arrived[id] = reason
		}
	}
	return lines.Err()
}

// addLetter records a letter, synced to disk. reason is why it was refused, or "".
func (l *arrivedLetters) addLetter(id, reason string) error {
	reason = strings.Join(strings.Fields(reason), " ")
	if err := atomicfile.EnsurePrivateDir(filepath.Dir(l.path)); err != nil {
		return err
	}
	f, err := atomicfile.OpenAppend(l.path)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := atomicfile.AppendLines(f, []byte(strings.TrimSpace(id+" "+reason)+"\n")); err != nil {
		return err
	}
	if err := f.Sync(); err != nil {
		return atomicfile.Error("write", l.path, err)
	}
	l.arrived[id] = reason
	return nil
}

// sendLetters sends the letters that wait, for as long as a scan may take: then it is time to
// take what has come. waiting reports whether one of them could have been sent and was not, or
// whether a host that is there has yet to say that one has arrived.
func (r *Relay) sendLetters(ctx context.Context, now time.Time) (waiting bool, err error) {
	all, err := r.outbox.ReadLetters()
	r.Warn(err)
	byName := map[string]*remoteHost{}
	for _, m := range r.remotes {
		byName[m.host.Name] = m
	}
	there := map[peer.Letter]bool{}
	out, absent := map[string]int{}, map[string]bool{} // by host: letters without a receipt; no inbox
	began := time.Now()
	for _, l := range all {
		there[l] = true
		m := byName[l.Host]
		if m == nil || m.host.Box == "" || m.trust.Revoked {
			continue
		}
		if out[l.Host]++; out[l.Host] > maxUnreceipted {
			waiting = waiting || !absent[l.Host]
			continue
		}
		if at, ok := r.sent[l]; ok && now.Sub(at).Abs() < resendAfter { // its receipt has not come yet
			waiting = waiting || m.isExpected(now) && now.Sub(at).Abs() < receiptWait
			continue
		}
		if isTimed(l.Kind) && (len(m.clocks) == 0 || m.beats.mustAsk) { // its next beat says what time it is there
			if err := r.askForBeat(m, now); err != nil {
				return true, err
			}
			waiting = waiting || !m.host.IsAway(now) && m.beats.askCount <= maxBeatAsks
			continue
		}
		if time.Since(began) > scanEvery { // mutant never: TestManyLetters
			waiting = true
			continue
		}
		if err := r.sendLetter(ctx, m, l); errors.Is(err, jetstream.ErrNoStreamResponse) {
			absent[l.Host], out[l.Host] = true, maxUnreceipted // it was never at this hub: skip its others
			continue
		} else if err != nil {
			return true, err
		}
		r.sent[l] = now
		waiting = waiting || m.isExpected(now)
	}
	for l := range r.sent {
		if !there[l] {
			delete(r.sent, l)
		}
	}
	return waiting, nil
}

// isExpected reports whether a host can be expected to take a letter: it is there, or has just
// connected and is still asked for its first beat.
func (m *remoteHost) isExpected(now time.Time) bool {
	connects := m.host.LastSeen.IsZero() && m.beats.mustAsk && m.beats.askCount <= maxBeatAsks
	return connects || !m.host.IsAway(now) // mutant never: TestTemporary
}

// sendLetter sends a letter, or only the envelope of one over maxInline, whose receiver then asks
// for the text part by part. It only warns of a file that cannot be read.
func (r *Relay) sendLetter(ctx context.Context, to *remoteHost, l peer.Letter) error {
	f, err := atomicfile.Open(r.outbox.Path(l))
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) { // otherwise it was taken back
			r.Warn(err)
		}
		return nil
	}
	defer f.Close()
	sum := sha256.New()
	var text bytes.Buffer
	n, err := io.Copy(sum, io.TeeReader(io.LimitReader(f, maxInline), &text))
	// Size and checksum are of the whole letter.
	rest, rerr := io.Copy(sum, f)
	n += rest
	if err = cmp.Or(err, rerr); err != nil {
		r.Warn(atomicfile.Error("read", r.outbox.Path(l), err))
		return nil
	}
	e := envelope{Size: n, SHA256: hex.EncodeToString(sum.Sum(nil))}
	if isTimed(l.Kind) {
		e.ReceiverTime = l.Sent().Add(-to.clockSkew()).UnixMilli()
	}
	body, err := json.Marshal(e)
	if err != nil {
		return err
	}
	body = append(body, '\n')
	if n <= maxInline {
		body = append(body, text.Bytes()...)
	}
	h := r.header(l.Kind, to.host.Key, l.ID)
	h.At = l.Sent().UnixMilli() // a command that waited here is old, however late it is sent
	msg, err := r.keys.ForHost(to.host.Box, h, body)
	if err != nil {
		return err
	}
	_, err = r.storeMessage(ctx, r.subject("to", to.host.Key), msg, jetstream.WithRetryAttempts(0))
	return err
}

// takeLetter delivers a letter, once, and sends a receipt, also for one that comes again. A long
// letter is only noted, and fetched. A refusal as the error means that no receipt is sent.
func (r *Relay) takeLetter(from *remoteHost, m seal.Message) error {
	if errors.Join(peer.CheckID(m.ID), peer.CheckKind(m.Kind)) != nil {
		return refusal("a letter with an invalid name")
	}
	if from.underway[m.ID] {
		return nil
	}
	if reason, came := from.letters.arrived[m.ID]; came { // mutant never: TestReceiptLost
		return r.sendReceipt(from, m.ID, reason)
	}
	body, err := r.keys.OpenBody(m, maxInline+4096)
	if err != nil {
		return refusal("a letter that cannot be opened")
	}
	var e envelope
	line, text, ok := bytes.Cut(body, []byte("\n"))
	if !ok || json.Unmarshal(line, &e) != nil || e.Size < 0 || e.Size <= maxInline && int64(len(text)) != e.Size {
		return refusal("a letter that cannot be read")
	}
	if !from.letterRate.AllowN(r.Now(), 1) {
		return refusal("too many letters of " + from.host.Name)
	}
	if reason, taken := r.acceptsLetter(from, m.Kind, e.Size); !taken { // mutant never: TestNothingKept
		return r.answerLetter(from, m.ID, reason)
	}
	if e.Size > maxInline {
		return r.noteLongLetter(from, m, e)
	}
	return r.deliverLetter(from, m.ID, m.Kind, e, bytes.NewReader(text), func() error { return nil })
}

// acceptsLetter reports whether a letter of a kind and size is taken of a host, and why not. If
// that is "", takeLetter does not tell the sender, but answers as after a delivery.
func (r *Relay) acceptsLetter(from *remoteHost, name string, size int64) (reason string, taken bool) {
	kind, known := r.Kinds[name]
	switch most := cmp.Or(kind.Most, peer.MaxLetter); {
	case !known:
		return fmt.Sprintf("gt-relay here does not know letters of the kind %s", name), false
	case size > most:
		return fmt.Sprintf("the letter has %d bytes, over %d", size, most), false
	case kind.Takes == nil:
		return "", true
	}
	ok, reason := kind.Takes(Sender{Host: from.host, Trust: from.trust})
	return reason, ok
}

// deliverLetter delivers a letter, and calls done once it is recorded. A slow delivery goes on
// beside the relay; finishSlow answers the letter when it has ended.
func (r *Relay) deliverLetter(from *remoteHost, id, kind string, e envelope, text io.Reader, done func() error) error {
	if reason, taken := r.acceptsLetter(from, kind, e.Size); !taken { // not any more
		return r.finishDelivery(from, id, &Refused{reason}, done)
	}
	sender := Sender{Host: from.host, Trust: from.trust}
	if e.ReceiverTime != 0 { // mutant never: TestAge
		sender.Sent = time.UnixMilli(e.ReceiverTime)
	}
	err := r.Kinds[kind].Deliver(sender, peer.Letter{Host: from.host.Name, ID: id, Kind: kind}, text)
	later := new(SlowDelivery)
	switch {
	case !errors.As(err, &later):
		return r.finishDelivery(from, id, err, done)
	case r.isFull(from): // it comes again
		return fmt.Errorf("cannot deliver %s of %s: too much of it is under way", id, from.host.Name)
	}
	from.underway[id] = true
	r.underway++
	cli.Go(func() { r.ended <- endedDelivery{from, id, later.Do(r.ctx), done} })
	return nil
}

// answerLetter records a letter, and tells its sender.
func (r *Relay) answerLetter(from *remoteHost, id, reason string) error {
	reason = fmt.Sprintf("%.1000s", reason) // its sender reads a receipt of 4 KB
	if err := from.letters.addLetter(id, reason); err != nil {
		return err
	}
	return r.sendReceipt(from, id, reason)
}

// sendReceipt tells the sender of a letter that it is here. If it is lost, the letter comes again.
func (r *Relay) sendReceipt(to *remoteHost, id, refused string) error {
	return r.sendTo(to, "receipt", "receipt", id, []byte(refused))
}

// takeReceipt takes a delivered letter out of the outbox, or sets a refused one aside. The receipt
// of an offer of work is recorded as its answer, and the offer leaves the outbox in any case.
func (r *Relay) takeReceipt(from *remoteHost, m seal.Message) error {
	if peer.CheckID(m.ID) != nil {
		return nil
	}
	l, ok, err := r.outbox.Find(from.host.Name, m.ID)
	if err != nil || !ok {
		return err
	}
	refused, err := r.keys.OpenBody(m, 4096) // why it was refused; empty if it was delivered
	if err != nil {
		return refusal("a receipt that cannot be opened")
	}
	if l.Kind == peer.Offer {
		says := peer.Try{Letter: l.ID, State: peer.Open}
		if len(refused) > 0 {
			says.State, says.Reason = peer.Declined, string(refused)
		}
		if err := r.recordAnswer(from.host.Key, says); err != nil {
			return err
		}
	}
	if len(refused) == 0 || l.Kind == peer.Offer {
		return r.outbox.Remove(l)
	}
	// TakeBack comes first: if it fails, the letter is still in the outbox, and is answered again.
	if err := r.TakeBack(l); err != nil { // mutant never: TestTakeBackFails
		return err
	}
	return r.outbox.Refuse(l, string(refused))
}

// noteLongLetter notes a long letter, and asks for its first part. It refuses a letter for which
// there is no room: those of a kind that may be over maxComing have room of their own, for two.
func (r *Relay) noteLongLetter(from *remoteHost, m seal.Message, e envelope) error {
	if len(e.SHA256) != sha256.Size*2 {
		return r.answerLetter(from, m.ID, "a letter without a checksum")
	}
	path := r.parcelPath(from, m.ID, ".json")
	if !atomicfile.Exists(path) {
		coming := r.parcelIDs(from)
		isLarge := func(kind string) bool { return r.Kinds[kind].Most > maxComing }
		room := maxComing - e.Size
		if isLarge(m.Kind) {
			room = 2*r.Kinds[m.Kind].Most - e.Size
		}
		for _, id := range coming {
			if other, ok := r.readExpected(from, id); ok && isLarge(other.Kind) == isLarge(m.Kind) {
				room -= other.Env.Size
			}
		}
		if len(coming) >= maxParcels || room < 0 { // mutant never: TestManyParcels
			return refusal("too many long letters of " + from.host.Name) // it comes again
		}
		if err := r.State.WriteJSON(path, longLetter{m.Kind, e}, atomicfile.Synced); err != nil {
			return err
		}
	}
	return r.askForPart(from, m.ID)
}

// Limits of what runs here at once for other hosts.
const (
	MostOfHost = 4
	MostOfAll  = 16
)

// SlowDelivery is what a Deliver returns whose work takes long. The relay goes on meanwhile, and
// answers the letter when Do has ended, as after a Deliver. The text can be read until then.
// Do ends soon after its context.
type SlowDelivery struct{ Do func(context.Context) error }

func (*SlowDelivery) Error() string { return "it goes on" }

// endedDelivery is a delivery that has ended.
type endedDelivery struct {
	from *remoteHost
	id   string
	err  error
	done func() error
}

// isFull reports whether nothing more can be begun for a host.
func (r *Relay) isFull(from *remoteHost) bool {
	return len(from.underway) >= MostOfHost || r.underway >= MostOfAll
}

// finishSlow answers a letter that was delivered beside the relay.
func (r *Relay) finishSlow(e endedDelivery) {
	delete(e.from.underway, e.id)
	r.underway--
	if r.ctx.Err() != nil { // it was interrupted, and comes again
		return
	}
	r.Warn(r.finishDelivery(e.from, e.id, e.err, e.done))
}

// finishDelivery answers a letter whose delivery ended with err, nil or a *Refused, and calls done.
// It returns any other err without an answer, so that the letter comes again.
func (r *Relay) finishDelivery(from *remoteHost, id string, err error, done func() error) error {
	reason := ""
	if refused := new(Refused); errors.As(err, &refused) {
		reason = cmp.Or(refused.Reason, "refused")
	} else if err != nil {
		if _, isLong := r.readExpected(from, id); isLong {
			from.failedAt[id] = r.Now()
		}
		return fmt.Errorf("cannot deliver %s of %s: %w", id, from.host.Name, err)
	}
	if err := r.answerLetter(from, id, reason); err != nil {
		return err
	}
	return done()
}
