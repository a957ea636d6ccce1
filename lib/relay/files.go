package relay

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"strings"
	"time"

	"gt/lib/record"
	"gt/lib/relay/feed"
	"gt/lib/state/peer"
	"gt/lib/sys/atomicfile"
)

// A host asks another one for the next bytes of a file, and gets them: of a log, of a record, or
// of a letter that is too long for the hub. Whoever asks keeps what it has asked, and takes an
// answer to that alone: the hub can send an earlier one again.

// kindFile is the kind of the message that asks for a part of a file, and of the answer. The file
// is called logFile, recordFile or letterFile, and the name of the log or an ID.
const (
	kindFile   = "file"
	logFile    = "log"
	recordFile = "record"
	letterFile = "letter"

	// questionCost is what a question costs besides the bytes of its answer: a log, a record and
	// their checks are read for it. A host can ask 16,384 at once and 64 a second.
	questionCost = 16 << 10
)

// question is what a host was asked for last of a file.
type question struct {
	id         string // "" once it was answered
	name       string
	lastAsked  time.Time // when it was last asked
	firstAsked time.Time // the first time
	askCount   int       // how often it was asked
}

// isOpen reports whether the question may still be answered. It is asked again after three seconds,
// and then after twice as long each time: else a slow line would carry nothing but answers to
// repeated questions.
func (q question) isOpen(now time.Time) bool {
	return now.Sub(q.lastAsked).Abs() < askAgain<<min(max(q.askCount-1, 0), 4)
}

// A part of a file is as large as the line to its host allows in about a second: whatever else
// comes waits behind it.
const (
	leastPart = 16 << 10
	partTakes = time.Second
)

// questionKey returns what a question is kept under: of records one is asked for at a time.
func questionKey(name string) string {
	if strings.HasPrefix(name, recordFile+"/") {
		return recordFile
	}
	return name
}

// hasAsked reports whether a host was asked for a file just now.
func (m *remoteHost) hasAsked(name string, now time.Time) bool {
	return m.asked[questionKey(name)].isOpen(now)
}

func newNonce() string {
	var nonce [8]byte
	rand.Read(nonce[:])
	return hex.EncodeToString(nonce[:])
}

// askForFile asks a host for a part of a file. what is logFile, recordFile or letterFile.
func (r *Relay) askForFile(from *remoteHost, what string, want feed.Want) error {
	want.Name = what + "/" + want.Name
	want.Most = from.partSize
	q, now := from.asked[questionKey(want.Name)], r.Now()
	if q.id == "" || q.name != want.Name { // otherwise an answer on its way still counts
		q = question{id: newNonce(), name: want.Name, firstAsked: now}
	}
	q.lastAsked = now
	q.askCount++
	from.asked[questionKey(want.Name)] = q
	return r.sendJSON(from, "ask", kindFile, q.id, want)
}

// answerFile sends a part of a file to the host that asks for it. If the host has used up what it
// may get for now (answerRate), answerFile sends nothing, and the host asks again later. Records
// stop at the last quarter, which is for the host's letters and logs.
func (r *Relay) answerFile(to *remoteHost, id string, body []byte) error {
	var want feed.Want
	if json.Unmarshal(body, &want) != nil || want.From < 0 {
		return refusal("a question that cannot be read")
	}
	what, name, _ := strings.Cut(want.Name, "/")
	now, least := r.Now(), feed.MaxChunk+questionCost
	if what == recordFile {
		least = bytesAtOnce / 4
	}
	if to.answerRate.TokensAt(now) < float64(least) {
		return nil
	}
	to.answerRate.AllowN(now, questionCost)
	if what == recordFile {
		if refused, err := r.refuseRecords(to); refused || err != nil {
			return err
		}
	}
	c := feed.Chunk{Name: want.Name, For: want.From, None: true}
	f, done, err := r.openFile(to, what, name)
	if err == nil {
		c, err = feed.Read(f, want, what != letterFile)
		done()
	}
	switch {
	case err == nil, errors.Is(err, fs.ErrNotExist):
	case what == recordFile && name != "": // not of the list: that is asked for again
		r.Warn(err)
		c.None, c.Data = true, nil // until it has changed
	default:
		return err
	}
	to.answerRate.AllowN(now, len(c.Data))
	if what == recordFile {
		to.records.sentAt = now
	}
	data, err := c.Marshal()
	if err != nil {
		return err
	}
	return r.sendTo(to, "chunk", kindFile, id, data)
}

