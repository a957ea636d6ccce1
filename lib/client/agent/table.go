package agent

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/BurntSushi/toml"

	"gt/lib/cli"
	"gt/lib/client"
	"gt/lib/client/contract"
	"gt/lib/place"
	"gt/lib/place/town"
	"gt/lib/sys/atomicfile"
)

// Table holds gt's built-in agents, with the additions and changes of a person and a
// town. A built-in one is decoded when it is first asked for: decoding all takes as long as
// most commands.
type Table struct {
	names       []string // in the order of the files
	clients     map[string]func() Client
	roles       roles
	unknownKeys []string // unknown keys of the last file
}

// Builtin returns gt's own table.
func Builtin() *Table {
	t := &Table{}
	for _, name := range client.Names() {
		t.setClient(name, sync.OnceValue(func() Client {
			var own Table
			err := own.addBlocks(tableFile{text: client.Block(name), ours: true})
			if err == nil && len(own.unknownKeys) > 0 {
				err = fmt.Errorf("unknown key %s", own.unknownKeys[0])
			}
			if err != nil {
				panic(err) // a test reads it
			}
			return own.FindClient(name)
		}))
	}
	return t
}

// setClient sets the function that returns an agent, and adds its name if it is a new one.
func (t *Table) setClient(name string, read func() Client) {
	if t.clients == nil {
		t.clients = map[string]func() Client{}
	}
	if !t.HasClient(name) {
		t.names = append(t.names, name)
	}
	t.clients[name] = read
}

// Load returns the table for a person and a town: the built-in one, changed by the blocks
// [agents.<name>] or [tools.<name>] of
//
//	<config>/agents.toml   (see place.Config)
//	<town>/town.toml
//
// in this order. A block changes the keys that it has, or adds an agent that gt does not
// know. The town's file also assigns agents to roles; see ClientForRole.
//
// A town's files count as they were when the person trusted the town, because they name
// programs and variables (place.Trust).
//
// The table is usable even if there is an error. The error names each file that could not
// be read, which the table leaves out, and each unknown key, which it ignores.
func Load(config string, t town.Town) (*Table, error) {
	table := Builtin()
	var files []tableFile
	var errs []error
	add := func(text []byte, path string, ours bool, err error) {
		if errors.Is(err, fs.ErrNotExist) {
			return
		}
		if err != nil {
			errs = append(errs, err)
			return
		}
		// Decode all files again: a failed decode can leave a table half changed.
		more := append(slices.Clone(files), tableFile{text: text, ours: ours})
		if changed, err := readTable(more...); err != nil {
			errs = append(errs, atomicfile.Error("read", path, err))
		} else {
			table, files = changed, more
			for _, key := range table.unknownKeys {
				errs = append(errs, fmt.Errorf("unknown key %s in '%s' was ignored", key, path))
			}
		}
	}
	if config != "" {
		path := filepath.Join(config, "agents.toml")
		text, err := place.ReadConfig(path, atomicfile.MaxSize)
		add(text, path, true, err)
	}
	text, err := t.Read("town.toml")
	add(text, filepath.Join(t.Root, "town.toml"), false, err)
	errs = append(errs, table.roles.addGasTown(t))
	return table, errors.Join(errs...)
}

type tableFile struct {
	text []byte
	ours bool // the file holds nothing but agents
}

// readTable returns gt's own table, changed by the files in their order. After an error there is none.
func readTable(files ...tableFile) (*Table, error) {
	t := Builtin()
	for _, f := range files {
		if err := t.addBlocks(f); err != nil {
			return nil, err
		}
	}
	return t, nil
}

// addBlocks adds the blocks of a file, and its roles. It records unknown keys in t.unknownKeys: in
// a file that holds only agents anywhere, in a town's file only within an agent's block.
func (t *Table) addBlocks(f tableFile) error {
	var content struct {
		Agents map[string]toml.Primitive `toml:"agents"`
		Tools  map[string]toml.Primitive `toml:"tools"`
		roles
	}
	meta, err := toml.Decode(string(f.text), &content)
	if err != nil {
		return err
	}
	type block struct{ section, name string }
	var blocks []block
	for _, key := range meta.Keys() { // in the order of the file
		if len(key) > 1 && isSection(key[0]) && !slices.Contains(blocks, block{key[0], key[1]}) {
			blocks = append(blocks, block{key[0], key[1]})
		}
	}
	for _, b := range blocks {
		name, said := b.name, content.Agents[b.name]
		if b.section == "tools" {
			said = content.Tools[name]
		}
		if err := checkName(name); err != nil {
			return err
		}
		c := t.FindClient(name)
		if !t.HasClient(name) {
			c.Processes = nil // follow from its command
		}
		if err := meta.PrimitiveDecode(said, &c); err != nil {
			return fmt.Errorf("[%s.%s]: %w", b.section, name, err)
		}
		if len(c.Command) == 0 || c.Command[0] == "" {
			return fmt.Errorf("[%s.%s]: its command does not name a program", b.section, name)
		}
		c.fillDefaults()
		t.setClient(name, func() Client { return c })
	}
	t.unknownKeys = nil
	for _, key := range meta.Undecoded() {
		if f.ours || isSection(key[0]) {
			t.unknownKeys = append(t.unknownKeys, key.String())
		}
	}
	t.roles.replaceWith(content.roles)
	return nil
}

