package seancecmd

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"text/template"
	"time"

	"gt/lib/catalog"
	"gt/lib/cli"
	"gt/lib/conversation"
	"gt/lib/state/session"
	"gt/lib/text/count"
	"gt/lib/text/term"
	"gt/lib/view/palette"
)

type list struct {
	selection
	Limit  *int   `short:"n" aliases:"recent" placeholder:"N" help:"Only the newest N (default 20); 0 lists all."`
	Active bool   `xor:"order" help:"Sort by the last activity, and show when that was."`
	Size   bool   `xor:"order" help:"Sort by the disk space that their conversations take, and show it."`
	JSON   bool   `name:"json" xor:"form" help:"One JSON object per line."`
	Format string `placeholder:"TEMPLATE" xor:"form" help:"Format each session with a Go template: '{{.ID}} {{.Title}}'; --json shows the fields."`

	// Gas Town's gt seance --talk ID --prompt QUESTION is the talk command.
	Talk   string `short:"t" hidden:"" help:"Its ID."`
	Prompt string `short:"p" hidden:"" help:"Its PROMPT."`
	DryRun bool   `hidden:"" help:"Its --dry-run."`
}

func (c *list) Validate() error {
	err := checkLimit(c.Limit)
	if err == nil && c.Talk == "" && (c.Prompt != "" || c.DryRun) {
		err = fmt.Errorf("--prompt and --dry-run need --talk")
	}
	return err
}

func checkLimit(limit *int) error {
	if limit == nil {
		return nil
	}
	return cli.CheckAtLeast("--limit", *limit, 0)
}

// hintNone says that no session was found.
func hintNone(env *cli.Env, all catalog.Catalog) {
	if all.CountSessions() == 0 {
		env.Hint(noSessions)
	} else {
		env.Hint("none of %s matches", count.Plural(all.CountSessions(), "session"))
	}
}

const usual = 20

// Run prints JSON and formatted sessions as it finds them. A table needs all rows for its columns.
func (c *list) Run(env *cli.Env) error {
	if c.Talk != "" {
		value := func(s string) string { return strings.TrimPrefix(s, "=") } // Gas Town also takes -t=ID
		return (&talk{ID: value(c.Talk), Prompt: value(c.Prompt), DryRun: c.DryRun, JSON: c.JSON}).Run(env)
	}
	form, err := format(c.Format)
	if err != nil {
		return err
	}
	most, table := 0, !c.JSON && form == nil
	switch {
	case c.Limit != nil:
		most = *c.Limit
	case !c.All && table:
		most = usual + 1 // one more shows whether there are more
	case !c.All:
		most = usual
	}
	all, f, err := c.openCatalog(env)
	if err != nil {
		return err
	}
	var found []*catalog.Session
	show := func(s *catalog.Session) error {
		switch {
		case c.JSON:
			return env.JSON(s)
		case form != nil:
			return printFormatted(env.Stdout, form, s)
		}
		found = append(found, s)
		return nil
	}
	// Running agents of an unknown session come first. No limit counts them.
	for s := range redactSessions(env, slices.Values(c.unknownAgents)) {
		if err := show(s); err != nil {
			return err
		}
	}
	ordered := selectNewest(all, f, most, c.Active)
	var total int64
	if c.Size {
		sized, ids := largest(all, f), map[session.ID]bool{}
		for _, s := range sized {
			ids[s.ID] = true
		}
		for _, s := range sized {
			if !ids[s.SubagentOf] { // the size of a session has its subagents
				total += s.Size
			}
		}
		ordered = slices.Values(sized)
	}
	n, err := forEachSession(env, all, ordered, most, show)
	switch {
	case err != nil || c.JSON:
		return err
	case n+len(c.unknownAgents) == 0:
		hintNone(env, all)
		return nil
	case form != nil:
		return nil
	}
	more := c.Limit == nil && n > usual && !c.All
	if more {
		found = found[:len(found)-1]
	}
	if err := c.table(env, all, found); err != nil {
		return err
	}
	switch { // hints only for people who read a table
	case c.Size:
		env.Hint("the conversations take %s", term.FormatSize(total))
	case more && c.selectsAll():
		env.Hint("the newest %d of %d; --all lists all, gt-seance pick finds one", usual, all.CountSessions())
	case more:
		env.Hint("the newest %d; --limit 0 lists all that match, gt-seance pick finds one", usual)
	}
	return nil
}

