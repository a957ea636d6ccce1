package scan

import (
	"path/filepath"
	"strings"

	"gt/lib/conversation"
	"gt/lib/state/session"
	"gt/lib/sys/atomicfile"
	"gt/lib/sys/cachefile"
)

// The cache has one line with the metadata of each conversation. It only saves opening
// unchanged files again.

// cacheVersion changes with the fields, and with what a reader makes of a file.
const cacheVersion = 3

type header struct {
	Transcripts int `json:"transcripts"`
}

// index is the cache, by the file's path and, within a database, the id.
type index struct {
	lines   map[string]cached
	entries int
}

type cached struct {
	size, changed int64
	rest          string // its metadata, not decoded
}

func key(path string, id session.ID) string {
	if strings.HasSuffix(path, string(id)+".jsonl") {
		return path // true for most
	}
	return path + "\x00" + string(id)
}

// fileFields are the first members of a line: the file as it was.
func fileFields(f *conversation.File) [4]cachefile.Field {
	return [...]cachefile.Field{
		{Key: "path", Text: &f.Path},
		{Key: "file_id", Text: (*string)(&f.ID)},
		{Key: "size", Number: &f.Size},
		{Key: "changed", Number: &f.Changed},
	}
}

// fields are the members after those: the metadata.
func fields(m *conversation.Metadata) [15]cachefile.Field {
	return [...]cachefile.Field{
		{Key: "id", Text: (*string)(&m.ID)},
		{Key: "started", Time: &m.Started},
		{Key: "last", Time: &m.Last},
		{Key: "subagent_of", Text: (*string)(&m.Parent)},
		{Key: "fork_of", Text: (*string)(&m.ForkOf)},
		{Key: "first", Text: &m.First},
		{Key: "cwd", Text: &m.CWD},
		{Key: "moved", Text: &m.Moved},
		{Key: "branch", Text: &m.Branch},
		{Key: "model", Text: &m.Model},
		{Key: "version", Text: &m.Version},
		{Key: "headless", Flag: &m.Headless},
		{Key: "title", Text: &m.Title},
		{Key: "prompt", Text: &m.Prompt},
		{Key: "agent", Text: &m.Agent},
	}
}

// load reads the cache. It is empty if it cannot be read or trusted.
func load(path string) index {
	if path == "" {
		return index{}
	}
	f, err := atomicfile.Open(path)
	if err != nil {
		return index{}
	}
	defer f.Close()
	var h header
	x := index{lines: map[string]cached{}}
	whole := true
	err = cachefile.Read(f, cacheVersion, &h, func(lines []byte, _ int64) {
		if x.entries == 0 {
			x.lines = make(map[string]cached, min(max(h.Transcripts, 0), 1<<20))
		}
		for rest := string(lines); rest != ""; x.entries++ {
			var line string
			line, rest, _ = strings.Cut(rest, "\n")
			var of conversation.File
			fields := fileFields(&of)
			line, ok := cachefile.ReadFields(line, fields[:])
			whole = whole && ok
			x.lines[key(of.Path, of.ID)] = cached{of.Size, of.Changed, line}
		}
	})
	if err != nil || !whole || x.entries != h.Transcripts {
		return index{}
	}
	return x
}

// metadata returns the metadata of a file, if the file has not changed since.
func (x index) metadata(f conversation.File) (m conversation.Metadata, ok bool) {
	c, ok := x.lines[key(f.Path, f.ID)]
	if !ok || c.size != f.Size || c.changed != f.Changed {
		return m, false
	}
	all := fields(&m)
	rest, ok := cachefile.ReadFields(c.rest, all[:])
	if !ok || rest != "}" {
		return conversation.Metadata{}, false
	}
	return m, true
}

// Rewriting the cache costs more than reading a few files again, such as those of running
// sessions.
const (
	worthNew  = 8
	worthGone = 200
)

// outdated reports whether the cache is worth rewriting. all is the number of
// conversations, fresh the number of those that were read now.
func (x index) outdated(all, fresh int) bool {
	return fresh > worthNew || fresh > 0 && all > x.entries || x.entries-(all-fresh) > worthGone
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
	var lines []byte
	n := 0
	for i := range all {
		if !kept[i] {
			continue
		}
		n++
		of, found := fileFields(&all[i].File), fields(&all[i].Metadata)
		lines = cachefile.AppendFields(append(lines, '{'), of[:], 1)
		lines = append(cachefile.AppendFields(lines, found[:], 0), "}\n"...)
	}
	data, err := cachefile.Begin(cacheVersion, header{n}, len(lines))
	if err != nil {
		return
	}
	data = append(data, lines...)
	_ = cachefile.Write(dir, filepath.Base(path), cacheVersion, data)
}
