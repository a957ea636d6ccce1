package scan

import (
	"path/filepath"
	"strings"
	"time"

	"gt/lib/conversation"
	"gt/lib/sys/atomicfile"
	"gt/lib/sys/sqlite"
)

// The cache has the metadata of each conversation. It only saves opening unchanged files
// again.

// cacheVersion changes with the columns, and with what a reader makes of a file.
const cacheVersion = 4

// cached are conversations as the cache has them.
type cached map[cacheKey]*conversation.Conversation

// cacheKey is a file's path and, within a database, the id.
type cacheKey struct{ path, id string }

func keyOf(f conversation.File) cacheKey { return cacheKey{f.Path, string(f.ID)} }

// columns are the columns of the table, in its order.
func columns(c *conversation.Conversation) []any {
	f, m := &c.File, &c.Metadata
	return []any{
		&f.Path, (*string)(&f.ID), &f.Size, &f.Changed,
		(*string)(&m.ID), &m.Started, &m.Last, (*string)(&m.Parent), (*string)(&m.ForkOf), &m.First, &m.CWD, &m.Moved,
		&m.Branch, &m.Model, &m.Version, &m.Headless, &m.Title, &m.Prompt, &m.Agent,
	}
}

const (
	table = "CREATE TABLE transcript(path TEXT, file_id TEXT, size INTEGER, changed INTEGER, id TEXT, started TEXT, last TEXT, subagent_of TEXT, " +
		"fork_of TEXT, first TEXT, cwd TEXT, moved TEXT, branch TEXT, model TEXT, version TEXT, headless INTEGER, title TEXT, prompt TEXT, agent TEXT)"
	insert = "INSERT INTO transcript VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
)

// load reads the cache. It is empty if it cannot be read or trusted.
func load(path string) cached {
	if path == "" {
		return nil
	}
	db := sqlite.OpenCache(path, cacheVersion)
	if db == nil {
		return nil
	}
	defer db.Close()
	x := cached{}
	err := db.Query(func(v sqlite.Values) {
		c := &conversation.Conversation{}
		for i, to := range columns(c) {
			switch to := to.(type) {
			case *string:
				*to = v.Text(i)
			case *int64:
				*to = v.Int(i)
			case *bool:
				*to = v.Int(i) != 0
			case *time.Time:
				*to, _ = time.Parse(time.RFC3339, v.Text(i)) // "" is the zero time
			}
		}
		x[keyOf(c.File)] = c
	}, "SELECT * FROM transcript")
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

// outdated reports whether the cache is worth rewriting. all is the number of
// conversations, fresh the number of those that were read now.
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
	_ = sqlite.Replace(dir, name, cacheVersion, nil, func(db *sqlite.Own) error {
		err := db.Do(table)
		for i := range all {
			if err != nil || !kept[i] {
				continue
			}
			err = db.Do(insert, values(columns(&all[i]))...)
		}
		return err
	})
}

// values returns what columns point to, in SQLite's types.
func values(columns []any) []any {
	all := make([]any, len(columns))
	for i, from := range columns {
		switch from := from.(type) {
		case *string:
			all[i] = *from
		case *int64:
			all[i] = *from
		case *bool:
			all[i] = int64(0)
			if *from {
				all[i] = int64(1)
			}
		case *time.Time:
			all[i] = ""
			if !from.IsZero() {
				all[i] = from.Format(time.RFC3339Nano)
			}
		}
	}
	return all
}