// format parses --format, in which \t and \n stand for tab and line feed. It returns nil for none.
func format(text string) (*template.Template, error) {
	if text == "" {
		return nil, nil
	}
	t, err := template.New("--format").Option("missingkey=error").Funcs(template.FuncMap{
		"local": func(t time.Time) string {
			if t.IsZero() {
				return ""
			}
			return t.Local().Format(time.DateTime)
		},
	}).Parse(strings.NewReplacer(`\t`, "\t", `\n`, "\n").Replace(text))
	if err != nil {
		return nil, formatError(err)
	}
	return t, nil
}

// formatError returns a template's error without the names of our types, and hints at the fields.
func formatError(err error) error {
	var fields []string
	for _, f := range reflect.VisibleFields(reflect.TypeFor[catalog.Session]()) {
		if name := f.Tag.Get("json"); f.IsExported() && name != "" && name != "-" {
			fields = append(fields, f.Name)
		}
	}
	said := strings.TrimPrefix(err.Error(), "template: --format:")
	said = strings.NewReplacer(` in type *catalog.Session`, "", ` executing "--format"`, "").Replace(said)
	return cli.Fail(cli.Usage, fmt.Errorf("--format, line %s", said), "the fields are "+strings.Join(fields, ", "))
}

// printFormatted prints a session with the template. It removes control characters, which
// could change the terminal.
func printFormatted(w io.Writer, t *template.Template, s *catalog.Session) error {
	var b strings.Builder
	named := *s
	named.Title = cmp.Or(s.Title, s.Headline()) // few clients set a title
	if err := t.Execute(&b, &named); err != nil {
		return formatError(err)
	}
	_, err := io.WriteString(w, term.CleanText(strings.TrimSuffix(b.String(), "\n"))+"\n")
	return err
}

const (
	maxActor = 22  // columns of an address
	wide     = 100 // columns from which the table shows more
)

func (c *list) table(env *cli.Env, all catalog.Catalog, found []*catalog.Session) error {
	width := term.Width(env.Stdout, env.Getenv)
	rows := term.Narrow(width, term.Cells(c.columns(env, all, found, width), found), "STARTED", "LAST", "ACTOR")
	style, column := palette.StyleFor(env.Stdout, env.Getenv), slices.Index(rows[0], "OUTCOME")
	return style.Table(env.Stdout, width, rows, func(_, at int, cell string) string {
		if at != column {
			return cell
		}
		return style.Paint(palette.FindStyle(session.Outcome(cell)), cell)
	})
}

// columns returns the table's columns. With width 0, which is no terminal, it cuts no cell.
func (c *list) columns(env *cli.Env, all catalog.Catalog, found []*catalog.Session, width int) []term.Column[*catalog.Session] {
	now, short, narrow := env.Now(), all.IDShortener(), width > 0 && width < wide
	clients := map[string]bool{"": true}
	for _, s := range found {
		clients[s.Agent] = true
	}
	// In a narrow table the agent is shown only if it varies.
	agents := !narrow || len(clients) > 2
	hosts := all.HasPeers() && (!narrow || slices.ContainsFunc(found, func(s *catalog.Session) bool { return s.OtherHost() != "" }))
	panes := (c.Live || c.Active) && slices.ContainsFunc(found, func(s *catalog.Session) bool { return s.TmuxPane != "" })
	actor := maxActor
	if narrow && agents {
		actor -= 6
	}
	cut := func(cell string, most int, cut func(string, int) string) string {
		if cell = term.Clean(cell); width > 0 {
			cell = cut(cell, most)
		}
		return cell
	}
	heading, at := "STARTED", func(s *catalog.Session) time.Time { return s.StartedAt }
	if c.Active {
		heading, at = "LAST", func(s *catalog.Session) time.Time { return s.LastAt }
	}
	return []term.Column[*catalog.Session]{
		{Heading: "SESSION", Cell: func(s *catalog.Session) string { return short(s.ID) }},
		{Heading: "ACTOR", Cell: func(s *catalog.Session) string { return cut(s.AgentLabel(), actor, term.CutFront) }},
		{Heading: "HOST", Hidden: !hosts, Cell: hostColumn(env)},
		{Heading: "AGENT", Hidden: !agents, Cell: func(s *catalog.Session) string { return cut(client(s), maxActor, term.Cut) }},
		{Heading: heading, Cell: func(s *catalog.Session) string { return term.FormatDay(at(s), now) }},
		{Heading: "OUTCOME", Cell: outcome},
		{Heading: "PANE", Hidden: !panes, Cell: func(s *catalog.Session) string {
			return strings.TrimSpace(s.TmuxPane + " " + cut(s.TmuxSession, maxActor-6, term.Cut))
		}},
		{Heading: "SIZE", Hidden: !c.Size, Cell: func(s *catalog.Session) string { return term.FormatSize(s.Size) }},
		{Heading: "TOPIC", Cell: func(s *catalog.Session) string { return topic(s, short, narrow) }},
	}
}

