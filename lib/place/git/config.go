package git

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"gt/lib/sys/atomicfile"
)

// maxConfig bounds a repository's configuration, in bytes. Real ones have some kilobytes.
const maxConfig = 4 << 20

// wordSettings are the settings that git gets to see if the value is a single word. They say how
// files are stored. None names a program, or a file that does.
var wordSettings = []string{
	"core.filemode", "core.symlinks", "core.ignorecase", "core.precomposeunicode", "core.trustctime", "core.checkstat",
	"core.autocrlf", "core.eol", "core.bigfilethreshold", "core.untrackedcache",
	"core.sparsecheckout", "core.sparsecheckoutcone", "index.sparse", "sparse.expectfilesoutsideofpatterns",
	"status.aheadbehind", "extensions.objectformat", "extensions.refstorage",
}

// pathSettings are the settings whose value is the path of ignore rules or attributes.
var pathSettings = []string{"core.excludesfile", "core.attributesfile"}

// isWord reports whether a value is a single word, such as true, 0 or sha256.
func isWord(value string) bool {
	return strings.Trim(value, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-") == ""
}

type setting struct{ section, sub, key, value string }

func (s setting) name() string { return s.section + "." + s.key }

// harmlessConfig returns the part of a repository's configuration that git gets to see: what
// wordSettings and pathSettings list, the branch's upstream, and what its remote fetches. It leaves
// out values that need escapes, so that nothing can be smuggled in.
func harmlessConfig(all []setting, branch string) []byte {
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
		// mutant always: ./attacks TestRepositoryNamesPrograms/its-configuration
		case s.sub == "" && slices.Contains(wordSettings, s.name()) && isWord(s.value),
			s.sub == "" && slices.Contains(pathSettings, s.name()):
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

const (
	maxIncludes = 64
	maxVars     = 1000
)

// settings reads a configuration with its includes. It ignores unreadable files.
func settings(path string) []setting {
	left := maxIncludes
	return readIncludes(path, os.Getenv("HOME"), 0, &left, false)
}

// systemFiles are the configurations of the system, of the gits that are usual somewhere: a Linux's
// own, one that was built or that Homebrew installed, and those of Xcode.
var systemFiles = []string{
	"/etc/gitconfig", "/usr/local/etc/gitconfig", "/opt/homebrew/etc/gitconfig", "/home/linuxbrew/.linuxbrew/etc/gitconfig",
	"/Library/Developer/CommandLineTools/usr/share/git-core/gitconfig", "/Applications/Xcode.app/Contents/Developer/usr/share/git-core/gitconfig",
}

// programVars name programs that git runs.
var programVars = []string{
	"GIT_EDITOR", "GIT_SEQUENCE_EDITOR", "GIT_PAGER", "GIT_EXTERNAL_DIFF", "GIT_SSH", "GIT_SSH_COMMAND", "GIT_PROXY_COMMAND", "GIT_ASKPASS",
	"EDITOR", "VISUAL", "PAGER", "SSH_ASKPASS", "GIT_EXEC_PATH", "GIT_TEMPLATE_DIR",
	"GIT_CONFIG_PARAMETERS", // settings of git -c, as git hands them to the programs that it runs
}

// Configuration returns the settings that git can have in a repository, a line each, in the form
// hookspath = VALUE: those of the system, of the person, of the repository and of the variables,
// with each file that they include, also on a condition. A file that GIT_CONFIG_SYSTEM or
// GIT_CONFIG_GLOBAL names does not take the place of the usual one: whoever runs git may not have
// the variable.
func Configuration(dir string, getenv func(string) string) string {
	home := getenv("HOME")
	files := append(slices.Clone(systemFiles), getenv("GIT_CONFIG_SYSTEM"), getenv("GIT_CONFIG_GLOBAL"),
		filepath.Join(cmp.Or(getenv("XDG_CONFIG_HOME"), filepath.Join(home, ".config")), "git", "config"), filepath.Join(home, ".gitconfig"))
	if r, err := findRepository(dir); err == nil {
		files = append(files, filepath.Join(r.common, "config"), filepath.Join(r.dir, "config.worktree"))
	}
	var b strings.Builder
	for _, name := range programVars {
		if value := getenv(name); value != "" {
			fmt.Fprintf(&b, "%s = %s\n", name, value)
		}
	}
	count, _ := strconv.Atoi(strings.TrimSpace(getenv("GIT_CONFIG_COUNT"))) // git skips blanks as well
	for n := range min(count, maxVars) {
		key, value := strings.ToLower(getenv(fmt.Sprint("GIT_CONFIG_KEY_", n))), getenv(fmt.Sprint("GIT_CONFIG_VALUE_", n))
		fmt.Fprintf(&b, "%s = %s\n", key, value)
		if strings.HasPrefix(key, "include") {
			if rest, ok := strings.CutPrefix(value, "~/"); ok {
				value = filepath.Join(home, rest)
			}
			files = append(files, value)
		}
	}
	for _, file := range files {
		left := maxIncludes
		for _, s := range readIncludes(file, home, 0, &left, true) {
			fmt.Fprintf(&b, "%s = %s\n", s.key, s.value)
		}
	}
	return b.String()
}

const (
	maxHooks    = 64
	maxHookSize = 64 << 10
)

// HookScripts returns the beginnings of the hooks that git runs in a repository: those in its own
// folder, and in each folder outside of a worktree that a configuration names (see Configuration).
// Those in the worktree are files of the repository. It leaves out comments, and the ways to start
// lefthook that its hooks try in turn: all run the repository's lefthook.yml and no more.
func HookScripts(dir, configuration string, getenv func(string) string) string {
	var folders []string
	if r, err := findRepository(dir); err == nil {
		folders = append(folders, filepath.Join(r.common, "hooks"))
	}
	for line := range strings.Lines(configuration) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), " = ")
		if rest, ok := strings.CutPrefix(value, "~/"); ok {
			value = filepath.Join(getenv("HOME"), rest)
		}
		if (key == "hookspath" || strings.HasSuffix(key, ".hookspath")) && filepath.IsAbs(value) {
			folders = append(folders, value)
		}
	}
	var b strings.Builder
	left := maxHooks
	for _, folder := range folders {
		entries, _ := os.ReadDir(folder)
		for _, e := range entries {
			name := filepath.Join(folder, e.Name())
			info, err := os.Stat(name)
			if left == 0 || err != nil || !info.Mode().IsRegular() || strings.HasSuffix(name, ".sample") {
				continue
			}
			left--
			f, err := os.Open(name)
			if err != nil {
				continue
			}
			data, _ := io.ReadAll(io.LimitReader(f, maxHookSize)) // git could not run it either
			f.Close()
			b.WriteString(hookText(string(data)))
		}
	}
	return b.String()
}

