package seancecmd

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"runtime/debug"
	"slices"
	"sort"
	"strconv"
	"strings"
	"time"

	"gt/lib/catalog"
	"gt/lib/catalog/scan"
	"gt/lib/cli"
	"gt/lib/client/account"
	"gt/lib/conversation"
	"gt/lib/conversation/price"
	"gt/lib/place"
	"gt/lib/place/git"
	"gt/lib/place/town"
	"gt/lib/record"
	"gt/lib/state/session"
	"gt/lib/sys/atomicfile"
	"gt/lib/text/count"
	"gt/lib/text/term"
)

type usage struct {
	selection
	ID   string   `arg:"" optional:"" help:"The session, by its id or the beginning of it (default: all)."`
	By   []string `enum:"day,week,month,block,model,agent,project,branch,chain,session" default:"model" placeholder:"WHAT" help:"A line for each day, week, month, block of five hours, model, agent, project, branch, chain or session, or of several, as in day,model (default: model)."`
	Each bool     `help:"Add a line for each session and model."`
	Line bool     `xor:"what" help:"One line for a client's status line: what the session used, and all sessions today. The client's JSON on standard input names the session."`
	Disk bool     `xor:"what" help:"The disk space that conversations take, by agent."`
	JSON bool     `name:"json" help:"One JSON object per line."`

	selected int  // how many sessions
	foreign  bool // one of them is another host's
}

func (c *usage) Validate() error {
	switch others := c.Each || c.All || !c.selectsAll() || len(c.Log) > 0 || !slices.Equal(c.By, []string{"model"}); {
	case c.Line && (others || c.JSON):
		return errors.New("--line has no other flags")
	case c.Disk && (others || c.ID != ""):
		return errors.New("--disk has no other flags but --json, and no session")
	}
	return nil
}

// spending is what was used. Only what it is grouped by is set.
type spending struct {
	Session string `json:"session_id,omitempty"`
	Day     string `json:"day,omitempty"`
	Week    string `json:"week,omitempty"`  // its Monday
	Month   string `json:"month,omitempty"` // 2026-01
	Block   string `json:"block,omitempty"` // the hour in which it begins
	Project string `json:"project,omitempty"`
	Branch  string `json:"branch,omitempty"`
	Agent   string `json:"agent,omitempty"`
	Chain   string `json:"chain_id,omitempty"`
	Model   string `json:"model,omitempty"`
	conversation.Usage
	Stated float64 `json:"cost,omitempty"` // Cost, which is cost_usd; set as it is printed
}

var groups = []struct {
	by, heading string
	of          func(*spending) *string
}{
	{"session", "SESSION", func(s *spending) *string { return &s.Session }},
	{"month", "MONTH", func(s *spending) *string { return &s.Month }},
	{"week", "WEEK", func(s *spending) *string { return &s.Week }},
	{"day", "DAY", func(s *spending) *string { return &s.Day }},
	{"block", "BLOCK", func(s *spending) *string { return &s.Block }},
	{"project", "PROJECT", func(s *spending) *string { return &s.Project }},
	{"branch", "BRANCH", func(s *spending) *string { return &s.Branch }},
	{"agent", "AGENT", func(s *spending) *string { return &s.Agent }},
	{"chain", "CHAIN", func(s *spending) *string { return &s.Chain }},
	{"model", "MODEL", func(s *spending) *string { return &s.Model }},
}

// gcPercent is the value of GOGC while tokens are added up. What is read is garbage at once:
// 20,000 small conversations take a tenth less of the processor's time, and 390 MB instead of 260.
const gcPercent = 400

