package sessioncmd

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"gt/lib/cli"
	"gt/lib/client/agent"
	"gt/lib/launch/launcher"
	"gt/lib/live"
	"gt/lib/live/fleet"
	"gt/lib/place"
	"gt/lib/place/home"
	"gt/lib/place/identity"
	"gt/lib/place/town"
	"gt/lib/state/agentdeck"
	"gt/lib/state/instance"
	"gt/lib/state/session"
	"gt/lib/sys/atomicfile"
	"gt/lib/sys/process"
	"gt/lib/sys/tmux"
	"gt/lib/text/openjson"
	"gt/lib/text/term"
	"gt/lib/view/roster"
)

// The exported and imported file is agent-deck's sessions.json. What it calls a session is an instance
// here. The field "gt" holds what only gt knows, so an export and an import lose nothing of it.

type fields map[string]json.RawMessage

const formatName = "gt"

// readField reads a field into v. It leaves v alone if the field is missing or null.
func (f fields) readField(key string, v any) error {
	raw, ok := f[key]
	if !ok || string(raw) == "null" {
		return nil
	}
	if err := json.Unmarshal(raw, v); err != nil {
		return fmt.Errorf("invalid %s %.40s", key, raw)
	}
	return nil
}

// getTime is readField for a time that may also be in seconds since 1970, as in agent-deck's database: 0 is
// none.
func (f fields) getTime(key string, at *time.Time) error {
	var seconds int64
	if f.readField(key, &seconds) != nil {
		return f.readField(key, at)
	}
	if seconds > 0 {
		*at = time.Unix(seconds, 0).UTC()
	}
	return nil
}

type export struct{ profile }

// Run prints the agents and groups of the scope in the format of sessions.json.
func (c *export) Run(env *cli.Env, at scope) error {
	found, err := roster.Read(env, []scope{at})
	if err != nil {
		return err // an export must be complete
	}
	groups, err := at.Store.Groups()
	if err != nil {
		return err
	}
	instances, all := []map[string]any{}, []map[string]any{}
	for _, m := range slices.Concat(found[0].Agents, found[0].Archived) {
		instances = append(instances, exportAgent(m, found[0].Table()))
	}
	for _, g := range groups {
		all = append(all, map[string]any{"name": filepath.Base(g.Path), "path": g.Path, "expanded": g.Expanded, "order": g.Order})
	}
	data, err := openjson.File(map[string]any{"instances": instances, "groups": all})
	if err != nil {
		return err
	}
	_, err = env.Stdout.Write(data)
	return err
}

// exportAgent returns an agent as a session of agent-deck, with the whole instance in the field "gt".
func exportAgent(m fleet.Member, known *agent.Table) map[string]any {
	own := *m.Instance
	own.Folder, own.Limits = nil, nil // these hold for this machine only
	f := map[string]any{
		formatName: &own, "id": m.ID, "title": cmp.Or(m.Title, m.Name), "project_path": m.Path, "group_path": m.Group, "tool": m.Agent,
		"command": term.QuoteWords(slices.Concat(known.FindClient(m.Agent).Command, m.Args)),
		"status":  m.Status, "created_at": m.CreatedAt, "updated_at": m.UpdatedAt,
	}
	if m.ParentID != "" {
		f["parent_session_id"] = m.ParentID
	}
	if m.SessionID != "" {
		f[m.Agent+"_session_id"] = m.SessionID
	}
	if !m.SessionAt.IsZero() {
		f[m.Agent+"_detected_at"] = m.SessionAt
	}
	if m.IsArchived() {
		f["archived_at"] = m.ArchivedAt
	}
	if len(m.LoadedMCPNames) > 0 {
		f["loaded_mcp_names"] = m.LoadedMCPNames
	}
	return f
}

const maxImport = 100 << 20 // limits the size of an imported file, in bytes

type imports struct {
	profile
	File   string `arg:"" optional:"" help:"The file: agent-deck's state.db or sessions.json, or what 'export' printed; - reads standard input."`
	Tmux   bool   `help:"Add the agents that run in tmux already; they go on running."`
	DryRun bool   `help:"Print what would be added, and change nothing."`
}

