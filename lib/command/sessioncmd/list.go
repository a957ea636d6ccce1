package sessioncmd

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"gt/lib/cli"
	"gt/lib/conversation"
	"gt/lib/launch"
	"gt/lib/launch/parcel"
	"gt/lib/live/fleet"
	"gt/lib/live/status"
	"gt/lib/place"
	"gt/lib/place/git"
	"gt/lib/reconcile/agents"
	"gt/lib/state/instance"
	"gt/lib/state/lifecycle"
	"gt/lib/state/peer"
	"gt/lib/state/session"
	"gt/lib/sys/tmux"
	"gt/lib/text/duration"
	"gt/lib/text/term"
	"gt/lib/view/roster"
)

type list struct {
	everywhereFlag
	Status string `short:"s" placeholder:"STATUS" enum:",running,waiting,idle,starting,error,stopped,unknown" default:"" help:"Only the agents of this status: running, waiting, idle, starting, error, stopped or unknown."`
	Group  string `short:"g" placeholder:"GROUP" help:"Only the agents of a group and of those below it."`
	Agent  string `short:"a" placeholder:"AGENT" help:"Only this agent's: claude, codex, ..."`
	Hosts  bool   `xor:"hosts" help:"The agents of other hosts, too."`
	Only   bool   `name:"archived" xor:"hosts,archived" help:"Only the archived agents."`
	All    bool   `xor:"archived" help:"Archived agents and closed sessions, too."`
	Moves  bool   `hidden:"" help:"Archived agents, too, that came from another host: gt-relay shows there that they did."`
	JSON   bool   `name:"json" help:"One JSON object per line; --columns adds fields."`

	Columns []string `placeholder:"COLUMN,..." help:"These columns, in this order: name, status, for, agent, group, template, pane, mcp, context, branch, changes, today, topic, folder, host or profile."`

	Template string `group:"Sessions of templates:" placeholder:"NAME" help:"Only the sessions of this template."`
	State    string `group:"Sessions of templates:" placeholder:"STATE" help:"Only the sessions in this state: active, suspended, draining, archived, ..."`
}

func (c *list) Validate() error {
	return errors.Join(c.everywhereFlag.Validate(), checkStates(c.State), c.checkColumns())
}

// jsonAgent is an instance in the output of --json.
type jsonAgent struct {
	ID          instance.ID      `json:"id"`
	Name        string           `json:"name"`
	Title       string           `json:"title"`
	Path        string           `json:"path"`
	WorksIn     string           `json:"works_in,omitempty"` // another worktree of its repository
	Group       string           `json:"group"`
	ParentID    instance.ID      `json:"parent_id"`
	Agent       string           `json:"agent"`
	Launcher    []string         `json:"launcher,omitempty"` // what wraps the agent's command
	Desired     instance.Desired `json:"desired"`
	Status      status.Status    `json:"status"`
	Reason      status.Reason    `json:"reason"`
	Background  bool             `json:"background,omitempty"` // a background task runs while it waits
	Since       *time.Time       `json:"since"`
	Silent      *time.Time       `json:"silent_since,omitempty"` // the last sign of a running agent that is silent
	Until       time.Time        `json:"until,omitzero"`         // when the limit of its account ends
	SessionID   session.ID       `json:"session_id"`
	ChainID     session.ID       `json:"chain_id"`
	ArchivedAt  *time.Time       `json:"archived_at,omitempty"`
	TmuxSession string           `json:"tmux_session"`
	Pane        string           `json:"pane"`
	Host        string           `json:"host,omitempty"`        // this host, with --hosts
	Profile     string           `json:"profile,omitempty"`     // with -A
	Town        string           `json:"town,omitempty"`        // its root folder, with -A
	Moved       *instance.Moved  `json:"moved,omitempty"`       // it is on its way to another machine, or there
	MCPChanged  bool             `json:"mcp_changed,omitempty"` // .mcp.json names other servers than at the start
	// Departures prove to other hosts that it moved away from them.
	Departures []instance.Departure `json:"departures,omitempty"`
	Adopt      string               `json:"adopt,omitempty"` // what adopts an agent that gt did not start
	Actor      string               `json:"actor,omitempty"` // and what gt-seance calls it
	*templated
	*progress
}