// Run prints the sum of what the transcripts report. A session includes its subagents; a
// subagent whose parent is gone counts by itself. What a fork copied is counted once, for the
// session that it copied it from.
func (c *usage) Run(env *cli.Env) error {
	debug.SetGCPercent(gcPercent)
	switch {
	case c.Line:
		return c.line(env)
	case c.Disk:
		return c.disk(env)
	}
	if c.ID != "" && (c.All || !c.selectsAll()) {
		return cli.Fail(cli.Usage, errors.New("a session's id and a filter cannot be combined"))
	}
	found, all, err := c.selectSpenders(env)
	if err != nil {
		return err
	}
	if c.ID != "" { // otherwise the selection has said it
		warnStale(env, found...)
	}
	spent, read := c.countUse(env, found, all)
	if read == 0 {
		why := "their agents have deleted them; gt-record keeps conversations, if you ask for it"
		if c.foreign {
			why = "the conversations of another host are there"
		}
		return cli.Fail(cli.AnswerNo, fmt.Errorf("no conversation of %s is on this machine", count.Plural(c.selected, "session")), why)
	}
	var lines []spending
	if c.Each {
		lines = sumGroups(spent, []string{"session", "model"})
	}
	sums := sumGroups(spent, c.By)
	lines = append(lines, sums...)
	if c.JSON {
		for i := range lines {
			lines[i].Stated = lines[i].Cost
		}
		return cli.JSONLines(env, lines)
	}
	if len(sums) > 1 {
		lines = append(lines, sumGroups(sums, nil)...)
	}
	if read < c.selected {
		env.Hint("%d of %s left no conversation here", c.selected-read, count.Plural(c.selected, "session"))
	}
	warnUnpriced(env, spent)
	width := term.Width(env.Stdout, env.Getenv)
	cells := c.table(env, lines, false)
	if width > 0 && tableWidth(cells) > width {
		cells = c.table(env, lines, true)
	}
	return term.StyleFor(env.Stdout, env.Getenv).Table(env.Stdout, width, cells, nil)
}

// warnUnpriced hints at the models that were used and have no known price.
func warnUnpriced(env *cli.Env, spent []spending) {
	unpriced := map[string]bool{}
	for _, s := range spent {
		if s.Unpriced > 0 {
			unpriced[s.Model] = true
		}
	}
	if len(unpriced) > 0 {
		models := strings.Join(slices.Sorted(maps.Keys(unpriced)), ", ")
		env.Hint("no price is known for %s: ~/.config/gt/%s can have one", term.Clean(models), price.File)
	}
}

const narrowPath = 24

// tableWidth returns how wide a table has to be so that nothing in it is cut.
func tableWidth(rows [][]string) (width int) {
	const least = 8 // of the last column, see term.Style.Table
	for i := range rows[0] {
		widest := 0
		if i == len(rows[0])-1 {
			widest = least
		}
		for _, row := range rows {
			widest = max(widest, term.Columns(row[i]))
		}
		width += widest + 2
	}
	return width - 2
}

const unknown = "unknown" // the model or time of what a conversation does not date or attribute

// countUse returns the use in each hour, and how many conversations it read, subagents' too.
// A subagent's use has its parent's id.
func (c *usage) countUse(env *cli.Env, sessions []*catalog.Session, all catalog.Catalog) (spent []spending, read int) {
	n := newCounter(env, all)
	n.tally.Since, n.tally.Until = c.Since.TimeBefore(env.Now()), c.Until.TimeBefore(env.Now())
	prices, err := price.Load(place.Config(env.Getenv))
	env.WarnError(err)
	n.tally.Price = prices.RequestPrice
	in := places{env: env, projects: map[string]string{}, texts: map[string]string{}}
	for part := range slices.Chunk(sessions, readAhead) {
		n.readAhead(part)
		for _, s := range part {
			for _, of := range append([]*catalog.Session{s}, all.Subagents(s.ID)...) {
				used, ok := n.countSession(of)
				if !ok {
					continue
				}
				for _, hour := range used {
					branch := in.text(hour.Origin.Branch)
					if hour.Origin.CWD == "" { // else it was on no branch
						branch = cmp.Or(branch, s.Branch)
					}
					one := spending{
						Session: string(s.ID), Agent: clientName(s), Chain: string(s.Chain()), Branch: cmp.Or(branch, unknown),
						Model: cmp.Or(in.text(hour.Model), unknown), Usage: hour.Usage,
					}
					if slices.Contains(c.By, "project") {
						one.Project = in.project(s, hour.Origin.CWD)
					}
					one.date(hour.Hour)
					spent = append(spent, one)
				}
				read++
			}
		}
	}
	if slices.Contains(c.By, "block") {
		intoBlocks(spent)
	}
	for _, err := range n.failed {
		env.WarnError(err)
	}
	env.WarnError(n.lost.Err())
	return spent, read
}

// date sets the periods that an hour of use belongs to.
func (s *spending) date(hour time.Time) {
	if hour.IsZero() {
		s.Day, s.Week, s.Month, s.Block = unknown, unknown, unknown, unknown
		return
	}
	const sinceMonday = 6 // of a Sunday, which time counts as 0
	monday := hour.AddDate(0, 0, -(int(hour.Weekday())+sinceMonday)%7)
	s.Day, s.Week, s.Month = hour.Format(time.DateOnly), monday.Format(time.DateOnly), hour.Format("2006-01")
	s.Block = hour.Format(time.RFC3339)
}