func (c *imports) Validate() error {
	if c.Tmux == (c.File != "") {
		return errors.New("name a file, or give --tmux")
	}
	return nil
}

// Run imports the instances of a file, none if one of them is invalid, or adopts agents in tmux. If
// the system fails halfway, another Run adds the rest.
func (c *imports) Run(env *cli.Env, at scope) error {
	if c.Tmux {
		return c.adopt(env, at)
	}
	data, err := c.read(env)
	if err != nil {
		return err
	}
	parsed, err := parseImport(at, data)
	if err != nil {
		return c.explainRefusal(err)
	}
	addNew := at.Store.Import
	if c.DryRun {
		addNew = at.Store.Importable
	}
	added, err := addNew(parsed)
	switch {
	case err != nil && len(added) > 0:
		return cli.WithHint(err, "the same command continues where this one stopped")
	case err != nil && !atomicfile.IsSystemError(err):
		return c.explainRefusal(err)
	case err != nil:
		return err
	}
	for _, in := range added {
		if !at.Table().HasClient(in.Agent) {
			env.Warn("%s: no agent is called '%s' (a block of agents.toml makes one known)", in.Name, in.Agent)
		}
		said := "imported"
		if c.DryRun {
			said = "would import"
		}
		if err := env.Printf("%s %s (%s) in %s\n", said, in.Name, commandText(at, in), env.DisplayPath(in.Path)); err != nil {
			return err
		}
	}
	if known := len(parsed.Instances) - len(added); known > 0 {
		env.Hint("%d of %d were there already", known, len(parsed.Instances))
	}
	return nil
}

// commandText returns an agent's command for messages: its account, what wraps it, and arguments.
func commandText(at scope, in *instance.Instance) string {
	account := ""
	if in.Account != "" {
		account = cmp.Or(at.Table().FindClient(in.Agent).StoreEnv, "account") + "=" + term.Typed(in.Account) + " "
	}
	words := launcher.WrapCommand(in.Launcher, append([]string{in.Agent}, in.Args...))
	return at.Env.Line(account+term.TypedWords(words), maxArgs)
}

const maxArgs = 16 << 10 // limits the arguments of an imported agent, in characters

// explainRefusal returns the error for a file that cannot be imported. It shows the first problem
// and counts the rest, which are often the same.
func (c *imports) explainRefusal(err error) error {
	more, others := "", 0
	// A joined error can join further ones: take the first of each.
	for all, ok := err.(interface{ Unwrap() []error }); ok; all, ok = err.(interface{ Unwrap() []error }) {
		err, others = all.Unwrap()[0], others+len(all.Unwrap())-1
	}
	if others > 0 {
		more = fmt.Sprintf(" (and %d more)", others)
	}
	return cli.Fail(cli.AnswerNo, fmt.Errorf("cannot import '%s': %w%s", c.File, err, more), "nothing was imported")
}

// read returns the JSON of the file, or what agentdeck.JSON makes of agent-deck's database.
func (c *imports) read(env *cli.Env) ([]byte, error) {
	from := env.Stdin
	if c.File != "-" {
		path := env.Abs(c.File)
		info, err := os.Stat(path)
		if err == nil && !info.Mode().IsRegular() {
			err = atomicfile.ErrNotRegular
		}
		if err != nil {
			return nil, atomicfile.Error("read", c.File, err)
		}
		f, err := os.Open(path)
		if err != nil {
			return nil, atomicfile.Error("read", c.File, err)
		}
		defer f.Close()
		from = f
	}
	buffered := bufio.NewReader(from)
	switch head, _ := buffered.Peek(16); {
	case agentdeck.IsDatabase(head) && c.File == "-":
		return nil, cli.Fail(cli.Usage, errors.New("a database cannot come from standard input"), "name its file")
	case agentdeck.IsDatabase(head):
		data, err := agentdeck.JSON(env.Abs(c.File))
		return data, cli.Fail(cli.AnswerNo, err, "nothing was imported")
	}
	data, err := io.ReadAll(io.LimitReader(buffered, maxImport+1))
	if err != nil {
		return nil, atomicfile.Error("read", c.File, err)
	}
	if len(data) > maxImport {
		return nil, cli.Failf(cli.AnswerNo, "cannot import '%s': it has more than %d MB", c.File, maxImport>>20)
	}
	return data, nil
}