// newJSONAgent returns an agent as --json prints it. The callers add its host, scope and progress.
func newJSONAgent(env *cli.Env, m fleet.Member) jsonAgent {
	l := jsonAgent{
		ID: m.ID, Name: m.Name, Title: env.Redact(m.Title), Path: m.Path, Group: m.Group, ParentID: m.ParentID,
		Agent: m.Agent, Desired: m.Desired, Status: m.Status, Reason: m.Reason, Background: m.Background, Until: m.LimitedUntil, SessionID: m.CurrentID, ChainID: m.ChainID,
		TmuxSession: m.Pane.Session, Pane: m.Pane.ID, MCPChanged: serversChanged(m), Moved: m.Moved, templated: templatedOf(m.Instance),
	}
	if m.Record != nil {
		l.ChainID = m.Record.Chain()
	}
	if !m.Since.IsZero() {
		l.Since = &m.Since
	}
	if roster.IsArchived(m) {
		l.ArchivedAt = &m.ArchivedAt
	}
	if m.SilentFor > 0 {
		l.Silent = &m.SilentSince
	}
	for _, word := range m.Launcher {
		l.Launcher = append(l.Launcher, env.Redact(word))
	}
	if len(m.Departures) > 0 {
		l.Departures = peer.NewHosts(place.StateOf(env.Getenv)).Show(m.Departures)
	}
	if at := m.WorksIn(); at != m.Path {
		l.WorksIn = at
	}
	if roster.IsStranger(m) {
		l.Adopt, l.Actor = roster.AdoptCommand, m.Record.Actor
	}
	return l
}

// serversChanged reports whether the .mcp.json of an agent's folder names other servers than at
// its start. It is false for adopted agents, whose servers at the start are not known.
func serversChanged(m fleet.Member) bool {
	return m.Pane.ID != "" && m.Adopted == nil && !slices.Equal(m.LoadedMCPNames, instance.Servers(m.Path))
}

// Run lists agents. With -A it lists what it can read before it returns the errors of the rest.
func (c *list) Run(env *cli.Env) error {
	defer roster.DeferGC()() // until the list is printed
	all, unread := c.scopes(env)
	if all == nil || unread != nil && !c.Everywhere {
		return unread
	}
	at, err := roster.ReadWithStrangers(env, c.Profile, all)
	found := c.findRows(env, at)
	unread = errors.Join(unread, err, found.unread)
	rows := found.rows
	// Another town's table may know the agent; in that case it has instances there.
	if len(rows) == 0 && c.Agent != "" {
		if known := all[0].Table(); !known.HasClient(c.Agent) {
			return known.UnknownError(c.Agent)
		}
	}
	switch {
	case c.Hosts:
		return c.listHosts(env, rows, unread)
	case c.JSON:
		return c.printJSON(env, rows, unread)
	case found.total == 0 && unread != nil:
		return unread
	case found.total == 0:
		hintNoneListed(all[0], c.Only)
		hintWaiting(env, all[0].Store.State)
		return nil
	case len(rows) == 0:
		env.Hint("no agent matches (%d in all)", found.total)
		return unread
	}
	if err := c.printTable(env, rows, found.named); err != nil {
		return errors.Join(err, unread)
	}
	members := make([]fleet.Member, len(rows))
	for i, r := range rows {
		members[i] = *r.Member
	}
	hintLost(env, members)
	offerAdoption(env, members)
	hintWaiting(env, all[0].Store.State)
	return unread
}

func hintWaiting(env *cli.Env, state place.State) {
	all, err := parcel.AllWaiting(state)
	env.WarnError(err)
	for _, one := range all {
		env.Hint("%s, of %s, waits for you: gt-session accept %[1]s", one.Name, cmp.Or(one.From, "a file"))
	}
}

type listResult struct {
	rows   []row
	total  int  // number of instances before filtering
	named  bool // a row belongs to a scope with a name
	unread error
}

