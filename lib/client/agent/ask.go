package agent

import (
	"cmp"
	"path/filepath"
	"slices"
	"strings"

	"gt/lib/sys/atomicfile"
)

// Ask describes how to ask an agent about one of its sessions in a separate process that
// leaves no trace: it writes no transcript, runs no hook and can change nothing.
// lib/launch/ask acts on it.
//
// In Args and Set, {transcript} and {id} are the session's, and {scratch} is a folder
// that exists during the question.
type Ask struct {
	Args []string `toml:"args"` // follow the program; the question comes on standard input
	Set  []string `toml:"set"`  // variables to set, "NAME=value"
	Drop []string `toml:"drop"` // variables to remove, because the agent would leave a trace with them

	// Stream are additional arguments with which one process takes any number of
	// questions, in Claude Code's stream-json. Without them, each question is a process
	// of its own, which also gets the earlier questions.
	Stream []string `toml:"stream"`

	// Servers are the arguments that switch off the MCP server {name}, because gt cannot
	// know what a server does. The names are the tables below ServersKey in the TOML file
	// ServersFile of the account and of the folder.
	Servers     []string `toml:"servers"`
	ServersFile string   `toml:"servers_file"`
	ServersKey  string   `toml:"servers_key"`

	// Seed are patterns of databases in the account's folder. With a copy in the scratch
	// folder, the agent need not read all of its transcripts. If it fails with one of the
	// words Unseed, it is asked again without the copy.
	Seed   []string `toml:"seed"`
	Unseed []string `toml:"unseed"`

	// Links are the account's files to which a folder for one question gets links. They
	// are for an agent that opens only conversations of its own folder: such a folder can
	// hold a conversation from elsewhere.
	Links []string `toml:"links"`

	// Elsewhere reports that the agent runs in the scratch folder, because in the
	// session's folder it would use the settings there.
	Elsewhere bool `toml:"elsewhere"`

	// OwnAccount reports that the agent finds a session only in the session's own
	// account, and not by the path of its transcript.
	OwnAccount bool `toml:"own_account"`
}

// CanAskFile reports whether the agent can be asked about a conversation in any file: by its path
// ({transcript}), or in a folder with links to its account's files (Ask.Links).
func (c Client) CanAskFile() bool {
	if c.Ask == nil {
		return false
	}
	return c.StoreEnv != "" && len(c.Ask.Links) > 0 ||
		slices.ContainsFunc(c.Ask.Args, func(word string) bool { return strings.Contains(word, "{transcript}") })
}

// Arguments returns the arguments; with stream, those for many questions.
func (a *Ask) Arguments(transcript, id, scratch string, stream bool) []string {
	words := a.Args
	if stream {
		words = slices.Concat(words, a.Stream)
	}
	return fillPlaceholders(words, "{transcript}", transcript, "{id}", id, "{scratch}", scratch)
}

func (a *Ask) NeedsScratch() bool {
	has := func(word string) bool { return strings.Contains(word, "{scratch}") }
	return slices.ContainsFunc(a.Args, has) || slices.ContainsFunc(a.Set, has)
}

// Environ returns the environment for the question. environ must not have variables of
// any client's run.
func (a *Ask) Environ(environ []string, scratch string) []string {
	kept := slices.DeleteFunc(slices.Clone(environ), func(kv string) bool {
		name, _, _ := strings.Cut(kv, "=")
		return slices.Contains(a.Drop, name)
	})
	return append(kept, a.Variables(scratch)...)
}

// Variables returns the variables to set, "NAME=value".
func (a *Ask) Variables(scratch string) []string {
	return fillPlaceholders(a.Set, "{scratch}", scratch)
}

// fillPlaceholders returns words with each placeholder of pairs (old, new, old, new …) replaced.
func fillPlaceholders(words []string, pairs ...string) []string {
	put := strings.NewReplacer(pairs...)
	out := slices.Clone(words)
	for i, w := range out {
		out[i] = put.Replace(w)
	}
	return out
}

// Folder returns the folder that the client uses in an environment, and the usual one.
// Both are empty if unknown.
func (c Client) Folder(getenv func(string) string) (now, usual string) {
	if c.StoreEnv == "" {
		return "", ""
	}
	usual = filepath.Join(getenv("HOME"), c.Store)
	return cmp.Or(getenv(c.StoreEnv), usual), usual
}

// ListedAccounts returns the folders of Accounts.
func (c Client) ListedAccounts(home string) []string {
	var all []string
	for _, dir := range c.Accounts {
		if rest, ok := strings.CutPrefix(dir, "~/"); ok && home != "" {
			dir = filepath.Join(home, rest)
		}
		if filepath.IsAbs(dir) {
			all = append(all, filepath.Clean(dir))
		}
	}
	return all
}

// AccountChange returns the change to an environment with which the client uses the folder
// store: a variable to set ("NAME=value"), one to remove ("NAME"), or "" if it uses that
// folder already or nothing is known about it. For the usual folder it removes the
// variable, because the client keeps some files beside that folder.
func (c Client) AccountChange(getenv func(string) string, store string) string {
	now, usual := c.Folder(getenv)
	switch {
	case now == "" || store == "" || sameFolder(now, store):
		return ""
	case sameFolder(usual, store):
		return c.StoreEnv
	}
	return c.StoreEnv + "=" + store
}

func sameFolder(a, b string) bool { return atomicfile.ResolveLinks(a) == atomicfile.ResolveLinks(b) }
