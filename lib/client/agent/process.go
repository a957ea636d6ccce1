package agent

import (
	"encoding/json"
	"iter"
	"path/filepath"
	"strings"

	"gt/lib/sys/atomicfile"
	"gt/lib/sys/process"
)

// OfProcess returns the client that a process runs, by its name or by its command line. The client
// has no name if there is none.
func (t *Table) OfProcess(pid int) Client {
	if c := t.ByProcess(process.Name(pid)); c.Name != "" {
		return c
	}
	for name := range ProgramNames(pid) {
		if c := t.ByProcess(name); c.Name != "" {
			return c
		}
	}
	return Client{}
}

// ProgramNames yields the names of what a process runs: first that of its program, or of its
// interpreter's script, then the commands that the script's npm package makes of it: the process
// node /usr/lib/node_modules/x/cli.js has no better name. The package is only read for a caller
// that wants more than the first.
func ProgramNames(pid int) iter.Seq[string] {
	return func(yield func(string) bool) {
		p, err := process.Find(pid)
		if err != nil {
			return
		}
		args, err := p.Args()
		if err != nil || len(args) == 0 {
			yield(process.Name(pid))
			return
		}
		words, _ := Client{}.splitProgram(args)
		if !yield(ProgramName(args)) || len(words) < 2 {
			return
		}
		script := words[len(words)-1]
		if !filepath.IsAbs(script) {
			dir, err := p.Dir()
			if err != nil {
				return
			}
			script = filepath.Join(dir, script)
		}
		for _, command := range commandsOf(script) {
			if !yield(command) {
				return
			}
		}
	}
}

const (
	maxDeep    = 5 // folders of a package above its script
	maxPackage = 256 << 10
)

// commandsOf returns the commands as which npm installs a script, by the package.json above it; nil
// if there is none.
func commandsOf(script string) (commands []string) {
	if strings.HasPrefix(script, "/dev/fd/") || strings.HasPrefix(script, "/proc/self/") {
		return nil // here that is a file of this process
	}
	script, err := filepath.EvalSymlinks(script)
	if err != nil {
		return nil
	}
	dir := filepath.Dir(script)
	for range maxDeep {
		data, err := atomicfile.Read(filepath.Join(dir, "package.json"), maxPackage)
		if err != nil {
			dir = filepath.Dir(dir)
			continue
		}
		var manifest struct {
			Name string
			Bin  any
		}
		if json.Unmarshal(data, &manifest) != nil {
			return nil
		}
		if manifest.Name == "" && manifest.Bin == nil { // it only tells the type of the scripts below it
			dir = filepath.Dir(dir)
			continue
		}
		bin, several := manifest.Bin.(map[string]any)
		if !several {
			bin = map[string]any{manifest.Name[strings.LastIndex(manifest.Name, "/")+1:]: manifest.Bin}
		}
		for command, file := range bin {
			if file, ok := file.(string); ok && filepath.Join(dir, file) == script {
				commands = append(commands, command)
			}
		}
		return commands
	}
	return nil
}