// isSection reports whether a key holds agents' blocks. agent-deck calls them tools.
func isSection(key string) bool { return key == "agents" || key == "tools" }

// checkName returns an error if a name would not be one word in a wiring or on a command
// line.
func checkName(name string) error {
	if name == "" {
		return errors.New("an agent has no name: [agents.\"\"]")
	}
	for i, r := range name {
		if !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || i > 0 && (r == '-' || r == '_' || r == '.')) {
			return fmt.Errorf("%q is not a valid name of an agent: use letters, digits, - and _", name)
		}
	}
	return nil
}

// fillDefaults sets what follows from other keys: the names of the processes, and the parsed flags.
func (c *Client) fillDefaults() {
	if len(c.Processes) == 0 {
		c.Processes = []string{filepath.Base(c.Command[0])}
	}
	if c.Flags == nil {
		return
	}
	c.flags = map[string]flag{}
	for _, list := range []struct {
		usages []string
		kind   flagUse
	}{{c.Flags.Kept, kept}, {c.Flags.Once, forOneRun}, {c.Flags.Headless, forOneRun | headless}} {
		for _, usage := range list.usages {
			names, v := parseUsage(usage)
			for _, name := range names {
				c.flags[name] = flag{v, list.kind}
			}
		}
	}
}

// parseUsage parses a flag as help shows it: "-r, --resume [ID]".
func parseUsage(usage string) (names []string, v value) {
	for _, word := range strings.Fields(usage) {
		switch {
		case v == noValue && (len(names) == 0 || isFlag(word)):
			names = append(names, strings.TrimSuffix(word, ","))
		case strings.HasPrefix(word, "["):
			v = optionalWord
		case strings.HasSuffix(word, "..."):
			v = manyWords
		default:
			v = oneWord
		}
	}
	return names, v
}

func (t *Table) Clients() []Client { return slices.Collect(t.iterClients()) }

// iterClients yields the agents in the order of the files. It decodes a built-in one at its turn.
func (t *Table) iterClients() iter.Seq[Client] {
	return func(yield func(Client) bool) {
		for _, name := range t.names {
			if !yield(t.clients[name]()) {
				return
			}
		}
	}
}

func (t *Table) HasClient(name string) bool { return t.clients[name] != nil }

// UnknownError returns the error that no agent has that name, with a hint that lists the
// agents.
func (t *Table) UnknownError(name string) error {
	return cli.Fail(cli.Usage, unknownAgent(name), "there are "+strings.Join(t.names, ", ")+"; a block [agents."+name+"] in agents.toml makes one")
}

// FindClient returns an agent. For one that is not in the table, the command is the name.
func (t *Table) FindClient(name string) Client {
	if t.HasClient(name) {
		return t.clients[name]()
	}
	return Client{Name: name, Command: Argv{name}, Processes: []string{name}}
}

// ByProcess returns the agent whose process has that name, or a Client without a name.
func (t *Table) ByProcess(name string) Client {
	for c := range t.iterClients() {
		if c.Processes[0] == name {
			return c
		}
	}
	return Client{}
}

// StripRunVars removes the variables of every agent's run from an environment, for an
// agent that starts within another.
func (t *Table) StripRunVars(environ []string) []string {
	for c := range t.iterClients() {
		environ = c.Inherit(environ)
	}
	return environ
}

// Argv is a command line. In a file it is a string, which is split at blanks, or a list,
// whose words may have blanks.
type Argv []string

func (w *Argv) UnmarshalTOML(v any) error {
	*w = Argv{}
	switch v := v.(type) {
	case string:
		*w = strings.Fields(v)
		return nil
	case []any:
		for _, word := range v {
			s, ok := word.(string)
			if !ok {
				return fmt.Errorf("%v is not a string", word)
			}
			*w = append(*w, s)
		}
		return nil
	}
	return fmt.Errorf("%v is neither a string nor a list of strings", v)
}

// WithID replaces {id} with an id, or appends the id.
func (w Argv) WithID(id string) []string {
	if slices.ContainsFunc(w, func(word string) bool { return strings.Contains(word, "{id}") }) {
		return fillPlaceholders(w, "{id}", id)
	}
	return append(slices.Clone(w), id)
}