// intoBlocks changes each Block from an hour to the beginning of the block that has the hour. A
// block has five hours, and begins with the first hour of use after the block before.
func intoBlocks(spent []spending) {
	const length = 5 * time.Hour
	var begin time.Time
	blockOf := map[string]string{unknown: unknown}
	hours := make([]string, 0, len(spent))
	for _, s := range spent {
		hours = append(hours, s.Block)
	}
	at := func(hour string) time.Time {
		t, _ := time.Parse(time.RFC3339, hour) // zero for unknown
		return t
	}
	slices.SortFunc(hours, func(a, b string) int { return at(a).Compare(at(b)) })
	for _, hour := range slices.Compact(hours) {
		if t := at(hour); hour != unknown {
			if t.Sub(begin) >= length {
				begin = t
			}
			blockOf[hour] = begin.Format("2006-01-02 15:04")
		}
	}
	for i := range spent {
		spent[i].Block = blockOf[spent[i].Block]
	}
}

// places names where requests were made. It remembers its answers.
type places struct {
	env             *cli.Env
	projects, texts map[string]string // by folder, and by what the conversation says
}

// text returns a text of a conversation without secrets.
func (p places) text(s string) string {
	clean, known := p.texts[s]
	if !known {
		clean = p.env.Redact(s)
		p.texts[s] = clean
	}
	return clean
}

// project returns the folder of the repository, whichever worktree or submodule of it a request
// was made in. For a folder that is gone, and for one outside git below the session's folder, it
// is the project of the session's folder.
func (p places) project(s *catalog.Session, dir string) string {
	if dir = cmp.Or(dir, s.CWD); dir == "" || s.IsForeign() {
		return cmp.Or(p.text(dir), unknown)
	}
	known, has := p.projects[dir]
	if !has {
		known, _ = git.CommonDir(dir) // the folder itself if it cannot be read
		if known == dir && !pathExists(dir) {
			known = ""
		}
		p.projects[dir] = known
	}
	if s.CWD != "" && s.CWD != dir && (known == "" || known == dir && strings.HasPrefix(dir, s.CWD+"/")) {
		return p.project(s, s.CWD)
	}
	if at := strings.Index(known+"/", "/.git/"); at >= 0 { // a submodule's is below
		known = known[:at]
	}
	return p.text(cmp.Or(known, dir))
}

// counter counts the tokens of sessions. Before a conversation it reads those that may have been
// copied into it, even if nobody asks for their numbers.
type counter struct {
	env    *cli.Env
	all    catalog.Catalog
	guard  account.StoreGuard
	tally  conversation.UsageTally
	counts map[session.ID]counted
	ahead  map[session.ID]conversation.TokenRecords

	lost   conversation.ReadErrors // foreign ones
	failed []error
}

type counted struct {
	used []conversation.HourUsage
	read bool
}

func newCounter(env *cli.Env, all catalog.Catalog) *counter {
	return &counter{env: env, all: all, guard: newStoreGuard(env), counts: map[session.ID]counted{}}
}

const readAhead = 512 // how many sessions are read at once

// readAhead reads what the sessions spent, on all processors.
func (n *counter) readAhead(sessions []*catalog.Session) {
	found := make([]conversation.TokenRecords, len(sessions))
	cli.Parallel(cli.Numbers(len(sessions)), func(i int) {
		if f := sessions[i].File; f.Path != "" && scan.ReaderOf(f.Client) != nil {
			if spent, err := conversation.ReadTokens(scan.ReaderOf(f.Client), f); err == nil { // else count reads it again and has the error
				found[i] = spent
			}
		}
	})
	n.ahead = make(map[session.ID]conversation.TokenRecords, len(sessions))
	for i, s := range sessions {
		n.ahead[s.ID] = found[i]
	}
}

