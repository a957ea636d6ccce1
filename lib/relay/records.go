package relay

import (
	"encoding/json"
	"errors"
	"slices"
	"time"

	"golang.org/x/time/rate"

	"gt/lib/relay/feed"
	"gt/lib/relay/mirror"
	"gt/lib/state/peer"
)

// Records of conversations go from host to host while both are connected: only the permitted
// hosts may read them, and a hub has no room for them. A host that may read them is told the length
// of the list of records, and asks for what it lacks.
const (
	recordsEvery = 15 * time.Second // how often this host looks for changes
	toldEvery    = 10 * time.Minute // a message can be lost
	stillCopying = time.Second      // after the last part that was sent
	pagesPerSec  = 1
	pagesAtOnce  = 256

	// kindRecords is the kind of a message that says how long the list is.
	kindRecords = "records"
)

// listNotice says how long the list is, or that its receiver may read no records.
type listNotice struct {
	feed.Head
	Off bool `json:"off,omitempty"`
}

// recordExchange is the state of the exchange of records with another host.
type recordExchange struct {
	copies *mirror.Copies // of its records
	asked  time.Time      // when something was asked for
	tries  int            // how often in vain
	// listCame reports whether its list came since it has connected, and listedAt is when this
	// host asked for the list because it had not come.
	listCame bool
	listedAt time.Time

	mayRead  bool      // it was told that it may read this host's
	toldHead feed.Head // how long this host's list is, as far as it was told
	toldAt   time.Time // zero: not over this connection
	sentAt   time.Time // when a part was sent

	pages *rate.Limiter // of lists that it sends
}

// mayRead reports whether a host may read this host's records.
func (m *remoteHost) mayRead() bool {
	return !m.trust.Revoked && slices.Contains(m.trust.Allowed, peer.Records) // mutant always: TestRecordsNotAllowed
}

// tellOfRecords tells the hosts that may read this host's records of changes, and the others
// that they may not any more.
func (r *Relay) tellOfRecords(now time.Time) error {
	if now.Sub(r.recordsAt).Abs() < recordsEvery {
		return nil
	}
	r.recordsAt = now
	var errs []error
	scanned := false
	for _, m := range r.remotes {
		if err := r.readTrust(m); err != nil {
			errs = append(errs, err)
			continue
		}
		exchange, may := &m.records, m.mayRead()
		if r.Records == nil || m.host.IsAway(now) || !may && !exchange.mayRead {
			continue // this host keeps none, or the other is away, or knows that it may not
		}
		if may && !scanned {
			scanned = true
			errs = append(errs, r.scanRecords())
		}
		if r.recordSource == nil {
			continue
		}
		switch head := r.recordSource.Head(); {
		case !may:
			errs = append(errs, r.tellSharing(m, listNotice{Off: true}))
			r.recordSource.CloseHost(m.host.Key)
		case head != exchange.toldHead || now.Sub(exchange.toldAt).Abs() >= toldEvery:
			errs = append(errs, r.tellSharing(m, listNotice{Head: head}))
			exchange.toldHead, exchange.toldAt = head, now
		}
		exchange.mayRead = may
	}
	return errors.Join(errs...)
}

// scanRecords updates the list of this host's records for other hosts. The first call makes it.
func (r *Relay) scanRecords() error {
	if r.recordSource != nil {
		return r.recordSource.Scan()
	}
	store, err := r.Records()
	if err != nil {
		return err
	}
	source := mirror.NewSource(store, r.State.Path("relay"))
	if err := source.Scan(); err != nil {
		return err // an empty list would remove all copies
	}
	r.recordSource = source
	return nil
}

func (r *Relay) tellSharing(to *remoteHost, s listNotice) error {
	return r.sendJSON(to, "chunk", kindRecords, "", s)
}

// refuseRecords reports whether a host may not read this host's records, and if so, tells it. If it
// may, refuseRecords scans the records unless that was done.
func (r *Relay) refuseRecords(to *remoteHost) (refused bool, err error) {
	if !to.mayRead() || r.Records == nil {
		return true, r.tellSharing(to, listNotice{Off: true})
	}
	if r.recordSource == nil {
		err = r.scanRecords()
	}
	return false, err
}

