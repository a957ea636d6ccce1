package hookscmd

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"gt/lib/cli"
	"gt/lib/client/settings"
	"gt/lib/sys/bounded"
	"gt/lib/sys/process"
)

const mcpEvent = "mcp" // stands for the event in a finding about the MCP server

const mcpProgram = "gt-seance" // the program that is the server

// takesServer reports whether a settings file is the person's own of an agent that gt can add an MCP
// server to.
func (t target) takesServer(file string) bool {
	return t.client.MCP != nil && t.folder != "" && t.isPersons(file)
}

// findServer returns the program that the agent starts as gt's MCP server and the file that says
// so, or "".
func (t target) findServer(file string) (program, in string) {
	if !t.takesServer(file) {
		return "", ""
	}
	for _, in := range t.client.MCP.Files(t.folder) {
		if text, err := settings.Read(in); err == nil { // the client reports an error
			if program := t.client.MCP.Program(text); filepath.Base(program) == mcpProgram {
				return program, in
			}
		}
	}
	return "", ""
}

func (t target) hasServer(file string) bool {
	program, _ := t.findServer(file)
	return program != ""
}

// setServer makes the program the agent's MCP server, or removes that if program is "". The client's
// own command does it: its file has much else, and it writes that at any time.
func (t target) setServer(env *cli.Env, file, program string, dryRun bool) (changed bool, err error) {
	was, _ := t.findServer(file)
	if was == program || !t.takesServer(file) {
		return false, nil
	}
	if dryRun {
		return true, nil
	}
	command, err := process.LookPath(t.block.Command[0], env.Dir, env.ChildEnviron())
	var runs [][]string
	if was != "" {
		runs = append(runs, t.client.MCP.Remove)
	}
	if program != "" {
		runs = append(runs, slices.Concat(t.client.MCP.Add, []string{"--", program, "mcp"}))
	}
	for _, args := range runs {
		if err == nil {
			run := bounded.Program{Path: command, Args: args, Dir: env.Dir, Env: env.ChildEnviron(), Within: time.Minute, Most: 64 << 10}
			_, err = run.Run(context.Background())
		}
	}
	if err != nil {
		return false, cli.Fail(cli.AnswerNo, fmt.Errorf("cannot change %s's MCP servers: %w", t.name, err))
	}
	return true, nil
}

// serverFinding returns the finding about gt's MCP server, or nil if the agent has none. dir is the folder
// in which the server's program should be.
func (p source) serverFinding(dir string) *finding {
	program, in := p.target.findServer(p.File)
	if program == "" {
		return nil
	}
	f := &finding{Agent: p.target.name, Scope: p.Scope, File: in, Event: mcpEvent, Hook: mcpProgram + " mcp", State: wired}
	if program != filepath.Join(dir, mcpProgram) {
		f.State, f.Detail, f.Fix = otherPath, "the server is in another folder", p.repair()+" --mcp"
	}
	return f
}
