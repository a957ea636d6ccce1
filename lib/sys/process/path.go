package process

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"

	"gt/lib/sys/atomicfile"
)

var projects struct {
	sync.Mutex
	dirs []string
}

// Distrust keeps LookPath from finding programs in the project that contains a folder. Its
// author, or an agent in its sandbox, could otherwise choose what gt runs outside. It is
// called wherever a project becomes known, so that no caller of LookPath can forget it.
func Distrust(dir string) {
	projects.Lock()
	defer projects.Unlock()
	if filepath.IsAbs(dir) && !slices.Contains(projects.dirs, dir) {
		projects.dirs = append(projects.dirs, dir)
	}
}

func distrustedDirs() []string {
	projects.Lock()
	defer projects.Unlock()
	return slices.Clone(projects.dirs)
}

// LookPath finds a program on the PATH of an environment ("NAME=value"), or checks a path
// with a slash. It skips relative entries of PATH, and programs in distrusted projects (see
// Distrust) or in the project of dir, unless that is "".
func LookPath(name, dir string, environ []string) (string, error) {
	if strings.Contains(name, "/") {
		path, err := filepath.Abs(name)
		if err == nil && !isRunnable(path) {
			err = fmt.Errorf("cannot run '%s': it is not a program", name)
		}
		return path, err
	}
	passed, forbidden := "", forbiddenTops(dir, environ)
	for _, entry := range filepath.SplitList(Variable(environ, "PATH")) {
		if !filepath.IsAbs(entry) {
			continue
		}
		path := filepath.Join(entry, name)
		switch {
		case !isRunnable(path):
		case leadsThrough(path, forbidden): // mutant never: ./attacks TestPathIntoProject$
			passed = path
		default:
			return path, nil
		}
	}
	if passed != "" {
		return "", &InProjectError{name, passed}
	}
	return "", fmt.Errorf("cannot run '%s': it is not on the PATH", name)
}

// InProjectError reports a program that only a project has.
type InProjectError struct{ Name, Path string }

func (e *InProjectError) Error() string {
	return fmt.Sprintf("cannot run '%s': on the PATH it is only at '%s', in the project", e.Name, e.Path)
}

func (e *InProjectError) Hint() string {
	return "what a project brings along is not run by its name; install " + e.Name + " outside of it"
}

// SearchPath returns the PATH of an environment without the folders that LookPath skips,
// for a program that starts others.
func SearchPath(dir string, environ []string) string {
	forbidden := forbiddenTops(dir, environ)
	return strings.Join(slices.DeleteFunc(filepath.SplitList(Variable(environ, "PATH")), func(entry string) bool {
		return !filepath.IsAbs(entry) || leadsThrough(entry, forbidden)
	}), ":")
}