// openFile opens a file of this host that another one asks for, or returns fs.ErrNotExist.
func (r *Relay) openFile(to *remoteHost, what, name string) (f *os.File, done func(), err error) {
	path := ""
	switch what {
	case recordFile:
		return r.recordSource.Open(to.host.Key, record.ID(name))
	case logFile:
		path = r.Logs()[name]
	case letterFile:
		l, ok, err := r.outbox.Find(to.host.Name, name)
		if err != nil {
			return nil, nil, err
		} else if ok {
			path = r.outbox.Path(l)
		}
	}
	if path == "" {
		return nil, nil, fs.ErrNotExist
	}
	f, err = atomicfile.Open(path)
	return f, func() { f.Close() }, err
}

// takeFile takes a part of a file that this host has asked for, and asks for the next one.
func (r *Relay) takeFile(from *remoteHost, id string, body []byte) error {
	c, err := feed.Unmarshal(body)
	if err != nil {
		return refusal(err.Error())
	}
	q := from.asked[questionKey(c.Name)]
	if q.id == "" || q.id != id || q.name != c.Name {
		return nil
	}
	q.id, q.askCount = "", 0
	from.asked[questionKey(c.Name)] = q
	// The next part is twice as large, or half as large if this one took longer than partTakes.
	if from.partSize = min(2*from.partSize, feed.MaxChunk); r.Now().Sub(q.firstAsked).Abs() > partTakes { // mutant never: TestSmallBeforeLarge
		from.partSize = max(from.partSize/4, leastPart) // a quarter, because it was doubled
	}
	what, name, _ := strings.Cut(c.Name, "/")
	c.Name = name
	switch what {
	case logFile:
		return r.takeLog(from, c, true)
	case recordFile:
		err = r.takeRecord(from, c)
	case letterFile:
		err = r.takePart(from, c)
	}
	if errors.Is(err, feed.ErrChunk) {
		return refusal(err.Error())
	}
	return err
}

// takeLog adds a chunk to the copy of a log, and asks for what is still missing. answer says that
// this host has asked for it; an unasked chunk leads to a question only if it does not fit.
func (r *Relay) takeLog(from *remoteHost, c feed.Chunk, answer bool) error {
	taken, err := from.logs.AddChunk(c)
	if errors.Is(err, feed.ErrFull) {
		return refusal("a log of " + from.host.Name + " that is too long, or one too many")
	} else if err != nil {
		return err
	}
	if taken && from.logs.IsComplete(c.Name, from.heads[c.Name]) {
		r.noteCompleteLogs(from)
		return nil
	}
	// The host has no more, or an unasked chunk fits, or an answer is on its way already.
	if answer && len(c.Data) == 0 || !answer && (taken || from.hasAsked(logFile+"/"+c.Name, r.Now())) {
		return nil
	}
	return r.askForLog(from, c.Name)
}

func (r *Relay) askForLog(from *remoteHost, name string) error {
	want, err := from.logs.Want(name)
	if err != nil {
		return err
	}
	return r.askForFile(from, logFile, want)
}

// askForMissing asks the hosts that are there for what this one lacks of their files.
func (r *Relay) askForMissing(now time.Time) {
	for _, m := range r.remotes {
		if m.trust.Revoked || m.host.IsAway(now) {
			continue
		}
		asks := 0
		for name, head := range m.heads {
			if asks == asksAtOnce {
				break // the others come next time
			}
			if m.hasAsked(logFile+"/"+name, now) || m.logs.IsComplete(name, head) {
				continue
			}
			asks++
			r.Warn(r.askForLog(m, name))
		}
		r.askForParts(m, now)
		r.Warn(r.askForRecords(m, now))
	}
}

// A letter that is too long for the hub.

// longLetter is a long letter whose parts come.
type longLetter struct {
	Kind string   `json:"kind"`
	Env  envelope `json:"envelope"`
}

