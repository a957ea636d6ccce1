package parcel

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"sort"
	"strings"

	"gt/lib/client/agent"
	"gt/lib/client/wiring"
	"gt/lib/client/wirings"
	"gt/lib/place"
	"gt/lib/place/git"
	"gt/lib/record/secretfile"
	"gt/lib/sys/atomicfile"
)

// Power is something in a parcel that would run a program here, or permit something, without a
// person who is asked, and that is not here already. A person has to accept it.
type Power struct {
	Path string `json:"path,omitempty"` // of a file, relative to the top of the worktree
	What string `json:"what"`
	Text string `json:"-"` // the beginning of what the file contains; "" if it is not there

	id string // of the file's content
}

const (
	MaxText    = 64 << 10 // bounds Power.Text, in bytes
	maxPowers  = 1000
	maxTexts   = 500 // files that are held at once while they are searched for names of others
	maxBatches = 4   // of maxTexts files
)

// harmlessNames are names of files and folders with a dot that no tool runs by itself. Any other one
// can be the settings of some program.
var harmlessNames = []string{
	".gitignore", ".gitkeep", ".keep", ".editorconfig", ".dockerignore", ".npmignore", ".prettierignore", ".eslintignore", ".clang-format",
	".gitlab-ci.yml", ".travis.yml", ".circleci", ".changeset",
	".markdownlint.json", ".markdownlint.yaml", ".golangci.yml", ".golangci.yaml", ".gitlab", ".gitea", ".forgejo", ".mailmap", ".well-known",
}

// githubNames are names in .github that mean something to GitHub alone.
var githubNames = []string{
	"workflows", "actions", "issue_template", "pull_request_template", "pull_request_template.md", "issue_template.md", "codeowners",
	"dependabot.yml", "dependabot.yaml", "funding.yml", "labeler.yml", "release.yml", "renovate.json", "stale.yml", "codecov.yml",
	"contributing.md", "security.md", "code_of_conduct.md", "support.md", "copilot-instructions.md", "instructions",
}

// runNames are names without a dot of files that some tool runs, or takes its settings from, as soon
// as it is started in their folder.
var runNames = []string{
	"opencode.json", "opencode.jsonc", "crush.json", "kilo.json", "kilo.jsonc", "gemini-extension.json", "qwen-extension.json",
	"lefthook.yml", "lefthook.yaml", "lefthook.toml", "lefthook.json", "lefthook.jsonc", "lefthook-local.yml", "lefthook-local.yaml",
	"lefthook-local.toml", "lefthook-local.json", "lefthook-local.jsonc", "hk.pkl", "hk.local.pkl", "prek.toml", "captainhook.json", "grumphp.yml", "grumphp.yaml",
	"devenv.nix", "devenv.yaml", "devenv.lock", "devenv.local.nix", "devenv.local.yaml", "bunfig.toml", "town.toml",
}

// libraryFolders are folders of programs and libraries that tools run, and that no repository keeps.
var libraryFolders = []string{"node_modules", "__pycache__", "site-packages", "venv", "bower_components"}