// roles assigns agents to a town's roles. In town.toml they are
//
//	default_agent = "claude"
//	[role_agents]
//	witness = "gemini"
//	[rigs.gastown]
//	agent = "codex"
//	[rigs.gastown.role_agents]
//	polecat = "opencode"
//
// Gas Town has them in settings/config.json of the town and of each rig.
type roles struct {
	Default string            `toml:"default_agent" json:"default_agent"`
	Roles   map[string]string `toml:"role_agents" json:"role_agents"`
	Rigs    map[string]struct {
		Agent string            `toml:"agent"`
		Roles map[string]string `toml:"role_agents"`
	} `toml:"rigs" json:"-"`

	town town.Town // has Gas Town's files of the rigs
}

// replaceWith adds a later file's settings. Its role_agents and its rigs replace the earlier ones whole.
func (r *roles) replaceWith(o roles) {
	r.Default = cmp.Or(o.Default, r.Default)
	if o.Roles != nil {
		r.Roles = o.Roles
	}
	if o.Rigs != nil {
		r.Rigs = o.Rigs
	}
}

// addGasTown adds what Gas Town's settings say and town.toml does not.
func (r *roles) addGasTown(t town.Town) error {
	r.town = t
	var theirs roles
	err := readSettings(t, ".", &theirs)
	r.Default = cmp.Or(r.Default, theirs.Default)
	for role, name := range theirs.Roles {
		if r.Roles[role] == "" {
			if r.Roles == nil {
				r.Roles = map[string]string{}
			}
			r.Roles[role] = name
		}
	}
	return err
}

// readSettings reads settings/config.json below a folder of the town. A missing file is
// not an error.
func readSettings(t town.Town, dir string, v any) error {
	name := path.Join(dir, "settings", "config.json")
	data, err := t.Read(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	}
	return atomicfile.Error("read", filepath.Join(t.Root, name), json.Unmarshal(data, v))
}

// ClientForRole returns the agent of a role in a rig. The first of these that is set counts: the
// rig's for that role, the town's for that role, the rig's, the town's, Claude Code. Role
// and rig may be empty. own reports that the agent is set for the role itself. A name that is
// not in the table is skipped, and the error is about it.
func (t *Table) ClientForRole(role, rig string) (c Client, own bool, err error) {
	var theirs struct {
		Agent string            `json:"agent"`
		Roles map[string]string `json:"role_agents"`
	}
	var errs []error
	if rig != "" {
		errs = append(errs, readSettings(t.roles.town, rig, &theirs))
	}
	ours := t.roles.Rigs[rig]
	for i, name := range []string{
		ours.Roles[role], theirs.Roles[role], t.roles.Roles[role],
		ours.Agent, theirs.Agent, t.roles.Default,
	} {
		switch {
		case name == "":
		case t.HasClient(name):
			return t.FindClient(name), i < 3, errors.Join(errs...) // the first three are for the role
		default:
			errs = append(errs, unknownAgent(name))
		}
	}
	return t.FindClient(contract.Default), false, errors.Join(errs...)
}

type unknownAgent string

func (name unknownAgent) Error() string {
	return "no agent is called '" + string(name) + "'"
}

// Untested returns in which way a version of the agent is not between those with which gt
// was tested, or "". Its conversations and its screen may have another form.
func (c Client) Untested(version string) string {
	tested := c.Hooks.ProvedVersions
	if version == "" || len(tested) == 0 {
		return ""
	}
	oldest, newest := slices.MinFunc(tested, CompareVersions), slices.MaxFunc(tested, CompareVersions)
	is := ""
	switch {
	case CompareVersions(version, newest) > 0: // mutant never: TestUntested
		is = "newer"
	case IsBefore(version, oldest):
		is = "older"
	default:
		return ""
	}
	if oldest == newest {
		return fmt.Sprintf("%s %s is %s than the version that was tested (%s)", c.Name, version, is, newest)
	}
	return fmt.Sprintf("%s %s is %s than the versions that were tested (%s to %s)", c.Name, version, is, oldest, newest)
}

// CompareVersions compares the numbers of two versions ("2.1.330"). What follows a dash does
// not count.
func CompareVersions(a, b string) int { return slices.Compare(numbers(a), numbers(b)) }

// IsBefore reports whether a client's version is older than another. One that is unknown ("") is
// not, nor is a build that is no release (0.0.0-dev-202611280900).
func IsBefore(version, other string) bool {
	return version != "" && !strings.HasPrefix(version, "0.0.0") && CompareVersions(version, other) < 0
}

// numbers returns the numbers between the dots. A part that is no number counts as 0.
func numbers(version string) (all []int) {
	version, _, _ = strings.Cut(version, "-")
	for part := range strings.SplitSeq(version, ".") {
		n, _ := strconv.Atoi(part)
		all = append(all, n)
	}
	return all
}
