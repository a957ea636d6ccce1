package agent

import (
	"cmp"
	"path/filepath"
	"slices"
	"strings"
)

// Ask is how an agent is asked what one of its sessions knows, in a process of
// its own that leaves no trace: it writes no transcript, runs no hook, and can
// change nothing. It is data; lib/launch/ask acts on it.
//
// In Args and Set, {transcript} and {id} stand for the session's, and {scratch}
// for a folder that is there for the time of the question.
type Ask struct {
	Args []string `toml:"args"` // behind the program; the question comes on standard input
	Set  []string `toml:"set"`  // variables, "NAME=value"
	Drop []string `toml:"drop"` // variables that would have it leave a trace after all

	// Stream are the arguments besides Args with which one process takes any
	// number of questions, in Claude Code's stream-json. Where there are none,
	// each question is a process of its own, which is told of those before it.
	Stream []string `toml:"stream"`

	// Servers switches one MCP server off, whose name takes the place of {name}:
	// what such a server does, nobody knows. The names stand as tables under
	// ServersKey in the TOML file ServersFile of the account and of the folder.
	Servers     []string `toml:"servers"`
	ServersFile string   `toml:"servers_file"`
	ServersKey  string   `toml:"servers_key"`

	// Seed are databases in the account's folder, by patterns, of which a copy in
	// the scratch folder saves the agent from reading all of its transcripts. It
	// can do without, and does when it fails with one of the words Unseed.
	Seed   []string `toml:"seed"`
	Unseed []string `toml:"unseed"`

	// Links are the files of the account that a folder made for one question has links to.
	// They are set for an agent that opens conversations of its own folder only, so that one
	// from elsewhere can be put into such a folder.
	Links []string `toml:"links"`

	// Elsewhere says that it is asked in the scratch folder and not in the
	// session's, whose settings it would take.
	Elsewhere bool `toml:"elsewhere"`

	// OwnAccount says that a session is found in its own account only, and not
	// by the path of its transcript from any.
	OwnAccount bool `toml:"own_account"`
}

// OfFile reports whether it can be asked a conversation from any file.
func (c Client) OfFile() bool {
	if c.Ask == nil {
		return false
	}
	return c.StoreEnv != "" && len(c.Ask.Links) > 0 ||
		slices.ContainsFunc(c.Ask.Args, func(word string) bool { return strings.Contains(word, "{transcript}") })
}

// Argv are the arguments that ask, after stream also those for many questions.
func (a *Ask) Argv(transcript, id, scratch string, stream bool) []string {
	words := a.Args
	if stream {
		words = slices.Concat(words, a.Stream)
	}
	return fill(words, "{transcript}", transcript, "{id}", id, "{scratch}", scratch)
}

// Scratch reports whether it takes a folder of its own.
func (a *Ask) Scratch() bool {
	has := func(word string) bool { return strings.Contains(word, "{scratch}") }
	return slices.ContainsFunc(a.Args, has) || slices.ContainsFunc(a.Set, has)
}

// Environ returns the environment that the client is asked in, of one that
// belongs to no run of a client.
func (a *Ask) Environ(environ []string, scratch string) []string {
	var out []string
	for _, kv := range environ {
		name, _, _ := strings.Cut(kv, "=")
		if !slices.Contains(a.Drop, name) {
			out = append(out, kv)
		}
	}
	return append(out, a.Variables(scratch)...)
}

// Variables are those that are set, "NAME=value".
func (a *Ask) Variables(scratch string) []string {
	return fill(a.Set, "{scratch}", scratch)
}

// fill puts values in the place of what stands for them.
func fill(words []string, pairs ...string) []string {
	put := strings.NewReplacer(pairs...)
	out := slices.Clone(words)
	for i, w := range out {
		out[i] = put.Replace(w)
	}
	return out
}

// Folder returns the folder that the client works with in an environment, and
// the usual one; both empty where nothing is known of it.
func (c Client) Folder(getenv func(string) string) (now, usual string) {
	if c.StoreEnv == "" {
		return "", ""
	}
	usual = filepath.Join(getenv("HOME"), c.Store)
	return cmp.Or(getenv(c.StoreEnv), usual), usual
}

// Listed returns the folders of Accounts.
func (c Client) Listed(getenv func(string) string) []string {
	var all []string
	for _, dir := range c.Accounts {
		if rest, ok := strings.CutPrefix(dir, "~/"); ok && getenv("HOME") != "" {
			dir = filepath.Join(getenv("HOME"), rest)
		}
		if filepath.IsAbs(dir) {
			all = append(all, filepath.Clean(dir))
		}
	}
	return all
}

// Account returns what an environment needs so that the client works with a
// folder of its own (~/.claude, or that of another account): a variable to set,
// "NAME=value", or one to take away, "NAME"; "" where it does so already, or
// where nothing is known of it. The usual folder is not set but left to the
// client, which keeps some of it beside it.
func (c Client) Account(getenv func(string) string, store string) string {
	now, usual := c.Folder(getenv)
	switch {
	case now == "" || store == "" || same(now, store):
		return ""
	case same(usual, store):
		return c.StoreEnv
	}
	return c.StoreEnv + "=" + store
}

// same reports whether two names are of one folder.
func same(a, b string) bool {
	if real, err := filepath.EvalSymlinks(a); err == nil {
		a = real
	}
	if real, err := filepath.EvalSymlinks(b); err == nil {
		b = real
	}
	return filepath.Clean(a) == filepath.Clean(b)
}