// toolFiles are the files that a program runs that another file names. Only where a file of the
// worktree that is run by itself names such a program are they run by themselves, too.
var toolFiles = map[string][]string{
	"make": {"makefile", "gnumakefile"}, "just": {"justfile"}, "task": {"taskfile.yml", "taskfile.yaml", "taskfile.dist.yml", "taskfile.dist.yaml"}, "rake": {"rakefile", "rakefile.rb"},
	"npm": node, "npx": node, "pnpm": node, "yarn": node, "bun": node, "bunx": node, "node": node, "corepack": node,
	"uv": python, "uvx": python, "poetry": python, "pip": python, "python": python, "python3": python, "pytest": python, "tox": python, "hatch": python,
	"lint-staged": {"package.json"}, "nox": python, "pdm": python, "rye": python, "conda": {"environment.yml"},
	"cargo": {"cargo.toml", "build.rs", "rust-toolchain", "rust-toolchain.toml"}, "rustc": {"rust-toolchain", "rust-toolchain.toml"}, "rustfmt": {"rust-toolchain", "rust-toolchain.toml"}, "bundle": {"gemfile", "gemfile.lock"}, "composer": {"composer.json"}, "deno": {"deno.json", "deno.jsonc"},
	"gradle": gradle, "gradlew": gradle, "mvn": {"pom.xml"}, "docker": compose, "docker-compose": compose,
	"nix": nix, "flake": nix, "nix-shell": nix, "use_nix": nix, "use_flake": nix, "devbox": {"devbox.json", "devbox.lock"}, "pixi": {"pixi.toml", "pixi.lock"},
	"pipenv": {"pipfile", "pipfile.lock"}, "pylint": {"pylintrc", "pylintrc.toml", "pyproject.toml", "setup.cfg"}, "mypy": {"mypy.ini", "pyproject.toml", "setup.cfg"},
	"inv": {"tasks.py"}, "invoke": {"tasks.py"}, "turbo": {"turbo.json"}, "nx": {"nx.json"}, "gulp": {"gulpfile.js", "gulpfile.mjs"}, "grunt": {"gruntfile.js"},
	"mix": {"mix.exs"}, "cmake": {"cmakelists.txt"}, "meson": {"meson.build"}, "bazel": bazel, "bazelisk": bazel, "sbt": {"build.sbt"}, "zig": {"build.zig"}, "swift": {"package.swift"},
	"dotnet": {"directory.build.props", "directory.build.targets"}, "phpunit": {"phpunit.xml", "phpunit.xml.dist"}, "phpstan": {"phpstan.neon", "phpstan.neon.dist"},
}

// settingsFiles are the files that a program takes its own settings from, and whose other settings, such
// as the main file of a package, it does not run. What these files name is not followed.
var settingsFiles = map[string][]string{
	"prettier": manifest, "eslint": manifest, "stylelint": manifest, "jest": manifest, "vitest": manifest, "mocha": manifest, "ava": manifest,
	"commitlint": manifest, "tsx": manifest, "ts-node": manifest,
	"flake8": {"setup.cfg", "tox.ini"}, "coverage": {"pyproject.toml", "setup.cfg", "tox.ini"}, "ruff": {"ruff.toml", "pyproject.toml"},
}

var (
	manifest = []string{"package.json"}

	node    = []string{"package.json", "package-lock.json", "pnpm-lock.yaml", "yarn.lock", "bun.lock", "bun.lockb"}
	python  = []string{"pyproject.toml", "uv.lock", "setup.py", "setup.cfg", "conftest.py", "pytest.ini", "tox.ini", "noxfile.py", "sitecustomize.py"}
	gradle  = []string{"build.gradle", "build.gradle.kts", "settings.gradle", "settings.gradle.kts", "gradle.properties"}
	compose = []string{"dockerfile", "docker-compose.yml", "docker-compose.yaml", "compose.yml", "compose.yaml"}
	bazel   = []string{"module.bazel", "workspace", "workspace.bazel", "build", "build.bazel"}
	nix     = []string{"flake.nix", "flake.lock", "shell.nix", "default.nix"}
)

// isPower reports whether some tool runs a file by itself, or takes its settings or permissions
// from it: a client, git, a shell that enters the folder, an editor that opens it. name is
// relative to the top of the worktree.
func isPower(name string) bool {
	elems := strings.Split(foldedName(name), "/")
	for i, elem := range elems {
		switch {
		case elem == ".github":
			if i+1 == len(elems) || !slices.Contains(githubNames, elems[i+1]) {
				return true
			}
		case strings.HasPrefix(elem, ".") && !slices.Contains(harmlessNames, elem), slices.Contains(libraryFolders, elem):
			return true
		}
	}
	last := elems[len(elems)-1]
	// mise reads mise.toml, mise.NAME.toml, and the .toml files in a folder mise.
	mise := strings.HasPrefix(last, "mise.") || slices.Contains(elems[:len(elems)-1], "mise") && strings.HasSuffix(last, ".toml")
	return mise || slices.Contains(runNames, last) || strings.HasSuffix(last, ".code-workspace") || secretfile.IsSecret(name)
}

