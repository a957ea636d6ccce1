package git

import (
	"bytes"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"gt/lib/sys/atomicfile"
)

// maxConfig bounds a repository's configuration, of which real ones are some
// kilobytes.
const maxConfig = 4 << 20

// words are the keys of a repository's configuration that git is told: those
// that say how its files are kept, each with a value that is a word. None names
// a program or anything that does.
var words = []string{
	"core.filemode", "core.symlinks", "core.ignorecase", "core.precomposeunicode", "core.trustctime", "core.checkstat",
	"core.autocrlf", "core.eol", "core.bigfilethreshold", "core.untrackedcache",
	"core.sparsecheckout", "core.sparsecheckoutcone", "index.sparse", "sparse.expectfilesoutsideofpatterns",
	"status.aheadbehind", "extensions.objectformat", "extensions.refstorage",
}

// names are those whose value is the name of a file that says which others are
// ignored, or of which kind they are.
var names = []string{"core.excludesfile", "core.attributesfile"}

// isWord reports whether a value is a word, as true, 0 and sha256 are.
func isWord(value string) bool {
	return strings.Trim(value, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-") == ""
}

// setting is one line of a configuration.
type setting struct{ section, sub, key, value string }

func (s setting) name() string { return s.section + "." + s.key }

// harmless returns what git is told of a repository's configuration: the words,
// the names, and the upstream of the branch that is checked out. A value that
// would have to be quoted is left out, and so nothing can be smuggled in.
func harmless(all []setting, branch string) []byte {
	var b bytes.Buffer
	put := func(s setting, value string) {
		for _, r := range s.sub + value {
			if r < ' ' || r == 0x7f || r == '"' || r == '\\' {
				return
			}
		}
		if s.sub != "" {
			fmt.Fprintf(&b, "[%s \"%s\"]\n", s.section, s.sub)
		} else {
			fmt.Fprintf(&b, "[%s]\n", s.section)
		}
		fmt.Fprintf(&b, "%s = \"%s\"\n", s.key, value)
	}
	put(setting{section: "core", key: "repositoryformatversion"}, "1")
	remote := ""
	for _, s := range all {
		switch {
		case s.sub == "" && slices.Contains(words, s.name()) && isWord(s.value),
			s.sub == "" && slices.Contains(names, s.name()):
			put(s, s.value)
		case s.section == "branch" && s.sub == branch && branch != "":
			if s.key == "remote" {
				remote = s.value
			}
			if s.key == "remote" || s.key == "merge" {
				put(s, s.value)
			}
		}
	}
	for _, s := range all {
		if s.section == "remote" && s.sub == remote && remote != "" && s.key == "fetch" {
			put(s, s.value)
		}
	}
	return b.Bytes()
}

// maxIncludes bounds how many files a configuration is made of, whatever they hold.
const maxIncludes = 64

// settings reads a configuration file with what it includes; what cannot be
// read is not there.
func settings(path string) []setting {
	left := maxIncludes
	return include(path, 0, &left)
}

func include(path string, depth int, left *int) []setting {
	if *left--; *left < 0 || depth > 3 {
		return nil
	}
	path, err := filepath.EvalSymlinks(path)
	if err != nil {
		return nil
	}
	data, err := atomicfile.Read(path, maxConfig)
	if err != nil {
		return nil
	}
	var all []setting
	for _, s := range parseConfig(string(data)) {
		if s.name() != "include.path" || s.sub != "" {
			all = append(all, s)
			continue
		}
		if !filepath.IsAbs(s.value) {
			s.value = filepath.Join(filepath.Dir(path), s.value)
		}
		if all = append(all, include(s.value, depth+1, left)...); len(all) > maxConfig/16 {
			return all // it includes itself again and again
		}
	}
	return all
}

// parseConfig reads git's format as far as it goes: what is no such line is
// passed over. Sections and keys are in lower case.
func parseConfig(text string) []setting {
	var all []setting
	var section, sub string
	text = strings.ReplaceAll(strings.TrimPrefix(text, "\ufeff"), "\r\n", "\n")
	for text != "" {
		text = strings.TrimLeft(text, " \t\n")
		switch {
		case text == "":
		case text[0] == '#' || text[0] == ';':
			_, text, _ = strings.Cut(text, "\n")
		case text[0] == '[':
			section, sub, text = header(text[1:])
		default:
			end := strings.IndexAny(text, "=\n#;")
			if end < 0 {
				end = len(text)
			}
			s := setting{section, sub, strings.ToLower(strings.TrimSpace(text[:end])), "true"}
			if text = text[end:]; strings.HasPrefix(text, "=") {
				s.value, text = value(text[1:])
			}
			all = append(all, s)
		}
	}
	return all
}

// header reads a section's name, after its bracket.
func header(text string) (section, sub, rest string) {
	end := strings.IndexAny(text, "]\"\n")
	if end < 0 {
		return "", "", ""
	}
	section, rest = strings.ToLower(strings.TrimSpace(text[:end])), text[end+1:]
	if text[end] == '"' {
		var b strings.Builder
		for i := 0; ; i++ {
			switch {
			case i == len(rest) || rest[i] == '\n':
				return "", "", rest[i:]
			case rest[i] == '"':
				_, rest, _ = strings.Cut(rest[i+1:], "]")
				return section, b.String(), rest
			case rest[i] == '\\' && i+1 < len(rest):
				i++
			}
			b.WriteByte(rest[i])
		}
	}
	section, sub, _ = strings.Cut(section, ".") // as it was written once
	return section, sub, rest
}

// value reads a value, after its equals sign.
func value(text string) (value, rest string) {
	var b strings.Builder
	quoted, kept := false, 0 // how much of b is no space at the end
	text = strings.TrimLeft(text, " \t")
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case c == '\n':
			return b.String()[:kept], text[i:]
		case !quoted && (c == '#' || c == ';'):
			_, rest, _ = strings.Cut(text[i:], "\n")
			return b.String()[:kept], rest
		case c == '"':
			quoted = !quoted
			kept = b.Len()
			continue
		case c == '\\' && i+1 < len(text):
			i++
			switch c = text[i]; c {
			case '\n':
				continue
			case 'n':
				c = '\n'
			case 't':
				c = '\t'
			case 'b':
				c = '\b'
			}
			b.WriteByte(c)
			kept = b.Len()
			continue
		}
		b.WriteByte(c)
		if quoted || c != ' ' && c != '\t' {
			kept = b.Len()
		}
	}
	return b.String()[:kept], ""
}
