// Package scan finds the conversations of all clients on this machine, and the running
// sessions. It opens a file again only if it has changed.
package scan

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"gt/lib/cli"
	"gt/lib/client/account"
	"gt/lib/client/readers"
	"gt/lib/conversation"
	"gt/lib/live"
	"gt/lib/place"
	"gt/lib/record"
	"gt/lib/state/session"
	"gt/lib/sys/process"
)

// FindConversations finds every client's conversations on this machine. The cache saves reading
// unchanged files, and is rewritten if that is worthwhile. Without a cache ("") the
// result is the same.
//
// clean removes secrets from an excerpt that was cut at its end. Secrets with a form of
// their own are already removed.
//
// progress, if not nil, gets the number of conversations read so far, of those that must
// be read. A conversation that cannot be read completely is left out or has what could be
// read. errs has one error for each store.
func FindConversations(getenv func(string) string, clean func(string) string, cache string, progress func(done, total int64)) (all []conversation.Conversation, errs []error) {
	var stores []*found
	for _, r := range readers.Readers {
		for _, store := range account.Stores(r.Client(), getenv) {
			stores = append(stores, &found{reader: r, store: store})
		}
	}
	if own, err := record.StoreOf(getenv); err == nil && own.Exists() {
		stores = append(stores, &found{reader: record.Reader{}, store: own.Sessions})
	}
	all, errs = scanStores(stores, clean, cache, progress)
	return joinFiles(withoutCopies(all)), errs
}

// joinFiles joins conversations of which a client keeps parts in several files. Each joined one
// takes the place of its first part.
func joinFiles(all []conversation.Conversation) []conversation.Conversation {
	// An empty conversation and a record are never joined: they have no key.
	keyOf := func(c conversation.Conversation) (k record.Key) {
		if !c.Metadata.Started.IsZero() && c.File.Client != record.Client {
			k = record.KeyOf(c)
		}
		return k
	}
	at := make(map[record.Key]int, len(all)) // where the first one is
	parts := map[record.Key][]conversation.Conversation{}
	for i, c := range all {
		k := keyOf(c)
		if first, there := at[k]; k.Session == "" {
			continue
		} else if !there {
			at[k] = i
		} else {
			if parts[k] == nil {
				parts[k] = append(parts[k], all[first])
			}
			parts[k] = append(parts[k], c)
		}
	}
	if len(parts) == 0 {
		return all
	}
	var each []conversation.Conversation
	for i, c := range all {
		if k := keyOf(c); parts[k] == nil {
			each = append(each, c)
		} else if at[k] == i {
			each = append(each, conversation.JoinFiles(parts[k]))
		}
	}
	return each
}

// Records finds the copies of another host's records in a folder, which need not exist.
// Otherwise it is as FindConversations.
func Records(store string, clean func(string) string, cache string) ([]conversation.Conversation, error) {
	all, errs := scanStores([]*found{{reader: record.Reader{}, store: store}}, clean, cache, nil)
	return all, errors.Join(errs...)
}

type found struct {
	reader conversation.Reader
	store  string
	files  []conversation.File
	err    error
	lost   conversation.ReadErrors // of its conversations
}

// scanStores finds the conversations of stores, and reads the metadata that the cache does not have.
func scanStores(stores []*found, clean func(string) string, cache string, progress func(done, total int64)) (all []conversation.Conversation, errs []error) {
	var known cached
	begin := []func(){func() { known = load(cache) }}
	for _, s := range stores {
		begin = append(begin, func() {
			s.err = s.reader.Find(s.store, func(f conversation.File) { s.files = append(s.files, f) })
		})
	}
	cli.Parallel(begin, func(do func()) { do() })

	// new is a conversation whose metadata must be read: its store, and its index in all.
	type new struct {
		of *found
		at int
	}
	var fresh []new
	var kept []bool // by the index in all: its metadata is worth keeping
	for _, s := range stores {
		all = slices.Grow(all, len(s.files))
		for _, f := range s.files {
			facts, ok := known.metadata(f)
			if !ok {
				fresh = append(fresh, new{s, len(all)})
			}
			kept = append(kept, ok)
			all = append(all, conversation.Conversation{File: f, Metadata: facts})
		}
	}
	var mu sync.Mutex
	done := 0
	readMetadata := func(n new) {
		facts, err := n.of.reader.Metadata(all[n.at].File)
		all[n.at].Metadata = sanitizeMetadata(facts, clean)
		// A conversation with an error is read again the next time, although the file
		// does not change when it becomes readable.
		kept[n.at] = err == nil
		mu.Lock()
		defer mu.Unlock()
		n.of.lost.Add(err)
		if done++; progress != nil {
			progress(int64(done), int64(len(fresh)))
		}
	}
	saved, wait := time.Now(), saveAfter
	for part := range slices.Chunk(fresh, partSize) {
		cli.Parallel(part, readMetadata)
		if done < len(fresh) && time.Since(saved) >= wait {
			save(cache, all, kept)           // if the person ends it now, the next list goes on from here
			saved, wait = time.Now(), 2*wait // each time there is more to write
		}
	}
	for _, s := range stores {
		for _, err := range []error{s.err, s.lost.Err()} {
			if err != nil {
				errs = append(errs, err)
			}
		}
	}
	looked := 0
	for _, ok := range kept {
		if ok {
			looked++
		}
	}
	// Both numbers are of those that are kept: what could not be read counts neither among all nor
	// among the new.
	if known.outdated(looked, len(fresh)-(len(all)-looked)) {
		save(cache, all, kept)
	}
	return all, errs
}