// findRows returns the rows of the agents in these scopes that the flags choose. Archived ones are
// left out, unless c asks for them: alone (Only), if they moved away (Moves), or all (All). All and
// a State that is not listed otherwise add the archived and closed sessions of templates.
func (c *list) findRows(env *cli.Env, at []roster.Listed) (l listResult) {
	own := ""
	if c.Hosts || slices.Contains(c.Columns, "host") {
		own, l.unread = roster.OwnHost(env)
	}
	for _, s := range at {
		switch {
		case c.Only:
			s.Agents = s.Archived
		case c.Moves:
			s.Agents = append(s.Agents, slices.DeleteFunc(s.Archived, func(m fleet.Member) bool { return len(m.Departures) == 0 })...)
		case c.wantsRetired():
			if c.All {
				s.Agents = append(s.Agents, s.Archived...)
			}
			more, err := readRetired(s.Store)
			s.Agents, l.unread = append(s.Agents, more...), errors.Join(l.unread, err)
		}
		groups, err := s.Store.Groups()
		l.unread = errors.Join(l.unread, err)
		found := roster.Flatten(groups, s.Agents, c.selects)
		l.total += len(s.Agents)
		l.named = l.named || len(found) > 0 && s.Name() != ""
		for _, r := range found {
			r.Scope = s.Scope
			l.rows = append(l.rows, row{Hosted: roster.HostedRow(env, own, r)})
		}
	}
	return l
}

func (c *list) selects(m *fleet.Member) bool {
	template, state := "", ""
	if m.Managed != nil {
		template, state = m.Managed.Template, string(m.Managed.State)
	}
	return c.matchesFlags(string(m.Status), m.Agent, m.Group, template, state)
}

// matchesFlags reports whether an agent meets every flag that is set. --state takes several states.
func (c *list) matchesFlags(status, agent, group, template, state string) bool {
	return (c.Status == "" || c.Status == status) && (c.Agent == "" || c.Agent == agent) &&
		(c.Group == "" || instance.IsInGroup(group, strings.Trim(c.Group, "/"))) &&
		(c.Template == "" || c.Template == template) &&
		(c.State == "" || state != "" && slices.Contains(strings.Split(c.State, ","), state))
}

// printJSON prints a line for each row. It returns unread, joined with errors of its own.
func (c *list) printJSON(env *cli.Env, rows []row, unread error) error {
	lines, printed, errs := make([]jsonAgent, len(rows)), make([][]byte, len(rows)), make([]error, len(rows))
	cli.Parallel(cli.Numbers(len(rows)), func(i int) { lines[i] = newJSONAgent(env, *rows[i].Member) })
	c.inspectRows(env, rows, c.hasColumn)
	marked := routeMarkers{}
	for i, r := range rows {
		if err := marked.setRoutable(r.Scope.Store, lines[i].templated, r.Name); err != nil {
			unread = errors.Join(unread, err)
		}
		if c.Everywhere {
			if lines[i].Profile = r.Scope.Profile; !r.Scope.Town.Personal {
				lines[i].Town = r.Scope.Town.Root
			}
		}
		if lines[i].Host = r.Host; len(c.Columns) > 0 {
			lines[i].progress = progressOf(env, r, c.hasColumn)
		}
	}
	cli.Parallel(cli.Numbers(len(rows)), func(i int) { printed[i], errs[i] = term.JSON(lines[i]) })
	if err := errors.Join(errs...); err != nil {
		return err
	}
	if _, err := env.Stdout.Write(bytes.Join(printed, nil)); err != nil {
		return err
	}
	return unread
}

type row struct {
	roster.Hosted
	outOfSync bool               // .mcp.json changed
	changes   *roster.Changes    // nil if they are not known
	today     conversation.Usage // what it used
}

var columnNames = []string{"profile", "name", "host", "status", "for", "agent", "group", "template", "pane", "mcp", "context", "branch", "changes", "today", "topic", "folder"}

func (c *list) checkColumns() error {
	for _, name := range c.Columns {
		if !slices.Contains(columnNames, name) {
			return fmt.Errorf("there is no column '%.80s' (try %s)", name, strings.Join(columnNames, ", "))
		}
	}
	return nil
}

func (c *list) hasColumn(name string) bool { return slices.Contains(c.Columns, name) }

// Bounds of what a list reads that nobody asked for: it has so few agents, and waits so long.
const (
	maxListed     = 50
	glanceWait    = time.Second
	requestedWait = time.Minute
)

