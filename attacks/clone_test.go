package attacks

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// programs are the keys of git's configuration whose value is a program, or
// makes git start one. %s is a trap.
var programs = []string{
	"core.fsmonitor=%s", "core.fsmonitor=true", "core.pager=%s", "core.editor=%s", "core.askPass=%s", "core.sshCommand=%s", "core.gitProxy=%s",
	"core.alternateRefsCommand=%s", "pager.status=%s", "sequence.editor=%s",
	"diff.external=%s", "diff.evil.command=%s", "diff.evil.textconv=%s",
	"merge.evil.driver=%s", "gpg.program=%s", "gpg.ssh.program=%s", "log.showSignature=true", "credential.helper=!%s",
	"filter.evil.clean=%s", "filter.evil.smudge=%s", "filter.evil.process=%s", "filter.evil.required=true",
	"uploadpack.packObjectsHook=%s", "remote.origin.url=ext::%s", "remote.origin.uploadpack=%s", "remote.origin.vcs=evil",
	"protocol.ext.allow=always", "trace2.normalTarget=%s", "alias.status=!%s", "alias.ls-files=!%s",
	"interactive.diffFilter=%s", "submodule.recurse=true", "status.submoduleSummary=true", "diff.ignoreSubmodules=none",
	"lfs.extension.evil.clean=%s", "lfs.customtransfer.evil.path=%s",
}

// hooks are git's.
var gitHooks = []string{"post-index-change", "fsmonitor-watchman", "reference-transaction", "pre-auto-gc", "post-checkout", "query-watchman"}

// attributes send every file through what a repository names.
const attributes = "* filter=evil diff=evil merge=evil\n"

// evil is a configuration with all programs, each a trap.
func (w *world) evil() string {
	w.Helper()
	var b strings.Builder
	for _, p := range programs {
		key, value, _ := strings.Cut(p, "=")
		section, name := key[:strings.LastIndex(key, ".")], key[strings.LastIndex(key, ".")+1:]
		if head, sub, ok := strings.Cut(section, "."); ok {
			section = fmt.Sprintf("%s %q", head, sub)
		}
		if strings.Contains(value, "%s") {
			value = fmt.Sprintf(value, w.trap(key))
		}
		fmt.Fprintf(&b, "[%s]\n\t%s = %q\n", section, name, value)
	}
	return b.String()
}

// An attack is a project that a stranger has made, or an agent in its sandbox.
type attack struct {
	name string
	lay  func(w *world) // what there is besides a repository in work, and attributes
	env  func(w *world) []string
	dir  string // where the session is, "work" where empty
	// bites is what of a plain git falls into a trap there; nil where that is not
	// to be had, for what only another version of git does.
	bites []string
}

var status = []string{"status"}