// personVariables say who and where a person is. None names a program.
var personVariables = []string{"HOME", "USER", "LOGNAME", "SUDO_UID", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME", "LANG", "LC_CTYPE", "TZ"}

// PersonEnviron returns these variables of an environment, for a program that works for gt only.
func PersonEnviron(environ []string) []string {
	var env []string
	for _, name := range personVariables {
		if value := Variable(environ, name); value != "" {
			env = append(env, name+"="+value)
		}
	}
	return env
}

// desktopVariables are the variables by which programs reach the person's terminal and desktop.
var desktopVariables = []string{"TERM", "DISPLAY", "WAYLAND_DISPLAY", "XDG_RUNTIME_DIR", "TMPDIR", "TMUX", "TMUX_PANE", "TMUX_TMPDIR"}

// PersonalEnviron filters an environment that others may have changed, for a program of the
// person: who and where the person is, terminal and desktop, and PATH without projects. No
// other variable names a program.
func PersonalEnviron(environ []string) []string {
	env := PersonEnviron(environ)
	for _, kv := range environ {
		name, _, _ := strings.Cut(kv, "=")
		if slices.Contains(desktopVariables, name) || strings.HasPrefix(name, "LC_") && !slices.Contains(personVariables, name) {
			env = append(env, kv)
		}
	}
	return append(env, "PATH="+SearchPath("", environ))
}

// LeadsThroughProject reports whether a path leads through a distrusted project or the project of
// dir, unless that is "": the file itself, a link to it, or a link's target is there.
func LeadsThroughProject(path, dir string, environ []string) bool {
	return leadsThrough(path, forbiddenTops(dir, environ))
}

// forbiddenTops returns the tops of the distrusted projects and of dir's.
//
// A folder that contains the person's home, as a repository of dotfiles does, the system's
// programs or gt itself does not count: otherwise nothing would be found, and who can write
// there does not need gt.
func forbiddenTops(dir string, environ []string) []string {
	var all, seen []string
	for _, project := range append(distrustedDirs(), dir) {
		if project == "" || slices.Contains(seen, project) {
			continue
		}
		seen = append(seen, project)
		for _, top := range repositoryTops(atomicfile.ResolveLinks(project)) {
			if !slices.Contains(all, top) {
				all = append(all, top)
			}
		}
	}
	return slices.DeleteFunc(all, func(top string) bool { return isNoProject(top, environ) })
}

// maxLinks is the kernel's limit of links in a path.
const maxLinks = 40

// leadsThrough reports whether a path leads through one of the folders. It follows all links, and a
// path with more links than the kernel follows counts as if it did.
func leadsThrough(path string, folders []string) bool {
	at, links := "/", 0
	for rest := strings.Split(filepath.Clean(path), "/"); len(rest) > 0; {
		part := rest[0]
		rest = rest[1:]
		next := filepath.Join(at, part) // at has no links, so .. is its parent
		if slices.ContainsFunc(folders, func(folder string) bool { return isBelow(next, folder) }) {
			return true
		}
		to, err := os.Readlink(next)
		if err != nil || part == "" || part == "." || part == ".." { // mutant always: TestLookPathOutsideProject
			at = next
			continue
		}
		if links++; links > maxLinks {
			return true
		}
		if filepath.IsAbs(to) {
			at = "/"
		}
		rest = append(strings.Split(to, "/"), rest...)
	}
	return false
}

// isNoProject reports whether a folder does not count as a project; see forbiddenTops.
func isNoProject(dir string, environ []string) bool {
	if isBelow("/usr/bin", dir) || isBelow(atomicfile.ResolveLinks(Variable(environ, "HOME")), dir) {
		return true
	}
	self, err := os.Executable()
	return err == nil && isBelow(atomicfile.ResolveLinks(self), dir)
}

func isBelow(path, dir string) bool {
	return path == dir || dir == "/" || strings.HasPrefix(path, dir+"/")
}

// repositoryTops returns the folders at or above dir that contain .git, or dir: a submodule and
// a linked worktree may be inside another repository.
func repositoryTops(dir string) []string {
	var all []string
	for at := dir; ; at = filepath.Dir(at) {
		if _, err := os.Lstat(filepath.Join(at, ".git")); err == nil {
			all = append(all, at)
		}
		if at == filepath.Dir(at) {
			break
		}
	}
	if len(all) == 0 {
		return []string{dir}
	}
	return all
}

// Variable returns the value of a variable. The last setting counts.
func Variable(environ []string, name string) string {
	for _, kv := range slices.Backward(environ) {
		if value, ok := strings.CutPrefix(kv, name+"="); ok {
			return value
		}
	}
	return ""
}

func isRunnable(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && syscall.Access(path, 1) == nil
}

// SiblingBinary returns the path of another program in this program's folder, or its bare
// name if it is not there.
func SiblingBinary(name string) string {
	if self, err := os.Executable(); err == nil {
		beside := filepath.Join(filepath.Dir(self), name)
		if info, err := os.Stat(beside); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return beside
		}
	}
	return name
}
