package git

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// What a repository's configuration says is read as git reads it.
func TestParseConfig(t *testing.T) {
	text := "\ufeff# comment\n[core] filemode = false ; why\n\tEOL=lf\r\n symlinks\n[Branch \"a \\\"b\\\\ ]\"]\n\tmerge = \"refs/heads/x # y\"  # z\n" +
		"[a.B]\nlong = one \\\n  two\\tthree \"  \" \nempty =\n[remote \"o\"] fetch = +refs/heads/*:refs/remotes/o/*\n fetch = second\n; end"
	var got []string
	for _, s := range parseConfig(text) {
		got = append(got, fmt.Sprintf("%s|%s|%s=%s", s.section, s.sub, s.key, s.value))
	}
	want := []string{
		"core||filemode=false", "core||eol=lf", "core||symlinks=true", `branch|a "b\ ]|merge=refs/heads/x # y`,
		"a|b|long=one   two\tthree   ", "a|b|empty=",
		"remote|o|fetch=+refs/heads/*:refs/remotes/o/*", "remote|o|fetch=second",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	for _, torn := range []string{"[", "[a", `[a "b`, `[a "b` + "\n", "[a]\nx = \"", "[a]\nx = \\", "=", "]", "[a]\n="} {
		parseConfig(torn)
	}
}

// FuzzHarmless checks that git sees only harmless settings, in a form that it can read,
// whatever a repository's configuration contains.
func FuzzHarmless(f *testing.F) {
	f.Add("[core]\nautocrlf = \"true\\n[filter \\\"x\\\"]\\nclean = y\"\n[filter \"x\"]\nclean = y\n", "main")
	f.Add("[core]\nexcludesFile = a]b#c;d=e\n[branch \"m]\"]\nmerge = \"x\\\"\\n[a]\\nb=c\"\nremote = o\n[remote \"o\"]\nfetch = x\nurl = ext::y\n", "m]")
	f.Add("[core]\nfsmonitor = x\nhooksPath = y\nworktree = /\n[extensions]\nobjectFormat = sha256\npartialClone = o\n", "")
	f.Fuzz(func(t *testing.T, text, branch string) {
		for _, s := range parseConfig(string(harmlessConfig(parseConfig(text), branch))) {
			switch {
			case s.sub == "" && (slices.Contains(wordSettings, s.name()) || slices.Contains(pathSettings, s.name()) || s.name() == "core.repositoryformatversion"):
			case s.section == "branch" && s.sub == branch && (s.key == "merge" || s.key == "remote"):
			case s.section == "remote" && s.key == "fetch":
			default:
				t.Errorf("git is told %+v", s)
			}
		}
	})
}

// Git itself agrees on what it is told.
func TestHarmlessIsReadByGit(t *testing.T) {
	person(t)
	dir := t.TempDir()
	text := "[core]\n\tfilemode = false\n\tbare = true\n\texcludesFile = \"a b#c;d]\"\n\tattributesFile = \"x\\\"y\"\n\tfsmonitor = evil\n" +
		"[branch \"to/[m]\"]\n\tremote = o\n\tmerge = refs/heads/m\n[branch \"x\"]\n\tremote = p\n[remote \"o\"]\n\turl = u\n\tfetch = +a:b\n[remote \"p\"]\n\tfetch = c\n[filter \"f\"]\n\tclean = evil\n"
	write(t, dir, "config", string(harmlessConfig(parseConfig(text), "to/[m]")))
	cmd := exec.Command("git", "config", "--file", "config", "--list")
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	want := "core.repositoryformatversion=1\ncore.filemode=false\ncore.excludesfile=a b#c;d]\nbranch.to/[m].remote=o\nbranch.to/[m].merge=refs/heads/m\nremote.o.fetch=+a:b\n"
	if err != nil || string(out) != want {
		t.Errorf("%v\ngot  %q\nwant %q", err, out, want)
	}
}

// The settings of a person and of a repository count, with whatever they include.
func TestConfiguration(t *testing.T) {
	dir := repository(t)
	home := os.Getenv("HOME")
	write(t, home, ".gitconfig", "[includeIf \"onbranch:x\"]\n\tpath = ~/work\n")
	write(t, home, "work", "[core]\n\thooksPath = hooks\n")
	write(t, home, ".config/git/config", "[alias]\n\tst = !tools/st\n")
	run(t, dir, "config", "include.path", "../team")
	write(t, dir, "team", "[filter \"x\"]\n\tclean = tools/clean\n")
	for _, name := range []string{"system", "global", "mac"} {
		write(t, dir, name, "[alias]\n\t"+name+" = !tools/x\n")
	}
	usual := systemFiles
	t.Cleanup(func() { systemFiles = usual })
	systemFiles = append(systemFiles, filepath.Join(dir, "mac"))
	write(t, home, "more", "[alias]\n\tfile = !tools/x\n")
	environ := map[string]string{
		"HOME": home, "GIT_CONFIG_SYSTEM": filepath.Join(dir, "system"), "GIT_CONFIG_GLOBAL": filepath.Join(dir, "global"), "GIT_EXTERNAL_DIFF": "tools/diff",
		"EDITOR": "tools/edit", "GIT_CONFIG_PARAMETERS": "'core.fsmonitor'='tools/watch'", "GIT_CONFIG_COUNT": " 2", "GIT_CONFIG_KEY_0": "core.hooksPath", "GIT_CONFIG_VALUE_0": "ci", "GIT_CONFIG_KEY_1": "include.path", "GIT_CONFIG_VALUE_1": "~/more",
	}
	t.Setenv("HOME", t.TempDir()) // of whoever runs this, which is not asked
	got := Configuration(dir, func(key string) string { return environ[key] })
	for _, want := range []string{"hookspath = hooks\n", "st = !tools/st\n", "clean = tools/clean\n", "system = !", "global = !", "mac = !",
		"hookspath = ci\n", "file = !", "GIT_EXTERNAL_DIFF = tools/diff\n", "EDITOR = tools/edit\n", "'tools/watch'"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not in %q", want, got)
		}
	}
}

// A configuration that includes others is read with them, and one that includes
// itself comes to an end.
func TestSettings(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "config", "[include]\n\tpath = more\n\tpath = config\n\tpath = missing\n[core]\n\teol = crlf\n")
	write(t, dir, "more", "[core]\n\tautocrlf = true\n"+strings.Repeat("[include]\npath = more\n", 40))
	all := settings(dir + "/config")
	if len(all) == 0 || all[0].name() != "core.autocrlf" || all[len(all)-1].name() != "core.eol" {
		t.Errorf("%d settings", len(all))
	}
	// However much includes what holds nothing, few files are looked at.
	write(t, dir, "a", "[include]\n"+strings.Repeat("path = b\n", 60))
	write(t, dir, "b", "[include]\n"+strings.Repeat("path = c\n", 60))
	write(t, dir, "c", "[include]\n"+strings.Repeat("path = d\n", 60))
	left := maxIncludes
	if all := readIncludes(dir+"/a", "", 0, &left, false); len(all) > 0 || left > 0 {
		t.Errorf("%d settings, %d files left", len(all), left)
	}
}