var attacks = []attack{
	{name: "its configuration", bites: status, lay: func(w *world) { w.add("work/.git/config", w.evil()) }},
	{name: "a file that it includes", bites: status, lay: func(w *world) {
		w.Write("work/more", w.evil())
		w.add("work/.git/config", "[include]\n\tpath = ../more\n")
	}},
	{name: "a file that it includes on a condition", bites: status, lay: func(w *world) {
		w.Write("work/more", w.evil())
		w.add("work/.git/config", "[includeIf \"onbranch:main\"]\n\tpath = ../more\n")
	}},
	{name: "the configuration of a worktree", bites: status, lay: func(w *world) {
		w.add("work/.git/config", "[extensions]\n\tworktreeConfig = true\n")
		w.Write("work/.git/config.worktree", w.evil())
	}},
	{name: "the attributes of the repository", bites: status, lay: func(w *world) {
		w.Write("work/.gitattributes", "")
		w.Write("work/.git/info/attributes", attributes)
		w.add("work/.git/config", w.evil())
	}},
	{name: "attributes elsewhere", bites: status, lay: func(w *world) {
		w.Write("work/.gitattributes", "")
		w.Write("work/elsewhere", attributes)
		w.add("work/.git/config", w.evil()+"[core]\n\tattributesFile = "+w.Path("work/elsewhere")+"\n")
	}},
	{name: "a value that ends its line", lay: func(w *world) {
		w.add("work/.git/config", "[core]\n\texcludesFile = \"x\\n[filter \\\"evil\\\"]\\nclean = "+w.trap("smuggled")+"\"\n")
		w.add("work/.git/config", "[branch \"main\"]\n\tmerge = \"x\\\"\\n[filter \\\"evil\\\"]\\nclean = "+w.trap("smuggled")+"\"\n")
		w.add("work/.git/config", "[core]\n\tautocrlf = \"false\\n[filter \\\"evil\\\"]\\nclean = "+w.trap("smuggled")+"\"\n")
	}},
	{name: "hooks", lay: func(w *world) {
		for _, name := range gitHooks {
			w.trapAt("work/.git/hooks/"+name, "hook-"+name)
		}
		w.add("work/.git/config", "[core]\n\tfsmonitor = .git/hooks/fsmonitor-watchman\n")
	}, bites: status},
	{name: "hooks elsewhere", lay: func(w *world) {
		for _, name := range gitHooks {
			w.trapAt("work/hooks/"+name, "hook-"+name)
		}
		w.add("work/.git/config", "[core]\n\thooksPath = hooks\n")
	}, bites: status},
	{name: "hooks where the person's configuration has them", lay: func(w *world) {
		for _, name := range gitHooks {
			w.trapAt("work/hooks/"+name, "hook-"+name)
		}
		w.add("home/.gitconfig", "[core]\n\thooksPath = hooks\n\tfsmonitor = hooks/query-watchman\n")
	}, bites: status},
	{name: "a repository that was added in the sandbox", bites: status, lay: func(w *world) {
		w.repository("work/sub")
		w.Write("work/sub/.gitattributes", attributes)
		w.MustRun("work", "git", "-c", "advice.addEmbeddedRepo=false", "add", "sub")
		w.add("work/sub/.git/config", w.evil())
	}},
	{name: "a repository inside", lay: func(w *world) {
		w.repository("work/sub")
		w.Write("work/sub/.gitattributes", attributes)
		w.add("work/sub/.git/config", w.evil())
	}},
	{name: "a session in the repository inside", dir: "work/sub", bites: status, lay: func(w *world) {
		w.repository("work/sub")
		w.Write("work/sub/.gitattributes", attributes)
		w.add("work/sub/.git/config", w.evil())
	}},
	{name: "a submodule", bites: status, lay: func(w *world) {
		w.repository("origin")
		w.MustRun("work", "git", "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", w.Path("origin"), "sub")
		w.dirty("work/sub")
		w.Write("work/sub/.gitattributes", attributes)
		w.add("work/.git/modules/sub/config", w.evil())
	}},
	{name: "a linked worktree", dir: "linked", bites: status, lay: func(w *world) {
		w.MustRun("work", "git", "worktree", "add", "-q", w.Path("linked"))
		w.dirty("linked")
		w.Write("linked/.gitattributes", attributes)
		w.add("work/.git/config", w.evil())
	}},
	{name: "a bare repository in the folder", dir: "work/bare", lay: func(w *world) {
		w.MustRun("work", "git", "clone", "-q", "--bare", ".", "bare")
		index, err := os.ReadFile(w.Path("work/.git/index"))
		if err != nil {
			w.Fatal(err)
		}
		w.Write("work/bare/index", string(index))
		w.add("work/bare/config", w.evil()+"[core]\n\tbare = false\n\tworktree = "+w.Path("work")+"\n")
		w.Write("work/bare/info/attributes", attributes)
	}, bites: status},
	{name: "a git directory elsewhere", bites: status, lay: func(w *world) {
		if err := os.Rename(w.Path("work/.git"), w.Path("work/evil")); err != nil {
			w.Fatal(err)
		}
		w.Write("work/.git", "gitdir: evil\n")
		w.add("work/evil/config", w.evil())
	}},
	{name: "a worktree elsewhere", bites: status, lay: func(w *world) {
		w.Write("other/.gitattributes", attributes)
		w.Write("other/changed", "another\n")
		w.Write("other/touched", "touched\n")
		w.add("work/.git/config", w.evil()+"[core]\n\tworktree = "+w.Path("other")+"\n")
	}},
	{name: "objects that are to be fetched", bites: []string{"cat-file", "-p", "HEAD:touched"}, lay: func(w *world) {
		fetch := w.trap("fetch")
		w.Write("traps/fetch", "#!/bin/sh\necho >>'"+w.Path("marks/fetch")+"'\n") // git waits for one that only listens
		blob := w.MustRun("work", "git", "rev-parse", "HEAD:touched")
		w.MustRun("work", "git", "mv", "touched", "moved") // to tell a rename, git looks into it
		w.Write("work/moved", "touched\nand more\n")
		w.MustRun("work", "git", "add", "moved")
		if err := os.Remove(w.Path("work/.git/objects/" + blob[:2] + "/" + blob[2:])); err != nil {
			w.Fatal(err)
		}
		w.add("work/.git/config", "[core]\n\trepositoryformatversion = 1\n[extensions]\n\tpartialClone = origin\n[remote \"origin\"]\n\tpromisor = true\n\tpartialclonefilter = blob:none\n\turl = ext::"+
			fetch+"\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n[protocol]\n\tallow = always\n")
	}},
	{name: "LFS, with an extension of the repository's", lay: func(w *world) {
		// As git-lfs does, what the person has installed asks git for more.
		w.Write("traps/lfs", "#!/bin/sh\nprogram=$(git config lfs.extension.evil.clean) && exec $program\nexec cat\n")
		if err := os.Chmod(w.Path("traps/lfs"), 0o700); err != nil {
			w.Fatal(err)
		}
		w.add("home/.gitconfig", "[filter \"lfs\"]\n\tclean = "+w.Path("traps/lfs")+"\n\trequired = true\n")
		w.Write("work/.gitattributes", "* filter=lfs\n")
		w.add("work/.git/config", "[lfs \"extension.evil\"]\n\tclean = "+w.trap("extension")+"\n")
	}, bites: status},
	{name: "variables that name a configuration", bites: status, env: func(w *world) []string {
		w.Write("work/config", w.evil())
		return []string{"GIT_CONFIG_GLOBAL=" + w.Path("work/config"), "GIT_CONFIG_SYSTEM=" + w.Path("work/config")}
	}},
	{name: "variables that are a configuration", bites: status, env: func(w *world) []string {
		return []string{"GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=filter.evil.clean", "GIT_CONFIG_VALUE_0=" + w.trap("clean")}
	}},
	{name: "parameters", bites: status, env: func(w *world) []string {
		return []string{"GIT_CONFIG_PARAMETERS='filter.evil.clean'='" + w.trap("clean") + "'"}
	}},
	{name: "another repository by a variable", bites: status, env: func(w *world) []string {
		w.MustRun(".", "git", "clone", "-q", w.Path("work"), w.Path("other"))
		w.add("other/.git/config", w.evil())
		return []string{"GIT_DIR=" + w.Path("other/.git"), "GIT_WORK_TREE=" + w.Path("work"), "GIT_COMMON_DIR=" + w.Path("other/.git")}
	}},
	{name: "programs by a variable", env: func(w *world) []string {
		w.trapAt("work/exec/git-status", "exec-path")
		w.trapAt("work/exec/git", "exec-path")
		var env []string
		for _, name := range []string{
			"GIT_EXTERNAL_DIFF", "GIT_SSH_COMMAND", "GIT_SSH", "GIT_ASKPASS", "SSH_ASKPASS", "GIT_PAGER", "PAGER", "GIT_EDITOR", "EDITOR", "VISUAL", "GIT_PROXY_COMMAND",
		} {
			env = append(env, name+"="+w.trap(name))
		}
		return append(env, "GIT_EXEC_PATH="+w.Path("work/exec"), "GIT_TRACE="+w.Path("marks/trace"), "GIT_TRACE2_EVENT="+w.Path("marks/trace2"), "BASH_ENV="+w.trap("BASH_ENV"), "ENV="+w.trap("ENV"))
	}, bites: status},
}