// reference is a worktree of this host. What it has is known here.
type reference struct {
	top     string // "" for a bare repository
	entries map[string]git.Entry
}

// hasEntry reports whether the worktree has a file as it is in an entry: git tracks it, or it lies there.
func (r reference) hasEntry(e git.Entry) bool {
	if own, ok := r.entries[e.Path]; ok && own.ID == e.ID && own.Mode == e.Mode {
		return true
	}
	if r.top == "" {
		return false
	}
	root, err := os.OpenRoot(r.top)
	if err != nil {
		return false
	}
	defer root.Close()
	if atomicfile.CheckLinksIn(root, path.Dir(e.Path), false) != nil {
		return false
	}
	info, err := root.Lstat(e.Path)
	if err != nil {
		return false
	}
	if e.Mode == git.ModeLink {
		to, err := root.Readlink(e.Path)
		id, ferr := git.BlobID(strings.NewReader(to), int64(len(to)), e.ID)
		return err == nil && ferr == nil && id == e.ID
	}
	f, err := atomicfile.OpenIn(root, e.Path)
	if err != nil {
		return false
	}
	defer f.Close()
	id, err := git.BlobID(f, info.Size(), e.ID)
	return err == nil && id == e.ID && (info.Mode()&0o100 != 0) == (e.Mode == git.ModeExec)
}

// references returns the worktrees whose files this host knows: the one that the agent left, and
// the repository's main one. There are none if the repository is cloned for this parcel.
func (w *unpacking) references() (all []reference, err error) {
	if w.CloneFrom != "" {
		return nil, nil
	}
	tops := []string{w.Repository}
	if w.oldInstance != nil {
		if main, ok, err := git.HasCommits(w.oldInstance.Path, w.Git.Roots, gitWait); err == nil && ok && main == w.Repository {
			if top := place.Real(git.Top(w.oldInstance.Path)); top != w.Repository {
				tops = append([]string{top}, tops...)
			}
		}
	}
	for _, top := range tops {
		r := reference{top, map[string]git.Entry{}}
		var entries []git.Entry
		if git.IsBare(top) {
			r.top = ""
			entries, err = git.Tree(top, "HEAD", gitWait)
		} else {
			entries, err = git.Index(top, gitWait)
		}
		if err != nil {
			return nil, err
		}
		for _, e := range entries {
			r.entries[e.Path] = e
		}
		all = append(all, r)
	}
	return all, nil
}

// arrivingFiles returns all files of the worktree that the parcel makes, by path, and those of them
// that the parcel has outside of its commits, by the id of their content.
func (w *unpacking) arrivingFiles() (all map[string]git.Entry, members map[string]File, err error) {
	entries, err := git.Tree(w.Repository, w.Git.Index, gitWait)
	if err != nil {
		return nil, nil, err
	}
	all, members = map[string]git.Entry{}, map[string]File{}
	for _, e := range entries {
		all[e.Path] = e
	}
	for _, name := range w.Git.Deleted {
		delete(all, name)
	}
	for _, f := range w.Git.Files {
		e := git.Entry{Mode: git.ModeFile, Path: f.Path}
		if f.Link != "" {
			e.Mode = git.ModeLink
			e.ID, err = git.BlobID(strings.NewReader(f.Link), int64(len(f.Link)), w.Git.Head)
		} else {
			if f.Exec {
				e.Mode = git.ModeExec
			}
			e.ID, err = w.blobID(f.Member)
		}
		if err != nil {
			return nil, nil, err
		}
		all[f.Path], members[e.ID] = e, f
	}
	return all, members, nil
}