// parseImport parses a file. The error joins what is wrong with each agent and group.
func parseImport(at scope, data []byte) (i instance.Imported, err error) {
	var file fields
	if err := json.Unmarshal(data, &file); err != nil {
		return i, damagedError(data, err)
	}
	var instances, groups []fields
	if _, ok := file["instances"]; !ok {
		return i, errors.New("it has no instances")
	}
	if err := errors.Join(file.readField("instances", &instances), file.readField("groups", &groups)); err != nil {
		return i, err
	}
	for n, f := range instances {
		in, bad := parseAgent(at, f)
		if bad != nil {
			err = errors.Join(err, fmt.Errorf("agent %d: %w", n+1, bad))
			continue
		}
		i.Instances = append(i.Instances, in)
	}
	for n, f := range groups {
		g := instance.Group{Expanded: true}
		bad := errors.Join(f.readField("path", &g.Path), f.readField("expanded", &g.Expanded), f.readField("order", &g.Order))
		if bad == nil {
			bad = instance.CheckGroup(g.Path)
		}
		if bad != nil {
			err = errors.Join(err, fmt.Errorf("group %d: %w", n+1, bad))
		}
		i.Groups = append(i.Groups, g)
	}
	return i, err
}

// damagedError returns the error for a file that is no JSON object, with the line of a syntax error.
func damagedError(data []byte, err error) error {
	var syntax *json.SyntaxError
	if !errors.As(err, &syntax) {
		return errors.New("it is not a JSON object")
	}
	line := bytes.Count(data[:min(int(syntax.Offset), len(data))], []byte("\n")) + 1
	return fmt.Errorf("line %d: %w", line, err)
}

// parseAgent reads one instance. Agent-deck's fields take precedence over gt's own,
// because another program may have changed them.
func parseAgent(at scope, f fields) (*instance.Instance, error) {
	in := &instance.Instance{Desired: instance.Stopped}
	raw, isOwn := f[formatName]
	if isOwn {
		var err error
		if in, err = instance.Parse(raw); err != nil {
			return nil, fmt.Errorf("invalid %s: %w", formatName, err)
		}
	}
	var title, command, account string
	var more []string
	var created, updated time.Time
	err := errors.Join(
		f.readField("id", &in.ID), f.readField("title", &title), f.readField("project_path", &in.Path), f.readField("group_path", &in.Group), f.readField("tool", &in.Agent),
		f.readField("parent_session_id", &in.ParentID), f.readField("command", &command), f.readField("extra_args", &more), f.readField("account", &account), f.readField("loaded_mcp_names", &in.LoadedMCPNames),
		f.readField("created_at", &created), f.readField("updated_at", &updated), f.getTime("archived_at", &in.ArchivedAt),
	)
	label := cmp.Or(at.Env.Line(cmp.Or(title, string(in.ID)), 80), "an agent") // its name in messages
	if title = at.Env.Line(title, 200); title != in.Name || in.Title != "" {   // exportAgent writes the name if there is no title
		in.Title = title
	}
	// A plain command needs no shell: its words are the client and its arguments.
	words, plain := strings.Fields(command), !strings.ContainsAny(command, "'\"\\$`;|&<>()*?[]{}~#")
	if in.Agent == "" && len(words) > 0 {
		in.Agent = at.Table().ByProcess(filepath.Base(words[0])).Name
	}
	if in.Agent == "" {
		return nil, errors.Join(err, errors.New("cannot tell which agent it is"))
	}
	err = errors.Join(err, f.readField(in.Agent+"_session_id", &in.SessionID), f.readField(in.Agent+"_detected_at", &in.SessionAt))
	if in.SessionID != "" {
		if _, bad := session.ParseID(string(in.SessionID)); bad != nil {
			err = errors.Join(err, bad)
		}
	}
	err = errors.Join(err, tmux.CheckStyle(in.Theme), readWrapper(at.Env, f, in))
	if in.Account != "" && at.Table().HasClient(in.Agent) && at.Table().FindClient(in.Agent).StoreEnv == "" {
		err = errors.Join(err, fmt.Errorf("nothing is known of the accounts of %s", in.Agent))
	}
	if in.Role != "" && !isInRoleFolder(at.Env, in) {
		at.Env.Warn("%s: its role %s is not taken over: its folder is not that role's in a town that you trust", label, at.Env.Quoted(in.Role))
		in.Role = ""
	}
	in.TmuxServer, in.Topic = string(tmux.CurrentServer()), at.Env.Line(in.Topic, maxTopic)
	if !isOwn { // the field "gt" would have these as they must be
		if in.Group = strings.Trim(in.Group, "/"); in.Path != "" {
			in.Path = filepath.Clean(in.Path)
		}
		switch {
		case plain && len(words) > 1:
			in.Args = append(words[1:], in.Args...)
		case !plain:
			at.Env.Warn("%s: its flags are not taken over from the command %s", label, at.Env.Quoted(command))
		}
		in.Args = append(in.Args, more...)
		if account != "" {
			at.Env.Warn("%s: its account %s is not taken over", label, at.Env.Quoted(account))
			at.Env.Hint("gt-session new --account DIR, with the account's folder, starts such an agent")
		}
	}
	if in.CreatedAt = created; created.IsZero() {
		in.CreatedAt = at.Env.Now().UTC()
	}
	if in.UpdatedAt = updated; updated.IsZero() {
		in.UpdatedAt = in.CreatedAt
	}
	return in, err
}