// commands are what runs in a project by itself, and what is typed there first.
func commands(w *world, dir string) []func() result {
	hook := func(event, more string, name string, args ...string) func() result {
		input := fmt.Sprintf(`{"session_id":"5e551011","hook_event_name":%q,"cwd":%q%s}`, event, w.Path(dir), more)
		return func() result { return w.Run(dir, strings.NewReader(input), append([]string{name}, args...)...) }
	}
	typed := func(name string, args ...string) func() result {
		return func() result { return w.Run(dir, nil, append([]string{name}, args...)...) }
	}
	return []func() result{
		hook("SessionStart", `,"source":"startup"`, "gt-prime", "--hook", "--agent", "claude"),
		hook("UserPromptSubmit", `,"prompt":"go on"`, "gt-keepalive", "touch", "--hook", "--agent", "claude"),
		hook("Stop", "", "gt-checkpoint", "write", "--hook", "--agent", "claude"),
		hook("Stop", "", "gt-keepalive", "touch", "--hook", "--agent", "claude"),
		hook("PreCompact", `,"trigger":"auto"`, "gt-handoff", "--auto", "--agent", "claude"),
		typed("gt-checkpoint", "write", "--notes", "half way"),
		typed("gt-handoff", "-s", "half way", "-m", "go on with never.go"), // gt-prime asks git about it
		typed("gt-prime"),
		typed("gt-mail"),
		typed("gt-hooks", "status"),
		typed("gt-hooks", "prove", "claude", "--run"),
		typed("gt-keepalive", "status"),
		typed("gt-seance", "list"),
		hook("SessionStart", `,"source":"clear"`, "gt-prime", "--hook", "--agent", "claude"),
	}
}