// blobID returns the id that a member's file would have in the parcel's repository.
func (w *unpacking) blobID(member string) (string, error) {
	f, err := atomicfile.Open(w.memberPath(member))
	if err != nil {
		return "", err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return "", err
	}
	return git.BlobID(f, info.Size(), w.Git.Head)
}

// findPowers returns what a person has to accept, sorted by path. The commits of the parcel are in
// the repository.
func (w *unpacking) findPowers() (all []Power, err error) {
	if w.Git != nil {
		if all, err = w.filePowers(); err != nil {
			return nil, err
		}
	}
	if w.From == "" { // the person unpacks it
		return all, nil
	}
	if w.oldInstance != nil && w.oldInstance.Moved.To == "" {
		all = append(all, Power{What: fmt.Sprintf("it left here in a file, and not to %s", w.From)})
	}
	if w.oldInstance != nil && w.oldInstance.Agent != w.client.Name {
		all = append(all, Power{What: fmt.Sprintf("it left as an agent of %s, and is one of %s now", w.oldInstance.Agent, w.client.Name)})
	}
	args := w.client.Restart(slices.Concat([]string(w.client.Command), w.startArgs()), agent.NextRun{})
	if agent.FreedomOfArgs(args) > agent.FreedomOfMode("default") { // mutant never: TestReturns
		all = append(all, Power{What: "its client would not ask you: " + strings.Join(args, " ")})
	}
	return all, nil
}

// startArgs returns the arguments that the agent starts with here: those that it left with, none
// for another client, else the parcel's: all that its person chose (Args), or the harmless.
func (w *unpacking) startArgs() []string {
	switch {
	case w.oldInstance != nil && w.oldInstance.Agent == w.client.Name:
		return w.oldInstance.Args
	case w.oldInstance != nil || w.client.Name != w.Instance.Agent:
		return nil
	case w.Args:
		return w.client.ChosenArgs(append(slices.Clone([]string(w.client.Command)), w.Instance.Args...))
	}
	safe, _ := w.client.SplitHarmless(w.Instance.Args)
	return safe
}

// filePowers returns the files that a person has to accept, sorted by path: those that a tool would
// run or obey and that this host does not know, and links to where the agent should not write.
func (w *unpacking) filePowers() (all []Power, err error) {
	refs, err := w.references()
	if err != nil {
		return nil, err
	}
	// tracked: a worktree here tracks the file as it arrives.
	tracked := func(e git.Entry) bool {
		return slices.ContainsFunc(refs, func(r reference) bool { own := r.entries[e.Path]; return own.ID == e.ID && own.Mode == e.Mode })
	}
	// known: it is tracked, or lies in such a worktree as it arrives.
	known := func(e git.Entry) bool {
		return tracked(e) || slices.ContainsFunc(refs, func(r reference) bool { return r.hasEntry(e) })
	}
	arrives, members, err := w.arrivingFiles()
	if err != nil {
		return nil, err
	}
	addPower := func(e git.Entry, more string) {
		p := Power{Path: e.Path, What: "new" + more, id: e.ID}
		if slices.ContainsFunc(refs, func(r reference) bool { return r.entries[e.Path].ID != "" }) {
			p.What = "changed" + more
		}
		if e.Mode == git.ModeModule {
			p.id = ""
		}
		all = append(all, p)
	}
	var runFiles []git.Entry // by itself, known or not
	for _, e := range arrives {
		if isPower(e.Path) {
			if runFiles = append(runFiles, e); !known(e) {
				addPower(e, "")
			}
			continue
		}
		if e.Mode == git.ModeLink && !tracked(e) {
			if to, err := w.outsideTarget(e, members); err != nil {
				return nil, err
			} else if to != "" {
				all = append(all, Power{Path: e.Path, What: "leads to " + to, id: e.ID})
			}
		}
	}
	head, err := git.Tree(w.Repository, w.Git.Head, gitWait)
	if err != nil {
		return nil, err
	}
	for _, e := range head { // what the worktree does not have, git can bring back
		if arrives[e.Path] != e && isPower(e.Path) && !known(e) {
			addPower(e, ", in its last commit")
		}
	}
	// Only the first counts: the worktree that the agent left, or else the main one.
	for _, r := range refs[:min(len(refs), 1)] {
		for name := range r.entries {
			if _, stays := arrives[name]; !stays && isPower(name) && !secretfile.IsSecret(name) { // a secret file never comes
				all = append(all, Power{Path: name, What: "is missing there, and may forbid something here"})
			}
		}
	}
	named, unsearched, err := w.findNamedFiles(refs, runFiles, arrives, members)
	if err != nil {
		return nil, err
	}
	for name, by := range named {
		if e := arrives[name]; !isPower(name) && !tracked(e) {
			addPower(e, ", and "+by+" runs it")
		}
	}
	sort.Slice(all, func(i, j int) bool { return all[i].Path+all[i].What < all[j].Path+all[j].What })
	if n := len(all) - maxPowers; n > 0 {
		all = append(all[:maxPowers], Power{What: fmt.Sprintf("%d more files", n)})
	}
	if unsearched > 0 {
		all = append(all, Power{What: fmt.Sprintf("%d more files that are run were not searched for what they run", unsearched)})
	}
	var ids []string
	for _, p := range all {
		ids = append(ids, p.id)
	}
	contents, err := w.readContents(ids, members)
	for i, p := range all {
		all[i].Text = string(contents[p.id])
	}
	return all, err
}

