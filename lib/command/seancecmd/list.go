package seancecmd

import (
	"cmp"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"
	"text/template"
	"time"

	"gt/lib/catalog"
	"gt/lib/cli"
	"gt/lib/state/session"
	"gt/lib/text/term"
	"gt/lib/view/palette"
)

type list struct {
	selection
	Limit  *int   `short:"n" aliases:"recent" placeholder:"N" help:"Only the newest N (default 20); 0 lists all."`
	Active bool   `help:"Sort by the last activity, and show when that was."`
	JSON   bool   `name:"json" xor:"form" help:"One JSON object per line."`
	Format string `placeholder:"TEMPLATE" xor:"form" help:"Format each session with a Go template: '{{.ID}} {{.Title}}'; --json shows the fields."`
}

// Validate refuses a negative number of sessions.
func (c *list) Validate() error {
	if c.Limit != nil && *c.Limit < 0 {
		return fmt.Errorf("--limit needs a number of at least 0")
	}
	return nil
}

// usual is how many sessions are listed where nothing is said of it.
const usual = 20

// Run lists the sessions that fit.
func (c *list) Run(env *cli.Env) error {
	form, err := format(c.Format)
	if err != nil {
		return err
	}
	most, more := 0, false
	switch {
	case c.Limit != nil:
		most = *c.Limit
	case !c.All:
		most = usual + 1 // one more tells that there are more
	}
	found, all, err := c.ordered(env, most, c.Active)
	if err != nil {
		return err
	}
	if c.Limit == nil && len(found) > usual && !c.All {
		found, more = found[:usual], true
	}
	found = slices.Concat(c.strangers, found)
	switch {
	case c.JSON:
		for _, s := range found {
			if err := env.JSON(s); err != nil {
				return err
			}
		}
		return nil
	case all.Len()+len(found) == 0:
		env.Hint(noSessions)
		return nil
	case len(found) == 0:
		env.Hint("none of %s matches", number(all.Len(), "session"))
		return nil
	case form != nil:
		return formatted(env.Stdout, form, found)
	}
	if err := c.table(env, all, found); err != nil {
		return err
	}
	switch { // who reads a table may look for one that is not there
	case more && c.everything():
		env.Hint("the newest %d of %d; --all lists all, gt-seance pick finds one", usual, all.Len())
	case more:
		env.Hint("the newest %d; --limit 0 lists all that match, gt-seance pick finds one", usual)
	}
	return nil
}

// format reads a template, in which \t and \n are what they look like.
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
		return nil, misformed(err)
	}
	return t, nil
}

// misformed says what is wrong with a template, and what can stand in one.
func misformed(err error) error {
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

// formatted writes a line for each session, which a terminal shows and does not
// obey.
func formatted(w io.Writer, t *template.Template, found []*catalog.Session) error {
	for _, s := range found {
		var b strings.Builder
		named := *s
		named.Title = cmp.Or(s.Title, s.About()) // few clients give one
		if err := t.Execute(&b, &named); err != nil {
			return misformed(err)
		}
		if _, err := io.WriteString(w, term.CleanText(strings.TrimSuffix(b.String(), "\n"))+"\n"); err != nil {
			return err
		}
	}
	return nil
}

const (
	maxActor = 22  // columns of an address
	wide     = 100 // columns from which on more is shown
)

func (c *list) table(env *cli.Env, all catalog.Catalog, found []*catalog.Session) error {
	width, now := term.Width(env.Stdout, env.Getenv), env.Now()
	narrow := width > 0 && width < wide
	// Which client it was says something where there are several.
	agents, one := !narrow, ""
	for _, s := range found {
		agents = agents || s.Agent != "" && one != "" && s.Agent != one
		one = cmp.Or(one, s.Agent)
	}
	short := all.Short()
	rows := [][]string{{"SESSION", "ACTOR", "AGENT", "STARTED", "OUTCOME", "TOPIC"}}
	if c.Active {
		rows[0][3] = "LAST"
	}
	panes := c.Live && slices.ContainsFunc(found, func(s *catalog.Session) bool { return s.TmuxPane != "" })
	if panes {
		rows[0] = slices.Insert(rows[0], 5, "PANE")
	}
	for _, s := range found {
		at, outcome := s.StartedAt, cmp.Or(s.State, string(s.Outcome))
		if c.Active {
			at = s.LastAt
		}
		if s.Outcome == catalog.Gone && !s.Logged() {
			outcome = "-" // no hook ran in it, so nothing can be known of its end
		}
		actor, agent := term.Clean(actorOf(s)), term.Clean(client(s))
		if width > 0 {
			actor, agent = term.CutFront(actor, maxActor), term.Cut(agent, maxActor)
		}
		if narrow && agents {
			actor = term.CutFront(actor, maxActor-6)
		}
		row := []string{short(s.ID), actor, agent, term.Day(at, now), outcome}
		if panes {
			pane := term.Clean(s.TmuxSession)
			if width > 0 {
				pane = term.Cut(pane, maxActor-6)
			}
			row = append(row, strings.TrimSpace(s.TmuxPane+" "+pane))
		}
		rows = append(rows, append(row, topic(s, short, narrow)))
	}
	if !agents {
		for i, r := range rows {
			rows[i] = append(r[:2:2], r[3:]...)
		}
	}
	rows = term.Narrow(width, rows, "STARTED", "LAST", "ACTOR")
	style, column := palette.StyleFor(env.Stdout, env.Getenv), slices.Index(rows[0], "OUTCOME")
	return style.Table(env.Stdout, width, rows, func(_, at int, cell string) string {
		if at != column {
			return cell
		}
		return style.Paint(palette.Of(session.Outcome(cell)), cell)
	})
}

// client is the session's client, as it was run.
func client(s *catalog.Session) string {
	if s.Headless {
		return s.Agent + " -p"
	}
	return s.Agent
}

// topic is what the session was about, and what it came from where that is not
// its chain; where there is little room, only that it did.
func topic(s *catalog.Session, short func(session.ID) string, narrow bool) string {
	of := func(id session.ID) string {
		if narrow {
			return ": "
		}
		if s := short(id); s != "" {
			return " of " + s + ": "
		}
		return " of " + string(id[:min(len(id), 8)]) + ": "
	}
	switch about := s.About(); {
	case s.ID == "":
		return "no session of it is known"
	case s.SubagentOf != "":
		return "subagent" + of(s.SubagentOf) + about
	case s.ForkOf != "":
		return "fork" + of(s.ForkOf) + about
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

// Validate refuses a negative number of sessions.
func (c *find) Validate() error {
	if c.Limit < 0 {
		return fmt.Errorf("--limit needs a number of at least 0")
	}
	return nil
}

// Run prints the ids of the sessions that fit, for a pipeline.
func (c *find) Run(env *cli.Env) error {
	found, _, err := c.ordered(env, c.Limit, c.Active)
	if err != nil {
		return err
	}
	if len(found) == 0 {
		return cli.Silent
	}
	for _, s := range found {
		if c.JSON {
			err = env.JSON(s)
		} else {
			_, err = fmt.Fprintln(env.Stdout, s.ID)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