// Whatever a repository or a variable names, gt runs nothing of it; and what it
// saves is true.
func TestRepositoryNamesPrograms(t *testing.T) {
	for _, a := range attacks {
		t.Run(strings.ReplaceAll(a.name, " ", "-"), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.repository("work")
			head := w.MustRun("work", "git", "rev-parse", "HEAD")
			w.Write("work/.gitattributes", attributes)
			if a.lay != nil {
				a.lay(w)
			}
			dir := a.dir
			if dir == "" {
				dir = "work"
			}
			if a.env != nil {
				w = w.withEnv(a.env(w)...)
			}
			w.marks() // making it may have run some
			if a.bites != nil {
				w.Run(dir, nil, append([]string{"git"}, a.bites...)...)
				if w.marks() == "" {
					t.Errorf("a plain git %s falls into no trap: this is no attack", strings.Join(a.bites, " "))
				}
			}
			for _, run := range commands(w, dir) {
				r := run()
				if marks := w.marks(); marks != "" {
					t.Errorf("%v\nit ran %s", r, marks)
				}
			}
			if a.dir != "" {
				return
			}
			if got := w.saved(dir); got.Branch != "main" || got.LastCommit != head || !slices.Contains(got.Files, "changed") || !slices.Contains(got.Files, "new") {
				t.Errorf("saved is %+v", got)
			}
		})
	}
}

// A saved is what a checkpoint says of git.
type saved struct {
	Branch     string   `json:"branch"`
	LastCommit string   `json:"last_commit"`
	Files      []string `json:"modified_files"`
}