// readContents returns the beginnings of files by the ids of their content. For the id "", which
// stands for no file, it returns nil.
func (w *unpacking) readContents(ids []string, members map[string]File) (map[string][]byte, error) {
	all := map[string][]byte{"": nil}
	var rest []string
	for _, id := range ids {
		f, is := members[id]
		switch _, have := all[id]; {
		case have:
		case f.Link != "":
			all[id] = []byte(f.Link)
		case is:
			data, err := readHead(w.memberPath(f.Member))
			if err != nil {
				return nil, err
			}
			all[id] = data
		case !slices.Contains(rest, id):
			rest = append(rest, id)
		}
	}
	more, err := git.Blobs(w.Repository, rest, MaxText, gitWait)
	maps.Copy(all, more)
	return all, err
}

// outsideTarget returns where a link leads, if what is written through it would be outside of the
// worktree, in git's own folder, or run by itself. It returns "" for a harmless link.
func (w *unpacking) outsideTarget(e git.Entry, members map[string]File) (string, error) {
	contents, err := w.readContents([]string{e.ID}, members)
	to := string(contents[e.ID])
	at, below := path.Join(path.Dir(e.Path), to), to // the place, and the path without ../ in front
	for up := true; up; {
		below, up = strings.CutPrefix(below, "../")
	}
	back := slices.Contains(strings.Split(below, "/"), "..") && below != ".." // a/.. if a is a link
	if err == nil && !back && !path.IsAbs(to) && filepath.IsLocal(at) && checkPath(at) == nil && !isPower(at) {
		return "", nil
	}
	return to, err
}