// hookText returns the lines of a hook that run something, as HookScripts has them.
func hookText(script string) string {
	var b strings.Builder
	lefthook := false
	for line := range strings.Lines(script) {
		line = strings.TrimSpace(line)
		switch {
		case line == "call_lefthook()": // its ways to start lefthook
			lefthook = true
		case lefthook:
			lefthook = !strings.HasPrefix(line, "}")
		case !strings.HasPrefix(line, "#"):
			b.WriteString(line + "\n")
		}
	}
	return b.String()
}

// readIncludes returns the settings of a file and of those that it includes, at most four deep and
// *budget files in all. With every, conditional includes count, too. home is what ~ stands for.
func readIncludes(path, home string, depth int, budget *int, every bool) []setting {
	if *budget--; *budget < 0 || depth > 3 {
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
		if !(s.name() == "include.path" && s.sub == "") && !(every && s.name() == "includeif.path") {
			all = append(all, s)
			continue
		}
		if rest, ok := strings.CutPrefix(s.value, "~/"); ok {
			s.value = filepath.Join(home, rest)
		}
		if !filepath.IsAbs(s.value) {
			s.value = filepath.Join(filepath.Dir(path), s.value)
		}
		if all = append(all, readIncludes(s.value, home, depth+1, budget, every)...); len(all) > maxConfig/16 {
			return all // it probably includes itself
		}
	}
	return all
}

// parseConfig parses git's configuration format leniently. It skips what it does not
// understand. Sections and keys become lower case.
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
			section, sub, text = parseHeader(text[1:])
		default:
			end := strings.IndexAny(text, "=\n#;")
			if end < 0 {
				end = len(text)
			}
			s := setting{section, sub, strings.ToLower(strings.TrimSpace(text[:end])), "true"}
			if text = text[end:]; strings.HasPrefix(text, "=") {
				s.value, text = parseValue(text[1:])
			}
			all = append(all, s)
		}
	}
	return all
}

// parseHeader parses the head of a section behind its bracket, name] or name "sub"], and returns the
// rest.
func parseHeader(text string) (section, sub, rest string) {
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
	section, sub, _ = strings.Cut(section, ".") // the deprecated form [section.sub]
	return section, sub, rest
}

// parseValue parses what is behind the = of a setting, and returns the rest.
func parseValue(text string) (value, rest string) {
	var b strings.Builder
	quoted, kept := false, 0 // length of b without trailing spaces
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