// saved writes a checkpoint and returns it.
func (w *world) saved(dir string) saved {
	w.Helper()
	if r := w.Run(dir, nil, "gt-checkpoint", "write", "--notes", "now"); r.Code != 0 || strings.Contains(r.Errs, "git") {
		w.Errorf("%v", r)
	}
	var s saved
	if err := json.Unmarshal([]byte(w.MustRun(dir, "gt-checkpoint", "read", "--json")), &s); err != nil {
		w.Fatal(err)
	}
	slices.Sort(s.Files)
	return s
}

// The honest twins: who has such a repository is told what git tells.
func TestHonestRepositories(t *testing.T) {
	for name, twin := range map[string]struct {
		make  func(w *world) (dir string)
		files []string
	}{
		"plain": {func(w *world) string { return "work" }, []string{"changed", "new"}},
		"a filter of the person's": {func(w *world) string {
			w.add("home/.gitconfig", "[filter \"lfs\"]\n\tclean = tr a-z A-Z\n\tsmudge = tr A-Z a-z\n\trequired = true\n")
			w.repository("lfs")
			w.Write("lfs/.gitattributes", "* filter=lfs\n")
			w.MustRun("lfs", "git", "add", "--renormalize", ".")
			w.MustRun("lfs", "git", "commit", "-q", "-m", "through the filter")
			w.Write("lfs/changed", "yet more\n")
			w.Write("lfs/touched", "touched\n")
			w.dirty("lfs")
			w.Write("lfs/changed", "another\n")
			return "lfs"
		}, []string{".gitattributes", "changed", "new"}},
		"a linked worktree": {func(w *world) string {
			w.MustRun("work", "git", "worktree", "add", "-q", "-b", "side", w.Path("linked"))
			w.dirty("linked")
			return "linked"
		}, []string{"changed", "new"}},
		"a linked worktree of a bare repository": {func(w *world) string {
			w.MustRun(".", "git", "clone", "-q", "--bare", w.Path("work"), w.Path("bare"))
			w.MustRun("bare", "git", "worktree", "add", "-q", w.Path("linked"))
			w.dirty("linked")
			return "linked"
		}, []string{"changed", "new"}},
		"a submodule as the home": {func(w *world) string {
			w.repository("origin")
			w.MustRun("work", "git", "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", w.Path("origin"), "sub")
			w.dirty("work/sub")
			return "work/sub"
		}, []string{"changed", "new"}},
		"a submodule that moved on": {func(w *world) string {
			w.repository("origin")
			w.MustRun("work", "git", "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", w.Path("origin"), "sub")
			w.MustRun("work", "git", "commit", "-q", "-m", "a submodule")
			w.MustRun("work/sub", "git", "commit", "-q", "--allow-empty", "-m", "on")
			return "work"
		}, []string{"changed", "new", "sub"}},
		"a gitconfig that is a link": {func(w *world) string {
			w.Write("dotfiles/gitconfig", "[user]\n\tname = T\n\temail = t@example.org\n[core]\n\texcludesFile = ~/ignored\n")
			w.Write("home/ignored", "new\n")
			if err := os.Remove(w.Path("home/.gitconfig")); err != nil {
				w.Fatal(err)
			}
			w.link("../dotfiles/gitconfig", "home/.gitconfig")
			return "work"
		}, []string{"changed"}},
		"a folder below the top, by a link": {func(w *world) string {
			w.link("work/folder", "there")
			return "there"
		}, []string{"changed", "new"}},
		"what the repository's own files ignore": {func(w *world) string {
			w.Write("work/.git/info/exclude", "new\n")
			return "work"
		}, []string{"changed"}},
		"line ends": {func(w *world) string {
			w.MustRun("work", "git", "config", "core.autocrlf", "true")
			w.MustRun("work", "rm", "changed", "touched")
			w.MustRun("work", "git", "checkout", "-q", "-f")
			w.dirty("work")
			return "work"
		}, []string{"changed", "new"}},
		"sparse": {func(w *world) string {
			w.MustRun("work", "git", "checkout", "-q", "-f")
			w.MustRun("work", "git", "sparse-checkout", "set", "elsewhere")
			w.dirty("work")
			return "work"
		}, []string{"changed", "new"}},
		"a split index": {func(w *world) string {
			w.MustRun("work", "git", "update-index", "--split-index")
			return "work"
		}, []string{"changed", "new"}},
		"objects of another's": {func(w *world) string {
			w.MustRun(".", "git", "clone", "-q", "--shared", w.Path("work"), w.Path("shared"))
			w.dirty("shared")
			return "shared"
		}, []string{"changed", "new"}},
		"another user's": {func(w *world) string {
			if os.Getuid() != 0 {
				w.Skip("only root makes another user's files")
			}
			if err := filepath.Walk(w.Path("work/.git"), func(path string, _ os.FileInfo, err error) error {
				if err == nil {
					err = os.Lchown(path, 65534, 65534)
				}
				return err
			}); err != nil {
				w.Fatal(err)
			}
			w.add("home/.gitconfig", "[safe]\n\tdirectory = *\n")
			return "work"
		}, []string{"changed", "new"}},
	} {
		t.Run(strings.ReplaceAll(name, " ", "-"), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.repository("work")
			dir := twin.make(w)
			branch, head := w.MustRun(dir, "git", "rev-parse", "--abbrev-ref", "HEAD"), w.MustRun(dir, "git", "rev-parse", "HEAD")
			got := w.saved(dir)
			if got.Branch != branch || got.LastCommit != head || !slices.Equal(got.Files, twin.files) {
				t.Errorf("saved is %+v, want %s %s %v", got, branch, head, twin.files)
			}
		})
	}
}

