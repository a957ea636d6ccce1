// Package template reads from a town.toml how agents are started and how many there
// should be: its [[agent]] blocks, in the syntax of Gas City's city.toml.
//
//	[[agent]]
//	name = "worker"
//	provider = "claude"
//	prompt_template = "roles/worker.md"
//
//	[agent.pool]
//	min = 1
//	max = 5
//	check = "bd ready --label=pool:worker --json | jq length"
//
//	[agent.defaults]
//	model = "opus"
//	wake_mode = "resume"
package template

import (
	"time"

	"gt/lib/reconcile/tick"
)

// Template is one [[agent]] block, with the defaults of what it leaves out.
type Template struct {
	// Template is what decides how many sessions there are.
	tick.Template
	Line int // of the block in its file, from 1
	// Lines of what is looked at elsewhere.
	ProviderLine, PromptLine, SetupLine int

	Title, Description string // which change nothing of how an agent runs

	Provider       string            // the agent's name in the table of agents
	Command        []string          // of the agent; empty for the agent's own
	PromptTemplate string            // a file, relative to the town
	WorkDir        string            // relative to the town, or absolute; "" for the town
	Env            map[string]string // variables of the agent
	Hooks          []string
	PreStart       []string // commands that run before the agent is started
	SessionSetup   []string // commands that run in the agent's session of tmux when it runs
	SetupScript    string   // a file with such commands, relative to the town
	Model          string

	Check        string // a command that prints how many sessions the pool should have; "" for none
	RoutingLabel string // of the pool; the name of the folder of its markers
	// OrphanedWork is what becomes of the work of the pool's sessions that are gone: Block
	// or Release.
	OrphanedWork string

	AllowOverlay []string // what a session may have otherwise than its template, see CheckOverlay
	AllowEnv     []string // the variables that it may have otherwise
}

// What becomes of work whose session is gone.
const (
	Block   = "block"   // it stays with the session, marked with the reason
	Release = "release" // another session may claim it
)

// Limits of what a block may say.
const (
	maxTemplates = 1000
	maxPool      = 10_000
	maxDuration  = 365 * 24 * time.Hour
	maxItems     = 1000
)

// blank is a template with all the defaults.
func blank() Template {
	t, _ := tick.Defaults()
	return Template{Template: t, OrphanedWork: Block, AllowOverlay: []string{"model", "name", "title"}}
}
