package seancecmd

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"time"

	"gt/lib/catalog"
	"gt/lib/catalog/scan"
	"gt/lib/cli"
	"gt/lib/client/account"
	"gt/lib/client/agent"
	"gt/lib/conversation"
	"gt/lib/launch/beacon"
	"gt/lib/place"
	"gt/lib/place/git"
	"gt/lib/state/session"
	"gt/lib/text/count"
	"gt/lib/text/term"
)

type show struct {
	ID   string `arg:"" help:"The session, by its id or the beginning of it."`
	JSON bool   `name:"json" help:"One JSON object."`

	logs
}

type detail struct {
	*catalog.Session
	Runs      []session.Run             `json:"runs,omitempty"`      // earlier runs, before it was resumed
	Commits   []commit                  `json:"commits,omitempty"`   // made in its folder while it ran
	Usage     []conversation.ModelUsage `json:"usage,omitempty"`     // by model, with its subagents
	Turns     int                       `json:"turns,omitempty"`     // of its conversation
	Skipped   int                       `json:"skipped,omitempty"`   // records that are too long to be read
	Unknown   conversation.Unknown      `json:"unknown,omitzero"`    // records of a kind that gt does not know
	Forks     []session.ID              `json:"forks,omitempty"`     // its forks
	Subagents []session.ID              `json:"subagents,omitempty"` // its subagents
	Resume    string                    `json:"resume,omitempty"`    // the command that resumes it
	Fork      string                    `json:"fork,omitempty"`      // the command that resumes a copy of it
}

type commit struct {
	Hash    string    `json:"hash"`
	Subject string    `json:"subject"`
	At      time.Time `json:"at"`
}

func (c *show) Run(env *cli.Env) error {
	s, all, err := findSession(env, c.ID, c.Log...)
	if err != nil {
		return err
	}
	if !hintCopied(env, s) {
		warnStale(env, s)
	}
	d := describe(env, all, s)
	if c.JSON {
		return env.JSON(d)
	}
	return env.Print(portrait(env, d))
}

// describe collects details that lists do not have, because they need the transcript.
func describe(env *cli.Env, all catalog.Catalog, s *catalog.Session) detail {
	d := detail{Session: s}
	if s.IsForeign() {
		_ = d.addConversations(env, all, account.StoreGuard{}) // no path of a log is used
		return d
	}
	if r, err := session.Lookup(place.StateOf(env.Getenv), s.ID); err == nil && r != nil {
		d.Runs = r.Runs
		for i := range d.Runs {
			d.Runs[i].Reason = env.Redact(d.Runs[i].Reason)
		}
	}
	end := cmp.Or(s.EndedAt, s.LastAt)
	if s.Outcome == catalog.Active {
		end = env.Now()
	}
	table := agents(env)
	guard := newStoreGuardWith(env, func() *agent.Table { return table })
	if dir, _, _ := resumeFolder(guard, s); dir != "" && !s.StartedAt.IsZero() {
		for _, c := range git.CommitsBetween(git.Top(dir), s.StartedAt, end) {
			d.Commits = append(d.Commits, commit{c.Hash, env.Redact(c.Subject), c.At})
		}
	}
	lost := d.addConversations(env, all, guard)
	if on, err := continuationOf(guard, table, s, false); err == nil && len(on.Args) > 0 {
		d.Resume = env.Redact(on.String())
	} else {
		lost = cmp.Or(lost, err)
	}
	if on, err := continuationOf(guard, table, s, true); err == nil && len(on.Args) > 0 {
		d.Fork = env.Redact(on.String())
	}
	env.WarnError(lost)
	for _, o := range all.Forks(s.ID) {
		d.Forks = append(d.Forks, o.ID)
	}
	return d
}

// addConversations adds what the session's conversation and those of its subagents say. The error
// is about one that is not read, because nothing but a log says that it is the person's.
func (d *detail) addConversations(env *cli.Env, all catalog.Catalog, guard account.StoreGuard) error {
	n := newCounter(env, all)
	var spent []conversation.HourUsage
	var lost error
	workers := all.Subagents(d.ID)
	for _, w := range append([]*catalog.Session{d.Session}, workers...) {
		_, err := w.Conversation(guard)
		lost = cmp.Or(lost, err)
		// An unreadable part is not counted; commands that read the conversation report it.
		used, _ := n.countSession(w)
		spent = append(spent, used...)
	}
	d.Usage = conversation.SumByModel(spent)
	for i := range d.Usage {
		d.Usage[i].Model = env.Redact(d.Usage[i].Model)
	}
	if f, _ := d.Conversation(guard); f.Path != "" && scan.ReaderOf(f.Client) != nil {
		d.Turns, _ = turnsIn(f)
		d.Skipped = scan.Skipped(f)
		d.Unknown, _ = conversation.CountUnknown(scan.ReaderOf(f.Client), f) // reading it reports the error
		for i, kind := range d.Unknown.First {
			d.Unknown.First[i] = env.Line(kind, maxKind)
		}
	}
	for _, w := range workers {
		d.Subagents = append(d.Subagents, w.ID)
	}
	return lost
}

