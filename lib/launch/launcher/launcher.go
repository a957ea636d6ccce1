// Package launcher finds what a person put between a tmux pane and the agent in it: a
// sandbox, another user, a program that sets variables. The next agent starts in
// the same, word for word, or not at all.
package launcher

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"gt/lib/client/agent"
	"gt/lib/sys/process"
	"gt/lib/sys/tmux"
)

// Launcher is what an agent was started in.
type Launcher struct {
	// Words start a command in it (see WrapCommand). Empty means no launcher.
	Words []string
	// Why says why the next agent cannot start in the same; "" if it can.
	Why string
	// Outer is the launcher's first process. The next agent gets its environment and
	// folder. It is unset without a launcher.
	Outer   process.Proc
	Environ []string
	Dir     string
	// Limits are those that differ from the tmux server's. The next agent gets them too.
	Limits *process.Limits
	// Boxed reports that the agent runs in a confinement that tmux's server does not run
	// in.
	Boxed bool
	// Isolated reports that Words make only part of that confinement, so an agent started
	// with them would run outside.
	Isolated bool
}

// changedWalls returns the walls (see process.Bounds) that a sandbox program changes for itself
// while it waits for its child. Any other launcher runs where its pane does.
func changedWalls(name string, words []string) []string {
	switch name {
	case "bwrap":
		return []string{process.NoNewPrivs, process.Capabilities}
	case "sudo", "su", "runuser":
		return []string{process.Group}
	case "unshare":
		return unsharedWalls(words)
	}
	return nil
}

// unsharedWalls returns the walls that unshare(1) changes for itself: the namespaces of its
// options, except those that only its children enter. It ignores options after one with a
// separate value.
func unsharedWalls(words []string) (walls []string) {
	for _, word := range words[min(1, len(words)):] {
		if !strings.HasPrefix(word, "-") {
			break
		}
		long, _, _ := strings.Cut(word, "=")
		short := word
		if strings.HasPrefix(word, "--") {
			short = ""
		}
		// implied begins other options that mean the same; "-" is none.
		for _, ns := range []struct{ long, implied, short, wall string }{
			{"--mount", "--mount-", "m", "mount namespace"}, {"--user", "--map-", "Urc", "user namespace"}, {"--net", "-", "n", "network namespace"},
			{"--ipc", "-", "i", "IPC namespace"}, {"--uts", "-", "u", "host name namespace"}, {"--cgroup", "-", "C", "control group namespace"},
		} {
			if long == ns.long || ns.implied != "-" && strings.HasPrefix(long, ns.implied) || strings.ContainsAny(short, ns.short) {
				walls = append(walls, ns.wall)
			}
		}
	}
	if slices.Contains(walls, "user namespace") {
		walls = append(walls, process.Capabilities)
	}
	return walls
}

// inheritedFile returns the word by which a launcher reads a file that was open when it started,
// or "". The next launcher would not have that file.
func inheritedFile(name string, words []string) string {
	for _, word := range words {
		fd := strings.HasSuffix(word, "-fd") || strings.HasSuffix(word, "-data") ||
			slices.Contains([]string{"--args", "--file", "--seccomp", "--userns", "--userns2", "--pidns"}, word)
		if name == "bwrap" && strings.HasPrefix(word, "--") && fd || strings.HasPrefix(word, "/dev/fd/") || strings.HasPrefix(word, "/proc/self/fd/") {
			return word
		}
	}
	return ""
}

// FindLauncher returns what the client with process p was started in, inside its pane.
func FindLauncher(known *agent.Table, c agent.Client, p process.Proc, pane tmux.Pane) Launcher {
	path, reached := process.AncestorPath(p.PID, pane.PID)
	server := process.Parent(pane.PID)
	if !reached || !strings.HasPrefix(process.Name(server), "tmux") {
		return Launcher{Why: "it does not run below its pane, as far as can be seen from here"}
	}
	l, err := walkPath(path, clientMatcher(known, c)).judgePath(path, server)
	if err != nil {
		l.Why = err.Error()
	}
	return l
}

// IsCleared reports whether an agent lacks most of the variables that its pane began with, as
// after env -i. Such an agent had a launcher that became the agent by exec. If an
// environment cannot be read, the answer is true.
func IsCleared(p process.Proc, pane tmux.Pane) bool {
	first, err := process.Find(pane.PID)
	if err != nil {
		return true
	}
	began, err := first.Environ()
	own, oerr := p.Environ()
	if err != nil || oerr != nil {
		return true
	}
	gone := 0
	for _, kv := range began {
		name, _, _ := strings.Cut(kv, "=")
		if !slices.ContainsFunc(own, func(kv string) bool { return strings.HasPrefix(kv, name+"=") }) {
			gone++
		}
	}
	return gone > len(began)/2
}

// FindClientProcess returns the client's process at or below p, which may be a launcher, or p if there
// is none.
func FindClientProcess(known *agent.Table, c agent.Client, p process.Proc) process.Proc {
	if !p.IsAlive() {
		return p
	}
	same := clientMatcher(known, c)
	for _, pid := range process.Snapshot().Descendants(p.PID) {
		one, err := process.Find(pid)
		if err != nil {
			continue
		}
		if args, err := one.Args(); err == nil && same(args) {
			return one
		}
	}
	return p
}