func (r *Relay) parcelPath(from *remoteHost, id, ext string) string {
	return r.hosts.Path(from.host.Name, "parcels", id+ext)
}

// parcelIDs returns the ids of the long letters of a host that are on their way.
func (r *Relay) parcelIDs(from *remoteHost) (ids []string) {
	entries, _ := atomicfile.ReadDir(r.hosts.Path(from.host.Name, "parcels"))
	for _, e := range entries {
		if id, ok := strings.CutSuffix(e.Name(), ".json"); ok && peer.CheckID(id) == nil {
			ids = append(ids, id)
		}
	}
	return ids
}

// readExpected returns what is noted of a long letter that comes. ok is false without such a note.
func (r *Relay) readExpected(from *remoteHost, id string) (e longLetter, ok bool) {
	err := atomicfile.ReadJSON(r.parcelPath(from, id, ".json"), 4096, &e)
	return e, err == nil
}

// dropParcel removes what came of a long letter.
func (r *Relay) dropParcel(from *remoteHost, id string) error {
	delete(from.asked, letterFile+"/"+id)
	delete(from.failedAt, id)
	return errors.Join(atomicfile.Remove(r.parcelPath(from, id, ".json")), feed.Discard(r.parcelPath(from, id, ".part")))
}

// askForParts asks a host for the next parts of its long letters. It drops those for which this
// host has waited longer than parcelLifetime.
func (r *Relay) askForParts(from *remoteHost, now time.Time) {
	asks := 0
	for _, id := range r.parcelIDs(from) {
		if asks == asksAtOnce {
			break
		}
		var err error
		if info, failed := os.Lstat(r.parcelPath(from, id, ".json")); failed == nil && now.Sub(info.ModTime()) > parcelLifetime {
			err = r.dropParcel(from, id)
		} else if !from.hasAsked(letterFile+"/"+id, now) && !from.underway[id] && now.Sub(from.failedAt[id]).Abs() >= resendAfter { // mutant always: TestFailedParcel
			asks++
			err = r.askForPart(from, id)
		}
		r.Warn(err)
	}
}

func (r *Relay) askForPart(from *remoteHost, id string) error {
	want, err := feed.NextWant(id, r.parcelPath(from, id, ".part"))
	if err != nil {
		return err
	}
	return r.askForFile(from, letterFile, want)
}

// takePart adds a part to a long letter, and delivers it once it is complete.
func (r *Relay) takePart(from *remoteHost, c feed.Chunk) error {
	e, ok := r.readExpected(from, c.Name)
	if !ok || from.underway[c.Name] {
		return nil // delivered already
	}
	if c.None { // it was taken back
		return r.dropParcel(from, c.Name)
	}
	path := r.parcelPath(from, c.Name, ".part")
	same, complete, err := feed.Append(path, c, e.Env.Size)
	switch {
	case err != nil:
		return err
	case complete:
		return r.deliverLong(from, c.Name, e)
	case !same || len(c.Data) == 0: // it comes again
		return feed.ErrChunk
	}
	return r.askForPart(from, c.Name)
}

// deliverLong delivers a long letter that is complete. It discards one with a wrong checksum, so
// that it comes again.
func (r *Relay) deliverLong(from *remoteHost, id string, e longLetter) error {
	if r.isFull(from) { // its last part comes again
		return nil
	}
	path := r.parcelPath(from, id, ".part")
	text, err := atomicfile.Open(path)
	if err != nil {
		return err
	}
	sum := sha256.New()
	if _, err = io.Copy(sum, text); err == nil {
		_, err = text.Seek(0, io.SeekStart)
	}
	if err != nil {
		text.Close()
		return atomicfile.Error("read", path, err)
	}
	if hex.EncodeToString(sum.Sum(nil)) != e.Env.SHA256 { // a loss of power, or a lie: it comes again
		text.Close()
		r.countRefused("a letter that differs from its checksum")
		return feed.Discard(path)
	}
	done := func() error { text.Close(); return r.dropParcel(from, id) }
	if _, came := from.letters.arrived[id]; came {
		return done()
	}
	if err = r.deliverLetter(from, id, e.Kind, e.Env, text, done); err != nil {
		text.Close()
	}
	return err
}