// A checkout is left as it is, also where it cannot be written.
func TestCheckoutIsNotWritten(t *testing.T) {
	w := newWorld(t)
	w.repository("work")
	before, err := os.ReadFile(w.Path("work/.git/index"))
	if err != nil {
		t.Fatal(err)
	}
	w.MustRun(".", "chmod", "-R", "a-w", w.Path("work/.git"))
	defer w.MustRun(".", "chmod", "-R", "u+w", w.Path("work"))
	if got := w.saved("work"); !slices.Equal(got.Files, []string{"changed", "new"}) {
		t.Errorf("saved is %+v", got)
	}
	after, err := os.ReadFile(w.Path("work/.git/index"))
	if err != nil || string(before) != string(after) {
		t.Errorf("the index was written: %v", err)
	}
}

// names are the programs that gt starts by their name.
var names = []string{"git", "tmux", "bd", "claude", "codex", "gt", "gt-handoff", "gt-seance", "gt-pick", "gt-prime", "sh"}

// A program of the project does not run because PATH leads there, however it
// does, and the real one behind it is found.
func TestPathIntoProject(t *testing.T) {
	for name, path := range map[string]func(w *world) string{
		"its folder":           func(w *world) string { return w.Path("work/bin") },
		"its top":              func(w *world) string { return w.Path("work") },
		"a dot":                func(w *world) string { return "." },
		"nothing":              func(w *world) string { return "" },
		"a folder by its name": func(w *world) string { return "bin" },
		"a detour":             func(w *world) string { return strings.Join([]string{w.Path("home"), "..", "work", ".", "bin"}, "/") },
		"a link to its folder": func(w *world) string { w.link(w.Path("work/bin"), "home/bin"); return w.Path("home/bin") },
		"links to its programs": func(w *world) string {
			for _, name := range names {
				w.link(w.Path("work/bin/"+name), "home/bin/"+name)
			}
			return w.Path("home/bin")
		},
		"a link out of it": func(w *world) string {
			if err := os.Rename(w.Path("work/bin"), w.Path("home/tools")); err != nil {
				w.Fatal(err)
			}
			w.link(w.Path("home/tools"), "work/bin")
			return w.Path("work/bin")
		},
	} {
		t.Run(strings.ReplaceAll(name, " ", "-"), func(t *testing.T) {
			t.Parallel()
			for _, dir := range []string{"work", "work/folder"} {
				w := newWorld(t)
				w.repository("work")
				w.Write("work/.git/info/exclude", "*\n!/changed\n")
				for _, name := range names {
					w.trapAt("work/bin/"+name, name)
				}
				for _, to := range []string{"work/", "work/folder/", "work/folder/bin/"} {
					for _, name := range names {
						if _, err := os.Lstat(w.Path(to + name)); err != nil {
							w.trapAt(to+name, name)
						}
					}
				}
				w.Write("work/.beads/config.yaml", "")
				w = w.withEnv("PATH="+path(w)+":"+bin+":/usr/local/bin:/usr/bin:/bin", "TMUX="+w.Path("tmp/none")+",1,0", "TMUX_PANE=%0")
				for _, run := range append(commands(w, dir),
					func() result { return w.Run(dir, nil, "gt-handoff", "--to", "codex", "-s", "x", "--dry-run") },
					func() result { return w.Run(dir, nil, "gt-handoff", "x-1") },
					func() result { return w.Run(dir, nil, "gt-seance", "pick") },
				) {
					r := run()
					if marks := w.marks(); marks != "" {
						t.Errorf("in %s: %v\nit ran %s", dir, r, marks)
					}
				}
				if got := w.saved(dir); !slices.Contains(got.Files, "changed") {
					t.Errorf("in %s, saved is %+v", dir, got)
				}
			}
		})
	}
}

