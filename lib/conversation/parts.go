package conversation

import (
	"cmp"
	"hash/maphash"
	"math"
	"path/filepath"
	"slices"
	"sort"
	"strings"

	"gt/lib/state/session"
)

// Some conversations are in several files: their clients go on in a new one, a person moved
// a folder or changed the account and went on with both, or a sync tool kept what it could
// not merge.

// Segmenter is a Reader whose client goes on in another file, from any point of the
// conversation on. What the earlier file has after that point was taken back.
type Segmenter interface {
	// Segment returns a file's own name, the name of the one that it continues, "" if it
	// names none, and the offset there at which it begins.
	Segment(f File) (own, of string, at int64)
}

// JoinFiles returns the conversation that several files have: the last file, with the others as its
// Earlier ones. Those that a sync tool made come first, then the others by their last records.
func JoinFiles(all []Conversation) Conversation {
	all = slices.Clone(all)
	sort.SliceStable(all, func(i, j int) bool {
		a, b := all[i], all[j]
		if a.File.IsSyncCopy != b.File.IsSyncCopy {
			return a.File.IsSyncCopy
		}
		return cmp.Or(a.Metadata.Last.Compare(b.Metadata.Last), cmp.Compare(a.File.Changed, b.File.Changed), cmp.Compare(b.File.Path, a.File.Path)) < 0
	})
	var joined Conversation
	seen := map[string]bool{}
	for _, part := range slices.Backward(all) { // a file counts once, whatever links lead to it
		path, err := filepath.EvalSymlinks(part.File.Path)
		if key := cmp.Or(path, part.File.Path) + "\x00" + string(part.File.ID); err == nil && seen[key] {
			continue
		} else {
			seen[key] = true
		}
		if joined.File.Path == "" {
			joined = part
			continue
		}
		last := &joined.File
		for last.Earlier != nil {
			last = last.Earlier
		}
		last.Earlier = &part.File
		joined.Metadata = joined.Metadata.mergeEarlier(part.Metadata)
	}
	return joined
}

// mergeEarlier returns m completed by the metadata of an earlier file of the same conversation:
// what it began with comes from the file that was started first.
func (m Metadata) mergeEarlier(earlier Metadata) Metadata {
	m.Title, m.Headless = cmp.Or(m.Title, earlier.Title), m.Headless && earlier.Headless
	if earlier.Last.After(m.Last) {
		m.Last = earlier.Last
	}
	if !earlier.Started.IsZero() && earlier.Started.Before(m.Started) {
		if earlier.CWD != "" && earlier.CWD != m.CWD {
			m.CWD, m.MovedTo = earlier.CWD, cmp.Or(m.MovedTo, m.CWD)
		}
		m.Started, m.ForkOf, m.FirstID, m.Prompt = earlier.Started, earlier.ForkOf, cmp.Or(earlier.FirstID, m.FirstID), cmp.Or(earlier.Prompt, m.Prompt)
	}
	return m
}

// Files returns the files of a conversation, the one in which it goes on last.
func (f File) Files() (all []File) {
	for at := &f; at != nil; at = at.Earlier {
		all = append(all, *at)
	}
	slices.Reverse(all)
	for i := range all {
		all[i].Earlier = nil
	}
	return all
}

// ReadAll is Read for all files of a conversation, and gives what several have once; what one file
// has twice was said twice. From an offset on it reads the last file alone, as the next Read does.
func ReadAll(r Reader, f File, o Options, each func(Entry) bool) (next int64, err error) {
	if f.Earlier == nil || o.From > 0 {
		return r.Read(f, o, each)
	}
	files := f.Files()
	ends := segmentEnds(r, files)
	seed, seen, more := maphash.MakeSeed(), map[uint64]bool{}, true
	for i, part := range files {
		inPart := map[uint64]bool{}
		next, err = r.Read(part, o, func(e Entry) bool {
			if ends != nil && e.Offset >= ends[i] && e.Kind != TokenUsage {
				return true
			}
			key := maphash.String(seed, strings.Join([]string{string(e.Kind), e.ID, e.Time.String(), e.Text}, "\x00"))
			if inPart[key] = true; !seen[key] {
				more = each(e)
			}
			return more
		})
		if err != nil || !more {
			return next, err
		}
		for key := range inPart {
			seen[key] = true
		}
	}
	return next, nil
}

// segmentEnds returns for each file the offset up to which its records belong to the conversation,
// or nil if all records do. It follows the names from the last file back (Segmenter). A file that
// it does not come to has 0: none of its records count, but for their tokens.
func segmentEnds(r Reader, files []File) []int64 {
	s, ok := r.(Segmenter)
	if !ok {
		return nil
	}
	names := make([]string, len(files))
	bases := make([]string, len(files))
	begins := make([]int64, len(files))
	for i, f := range files {
		names[i], bases[i], begins[i] = s.Segment(f)
	}
	ends := make([]int64, len(files))
	at, linked := len(files)-1, false
	for ends[at] = math.MaxInt64; bases[at] != ""; linked = true {
		before := slices.Index(names[:at], bases[at])
		if before < 0 {
			break
		}
		ends[before], at = begins[at], before
	}
	if !linked {
		return nil
	}
	return ends
}

// IDOfName returns the session's id that is a file's name, and whether the file is a copy:
// sync tools put the name of the other machine, a date or a number behind the id.
func IDOfName(name string) (id session.ID, isCopy bool) {
	const size = 36 // of a UUID; what follows one without a divider is part of another id
	stem := name
	if len(name) > size && session.IsUUID(name[:size]) && (!isWord(name[size]) || name[size] == '_' && strings.Contains(name, "onflict")) {
		stem = name[:size] // a "_" can be part of an id, unless conflict or Conflict is behind it
	}
	for _, mark := range []string{".sync-conflict-", " (", ".conflict", "_conflict-"} {
		stem, _, _ = strings.Cut(stem, mark)
	}
	id, err := session.ParseID(stem)
	if err != nil {
		return "", false
	}
	return id, stem != name
}

func isWord(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_'
}