// takeSharing takes a host's notice of how long its list of records is, and asks for what is
// missing here. If the notice says that this host may read none (Off), it removes the copies.
func (r *Relay) takeSharing(from *remoteHost, body []byte) error {
	exchange, now := &from.records, r.Now()
	var says listNotice
	if json.Unmarshal(body, &says) != nil || says.Size < 0 {
		return refusal("a list of records that cannot be read")
	}
	if !exchange.pages.AllowN(now, 1) {
		return refusal("too many lists of records of " + from.host.Name)
	}
	if exchange.listCame = true; says.Off {
		return exchange.copies.Remove()
	}
	if err := r.noteList(from, exchange.copies.SetHead(says.Head)); err != nil {
		return err
	}
	if q := from.asked[recordFile]; q.id != "" && q.isOpen(now) { // its answer asks for more
		return nil
	}
	return r.askForRecord(from)
}

// takeRecord takes a part of the list or of a record, and asks for the next one.
func (r *Relay) takeRecord(from *remoteHost, c feed.Chunk) error {
	if c.None && c.Name == "" { // it is asked again later
		return nil
	}
	if err := r.noteList(from, from.records.copies.AddChunk(c)); err != nil {
		return err
	}
	from.records.tries, from.records.listCame = 0, true
	return r.askForRecord(from)
}

// noteList updates the status after a list or part of a host's records came: how many are not copied
// yet, or that there are too many. It returns any other error of the copies.
func (r *Relay) noteList(from *remoteHost, err error) error {
	if errors.Is(err, mirror.ErrMany) {
		r.countRefused("the records of " + from.host.Name + ": " + err.Error())
		return nil
	}
	if n := from.records.copies.CountLeftOut(); n > 0 {
		r.status.Left[from.host.Name] = n
	} else {
		delete(r.status.Left, from.host.Name)
	}
	return err
}

// askForRecord asks a host for what is missing of its list and its records, unless it has sent so
// much that its letters would be held up.
func (r *Relay) askForRecord(from *remoteHost) error {
	want, ok, err := from.records.copies.Want()
	if err != nil || !ok {
		return err
	}
	from.records.asked = r.Now()
	if from.byteRate.TokensAt(r.Now()) < bytesAtOnce/4 {
		return nil
	}
	return r.askForFile(from, recordFile, want)
}

// askForRecords asks again for records, or for the list of them, that did not come.
func (r *Relay) askForRecords(from *remoteHost, now time.Time) error {
	exchange := &from.records
	switch {
	case exchange.copies.IsIncomplete():
		if q := from.asked[recordFile]; now.Sub(exchange.asked).Abs() < askAgain || q.id != "" && q.isOpen(now) {
			return nil
		}
		if exchange.tries++; exchange.tries%3 == 0 { // nothing comes of it: others come first
			exchange.copies.AskOthersFirst()
		}
		return r.askForRecord(from)
	case (exchange.copies.HasCopies() || slices.Contains(from.host.Allows, peer.Records)) && !exchange.listCame && now.Sub(exchange.listedAt).Abs() >= toldEvery: // may this host still read them?
		exchange.listedAt = now
		want, err := exchange.copies.WantList()
		if err != nil {
			return err
		}
		return r.askForFile(from, recordFile, want)
	}
	return nil
}

// isCopying reports whether records are being copied, from or to a host that is there: a part was
// sent just now, parts are missing that were not asked for in vain, or a list may still come.
func (r *Relay) isCopying(now time.Time) bool {
	for _, m := range r.remotes {
		exchange := &m.records
		if m.host.IsAway(now) || m.trust.Revoked {
			continue
		}
		if now.Sub(exchange.sentAt).Abs() < stillCopying || exchange.copies.IsIncomplete() && exchange.tries < 3 || !exchange.listCame && now.Sub(exchange.listedAt).Abs() < receiptWait {
			return true
		}
	}
	return false
}

// exchangeRecordLists has the next round send this host's list of records to a host that has just
// connected, and ask it for its own.
func (r *Relay) exchangeRecordLists(m *remoteHost) {
	m.records.toldAt, m.records.listCame, m.records.listedAt = time.Time{}, false, time.Time{}
	r.recordsAt = time.Time{}
}