// The project stays the project where a session's working directory has left it.
func TestPathIntoProjectFromElsewhere(t *testing.T) {
	w := newWorld(t)
	w.repository("work")
	w.repository("elsewhere")
	for _, name := range names {
		w.trapAt("work/bin/"+name, name)
	}
	w = w.withEnv("TMUX="+w.tmux("work")+",1,0", "TMUX_PANE=%0", "CLAUDE_PROJECT_DIR="+w.Path("work"))
	w = w.withEnv("PATH=" + w.Path("work/bin") + ":" + bin + ":/usr/local/bin:/usr/bin:/bin")
	for _, run := range commands(w, "elsewhere") {
		r := run()
		if marks := w.marks(); marks != "" {
			t.Errorf("%v\nit ran %s", r, marks)
		}
	}
}

// Nor is that of a repository around the one that a session works in, as a submodule
// and a linked worktree have.
func TestPathIntoProjectAround(t *testing.T) {
	for name, make := range map[string]func(w *world) string{
		"a linked worktree": func(w *world) string {
			w.MustRun("work", "git", "worktree", "add", "-q", ".claude/worktrees/x", "-b", "x")
			return "work/.claude/worktrees/x"
		},
		"a repository inside": func(w *world) string { w.repository("work/vendor/x"); return "work/vendor/x" },
	} {
		t.Run(strings.ReplaceAll(name, " ", "-"), func(t *testing.T) {
			w := newWorld(t)
			w.repository("work")
			dir := make(w)
			for _, name := range names {
				w.trapAt("work/bin/"+name, name)
			}
			w = w.withEnv("PATH="+w.Path("work/bin")+":"+bin+":/usr/local/bin:/usr/bin:/bin", "TMUX="+w.Path("tmp/none")+",1,0", "TMUX_PANE=%0")
			for _, run := range commands(w, dir) {
				r := run()
				if marks := w.marks(); marks != "" {
					t.Errorf("%v\nit ran %s", r, marks)
				}
			}
		})
	}
}

