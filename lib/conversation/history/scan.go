package history

import (
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"gt/lib/cli"
	"gt/lib/text/redact"
)

// Conversation is a conversation on this machine, and what a list has to say of
// it.
type Conversation struct {
	File  File
	Facts Facts
}

// Scan finds every conversation that a client keeps on this machine. What was
// looked at before and has not changed since comes from the cache, and the cache
// is written anew where that saves something next time; "" is no cache, with
// which the answer is the same.
//
// progress, if not nil, is told how many of the conversations that had to be
// looked at have been. What cannot be read is left out, or told of as far as it
// could be, and errs says of each store what that is.
func Scan(getenv func(string) string, cache string, progress func(done, total int64)) (all []Conversation, errs []error) {
	type found struct {
		reader Reader
		store  string
		files  []File
		err    error
		mu     sync.Mutex
		lost   Unread // of its conversations
	}
	var stores []*found
	for _, r := range readers {
		for _, store := range r.Stores(getenv) {
			stores = append(stores, &found{reader: r, store: store})
		}
	}
	var known index
	begin := []func(){func() { known = load(cache) }}
	for _, s := range stores {
		begin = append(begin, func() {
			s.err = s.reader.Find(s.store, func(f File) { s.files = append(s.files, f) })
		})
	}
	spread(begin, func(do func()) { do() })

	type new struct {
		of *found
		at int
	}
	var fresh []new
	for _, s := range stores {
		all = slices.Grow(all, len(s.files))
		for _, f := range s.files {
			facts, ok := known.facts(f)
			if !ok {
				fresh = append(fresh, new{s, len(all)})
			}
			all = append(all, Conversation{f, facts})
		}
	}
	var done atomic.Int64
	failed := make([]bool, len(all))
	spread(fresh, func(n new) {
		facts, err := n.of.reader.Look(all[n.at].File)
		all[n.at].Facts = facts.valid()
		if err != nil {
			failed[n.at] = true
			n.of.mu.Lock()
			n.of.lost.Add(err)
			n.of.mu.Unlock()
		}
		if n := done.Add(1); progress != nil {
			progress(n, int64(len(fresh)))
		}
	})
	for _, s := range stores {
		for _, err := range []error{s.err, s.lost.Err()} {
			if err != nil {
				errs = append(errs, err)
			}
		}
	}
	// What could not be read is looked at again the next time, though it does not
	// change by that it can be.
	looked := all
	if slices.Contains(failed, true) {
		looked = nil
		for i, c := range all {
			if !failed[i] {
				looked = append(looked, c)
			}
		}
	}
	if known.outdated(len(looked), len(fresh)-(len(all)-len(looked))) {
		save(cache, looked)
	}
	return all, errs
}

// valid is the facts as they may stand in the cache: with what is no UTF-8
// replaced, and without the secrets that have a form of their own.
func (f Facts) valid() Facts {
	for _, s := range []*string{&f.First, &f.CWD, &f.Moved, &f.Branch, &f.Model, &f.Version, &f.Title, &f.Prompt} {
		*s = strings.ToValidUTF8(*s, "\uFFFD")
	}
	for _, s := range []*string{&f.Branch, &f.Model, &f.Version} { // of the rest it was taken out before it was cut
		*s = redact.Text(*s, nil)
	}
	return f
}

// spread calls do for each of all, on every processor.
func spread[T any](all []T, do func(T)) {
	workers := min(runtime.GOMAXPROCS(0), len(all))
	if workers < 2 {
		for _, v := range all {
			do(v)
		}
		return
	}
	var next atomic.Int64
	var tasks []*cli.Task
	for range workers {
		tasks = append(tasks, cli.Go(func() {
			for i := next.Add(1) - 1; i < int64(len(all)); i = next.Add(1) - 1 {
				do(all[i])
			}
		}))
	}
	for _, t := range tasks {
		t.Wait()
	}
}

// Of returns the reader of a client's conversations; nil where gt knows none.
func Of(client string) Reader {
	for _, r := range readers {
		if r.Client() == client {
			return r
		}
	}
	return nil
}