func outcome(s *catalog.Session) string {
	if s.Outcome == catalog.Gone && !s.Logged() {
		return "-" // no hook ran in it, so its end is unknown
	}
	return cmp.Or(s.State, string(s.Outcome))
}

func client(s *catalog.Session) string {
	if s.Headless {
		return s.Agent + " -p"
	}
	return s.Agent
}

// topic returns what the session was about, and its parent if it is a subagent or fork. A
// narrow table leaves out the parent's id.
func topic(s *catalog.Session, short func(session.ID) string, narrow bool) string {
	ofParent := func(id session.ID) string {
		if narrow {
			return ": "
		}
		if s := short(id); s != "" {
			return " of " + s + ": "
		}
		return " of " + string(id[:min(len(id), 8)]) + ": "
	}
	switch about := s.Headline(); {
	case s.ID == "":
		return "no session of it is known"
	case s.SubagentOf != "":
		return "subagent" + ofParent(s.SubagentOf) + about
	case s.ForkOf != "":
		return "fork" + ofParent(s.ForkOf) + about
	default:
		return about
	}
}

type find struct {
	selection
	Limit  int  `short:"n" placeholder:"N" help:"Only the newest N."`
	Active bool `help:"Sort by the last activity."`
	JSON   bool `name:"json" help:"One JSON object per line."`
}

func (c *find) Validate() error { return cli.CheckAtLeast("--limit", c.Limit, 0) }

func (c *find) Run(env *cli.Env) error {
	all, f, err := c.openCatalog(env)
	if err != nil {
		return err
	}
	n, err := forEachSession(env, all, selectNewest(all, f, c.Limit, c.Active), c.Limit, func(s *catalog.Session) error {
		if c.JSON {
			return env.JSON(s)
		}
		return env.Println(s.ID)
	})
	if err == nil && n == 0 {
		err = cli.Silent
	}
	return err
}

// diskSpace adds up files, each once. It has the paths of those that were counted.
type diskSpace map[string]bool

// addConversation returns how many bytes a conversation takes, with what its client keeps in
// a folder beside it: large results, subagents.
func (d diskSpace) addConversation(f conversation.File) (n int64) {
	for _, part := range f.Files() {
		n += d.add(part.Path)
		if beside := strings.TrimSuffix(part.Path, filepath.Ext(part.Path)); beside != part.Path {
			n += d.add(beside)
		}
	}
	return n
}

// add returns the size of a file, or of all files in a folder; 0 of what is not there.
func (d diskSpace) add(path string) (n int64) {
	filepath.WalkDir(path, func(path string, e os.DirEntry, err error) error {
		if err == nil && e.Type().IsRegular() && !d[path] {
			if info, err := e.Info(); err == nil {
				d[path] = true
				n += info.Size()
			}
		}
		return nil
	})
	return n
}

// largest returns the matching sessions with their sizes, the largest first. That of a session
// includes its subagents; it is 0 if only a database has it.
func largest(all catalog.Catalog, f catalog.Filter) []*catalog.Session {
	found := all.Select(f, 0)
	for _, s := range found {
		counted := diskSpace{}
		s.Size = 0
		for _, of := range append([]*catalog.Session{s}, all.Subagents(s.ID)...) {
			if of.File.Path != "" && of.File.Size > 0 {
				s.Size += counted.addConversation(of.File)
			}
		}
	}
	slices.SortStableFunc(found, func(a, b *catalog.Session) int { return cmp.Compare(b.Size, a.Size) })
	return found
}
