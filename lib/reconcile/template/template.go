// Package template reads from a town.toml how agents are started and how many there should
// be: its [[agent]] blocks, in the syntax of Gas City's city.toml.
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

// Template is an [[agent]] block with its defaults filled in.
type Template struct {
	// Template is the part that package tick uses.
	tick.Template
	Line int // of the block in its file, from 1
	// Lines of keys that are checked elsewhere.
	ProviderLine, PromptLine, SetupLine int

	Title, Description string // do not affect how an agent runs

	Provider       string   // name in the table of agents
	Command        []string // empty for the provider's own
	PromptTemplate string   // file, relative to the town
	WorkDir        string   // relative to the town, or absolute; "" for the town
	Env            map[string]string
	Hooks          []string
	PreStart       []string // commands to run before the agent starts
	SessionSetup   []string // commands to run in the agent's tmux session once it runs
	SetupScript    string   // file with such commands, relative to the town
	Model          string

	Check        string // command that prints the wanted size of the pool; "" for none
	RoutingLabel string // of the pool, and the name of its folder of markers
	// OrphanedWork is Block or Release.
	OrphanedWork string

	AllowOverlay []string // what a session may override; see CheckOverlay
	AllowEnv     []string // variables that a session may override
}

// What happens to work whose session is gone.
const (
	Block   = "block"   // it stays with the session, marked with the reason
	Release = "release" // another session may claim it
)

// Limits of a block.
const (
	maxTemplates = 1000
	maxPool      = 10_000
	maxDuration  = 365 * 24 * time.Hour
	maxItems     = 1000
)

func blank() Template {
	t, _ := tick.Defaults()
	return Template{Template: t, OrphanedWork: Block, AllowOverlay: []string{"model", "name", "title"}}
}