// printTable prints the table, with a column for the scope if one has a name and all are listed. If
// all rows are sessions of templates, and no columns are chosen, printSessions prints them.
func (c *list) printTable(env *cli.Env, rows []row, named bool) error {
	if len(c.Columns) == 0 && !slices.ContainsFunc(rows, func(r row) bool { return r.Member == nil || r.Managed == nil }) {
		return printSessions(env, rows, c.Everywhere && named)
	}
	width := term.Width(env.Stdout, env.Getenv)
	shown := c.hasColumn
	if len(c.Columns) == 0 {
		shown = c.fittingColumns(rows, width, named)
	}
	c.inspectRows(env, rows, shown)
	columns := instanceColumns(env, shown)
	if len(c.Columns) > 0 {
		chosen := make([]column, len(c.Columns))
		for i, name := range c.Columns {
			chosen[i] = columns[slices.Index(columnNames, name)]
		}
		columns = chosen
	}
	cells := term.Cells(columns, rows)
	if len(c.Columns) == 0 {
		cells = withoutEmpty(cells, "MCP", "CONTEXT", "BRANCH", "CHANGES")
		cells = term.Narrow(width, cells, "PANE", "FOLDER", "AGENT", "TEMPLATE", "GROUP", "CONTEXT", "CHANGES", "BRANCH", "TOPIC", "FOR")
	}
	style, paint := term.StyleFor(env.Stdout, env.Getenv).CutLast("STATUS"), statusPainter(env, slices.Index(cells[0], "STATUS"))
	return style.TableOfPaths(env.Stdout, width, cells, paint)
}

// withoutEmpty removes the columns of these headings that are empty. The headings are cells[0].
func withoutEmpty(cells [][]string, headings ...string) [][]string {
	for _, heading := range headings {
		at := slices.Index(cells[0], heading)
		if at < 0 || slices.ContainsFunc(cells[1:], func(row []string) bool { return row[at] != "" }) {
			continue
		}
		for i := range cells {
			cells[i] = slices.Delete(cells[i], at, at+1)
		}
	}
	return cells
}

// fittingColumns returns which columns a table of a width shows if the person chooses none: those that a
// row has a value for and that fit. Columns that take long to find out are shown of few agents.
func (c *list) fittingColumns(rows []row, width int, named bool) func(string) bool {
	inAny := func(is func(row) bool) bool { return slices.ContainsFunc(rows, is) }
	if width > 0 {
		cli.Parallel(cli.Numbers(len(rows)), func(i int) { rows[i].Topic() }) // the first call reads a file
	}
	titled := width > 0 && inAny(func(r row) bool { return r.Topic() != "" })
	few := len(rows) <= maxListed
	hidden := map[string]bool{
		"profile": !c.Everywhere || !named, "host": !c.Hosts,
		"group":    !inAny(func(r row) bool { return r.Group != "" }),
		"template": !inAny(func(r row) bool { return r.Member != nil && r.Managed != nil }),
		"topic":    !titled, "folder": titled && width < 140,
		"context": width < 100, "branch": width < 100 || !few, "changes": width < 110 || !few, "pane": width < 150 || !few,
		"today": true, // it reads all conversations of the day
	}
	return func(name string) bool { return !hidden[name] }
}

// inspectRows finds out what shown columns need that takes time.
func (c *list) inspectRows(env *cli.Env, rows []row, shown func(string) bool) {
	if len(c.Columns) > 0 {
		lookUpColumns(env, rows, shown, requestedWait, env.WarnError)
	} else {
		lookUpColumns(env, rows, shown, glanceWait, func(error) {}) // nobody asked for it
	}
}

// lookUpColumns completes the rows with what the shown columns need, for at most within. It calls failed
// if what was used today cannot be counted.
func lookUpColumns(env *cli.Env, rows []row, shown func(string) bool, within time.Duration, failed func(error)) {
	if shown("mcp") {
		cli.Parallel(cli.Numbers(len(rows)), func(i int) { rows[i].outOfSync = rows[i].Member != nil && serversChanged(*rows[i].Member) })
	}
	var used roster.Usage
	var unread error
	counting := cli.Go(func() {
		if shown("today") { // while git is asked
			used, unread = roster.ReadUsage(context.Background(), env, within)
		}
	})
	if shown("changes") {
		var folders []string
		for _, r := range rows {
			if r.Member != nil {
				folders = append(folders, r.WorksIn())
			}
		}
		changes := roster.ReadChanges(folders, within)
		for i := range rows {
			if rows[i].Member != nil {
				rows[i].changes = changes[rows[i].WorksIn()]
			}
		}
	}
	counting.Wait()
	if !shown("today") {
		return
	}
	if unread != nil {
		failed(unread)
	}
	current, last := map[session.ID]bool{}, ""
	for _, r := range rows { // those of a scope follow each other, and each scope is read once
		if r.Member != nil && r.Scope.Store.Dir != last {
			last = r.Scope.Store.Dir
			instances, _ := r.Scope.Store.ReadInstances() // the list has said what is unreadable
			for _, in := range instances {
				current[r.Scope.Store.Session(in)] = true // also of agents that are not listed
			}
		}
	}
	for i := range rows {
		if rows[i].Member != nil {
			rows[i].today = used.UsedToday(rows[i].Member, current)
		}
	}
}