// A client that is installed in the project only is not found by its name, and
// the person is told why; one outside is, also by a link, and also where the
// project is the home folder.
func TestClientOnPath(t *testing.T) {
	w := newWorld(t)
	w.repository("work")
	w.trapAt("work/node_modules/.bin/codex", "codex")
	inside := w.withEnv("PATH=" + w.Path("work/node_modules/.bin") + ":" + bin + ":/usr/bin:/bin")
	r := inside.Run("work", nil, "gt-handoff", "--to", "codex", "-s", "x")
	if r.Code != 1 || !strings.Contains(r.Errs, "in the project") || !strings.Contains(r.Errs, "hint: what a project brings along") {
		t.Errorf("%v", r)
	}
	w.trapAt("home/lib/codex", "codex")
	w.link("../lib/codex", "home/bin/codex")
	outside := w.withEnv("PATH=" + w.Path("work/node_modules/.bin") + ":" + w.Path("home/bin") + ":" + bin + ":/usr/bin:/bin")
	if r := outside.Run("work", nil, "gt-handoff", "--to", "codex", "-s", "x"); r.Code != 0 {
		t.Errorf("%v", r)
	}
	w.MustRun("home", "git", "init", "-q")
	outside = outside.withEnv("XDG_STATE_HOME=" + w.Path("state")) // for the home folder is the project then
	if r := outside.Run("home", nil, "gt-handoff", "--to", "codex", "-s", "x"); r.Code != 0 {
		t.Errorf("in the home folder: %v", r)
	}
}

// A client that is a script, as those from npm are, is run by the real
// interpreter where gt starts it by itself.
func TestInterpreterOnPath(t *testing.T) {
	w := newWorld(t)
	w.repository("work")
	w.trapAt("work/bin/node", "node")
	w.Write("home/bin/node", "#!/bin/sh\necho real >'"+w.Path("home/ran")+"'\n")
	w.Write("home/bin/claude", "#!/usr/bin/env node\n")
	w.MustRun(".", "chmod", "+x", w.Path("home/bin/node"), w.Path("home/bin/claude"))
	w = w.withEnv("PATH=" + w.Path("work/bin") + ":" + w.Path("home/bin") + ":" + bin + ":/usr/bin:/bin")
	w.Run("work", nil, w.Path("home/bin/claude"))
	if w.marks() == "" {
		t.Error("a shell does not run the project's: this is no attack")
	}
	if r := w.Run("work", nil, "gt-hooks", "install", "claude"); r.Code != 0 {
		t.Errorf("%v", r)
	}
	r := w.Run("work", nil, "gt-hooks", "prove", "claude", "--run")
	if marks := w.marks(); marks != "" {
		t.Errorf("%v\nit ran %s", r, marks)
	}
	if _, err := os.Stat(w.Path("home/ran")); err != nil {
		t.Errorf("the client was not run: %v", r)
	}
}

// bd does not run outside of a trusted town, whoever made the folder that it reads.
func TestBeadsOutsideTowns(t *testing.T) {
	w := newWorld(t)
	w.repository("work")
	w.Write("work/.beads/config.yaml", "")
	w.trapAt("home/bin/bd", "bd")
	w = w.withEnv("PATH=" + w.Path("home/bin") + ":" + bin + ":/usr/bin:/bin")
	for _, run := range append(commands(w, "work"), func() result { return w.Run("work", nil, "gt-handoff", "x-1", "-s", "x") }) {
		r := run()
		if marks := w.marks(); marks != "" {
			t.Errorf("%v\nit ran %s", r, marks)
		}
	}
	w.Write("town/town.toml", "")
	w.Write("town/.beads/config.yaml", "")
	w.Write("home/bin/bd", "#!/bin/sh\nenv >'"+w.Path("marks/bd")+"'\n")
	w.MustRun("town", "gt-hooks", "trust", "--yes")
	w.withEnv("GT_ROOT="+w.Path("town"), "BEADS_DIR=/evil", "GIT_CONFIG_COUNT=0", "LD_PRELOAD=", "BEADS_DOLT_SERVER_PORT=3307").Run("town", nil, "gt-mail")
	switch env := w.marks(); {
	case !strings.Contains(env, "BEADS_DOLT_SERVER_PORT=3307\n"):
		t.Errorf("in a town bd is asked, and was not: %s", env)
	case strings.Contains(env, "BEADS_DIR="), strings.Contains(env, "GIT_"), strings.Contains(env, "LD_"):
		t.Errorf("bd is given %s", env)
	}
}