const maxKind = 40 // the longest name of a kind that is shown, in characters

// portrait returns the details for a person, a line each; what is unknown has none.
func portrait(env *cli.Env, d detail) string {
	var b strings.Builder
	style := term.StyleFor(env.Stdout, env.Getenv)
	line := func(key, value string) {
		if key != "" {
			key += ":"
		}
		if value != "" {
			b.WriteString(style.Dim(fmt.Sprintf("%-11s ", key)) + term.Clean(value) + "\n")
		}
	}
	instant := func(t time.Time) string {
		if t.IsZero() {
			return ""
		}
		return t.Local().Format(time.RFC1123Z)
	}
	ids := func(all []session.ID) string { return strings.Trim(fmt.Sprint(all), "[]") }
	number := func(n int) string { return strings.TrimPrefix(strconv.Itoa(n), "0") } // "" for none
	s := d.Session
	line("Session", string(s.ID))
	line("Title", s.Title)
	line("Asked", s.Prompt)
	line("Actor", s.Actor)
	line("Agent", strings.TrimSpace(s.Agent+" "+s.Version))
	if s.Headless {
		line("Headless", "yes, it ran without a person")
	}
	line("Role", s.Role)
	line("Rig", s.Rig)
	line("Source", s.Source)
	line("Started", instant(s.StartedAt))
	for _, r := range d.Runs {
		said := fmt.Sprintf("%s, %s", instant(r.EndedAt), r.Outcome)
		if why := catalog.FormatReason(r.Reason); why != "" {
			said += " (" + why + ")"
		}
		line("Ended once", said)
	}
	line("Ended", instant(s.EndedAt))
	if s.EndedAt.IsZero() {
		line("Last seen", instant(s.LastAt))
	}
	line("Outcome", string(s.Outcome))
	line("Reason", catalog.FormatReason(s.Reason))
	line("Chain", string(s.ChainID))
	line("Parent", string(s.ParentID))
	line("Child", string(s.ChildID))
	line("Fork of", string(s.ForkOf))
	line("Forks", ids(d.Forks))
	line("Subagent of", string(s.SubagentOf))
	line("Subagents", ids(d.Subagents))
	line("Topic", s.Headline())
	// This is why gt or the town started it. Headline has it only if there is nothing else.
	if why, _, _ := strings.Cut(s.Topic, ":"); beacon.IsTopic(why) && (s.Role != "" || why == beacon.Handoff) {
		line("Started as", s.Topic)
	}
	line("Took up", s.Received)
	line("Work", s.WorkUnit)
	line("Molecule", s.MoleculeID)
	line("Step", s.StepRef)
	line("Hand-over", s.Subject)
	line("Note", s.Note)
	line("Folder", s.CWD)
	line("Moved to", s.Moved)
	line("Branch", s.Branch)
	key := "Commits"
	for _, c := range d.Commits {
		line(key, c.Hash[:min(len(c.Hash), 10)]+" "+c.Subject)
		key = ""
	}
	line("Model", s.Model)
	line("Turns", number(d.Turns))
	if d.Skipped > 0 {
		line("Not read", count.Plural(d.Skipped, "record")+", "+conversation.Unread)
	}
	if u := d.Unknown; u.Records > 0 {
		kinds := strings.Join(u.First, ", ")
		if u.Kinds > len(u.First) {
			kinds += ", …"
		}
		line("Not known", fmt.Sprintf("%s of %s (%s): this version of gt may not read all of it", count.Plural(u.Records, "record"), count.Plural(u.Kinds, "kind"), kinds))
	}
	for _, u := range d.Usage {
		line("Tokens", formatUsage(u, len(d.Usage) > 1))
	}
	line("Transcript", s.Transcript)
	line("Tmux", strings.TrimSpace(s.TmuxSession+" "+s.TmuxPane))
	line("Process", number(s.PID))
	line("Host", s.Host)
	line("Resume", d.Resume)
	line("Fork", d.Fork)
	return b.String()
}

func formatUsage(u conversation.ModelUsage, named bool) string {
	text := fmt.Sprintf("%s in, %s from cache, %s to cache, %s out",
		thousands(u.Input), thousands(u.CacheRead), thousands(u.CacheWrite), thousands(u.Output))
	if u.Cost > 0 {
		text += ", " + count.Dollars(u.Cost)
	}
	if named {
		text += " (" + u.Model + ")"
	}
	return text
}