// progress is what an agent is at, in the output of --json.
type progress struct {
	Topic   string              `json:"topic,omitempty"`
	Branch  string              `json:"branch,omitempty"`
	Changes *roster.Changes     `json:"changes,omitempty"`
	Context *contextUse         `json:"context,omitempty"`
	Today   *conversation.Usage `json:"today,omitempty"`
}

// contextUse is how full a context is, in tokens. The window is 0 if it is unknown.
type contextUse struct {
	Tokens int64 `json:"tokens"`
	Window int64 `json:"window"`
}

// progressOf returns what the shown columns say of an agent of this host. lookUpColumns has completed r.
func progressOf(env *cli.Env, r row, shown func(string) bool) *progress {
	var w progress
	if shown("topic") {
		w.Topic = env.Redact(r.Topic())
	}
	if shown("branch") {
		w.Branch = env.Redact(git.Branch(git.Top(r.WorksIn())))
	}
	if shown("changes") {
		w.Changes = r.changes
	}
	if shown("context") {
		if doing := r.Activity(); doing.Tokens > 0 {
			w.Context = &contextUse{doing.Tokens, doing.Window}
		}
	}
	if shown("today") && r.today != (conversation.Usage{}) {
		w.Today = &r.today
	}
	return &w
}

type column = term.Column[row]

// instanceColumns returns all columns, ordered as columnNames. Those that are not shown are Hidden.
func instanceColumns(env *cli.Env, shown func(string) bool) []column {
	now := env.Now()
	lines := map[string]string{} // many rows share agents and groups
	line := func(s string) string {
		if _, ok := lines[s]; !ok {
			lines[s] = env.Line(s, maxCell)
		}
		return lines[s]
	}
	folder := func(r row) string { return env.Line(r.Folder, maxCell) }
	own := func(cell func(row) string) func(row) string { // of an agent of this host
		return func(r row) string {
			if r.Member == nil {
				return ""
			}
			return cell(r)
		}
	}
	columns := []column{
		profileColumn(env, true),
		nameColumn(env),
		{Heading: "HOST", Cell: func(r row) string { return cmp.Or(line(r.Host), "-") }},
		{Heading: "STATUS", Cell: func(r row) string {
			if r.Member != nil && r.Managed != nil && r.Managed.State != lifecycle.Active {
				return string(r.Managed.State)
			}
			return line(r.StatusText)
		}},
		{Heading: "FOR", Cell: func(r row) string {
			if r.Since.IsZero() {
				return ""
			}
			return duration.Format(duration.Rough(now.Sub(r.Since)))
		}},
		{Heading: "AGENT", Cell: func(r row) string { return line(r.Agent) }},
		{Heading: "GROUP", Cell: func(r row) string { return line(r.Group) }},
		{Heading: "TEMPLATE", Cell: own(func(r row) string {
			if r.Managed == nil {
				return ""
			}
			return line(r.Managed.Template)
		})},
		{Heading: "PANE", Cell: own(func(r row) string { return r.Pane.ID })},
		{Heading: "MCP", Cell: func(r row) string {
			if r.outOfSync {
				return "changed"
			}
			return ""
		}},
		{Heading: "CONTEXT", Cell: own(func(r row) string { return roster.ContextText(r.Activity().Tokens, r.Activity().Window) })},
		{Heading: "BRANCH", Cell: own(func(r row) string { return line(git.BranchOrCommit(git.Top(r.WorksIn()))) })},
		{Heading: "CHANGES", Cell: func(r row) string {
			if r.changes == nil {
				return ""
			}
			return r.changes.String()
		}},
		{Heading: "TODAY", Cell: func(r row) string { return roster.UsageText(r.today) }},
		{Heading: "TOPIC", Cell: func(r row) string {
			topic := line(r.Topic())
			if topic == "" && !shown("folder") {
				topic = folder(r) // which often repeats the name
			}
			return topic
		}},
		{Heading: "FOLDER", Cell: folder},
	}
	for i := range columns {
		columns[i].Hidden = !shown(columnNames[i])
	}
	return columns
}

func nameColumn(env *cli.Env) column {
	return column{Heading: "NAME", Cell: func(r row) string { return strings.Repeat("  ", r.Depth) + env.Line(r.Name, maxCell) }}
}

