package sandbox

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"gt/lib/client/agent"
	"gt/lib/sys/atomicfile"
	"gt/lib/sys/process"
	"gt/lib/text/term"
)

// VersionOf is Version, in a new sandbox if the program has to be run.
func VersionOf(c agent.Client, environ []string) (version, unknown string) {
	path, version := findInstalled(c, "", environ)
	if path == "" || version != "" {
		return version, ""
	}
	w, err := New()
	if err != nil {
		return "", err.Error()
	}
	defer w.Remove()
	return w.printedVersion(context.Background(), c, w.Environ(environ, c.Hooks.ProveEnv))
}

// Version returns an agent's version: that of its npm package, or the name of the file
// that it is, otherwise what its program prints in a run with --version, within seconds.
// environ is that of a run. Without a version, unknown says why, or is "" if the agent is not
// installed or its command begins with a shell or an interpreter, which names no version of it.
func (w Sandbox) Version(ctx context.Context, c agent.Client, environ []string) (version, unknown string) {
	path, version := findInstalled(c, w.Project, environ)
	if path == "" || version != "" {
		return version, ""
	}
	return w.printedVersion(ctx, c, environ)
}

// findInstalled returns the program of an agent, and the version that its file tells; "" for none.
func findInstalled(c agent.Client, dir string, environ []string) (path, version string) {
	program := c.Command[0]
	name := filepath.Base(program)
	if name == "node" || !slices.Contains(c.Processes, name) {
		return "", "" // it runs the agent, but its version is not the agent's
	}
	path, err := process.LookPath(program, dir, environ)
	if err != nil {
		return "", ""
	}
	return path, packageVersion(path, name)
}

// printedVersion returns the version that an agent's program prints, or why none is known.
func (w Sandbox) printedVersion(ctx context.Context, c agent.Client, environ []string) (version, unknown string) {
	ctx, cancel := context.WithTimeout(ctx, versionLimit)
	defer cancel()
	command := []string{c.Command[0], "--version"}
	printed, err := Run(ctx, w.Project, environ, command, func() bool { return false })
	printed = term.CleanText(printed)
	all := versionsIn(printed, filepath.Base(c.Command[0]))
	if len(all) == 1 {
		return all[0], ""
	}
	asked := strings.Join(command, " ")
	first, _, _ := strings.Cut(strings.TrimSpace(printed), "\n")
	switch {
	case err != nil:
		return "", err.Error()
	case ctx.Err() != nil:
		return "", fmt.Sprintf("'%s' took longer than %v", asked, versionLimit)
	case first == "":
		return "", fmt.Sprintf("'%s' prints nothing", asked)
	case len(all) > 1:
		return "", fmt.Sprintf("'%s' prints several versions: %s", asked, term.Cut(strings.Join(all, ", "), maxShown))
	}
	return "", fmt.Sprintf("'%s' prints no version, but: %s", asked, term.Cut(first, maxShown))
}

// versionLimit bounds a run that prints a version. A client takes up to three seconds on a
// busy machine.
const versionLimit = 10 * time.Second

const maxPackage = 1 << 20

// packageVersion returns a program's version by its file's name or its npm package, whose name must
// have the client's in it; else "". Clients that run in Node.js take seconds to print theirs.
func packageVersion(program, client string) string {
	path, err := filepath.EvalSymlinks(program)
	if err != nil {
		return ""
	}
	if name := filepath.Base(path); isVersion(name) { // of Claude Code's own installer
		return name
	}
	for dir := filepath.Dir(path); strings.Contains(dir, "/node_modules/"); dir = filepath.Dir(dir) {
		var p struct{ Name, Version string }
		data, err := atomicfile.Read(filepath.Join(dir, "package.json"), maxPackage)
		if err != nil || json.Unmarshal(data, &p) != nil || p.Name == "" || p.Version == "" {
			continue
		}
		if !strings.Contains(p.Name, client) { // a program of another package that starts the client
			return ""
		}
		if !isVersion(p.Version) { // of a build of the person's own: "latest", "workspace:*"
			return ""
		}
		return p.Version
	}
	return ""
}

// versionsIn returns the versions in what a client prints: those of the lines that hold nothing else
// but the client's name ("codex-cli 0.169.0", "2.1.330 (Claude Code)"), or of those without it. What
// version managers, runtimes and wrappers print is full of other versions ("Now using node
// v20.11.0"), and one without a choice lists all that are installed.
func versionsIn(printed, client string) []string {
	var named, bare []string
	for line := range strings.Lines(printed) {
		version, hasName := onlyVersion(line, client)
		version = term.Cut(version, maxVersion)
		switch {
		case hasName:
			named = append(named, version)
		case version != "":
			bare = append(bare, version)
		}
	}
	if named == nil {
		named = bare
	}
	return slices.Compact(named)
}

// onlyVersion returns the version in a line that holds nothing else but the client's name and
// something in parentheses.
func onlyVersion(line, client string) (version string, hasName bool) {
	line = strings.ToLower(line)
	hasName = strings.Contains(line, client)
	line, _, _ = strings.Cut(line, "(")
	for _, word := range strings.Fields(line) {
		word = strings.Trim(word, ".,:")
		switch number := strings.TrimPrefix(word, "v"); {
		case isVersion(number) && version == "":
			version = number
		case strings.Contains(word, client), slices.Contains(versionWords, word):
		default:
			return "", false
		}
	}
	return version, hasName && version != ""
}

// versionWords stand beside a version: "Claude Code", "GitHub Copilot CLI", "kimi, version 1.2".
var versionWords = []string{"cli", "code", "github", "version"}

func isVersion(word string) bool {
	return word != "" && word[0] >= '0' && word[0] <= '9' && strings.Contains(word, ".") && !strings.ContainsFunc(word, notOfVersion)
}

func notOfVersion(r rune) bool {
	return !strings.ContainsRune("abcdefghijklmnopqrstuvwxyz0123456789.-+_", r)
}

const (
	maxVersion = 40 // columns
	maxShown   = 60
)