// countSession returns what a session used, and whether its conversation could be read. It counts the
// sessions first of which this one is a copy or a subagent, so that no request counts twice.
func (n *counter) countSession(s *catalog.Session) ([]conversation.HourUsage, bool) {
	if done, known := n.counts[s.ID]; known {
		return done.used, done.read
	}
	n.counts[s.ID] = counted{} // even of a session that is its own ancestor
	var ancestors []session.ID
	for next := []session.ID{s.ForkOf, s.SubagentOf}; len(next) > 0; next = next[1:] {
		id := next[0]
		if id == "" || id == s.ID || slices.Contains(ancestors, id) {
			continue
		}
		ancestors = append(ancestors, id)
		if a := n.all.Get(id); a != nil && a.Agent == s.Agent {
			n.countSession(a)
			next = append(next, a.ForkOf, a.SubagentOf)
		}
	}
	file, err := transcriptOf(n.env, n.guard, s)
	if err != nil {
		if _, ok := errors.AsType[*account.ForeignError](err); ok {
			n.lost.Add(err)
		}
		return nil, false
	}
	spent := n.ahead[s.ID]
	if spent == nil {
		if spent, err = conversation.ReadTokens(scan.ReaderOf(file.Client), file); err != nil {
			n.failed = append(n.failed, err)
			return nil, false
		}
	}
	used := n.tally.AddTokens(spent, conversation.Lineage{ID: s.ID, Began: s.StartedAt, Ancestors: ancestors})
	if err := scan.CheckRead(s.ID, file); err != nil {
		n.failed = append(n.failed, err)
	}
	n.counts[s.ID] = counted{used, true}
	return used, true
}

// sumGroups adds up all that is the same in the groups of by. The sums are in the order of their
// sessions in all, then of their times, and then those with the most output come first.
func sumGroups(all []spending, by []string) (sums []spending) {
	at := map[spending]int{}
	for _, s := range all {
		var key spending
		for _, g := range groups {
			if slices.Contains(by, g.by) {
				*g.of(&key) = *g.of(&s)
			}
		}
		i, known := at[key]
		if !known {
			i = len(sums)
			at[key], sums = i, append(sums, key)
		}
		sums[i].Add(s.Usage)
	}
	order := map[string]int{}
	for i, s := range sums {
		sums[i].Priced = math.Round(s.Priced*1e9) / 1e9 // the same in whatever order it was added up
		if _, known := order[s.Session]; !known {
			order[s.Session] = i
		}
	}
	sort.SliceStable(sums, func(i, j int) bool { // slices' functions are made anew for each large type
		a, b := &sums[i], &sums[j]
		times := func(s *spending) []string { return []string{s.Month, s.Week, s.Day, s.Block} }
		return cmp.Or(cmp.Compare(order[a.Session], order[b.Session]), slices.Compare(times(a), times(b)), cmp.Compare(b.Output, a.Output), cmp.Compare(a.Model, b.Model)) < 0
	})
	return sums
}

// table returns the cells, for a narrow screen with short numbers and the ends of paths.
func (c *usage) table(env *cli.Env, lines []spending, narrow bool) [][]string {
	number, cache := thousands, "CACHE "
	if narrow {
		number, cache = count.Compact, ""
	}
	free := !slices.ContainsFunc(lines, func(l spending) bool { return l.Cost > 0 })
	unpriced := !slices.ContainsFunc(lines, func(l spending) bool { return l.Priced > 0 })
	var columns []term.Column[spending]
	for _, g := range groups {
		if !slices.Contains(c.By, g.by) && !(c.Each && (g.by == "session" || g.by == "model")) {
			continue
		}
		first := len(columns) == 0
		columns = append(columns, term.Column[spending]{Heading: g.heading, Cell: func(l spending) string {
			cell := env.Line(*g.of(&l), 1000)
			if g.by == "project" {
				if cell = term.Tilde(cell, env.Getenv("HOME")); narrow {
					cell = term.CutFront(cell, narrowPath)
				}
			}
			switch {
			case cell != "":
			// The sum of everything is the total. With --each, a group's sum is that of all sessions.
			case l == (spending{Usage: l.Usage}) && (first && !c.Each || g.by == "model"):
				cell = "total"
			case first && c.Each:
				cell = "all"
			}
			return cell
		}})
	}
	return term.Cells(append(columns, []term.Column[spending]{
		{Heading: "INPUT", Cell: func(l spending) string { return number(l.Input) }},
		{Heading: cache + "READ", Cell: func(l spending) string { return number(l.CacheRead) }},
		{Heading: cache + "WRITE", Cell: func(l spending) string { return number(l.CacheWrite) }},
		{Heading: "OUTPUT", Cell: func(l spending) string { return number(l.Output) }},
		{Heading: "PRICE", Hidden: unpriced, Cell: func(l spending) string { return price.Text(l.Usage) }},
		{Heading: "COST", Hidden: free, Cell: func(l spending) string { return count.Dollars(l.Cost) }},
	}...), lines)
}