// readWrapper reads the wrapper in which the other program starts the agent. It refuses a sandbox
// or host that gt cannot use, because the agent would then run outside of it.
func readWrapper(env *cli.Env, f fields, in *instance.Instance) error {
	var wrapper string
	if err := f.readField("wrapper", &wrapper); err != nil {
		return err
	}
	if wrapper != "" {
		words, err := launcher.Split(wrapper, env.Getenv("HOME"))
		if err != nil {
			return fmt.Errorf("invalid wrapper %s: %w", env.Quoted(wrapper), err)
		}
		switch {
		case words[0] != launcher.CommandMark:
			in.Launcher = words
		case f[formatName] == nil: // agent-deck keeps an agent's flags in a wrapper: {command} FLAG...
			in.Args = words[1:]
		}
	}
	var sandbox struct{ Enabled *bool }
	// An agent-deck session that has a sandbox, but not enabled, is started in none.
	off := json.Unmarshal(f["sandbox"], &sandbox) == nil && sandbox.Enabled != nil && !*sandbox.Enabled
	for _, key := range []string{"sandbox", "ssh_host"} {
		if raw := string(f[key]); !slices.Contains([]string{"", "null", `""`, "false"}, raw) && !(off && key == "sandbox") {
			return fmt.Errorf("its %s is not what gt starts an agent in", key)
		}
	}
	return nil
}

func isInRoleFolder(env *cli.Env, in *instance.Instance) bool {
	id, err := identity.Parse(in.Role)
	t := town.Find(env.Getenv, in.Path)
	return err == nil && !t.Personal && id.Dir() != "" && in.Path == filepath.Join(t.Root, filepath.FromSlash(id.Dir()))
}

// adopt makes an instance of each agent that runs in tmux without one. The agents keep
// running in their panes.
func (c *imports) adopt(env *cli.Env, at scope) error {
	server := tmux.CurrentServer()
	found, err := unlistedAgents(at, server)
	if errors.Is(err, tmux.ErrNoServer) {
		env.Hint("no tmux server is running")
		return nil
	} else if err != nil {
		return err
	}
	if len(found) == 0 {
		env.Hint("no agent runs in tmux that is not listed")
		return nil
	}
	var all []*instance.Instance
	for _, a := range found {
		in, err := newAdopted(at, server, a)
		if err != nil {
			env.WarnError(err)
			continue
		}
		all = append(all, in)
	}
	said, adopt := "adopted", at.Store.Adopt
	if c.DryRun {
		said, adopt = "would adopt", at.Store.Adoptable
	}
	all, err = adopt(all, env.Now())
	for _, in := range all {
		if err := env.Printf("%s %s (%s) in %s, pane %s of the tmux session %s\n", said, in.Name, in.Agent, env.DisplayPath(in.Path), in.TmuxPane, env.DisplayPath(in.TmuxSession)); err != nil {
			return err
		}
	}
	return err
}