// findNamedFiles returns the files that would be run because something names them, each with what
// names it: a file of run, git's settings or hooks here, a hook of the person's, or such a file
// itself. Files that only give settings it does not search. unsearched is how many files are left
// after maxBatches.
func (w *unpacking) findNamedFiles(refs []reference, run []git.Entry, arrives map[string]git.Entry, members map[string]File) (all map[string]string, unsearched int, err error) {
	files := indexFiles(arrives)
	all = map[string]string{}
	settings := map[string]string{}
	for _, r := range refs {
		files.findInGit(cmp.Or(r.top, w.Repository), w.Env.Getenv, all, settings)
	}
	for _, line := range w.ownHooks() {
		files.findNamed("a hook of yours", line, all, settings)
	}
	run = slices.DeleteFunc(slices.Clone(run), isUnread)
	isQueued := map[string]bool{}
	queueNamed := func() {
		for name := range all {
			if e := arrives[name]; !isQueued[name] && !isPower(name) && !isUnread(e) { // each power is in run from the start
				run = append(run, e)
			}
			isQueued[name] = true
		}
	}
	queueNamed()
	for batches := 0; len(run) > 0 && batches < maxBatches; batches++ {
		sort.Slice(run, func(i, j int) bool { return run[i].Path < run[j].Path })
		batch := run[:min(len(run), maxTexts)]
		run = slices.Clone(run[len(batch):])
		var ids []string
		for _, e := range batch {
			ids = append(ids, e.ID)
		}
		contents, err := w.readContents(ids, members)
		if err != nil {
			return nil, 0, err
		}
		for _, e := range batch {
			files.findNamed(e.Path, string(contents[e.ID]), all, settings)
		}
		queueNamed()
	}
	for name, file := range settings {
		all[name] = cmp.Or(all[name], file)
	}
	return all, len(run), nil
}

// isUnread reports whether a file names nothing that is run: it is for people, or a submodule.
func isUnread(e git.Entry) bool { return isProse(e.Path) || e.Mode == git.ModeModule }

// ownHooks returns the command lines of the hooks that the person's own settings of the client have
// for every folder.
func (w *unpacking) ownHooks() (lines []string) {
	file, err := w.client.Hooks.UserFile(w.Env.Getenv, w.Env.Dir)
	c, known := wirings.FindClient(cmp.Or(w.client.Hooks.Format, w.client.Dialect))
	if err != nil || file == "" || !known {
		return nil
	}
	for _, h := range c.Read(wiring.User, file).Handlers {
		lines = append(lines, h.String())
	}
	return lines
}

// isProse reports whether a file is read by people and models.
func isProse(name string) bool {
	return slices.Contains([]string{".md", ".mdc", ".mdx", ".rst"}, path.Ext(name))
}

// readHead returns the beginning of a file.
func readHead(name string) ([]byte, error) {
	f, err := atomicfile.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, MaxText))
}

// index has the names of files by what a text can call them: their path and the ends of it, with
// and without its ending, and their folders.
type index map[string][]string

// indexFiles indexes all files but prose, which nothing runs. A key is "=" and an end of the path, "~"
// and such an end without its ending, or "/" and a folder.
func indexFiles(arrives map[string]git.Entry) index {
	all := index{}
	for name := range arrives {
		if isProse(name) {
			continue
		}
		folded := foldedName(name)
		for end := folded; ; {
			all["="+end] = append(all["="+end], name)
			if plain := strings.TrimSuffix(end, path.Ext(end)); plain != "" {
				all["~"+plain] = append(all["~"+plain], name)
				// python -m MODULE runs MODULE/__main__.py.
				if module, main := strings.CutSuffix(plain, "/__main__"); main {
					all["~"+module] = append(all["~"+module], name)
				}
			}
			_, rest, more := strings.Cut(end, "/")
			if end = rest; !more {
				break
			}
		}
		for dir := path.Dir(folded); dir != "."; dir = path.Dir(dir) {
			all["/"+dir] = append(all["/"+dir], name)
		}
	}
	return all
}

// findInGit searches git's configuration and hooks for the worktree at top.
func (x index) findInGit(top string, getenv func(string) string, all, settings map[string]string) {
	configuration := git.Configuration(top, getenv)
	x.findNamed("git", configuration, all, settings)
	scripts := git.HookScripts(top, configuration, getenv)
	x.findNamed(gitHook, strings.ReplaceAll(scripts, top+"/", "./"), all, settings)
}