// profileColumn shows the scope of an agent of this host: a town, or a profile of the person.
func profileColumn(env *cli.Env, shown bool) column {
	return column{Heading: "PROFILE", Hidden: !shown, Cell: func(r row) string {
		if r.Member == nil {
			return "-"
		}
		return cmp.Or(env.Line(r.Scope.Name(), maxCell), "-")
	}}
}

// statusPainter returns a Painter that colours one column, of statuses or of lifecycle states.
func statusPainter(env *cli.Env, column int) term.Painter {
	style := term.StyleFor(env.Stdout, env.Getenv)
	return func(_, at int, cell string) string {
		if at != column {
			return cell
		}
		word, more, _ := strings.Cut(strings.TrimRight(cell, "…"), " ")
		if strings.HasPrefix(more, "(silent") {
			return style.Yellow(cell)
		}
		switch word {
		case string(status.Running), string(lifecycle.Active):
			return style.Green(cell)
		case string(status.Waiting), string(status.Starting), string(lifecycle.Creating), string(lifecycle.Draining):
			return style.Yellow(cell)
		case string(status.Error), string(lifecycle.Quarantined):
			return style.Red(cell)
		}
		return style.Dim(cell)
	}
}

// maxCell limits a cell, in characters. The table narrows it further to the terminal.
const maxCell = 4096

func printJSONAgent(at scope, m fleet.Member) error {
	l := newJSONAgent(at.Env, m)
	if err := (routeMarkers{}).setRoutable(at.Store, l.templated, m.Name); err != nil {
		return err
	}
	return at.Env.JSON(l)
}

type show struct {
	profile
	Name string `arg:"" help:"The agent."`
	Last bool   `xor:"what" help:"Print only its last answer."`
	Diff bool   `xor:"what" help:"Print what is changed in its folder and not committed, with the branch."`
	JSON bool   `name:"json" xor:"what" help:"Print it as JSON."`
}

// Run prints what is known about an agent, or only its last answer, its changes or JSON.
func (c *show) Run(env *cli.Env, at scope) error {
	m, err := findMember(at, c.Name)
	if err != nil {
		return err
	}
	if c.Last {
		// Only its runtime can read the last answer of an agent outside tmux.
		if away, err := findRuntimeAgent(at, c.Name, findShown); err != nil || away != nil {
			if err == nil {
				err = away.printLastAnswer(env)
			}
			return err
		}
		return printLast(at, m)
	}
	if c.JSON {
		return printJSONAgent(at, m)
	}
	if c.Diff {
		return printDiff(env, m.WorksIn())
	}
	l, worktree := newJSONAgent(env, m), ""
	if w := m.Worktree; w != nil {
		worktree = w.Branch + " of " + w.Repository
	}
	err = printFields(env, 8, [][2]string{
		{"name", m.Name}, {"id", string(m.ID)}, {"title", m.Title}, {"status", roster.StatusText(m)}, {"wanted", string(m.Desired)},
		{"agent", strings.Join(append([]string{m.Agent}, m.Args...), " ")}, {"in", strings.Join(m.Launcher, " ")}, {"folder", m.Path}, {"works in", l.WorksIn}, {"worktree", worktree}, {"account", m.Account},
		{"group", m.Group}, {"parent", string(m.ParentID)}, {"session", string(m.CurrentID)}, {"chain", string(l.ChainID)},
		{"tmux", strings.TrimSpace(l.TmuxSession + " " + l.Pane)}, {"mcp", strings.Join(m.LoadedMCPNames, ", ")},
		{"started", formatTime(m.StartedAt)}, {"made", formatTime(m.CreatedAt)},
	})
	if err != nil {
		return err
	}
	hintLost(env, []fleet.Member{m})
	if l.MCPChanged {
		env.Hint("the servers in .mcp.json changed since it was started; gt-session restart %s loads them", m.Name)
	}
	return nil
}

const diffWait = 10 * time.Second // bounds git while a person waits

// printDiff prints the branch of a folder, and its changes that are not committed.
func printDiff(env *cli.Env, dir string) error {
	s, err := git.Status(dir, diffWait)
	if errors.Is(err, git.ErrNotRepository) {
		return cli.Failf(cli.AnswerNo, "the folder '%s' is in no git repository", dir)
	} else if err != nil {
		return err
	}
	text, err := git.Diff(dir, diffWait)
	if err != nil {
		return err
	}
	return env.Printf("%s: %s\n%s", env.Line(s.Branch, maxCell), s.Summary(), env.Text(text))
}