// unlistedAgents returns the agents in tmux that belong to no instance of any scope.
func unlistedAgents(at scope, server tmux.Server) ([]live.Agent, error) {
	panes, err := server.Panes()
	if err != nil {
		return nil, err
	}
	everywhere, unread := roster.ListScopes(at.Env)
	all, err := roster.Read(at.Env, everywhere)
	if err := errors.Join(unread, err); err != nil {
		return nil, err // the pane could belong to an instance that cannot be read
	}
	taken := roster.PanesOf(server, all)
	return slices.DeleteFunc(live.FindInPanes(at.Table(), server, panes), func(a live.Agent) bool { return taken[a.Pane.ID] }), nil
}

// newAdopted returns a new instance for a running agent. It fails if gt could not start the
// agent again in the same surroundings.
func newAdopted(at scope, server tmux.Server, a live.Agent) (*instance.Instance, error) {
	p, err := process.Find(a.PID)
	if err != nil {
		return nil, fmt.Errorf("the agent in pane %s has ended", a.Pane.ID)
	}
	in := &instance.Instance{
		Path: a.Pane.Path, Agent: a.Client.Name, Desired: instance.Running, StartedAt: a.Pane.Created.UTC(),
		TmuxServer: string(server), TmuxSession: a.Pane.Session, TmuxPane: a.Pane.ID, Adopted: instance.Adopt(p),
	}
	if !filepath.IsAbs(in.Path) {
		return nil, fmt.Errorf("tmux does not know the folder of pane %s", a.Pane.ID)
	}
	in.Path = filepath.Clean(in.Path)
	args, err := p.Args()
	if err == nil {
		in.Args = a.Client.ChosenArgs(args)
	}
	l := launcher.FindLauncher(at.Table(), a.Client, p, a.Pane)
	switch {
	case l.Why != "": // FindLauncher says why not
	case a.PID == a.Pane.PID && a.Client.Name != at.Table().OfProcess(a.PID).Name:
		l.Why = "only its screen tells of it"
	case launcher.IsCleared(p, a.Pane):
		l.Why = "it has an environment of its own"
	}
	if l.Why != "" {
		return nil, fmt.Errorf("the agent in pane %s is not adopted, for gt cannot start it again in what it was started in: %s", a.Pane.ID, l.Why)
	}
	in.Launcher, in.Limits = l.Words, l.Limits
	// tmux numbers the sessions that have no name.
	name := instance.NameFor(a.Pane.Session)
	if name == "" || name[0] >= '0' && name[0] <= '9' {
		name = instance.NameFor(filepath.Base(in.Path))
	}
	in.Name = name
	h := home.FindOtherHome(place.ScopeOf(at.Env.Getenv), in.Path)
	r, err := live.SessionIn(session.Store{Home: h}, server, a.Pane.ID)
	if err == nil && r != nil {
		in.SessionID, in.SessionAt = r.ID, r.StartedAt.UTC()
		in.StartedAt, in.Agent = r.StartedAt.UTC(), cmp.Or(r.Agent, in.Agent)
	}
	return in, nil
}

// offerAdoption hints how to adopt the agents among members that gt did not start.
func offerAdoption(env *cli.Env, members []fleet.Member) {
	var panes []string
	for _, m := range members {
		if roster.IsStranger(m) {
			panes = append(panes, m.Name)
		}
	}
	if len(panes) > 0 {
		env.Hint("gt-session did not start %s; %s adopts such agents", strings.Join(panes, ", "), roster.AdoptCommand)
	}
}