// partSize is how many conversations are read before the cache may be written, which
// happens if there are more to read and saveAfter has passed, then twice that, and so on.
// Tests use less.
var (
	partSize  = 1000
	saveAfter = time.Second
)

// withoutCopies leaves out gt-record's copies of conversations that their clients still have:
// the client's own has more, and has it sooner.
func withoutCopies(all []conversation.Conversation) []conversation.Conversation {
	recorded := slices.IndexFunc(all, func(c conversation.Conversation) bool { return c.File.Client == record.Client })
	if recorded < 0 {
		return all
	}
	kept := make(map[record.Key]bool, recorded)
	for _, c := range all {
		if c.File.Client != record.Client && !c.Metadata.Started.IsZero() {
			kept[record.KeyOf(c)] = true
		}
	}
	return slices.DeleteFunc(slices.Clone(all), func(c conversation.Conversation) bool {
		m := c.Metadata
		return c.File.Client == record.Client && (m.ID == "" || kept[record.Key{Agent: m.Agent, Session: m.ID, Parent: m.Parent}])
	})
}

// ReaderOf returns the reader of a client or of records, or nil.
func ReaderOf(client string) conversation.Reader {
	if client == record.Client {
		return record.Reader{}
	}
	return readers.FindReader(client)
}

// Skipped returns how many records of a conversation its reader does not give.
func Skipped(f conversation.File) (n int) {
	if f.Earlier != nil {
		n = Skipped(*f.Earlier)
	}
	if f.Size > 0 && f.Size <= conversation.MaxRecord { // else one can be too long; a database has 0
		return n
	}
	var own int
	if s, ok := ReaderOf(f.Client).(conversation.Skipper); ok {
		own, _ = s.Skipped(f) // reading it reports the error
	} else if strings.HasSuffix(f.Path, ".jsonl") {
		own, _ = conversation.Skipped(f.Path)
	}
	return n + own
}

// CheckRead returns an error that says how many records of a session's conversation its
// reader does not give, or nil if it gives all.
func CheckRead(id session.ID, f conversation.File) error {
	if n := Skipped(f); n > 0 {
		return fmt.Errorf("not read of session %s, %s: %d", id, conversation.Unread, n)
	}
	return nil
}

// sanitizeMetadata returns the metadata for the cache: with invalid UTF-8 replaced, and without secrets.
func sanitizeMetadata(f conversation.Metadata, clean func(string) string) conversation.Metadata {
	for _, s := range []*string{&f.FirstID, &f.CWD, &f.MovedTo, &f.Branch, &f.Model, &f.Version, &f.Title, &f.Prompt, &f.Agent} {
		*s = strings.ToValidUTF8(*s, "\uFFFD")
	}
	for _, s := range []*string{&f.Branch, &f.Model, &f.Version, &f.Title, &f.Prompt} {
		*s = clean(*s)
	}
	return f
}

// Locate sets the folder of conversations that have it only in a form that cannot be decoded. It
// compares that with the folders of all other conversations, this machine's homes, and dirs.
func Locate(state place.State, all []conversation.Conversation, dirs ...string) {
	var lost []*conversation.Conversation
	for i := range all {
		if _, ok := ReaderOf(all[i].File.Client).(conversation.Placer); ok && all[i].Metadata.ID != "" && all[i].Metadata.CWD == "" {
			lost = append(lost, &all[i])
		}
	}
	if len(lost) == 0 {
		return
	}
	for _, c := range all {
		dirs = append(dirs, c.Metadata.CWD)
	}
	homes, _ := state.Homes() // ignores unreadable ones
	for _, h := range homes {
		dirs = append(dirs, h.Path)
	}
	slices.Sort(dirs)
	dirs = slices.DeleteFunc(slices.Compact(dirs), func(dir string) bool { return dir == "" })
	placed := map[string]func(conversation.File) string{}
	for _, c := range lost {
		findFolder, ok := placed[c.File.Client]
		if !ok {
			findFolder = readers.FindReader(c.File.Client).(conversation.Placer).FolderFinder(dirs)
			placed[c.File.Client] = findFolder
		}
		c.Metadata.CWD = findFolder(c.File)
	}
}

// Running returns the processes of the running sessions, of clients that record them. It checks that
// the process exists and is not another one with the same number. errs has one error for
// each store that could not be read completely; its sessions may be missing.
func Running(getenv func(string) string) (runs map[session.ID]process.Proc, errs []error) {
	runs = map[session.ID]process.Proc{}
	for _, r := range readers.Readers {
		reg, ok := r.(conversation.Registry)
		if !ok {
			continue
		}
		for _, store := range account.Stores(r.Client(), getenv) {
			err := reg.Running(store, func(id session.ID, pid int, start string) {
				if p, err := process.Find(pid); err == nil && (start == "" || start == p.Start) {
					runs[id] = p
				}
			})
			if err != nil {
				errs = append(errs, err)
			}
		}
	}
	return runs, errs
}

// HolderOf returns the process that has a session's conversation open, according to the
// client and the session's record; nil if none is known.
func HolderOf(getenv func(string) string, state place.State, id session.ID) *live.Holder {
	r, _ := session.Lookup(state, id)
	runs, _ := Running(getenv) // a listing reports the errors
	run, noted := runs[id]
	switch {
	case !noted && (r == nil || !r.Live()):
		return nil
	case !noted && r.IsElsewhere():
		return &live.Holder{PID: r.PID, Elsewhere: true}
	}
	h := &live.Holder{PID: run.PID}
	if !noted {
		h.PID = r.PID
	}
	if r != nil && r.PID == h.PID {
		h.TmuxPane, h.TmuxSession = r.TmuxPane, r.TmuxSession
	}
	return h
}
