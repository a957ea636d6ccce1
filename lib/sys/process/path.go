package process

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
)

// projects are the folders whose programs are nobody's who gt works for.
var projects struct {
	sync.Mutex
	dirs []string
}

// Distrust keeps LookPath from finding programs in the project that a folder is
// in: whoever writes there, a repository's author or an agent in its sandbox,
// could name what gt runs outside of the sandbox. It is called where a project
// becomes known, so that none of those who look for a program can forget it.
func Distrust(dir string) {
	projects.Lock()
	defer projects.Unlock()
	if filepath.IsAbs(dir) && !slices.Contains(projects.dirs, dir) {
		projects.dirs = append(projects.dirs, dir)
	}
}

// distrusted returns those folders.
func distrusted() []string {
	projects.Lock()
	defer projects.Unlock()
	return slices.Clone(projects.dirs)
}

// LookPath finds a program on the PATH of an environment ("NAME=value"); a name
// with a slash in it is a path itself. Passed over is what lies in the working
// directory only because PATH says so ("." or an empty word), and what lies in
// a project (see Distrust) or in the one of the folder dir, "" for none: what
// stands behind it on the PATH is found.
func LookPath(name, dir string, environ []string) (string, error) {
	if strings.Contains(name, "/") {
		path, err := filepath.Abs(name)
		if err == nil && !runnable(path) {
			err = fmt.Errorf("cannot run '%s': it is not a program", name)
		}
		return path, err
	}
	passed, forbidden := "", tops(dir, environ)
	for _, entry := range filepath.SplitList(Variable(environ, "PATH")) {
		if !filepath.IsAbs(entry) {
			continue
		}
		path := filepath.Join(entry, name)
		switch {
		case !runnable(path):
		case passes(path, forbidden):
			passed = path
		default:
			return path, nil
		}
	}
	if passed != "" {
		return "", &InProject{name, passed}
	}
	return "", fmt.Errorf("cannot run '%s': it is not on the PATH", name)
}

// InProject is what LookPath gives for a program that only a project has.
type InProject struct{ Name, Path string }

func (e *InProject) Error() string {
	return fmt.Sprintf("cannot run '%s': on the PATH it is only at '%s', in the project", e.Name, e.Path)
}

// Hint says what a person can do about it.
func (e *InProject) Hint() string {
	return "what a project brings along is not run by its name; install " + e.Name + " outside of it"
}

// SearchPath returns the value of PATH in an environment without the folders
// in which LookPath finds nothing, for a program that starts others itself.
func SearchPath(dir string, environ []string) string {
	forbidden := tops(dir, environ)
	return strings.Join(slices.DeleteFunc(filepath.SplitList(Variable(environ, "PATH")), func(entry string) bool {
		return !filepath.IsAbs(entry) || passes(entry, forbidden)
	}), ":")
}

// personVariables are the variables that say who and where a person is; none
// names a program.
var personVariables = []string{"HOME", "USER", "LOGNAME", "SUDO_UID", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME", "LANG", "LC_CTYPE", "TZ"}

// PersonEnviron returns those variables of an environment, for a program that
// works for gt and for nobody else.
func PersonEnviron(environ []string) []string {
	var env []string
	for _, name := range personVariables {
		if value := Variable(environ, name); value != "" {
			env = append(env, name+"="+value)
		}
	}
	return env
}

// ofDesktop are the variables by which a program reaches the person's terminal and desktop.
var ofDesktop = []string{"TERM", "DISPLAY", "WAYLAND_DISPLAY", "XDG_RUNTIME_DIR", "TMPDIR", "TMUX", "TMUX_PANE", "TMUX_TMPDIR"}

// PersonalEnviron returns what is left of an environment that others may have changed, for
// a program of the person's: who and where the person is, the terminal and the desktop, and
// the PATH. None names a program but the PATH, where no project's is found.
func PersonalEnviron(environ []string) []string {
	env := PersonEnviron(environ)
	for _, kv := range environ {
		name, _, _ := strings.Cut(kv, "=")
		if slices.Contains(ofDesktop, name) || strings.HasPrefix(name, "LC_") && !slices.Contains(personVariables, name) {
			env = append(env, kv)
		}
	}
	return append(env, "PATH="+SearchPath("", environ))
}

// Within reports whether the way to a file or folder leads through the project of
// the folder dir ("" for none) or through one that is distrusted: whether it lies
// there, or a link to it does, or what a link leads to.
func Within(path, dir string, environ []string) bool { return passes(path, tops(dir, environ)) }

// tops are the tops of the projects that are distrusted and of that of the
// folder dir.
//
// A folder that holds the person's home folder, as a repository of dotfiles
// does, the system's programs or gt itself is no project here: nothing at all
// would be found, and who can write there needs no gt.
func tops(dir string, environ []string) []string {
	var all, seen []string
	for _, project := range append(distrusted(), dir) {
		if project == "" || slices.Contains(seen, project) {
			continue
		}
		seen = append(seen, project)
		for _, top := range worktrees(real(project)) {
			if !slices.Contains(all, top) {
				all = append(all, top)
			}
		}
	}
	return slices.DeleteFunc(all, func(top string) bool { return holdsAll(top, environ) })
}

// maxLinks is how many links a path may lead through, as for the kernel.
const maxLinks = 40

// passes reports whether the way to a path leads through one of the folders.
func passes(path string, folders []string) bool {
	at, links := "/", 0
	for rest := strings.Split(filepath.Clean(path), "/"); len(rest) > 0; {
		part := rest[0]
		rest = rest[1:]
		next := filepath.Join(at, part) // at has no links, so that .. is the folder above
		if slices.ContainsFunc(folders, func(folder string) bool { return below(next, folder) }) {
			return true
		}
		to, err := os.Readlink(next)
		if err != nil || part == "" || part == "." || part == ".." {
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

// holdsAll reports whether a folder is no project, see tops.
func holdsAll(dir string, environ []string) bool {
	if below("/usr/bin", dir) || below(real(Variable(environ, "HOME")), dir) {
		return true
	}
	self, err := os.Executable()
	return err == nil && below(real(self), dir)
}

// real is a path with its links followed, and as it is where that fails.
func real(path string) string {
	if followed, err := filepath.EvalSymlinks(path); err == nil {
		return followed
	}
	return filepath.Clean(path)
}

// below reports whether a path is a folder or lies in it.
func below(path, dir string) bool {
	return path == dir || dir == "/" || strings.HasPrefix(path, dir+"/")
}

// worktrees returns the folders at or above dir with .git in them, as a submodule and
// a linked worktree lie in another repository; dir itself where there is none.
func worktrees(dir string) []string {
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

// Variable is the value of a variable, the last where it stands there twice.
func Variable(environ []string, name string) string {
	for _, kv := range slices.Backward(environ) {
		if value, ok := strings.CutPrefix(kv, name+"="); ok {
			return value
		}
	}
	return ""
}

func runnable(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && syscall.Access(path, 1) == nil
}