// clientMatcher returns a function that recognizes a client by its command line.
func clientMatcher(known *agent.Table, c agent.Client) func([]string) bool {
	return func(args []string) bool {
		name := agent.ProgramName(args)
		return name != "" && (known.ByProcess(name).Name == c.Name || len(c.Command) > 0 && name == filepath.Base(c.Command[0]))
	}
}

// judgePath returns what the client of a path was started in, or why a successor cannot be started
// in the same. path is what walkPath walked, and server the tmux server. From what one launcher
// started to the next launcher or the client, the bounds (process.Bounds) may not change, but for
// what that program changes itself.
func (w walkedPath) judgePath(path []process.Info, server int) (l Launcher, err error) {
	if i := w.stranger; i >= 0 {
		l.Boxed = true
		return l, fmt.Errorf("it runs below '%s', and gt does not know how that starts it", programTitle(path[i]))
	}
	starts := append([]foundLauncher{{index: w.client}}, w.launchers...) // from the client up
	first := starts[len(starts)-1].index
	serverBounds, err := process.BoundsOf(server)
	if err != nil {
		return l, err
	}
	outer, err := process.BoundsOf(path[first].PID)
	if err != nil {
		return l, err
	}
	l.Limits = outer.Limits.ChangedFrom(serverBounds.Limits)
	clientBounds, err := process.BoundsOf(path[0].PID)
	l.Boxed = err != nil || len(clientBounds.DifferingWalls(serverBounds)) > 0
	if l.Words, err = w.allWords(); err != nil {
		return l, err
	}
	above := server
	for _, one := range slices.Backward(starts) { // each is compared with what started it, above
		p := path[one.index]
		if word := inheritedFile(p.Name, one.words); word != "" {
			return l, fmt.Errorf("'%s' reads an open file (%s), which only the program that started it has", programTitle(p), word)
		}
		if p.PID != above {
			if err := checkBounds(above, p, one.words); err != nil {
				l.Boxed, l.Isolated = true, true
				return l, err
			}
		}
		above = path[one.belowIndex].PID // of the client it does not matter
	}
	if len(w.launchers) == 0 {
		return l, nil
	}
	if l.Outer, err = process.Find(path[first].PID); err != nil {
		return l, err
	}
	if l.Environ, err = l.Outer.Environ(); err != nil {
		return l, fmt.Errorf("the environment of '%s' cannot be read", programTitle(path[first]))
	}
	if l.Dir, err = l.Outer.Dir(); err != nil {
		return l, fmt.Errorf("the folder of '%s' cannot be read", programTitle(path[first]))
	}
	return l, nil
}

// allWords returns the command of all launchers, the outermost first.
func (w walkedPath) allWords() (all []string, err error) {
	for _, one := range w.launchers { // innermost first
		words, ok := nestLaunchers(one.words, all)
		if !ok {
			return nil, fmt.Errorf("its command line is within a word of '%s', which is itself within a word", one.words[0])
		}
		all = words
	}
	return all, nil
}

// checkBounds returns an error if a process has other bounds than one above it and did not
// change them itself. words are those of its launcher.
func checkBounds(above int, p process.Info, words []string) error {
	a, err := process.BoundsOf(above)
	if err != nil {
		return err
	}
	b, err := process.BoundsOf(p.PID)
	if err != nil {
		return err
	}
	walls := slices.DeleteFunc(a.DifferingWalls(b), func(wall string) bool { return slices.Contains(changedWalls(p.Name, words), wall) })
	if len(walls) == 0 { // mutant always: . TestScripts/handoff_box_unknown
		return nil
	}
	return fmt.Errorf("it runs with another %s than its pane, and gt does not know what made that", strings.Join(walls, ", "))
}

func programTitle(p process.Info) string {
	if len(p.Args) > 0 && p.Args[0] != "" {
		return filepath.Base(p.Args[0])
	}
	return p.Name
}

// TypedWords returns the words that a person types before a client's command to start it in the
// same place, as far as can be seen from the nearest shell. whole reports that the words
// are a complete command line, of a program that starts the client in its own way. unseen
// reports a sandbox or container whose command line cannot be seen.
func TypedWords(known *agent.Table, c agent.Client, p process.Proc) (words []string, whole, unseen bool) {
	path, _ := process.AncestorPath(p.PID, 0)
	pane := slices.IndexFunc(path, func(p process.Info) bool { return strings.HasPrefix(p.Name, "tmux") })
	if pane >= 0 {
		path = path[:pane]
	}
	if len(path) == 0 {
		return nil, false, process.IsContained()
	}
	w := walkPath(path, clientMatcher(known, c))
	end := len(path)
	if w.shell >= 0 {
		end = w.shell
	}
	// The stranger starts the client in a way of its own, so it is what a person types instead.
	if s := w.stranger; s >= 0 && s < end && (w.shell >= 0 || pane >= 0) {
		return asTyped(path[s].Args), true, len(path[s].Args) == 0
	}
	w.launchers = slices.DeleteFunc(w.launchers, func(f foundLauncher) bool { return f.index >= end || w.stranger >= 0 && f.index > w.stranger })
	words, err := w.allWords()
	if err != nil {
		return nil, false, true
	}
	// In a container without a launcher and a shell, what a person typed is outside and not seen.
	return words, false, len(words) == 0 && w.shell < 0 && process.IsContained()
}
