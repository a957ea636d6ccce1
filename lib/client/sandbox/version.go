package sandbox

import (
	"context"
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"gt/lib/client/agent"
	"gt/lib/sys/atomicfile"
	"gt/lib/sys/process"
	"gt/lib/text/term"
)

// VersionOf is Version, with a world of its own for a program that has to be run.
func VersionOf(c agent.Client, environ []string) string {
	path, version := installed(c, "", environ)
	if path == "" || version != "" {
		return version
	}
	w, err := New()
	if err != nil {
		return ""
	}
	defer w.End()
	return w.printedVersion(context.Background(), c, w.Environ(environ, c.Hooks.ProveEnv))
}

// Version returns an agent's version, or "": that of its npm package, or the name of the file
// that it is, otherwise what its program prints in a run with --version, within seconds.
// environ is that of a run. A command that begins with a shell or an interpreter names no
// version of the agent.
func (w World) Version(ctx context.Context, c agent.Client, environ []string) string {
	path, version := installed(c, w.Project, environ)
	if path == "" || version != "" {
		return version
	}
	return w.printedVersion(ctx, c, environ)
}

// installed returns the program of an agent, and the version that its file tells; "" for none.
func installed(c agent.Client, dir string, environ []string) (path, version string) {
	program := c.Command[0]
	if name := filepath.Base(program); name == "node" || !slices.Contains(c.Processes, name) {
		return "", ""
	}
	path, err := process.LookPath(program, dir, environ)
	if err != nil {
		return "", ""
	}
	return path, packaged(path)
}

func (w World) printedVersion(ctx context.Context, c agent.Client, environ []string) string {
	ctx, cancel := context.WithTimeout(ctx, versionLimit)
	defer cancel()
	printed, _ := Run(ctx, w.Project, environ, []string{c.Command[0], "--version"}, func() bool { return false })
	return versionIn(printed)
}

// versionLimit bounds a run that prints a version. A client takes up to three seconds on a
// busy machine.
const versionLimit = 10 * time.Second

const maxPackage = 1 << 20

// packaged returns the version of a program by its file, or "". Clients that run in Node.js
// take seconds to print theirs.
func packaged(program string) string {
	path, err := filepath.EvalSymlinks(program)
	if err != nil {
		return ""
	}
	if name := filepath.Base(path); versionIn(name) == name { // of Claude Code's own installer
		return name
	}
	for dir := filepath.Dir(path); strings.Contains(dir, "/node_modules/"); dir = filepath.Dir(dir) {
		var p struct{ Name, Version string }
		data, err := atomicfile.Read(filepath.Join(dir, "package.json"), maxPackage)
		if err == nil && json.Unmarshal(data, &p) == nil && p.Name != "" && p.Version != "" {
			return versionIn(p.Version)
		}
	}
	return ""
}

// versionIn returns the version in what an agent prints: "codex-cli 0.169.0", "2.1.330
// (Claude Code)".
func versionIn(printed string) string {
	for _, word := range strings.Fields(printed) {
		word = strings.TrimRight(strings.TrimPrefix(word, "v"), ".,")
		if word != "" && word[0] >= '0' && word[0] <= '9' && strings.Contains(word, ".") {
			return term.Cut(term.Clean(word), maxVersion)
		}
	}
	return ""
}

const maxVersion = 40 // columns