// gitHook names the scripts that git runs. Most are generated, and say more than what they run.
const gitHook = "a hook of git"

// findNamed adds to all the files that a text names, and to settings those from which a program that it
// names takes settings. The value of each is file, which has the text. A word that ends in a slash,
// or is followed by an asterisk, is a pattern and names none.
func (x index) findNamed(file, text string, all, settings map[string]string) {
	base := path.Base(file)
	programs := base == ".envrc" || strings.Contains(base, "mise") // whose words can be folders of programs
	addTo := func(found map[string]string, names []string) {
		for _, name := range names {
			if found[name] == "" && name != file {
				found[name] = file
			}
		}
	}
	add := func(names []string) { addTo(all, names) }
	begin, wordBefore := -1, "" // begin is where the word at i begins; -1 between words
	for i, r := range text + " " {
		inWord := strings.ContainsRune("./_-@+", r) || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= 0x80
		if inWord && begin < 0 {
			begin = i
		}
		if inWord || begin < 0 {
			continue
		}
		word := foldedName(text[begin:min(i, len(text))])
		hooks := file == "git" && endsInHooksPath(text[:begin])
		module := wordBefore == "-m"
		if name, ok := strings.CutPrefix(word, "-m"); ok && strings.HasSuffix(wordBefore, "python") {
			add(x["~"+name])
		}
		isValue := strings.HasSuffix(strings.TrimRight(text[:begin], `'"`), "=") && strings.HasPrefix(word, "/")
		program := path.Base(word)
		if file == gitHook && (isValue && toolFiles[program] != nil || word == "/dev/null") { // such as the Python that pre-commit is installed in
			begin, wordBefore = -1, word
			continue
		}
		for _, name := range toolFiles[program] {
			add(x["="+name])
		}
		for _, name := range settingsFiles[program] {
			addTo(settings, x["="+name])
		}
		add(x["~"+program+".config"]) // such as eslint.config.js
		short := strings.TrimPrefix(strings.TrimPrefix(word, "./"), "/")
		for up := true; up; {
			short, up = strings.CutPrefix(short, "../")
		}
		// More often a message than a file.
		isMessage := file == gitHook && !strings.ContainsAny(word, "./") && !isRunner(wordBefore)
		variable := begin > 0 && text[begin-1] == '$'
		begin, wordBefore = -1, word
		if short == "" || r == '*' || isMessage || strings.HasSuffix(short, "/") {
			continue
		}
		for end := short; ; { // an absolute path ends in one of the repository
			// In a hook, most of them generated, the end of a path is too often something else.
			if file != gitHook || end == short || variable || strings.ContainsAny(end, "./") {
				add(x["="+end])
			}
			first, rest, more := strings.Cut(end, "/")
			if end = rest; !more || slices.Contains(libraryFolders, first) {
				break
			}
		}
		// A bare word mostly means neither a folder nor a file without its ending.
		if programs || hooks || strings.ContainsAny(short, "./") || short != word {
			add(x["~"+short])
			add(x["/"+short])
		}
		if strings.Contains(short, ".") { // a module of Python, such as tools.build
			add(x["~"+strings.ReplaceAll(short, ".", "/")])
		}
		if module || strings.HasSuffix(file, ".py") { // a module without a dot
			add(x["~"+short])
		}
	}
}

// isRunner reports whether a word of a script runs the file that is named behind it.
func isRunner(word string) bool {
	word = path.Base(word)
	return strings.HasPrefix(word, "python") || slices.Contains([]string{"sh", "bash", "dash", "zsh", "ksh", ".", "source", "exec", "node", "ruby", "perl", "-f"}, word)
}

// endsInHooksPath reports whether a text of git's settings ends where the folder of the hooks stands.
func endsInHooksPath(text string) bool {
	key := strings.TrimRight(text, " \t\"=")
	return len(key) < len(text) && strings.HasSuffix(strings.ToLower(key), "hookspath")
}