func formatTime(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.Local().Format(time.DateTime)
}

// findMember is findShown with the status, which the runtime reports of an agent outside tmux.
func findMember(at scope, name string) (fleet.Member, error) {
	in, err := findShown(at, name)
	if err != nil {
		return fleet.Member{}, err
	}
	m := []fleet.Member{at.Member(in)}
	if agents.IsRemote(in) {
		at.AskRuntimes(m)
	}
	return m[0], nil
}

// findRunning is findMember, but fails if the instance has no pane.
func findRunning(at scope, name string) (fleet.Member, error) {
	m, err := findMember(at, name)
	if err == nil && m.Pane.ID == "" {
		err = cmp.Or(launch.CheckReachable(m), notRunningError(m.Instance))
	}
	return m, err
}

type peek struct {
	profile
	Name string `arg:"" help:"The agent."`
}

// Run prints the screen of an agent: in tmux, of another runtime, or on another host.
func (c *peek) Run(env *cli.Env, at scope) error {
	if e, err := findOnHost(env, c.Name); err != nil {
		return err
	} else if e != nil {
		return e.runThere(peer.Ask{Command: "peek"}, askPatience)
	}
	if away, err := findRuntimeAgent(at, c.Name, findShown); err != nil || away != nil {
		return away.peek(env, err)
	}
	m, err := findRunning(at, c.Name)
	if err != nil {
		return err
	}
	text, err := tmux.Server(m.TmuxServer).CapturePane(m.Pane.ID)
	if err != nil {
		return err
	}
	return env.Println(strings.TrimRight(env.Text(text), "\n "))
}

type attach struct {
	profile
	Name string `arg:"" help:"The agent."`
}

// Run attaches the terminal to an agent, inside tmux by switching the client, and acknowledges it.
func (c *attach) Run(env *cli.Env, at scope) error {
	if e, err := findOnHost(env, c.Name); err != nil {
		return err
	} else if e != nil {
		return e.attach()
	}
	if away, err := findRuntimeAgent(at, c.Name, findShown); err != nil || away != nil {
		return away.attach(env, err)
	}
	m, err := findRunning(at, c.Name)
	if err != nil {
		return err
	}
	kind, terminal := env.Getenv("TERM"), "" // this terminal, and what tmux takes it for
	server, peek := tmux.Server(m.TmuxServer), fmt.Sprintf("gt-session peek %s prints its screen", m.Name)
	socket, _ := tmux.FromEnv(env.Getenv)
	switch {
	case socket != "" && socket != m.TmuxServer:
		return cli.Fail(cli.AnswerNo, fmt.Errorf("%s is in another tmux server", m.Name), "leave this one first (Ctrl-b d)")
	case socket != "":
		if err := server.SwitchClient(m.Pane); err != nil {
			return err
		}
		_ = server.ShowMessage("#{prefix} L goes back") // tmux before 3.2 has no display-message -d
	case !term.IsTerminal(env.Stdin):
		return cli.Fail(cli.Usage, fmt.Errorf("attaching needs a terminal"), peek)
	default:
		if terminal = tmux.UsableTerminal(kind); terminal == "" {
			err := cli.Fail(cli.AnswerNo, fmt.Errorf("tmux cannot show %s in the terminal TERM=%s", m.Name, kind), peek)
			if kind != "" && kind != "dumb" {
				err = cli.WithHint(err, "in most terminals, TERM=xterm-256color gt-session attach %s works", m.Name)
			}
			return err
		}
	}
	env.WarnError(acknowledge(at, m.ID))
	if socket != "" {
		return nil
	}
	return server.Attach(m.Pane, terminal)
}

type ack struct{ agentSelection }

func (c *ack) Run(env *cli.Env, at scope) error {
	return c.forEachSelected(at, func(in *instance.Instance) (string, error) {
		return "acknowledged " + in.Name, acknowledge(at, in.ID)
	})
}

// acknowledge records that a person has seen that the agent waits, so that it counts as idle.
func acknowledge(at scope, id instance.ID) error {
	held, err := at.Store.Hold(id, readyWait)
	if err != nil {
		return err
	}
	defer held.Release()
	held.Acknowledged = at.Env.Now().UTC()
	return held.Put(at.Env.Now())
}
