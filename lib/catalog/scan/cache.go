package scan

import (
	"path/filepath"
	"strings"
	"time"

	"gt/lib/conversation"
	"gt/lib/state/session"
	"gt/lib/sys/atomicfile"
	"gt/lib/sys/sqlite"
)

// The cache has the metadata of each conversation. It only saves opening unchanged files
// again.

// cacheVersion changes with the columns, and with what a reader makes of a file.
const cacheVersion = 6

type cached map[cacheKey]*conversation.Conversation

// cacheKey is a file's path and, within a database, the id.
type cacheKey struct{ path, id string }

func keyOf(f conversation.File) cacheKey { return cacheKey{f.Path, string(f.ID)} }

// texts are what the last column has: a row of many columns takes longer to read.
func texts(m *conversation.Metadata) []any {
	return []any{
		(*string)(&m.ID), &m.Started, &m.Last, (*string)(&m.Parent), (*string)(&m.ForkOf), &m.FirstID, &m.CWD, &m.MovedTo,
		&m.Branch, &m.Model, &m.Version, &m.Headless, &m.Title, &m.Prompt, &m.Agent,
	}
}

// textSeparator separates texts. It is in none, for they are valid UTF-8.
const textSeparator = "\xff"

// load reads the cache. It is empty if it cannot be read or trusted.
func load(path string) (x cached) {
	if path == "" {
		return nil
	}
	db := sqlite.OpenCache(path, cacheVersion)
	if db == nil {
		return nil
	}
	defer db.Close()
	if db.Query(func(v sqlite.Values) { x = make(cached, v.Int(0)) }, "SELECT max(rowid) FROM transcript") != nil {
		return nil
	}
	err := db.Query(func(v sqlite.Values) {
		c := &conversation.Conversation{}
		c.File.Path, c.File.ID, c.File.Size, c.File.Changed = v.Text(0), session.ID(v.Text(1)), v.Int(2), v.Int(3)
		rest := v.Text(4)
		for _, to := range texts(&c.Metadata) {
			var text string
			text, rest, _ = strings.Cut(rest, textSeparator)
			switch to := to.(type) {
			case *string:
				*to = text
			case *bool:
				*to = text != ""
			case *time.Time:
				*to, _ = time.Parse(time.RFC3339, text) // "" is the zero time
			}
		}
		x[keyOf(c.File)] = c
	}, "SELECT path, id, size, changed, texts FROM transcript")
	if err != nil {
		return nil
	}
	return x
}

// metadata returns the metadata of a file, if the file has not changed since.
func (x cached) metadata(f conversation.File) (m conversation.Metadata, ok bool) {
	c := x[keyOf(f)]
	if c == nil || c.File.Size != f.Size || c.File.Changed != f.Changed {
		return m, false
	}
	return c.Metadata, true
}

// Rewriting the cache costs more than reading a few files again, such as those of running
// sessions.
const (
	worthNew  = 8
	worthGone = 200
)

// outdated reports whether the cache is worth rewriting: many conversations were read, or one
// that it does not have, or many that it has are gone. all is the number of conversations,
// fresh the number of those that were read now.
func (x cached) outdated(all, fresh int) bool {
	return fresh > worthNew || fresh > 0 && all > len(x) || len(x)-(all-fresh) > worthGone
}

// save writes the cache, of those to be kept. Errors are ignored, because they only cost
// time.
func save(path string, all []conversation.Conversation, kept []bool) {
	if path == "" || atomicfile.EnsurePrivateDir(filepath.Dir(path)) != nil {
		return
	}
	dir, err := atomicfile.OpenFolder(filepath.Dir(path))
	if err != nil {
		return
	}
	defer dir.Close()
	name := filepath.Base(path)
	_ = dir.Remove(strings.TrimSuffix(name, ".db") + ".jsonl") // the cache of v0.1.0
	_ = sqlite.Replace(dir, name, cacheVersion, nil, func(db *sqlite.Cache) error {
		err := db.Exec("CREATE TABLE transcript(path TEXT, id TEXT, size INTEGER, changed INTEGER, texts BLOB)")
		for i := range all {
			if f := all[i].File; err == nil && kept[i] {
				err = db.Exec("INSERT INTO transcript VALUES (?, ?, ?, ?, ?)", f.Path, string(f.ID), f.Size, f.Changed, joinTexts(&all[i].Metadata))
			}
		}
		return err
	})
}

// joinTexts returns the texts as load reads them.
func joinTexts(m *conversation.Metadata) (all []byte) {
	for _, from := range texts(m) {
		switch from := from.(type) {
		case *string:
			all = append(all, *from...)
		case *bool:
			if *from {
				all = append(all, "yes"...)
			}
		case *time.Time:
			if !from.IsZero() {
				all = from.AppendFormat(all, time.RFC3339Nano)
			}
		}
		all = append(all, textSeparator...)
	}
	return all
}