// selectSpenders returns those of the selected sessions that left a conversation, oldest first.
// Subagents are left out unless their parent is gone. It sets c.selected and c.foreign.
func (c *usage) selectSpenders(env *cli.Env) (found []*catalog.Session, all catalog.Catalog, err error) {
	if c.ID != "" {
		s, all, err := findSession(env, c.ID)
		c.selected, c.foreign = 1, err == nil && s.IsForeign()
		return []*catalog.Session{s}, all, err
	}
	c.All = false
	all, f, err := c.openCatalog(env)
	if err != nil {
		return nil, all, err
	}
	own := newStoreGuard(env)
	// left counts a session, and reports whether a conversation of it or of a subagent is left.
	left := func(s *catalog.Session) bool {
		c.selected++
		c.foreign = c.foreign || s.IsForeign()
		at, err := s.Conversation(own)
		return err != nil || at.Path != "" || len(all.Subagents(s.ID)) > 0
	}
	found, err = selectOldest(env, all, f, left)
	f.Subagents = true
	for _, s := range all.Orphans() {
		if f.Matches(s) && left(s) {
			found, err = append(found, s), nil // so a session matches
		}
	}
	return found, all, err
}

func thousands(n int64) string {
	s := strconv.FormatInt(n, 10)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// usageNow is what a status line shows, and the cache of it.
type usageNow struct {
	Day      string                            `json:"day"` // 2026-01-17
	At       time.Time                         `json:"at"`
	Took     time.Duration                     `json:"took"` // to count, in nanoseconds
	Today    conversation.Usage                `json:"today"`
	Sessions map[session.ID]conversation.Usage `json:"sessions"` // those of today, from their beginning
}

const (
	maxStatus = 1 << 20
	// maxShare bounds what a status line costs: it counts anew only after so many times the time
	// that counting took.
	maxShare = 20
)

// line prints a line for a client's status line, which is asked for at every step of the agent:
// what the session used, and what all did today. The client says on standard input which
// session it is, and may state its cost.
func (c *usage) line(env *cli.Env) error {
	var said struct {
		Session session.ID `json:"session_id"`
		Cost    struct {
			Total float64 `json:"total_cost_usd"`
		} `json:"cost"`
	}
	if !term.IsTerminal(env.Stdin) {
		data, err := io.ReadAll(io.LimitReader(env.Stdin, maxStatus))
		if err == nil && len(data) > 0 {
			err = json.Unmarshal(data, &said)
		}
		if err != nil {
			return cli.Fail(cli.Usage, fmt.Errorf("invalid status on standard input: %w", err))
		}
	}
	id := session.ID(cmp.Or(c.ID, string(said.Session)))
	state := town.Personal(env.Getenv).State
	path := state.Path(".sessions", "usage.json")
	now, known := usageNow{}, false
	if data, err := atomicfile.Read(path, maxStatus); err == nil {
		known = json.Unmarshal(data, &now) == nil
	}
	_, has := now.Sessions[id]
	if c.ID != "" && !has {
		s, _, err := findSession(env, c.ID)
		if err != nil {
			return err
		}
		id = s.ID
		_, has = now.Sessions[id]
	}
	// Count anew if the numbers are another day's, of the future or too old (see maxShare). If they
	// only lack the session, count anew once they are older than counting takes.
	if age := env.Now().Sub(now.At); !known || now.Day != env.Now().Local().Format(time.DateOnly) || age < 0 || age > maxShare*now.Took || !has && id != "" && age > now.Took {
		var err error
		if now, err = c.countNow(env, id); err != nil {
			return err
		}
		if data, err := json.Marshal(now); err == nil && state.CheckOwner() == nil {
			os.MkdirAll(state.Path(".sessions"), 0o700)
			atomicfile.Write(path, data, atomicfile.Unsynced) // without it the next line counts again
		}
	}
	var parts []string
	if own := now.Sessions[id]; own.HasTokens() || said.Cost.Total > 0 {
		money := cmp.Or(count.Dollars(said.Cost.Total), price.Text(own))
		parts = append(parts, statusPart("", own, money))
	}
	parts = append(parts, statusPart("today ", now.Today, price.Text(now.Today)))
	return env.Println(strings.Join(parts, " · "))
}

func statusPart(name string, u conversation.Usage, money string) string {
	return strings.TrimRight(fmt.Sprintf("%s%s tokens %s", name, count.Compact(u.Tokens()), money), " ")
}

// countNow counts what all sessions used today, and what each of them and session id used in total.
func (c *usage) countNow(env *cli.Env, id session.ID) (now usageNow, err error) {
	began := env.Now()
	now = usageNow{Day: began.Local().Format(time.DateOnly), At: began, Sessions: map[session.ID]conversation.Usage{id: {}}}
	today := usage{}
	today.Since = "today"
	found, all, err := today.selectSpenders(env)
	if cli.ExitCode(err) == cli.AnswerNo { // there is none today
		err = nil
	}
	if err != nil {
		return now, err
	}
	if s := all.Get(id); s != nil && !slices.ContainsFunc(found, func(f *catalog.Session) bool { return f.ID == id }) {
		found = append(found, s)
	}
	today.Since = "" // sessions of today, but all that they used
	spent, _ := today.countUse(env, found, all)
	for _, s := range spent {
		own := now.Sessions[session.ID(s.Session)]
		own.Add(s.Usage)
		now.Sessions[session.ID(s.Session)] = own
		if s.Day == now.Day {
			now.Today.Add(s.Usage)
		}
	}
	now.Took = env.Now().Sub(began)
	return now, nil
}

type diskUse struct {
	Agent    string `json:"agent"` // or gt's own record, or its caches
	Sessions int    `json:"sessions,omitempty"`
	Bytes    int64  `json:"bytes"`
	Oldest   string `json:"oldest,omitempty"` // a day
}

// disk prints how much disk space the conversations take, the most first, and what gt adds. A
// subagent's counts, and is no session.
func (c *usage) disk(env *cli.Env) error {
	personal := town.Personal(env.Getenv)
	found, errs := scan.FindConversations(env.Getenv, env.Redact, personal.Transcripts(), nil)
	env.WarnError(errors.Join(errs...))
	byClient := map[string]*diskUse{}
	counted := diskSpace{}
	for _, one := range found {
		name := one.File.Client
		if name == record.Client { // those that the client has deleted; all are below
			continue
		}
		if byClient[name] == nil {
			byClient[name] = &diskUse{Agent: name}
		}
		k := byClient[name]
		if one.File.Parent == "" && one.Metadata.Parent == "" {
			k.Sessions++
		}
		if began := one.Metadata.Started; !began.IsZero() {
			if day := began.Local().Format(time.DateOnly); k.Oldest == "" || day < k.Oldest {
				k.Oldest = day
			}
		}
		k.Bytes += counted.addConversation(one.File)
	}
	all := make([]diskUse, 0, len(byClient)+1)
	for _, name := range slices.SortedFunc(maps.Keys(byClient), func(a, b string) int {
		return cmp.Or(cmp.Compare(byClient[b].Bytes, byClient[a].Bytes), cmp.Compare(a, b))
	}) {
		all = append(all, *byClient[name])
	}
	var records int64
	if own, err := record.StoreOf(env.Getenv); err == nil && own.Exists() {
		records = counted.add(own.Sessions)
	}
	for _, k := range []diskUse{{Agent: "gt-record", Bytes: records}, {Agent: "gt's caches", Bytes: counted.add(personal.State.Path(".sessions"))}} {
		if k.Bytes > 0 {
			all = append(all, k)
		}
	}
	if c.JSON {
		return cli.JSONLines(env, all)
	}
	if len(all) == 0 {
		return cli.Failf(cli.AnswerNo, noSessions)
	}
	sum := diskUse{Agent: "total"}
	for _, k := range all {
		sum.Sessions += k.Sessions
		sum.Bytes += k.Bytes
	}
	number := func(n int) string {
		if n == 0 {
			return ""
		}
		return thousands(int64(n))
	}
	return term.StyleFor(env.Stdout, env.Getenv).Table(env.Stdout, term.Width(env.Stdout, env.Getenv), term.Cells([]term.Column[diskUse]{
		{Heading: "AGENT", Cell: func(k diskUse) string { return k.Agent }},
		{Heading: "SESSIONS", Cell: func(k diskUse) string { return number(k.Sessions) }},
		{Heading: "SIZE", Cell: func(k diskUse) string { return term.FormatSize(k.Bytes) }},
		{Heading: "OLDEST", Cell: func(k diskUse) string { return k.Oldest }},
	}, append(all, sum)), nil)
}
