// Package krccmd is the gt-krc command: it prunes and rotates the event log without losing
// what is still needed.
package krccmd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"gt/lib/cli"
	"gt/lib/client/startenv"
	"gt/lib/log/eventlog"
	"gt/lib/log/retention"
	"gt/lib/place"
	"gt/lib/place/home"
	"gt/lib/place/town"
	"gt/lib/state/session"
	"gt/lib/sys/flock"
	"gt/lib/text/count"
	"gt/lib/text/duration"
	"gt/lib/text/openjson"
	"gt/lib/text/term"
)

const summary = `
Keeps the event log (.events.jsonl) at a useful size. Each type of event is
kept for a certain time. A prune removes older events, also while agents write.
Events about the life of sessions move to .sessions/archive/, so that gt-seance
knows every session that ever ran.

  gt-krc stats                    what is in the log, and how old it is
  gt-krc decay                    how close the events are to removal
  gt-krc prune --dry-run          what a prune would remove
  gt-krc config set 'session_*' 12h
  gt-krc follow -n 20             the log as it grows, across prunes

In a crontab:

  */10 * * * * gt-krc prune --auto
`

const exitCodes = `
   0  done; prune --auto: or not due yet
   1  config unset: nothing was set
`

func Program() cli.Program {
	return cli.Program{Name: "gt-krc", Summary: summary, Exits: exitCodes, Prepare: startenv.Restore, Grammar: &grammar{}}
}

type grammar struct {
	cli.Flags
	Stats  stats  `cmd:"" default:"withargs" help:"Show what is in the log, by type (the default)."`
	Decay  decay  `cmd:"" help:"Show how close events are to removal, by type: a score of 1 is new, 0 expired."`
	Prune  prune  `cmd:"" help:"Remove the events that are older than their time to live."`
	Rotate rotate `cmd:"" help:"Move the whole log to the archive, and begin an empty one."`
	Follow follow `cmd:"" help:"Print events as they are written, across prunes and rotations."`
	Config config `cmd:"" help:"Show or change how long events are kept."`
}

// logBooks are the event logs of a town, with the policy by which they are pruned.
type logBooks struct {
	env    *cli.Env
	town   town.Town
	policy retention.Policy
}

// openLogs returns the books of the surrounding town, without the policy.
func openLogs(env *cli.Env) (logBooks, error) {
	p := logBooks{env: env, town: home.Find(env.Getenv, env.Dir, "").Town}
	p.env.WarnError(p.town.TrustErr)
	return p, p.town.State.CheckOwner()
}

// openBooks returns the logs with the policy. If only the policy is unusable, the hint is config reset.
func openBooks(env *cli.Env) (logBooks, error) {
	p, err := openLogs(env)
	if err != nil {
		return p, err
	}
	p.policy, err = retention.Load(p.town.Retention(), p.env.WarnError)
	if unusable := p.town.State.Check(); err != nil && unusable != nil {
		return p, unusable // a reset would fail, too
	}
	return p, cli.WithHint(err, "gt-krc config reset restores the defaults")
}

func (p logBooks) logs() []eventlog.Log {
	return []eventlog.Log{eventlog.Log(p.town.Events()), eventlog.Log(p.town.Feed())}
}

// tallyLog adds the lines of a log to the tallies, and shows the progress.
func (p logBooks) tallyLog(l eventlog.Log, to ...*retention.Tally) error {
	bar := term.NewProgress(p.env.Stderr, p.env.Getenv, "reading "+filepath.Base(string(l)), p.env.Now)
	defer bar.Finish()
	total, err := l.Size()
	if err != nil {
		return err
	}
	return l.ForEachHead(func(h eventlog.Head, at, size int64) {
		for _, t := range to {
			t.AddLine(h, size)
		}
		bar.Show(at, total)
	})
}

func (p logBooks) newTally() *retention.Tally { return retention.NewTally(&p.policy, p.env.Now()) }

type stats struct {
	JSON bool `name:"json" help:"One JSON object."`
}

func (c *stats) Run(env *cli.Env) error {
	p, err := openBooks(env)
	if err != nil {
		return err
	}
	in, err := p.takeInventory()
	if err != nil {
		return err
	}
	if c.JSON {
		return in.printJSON(env)
	}
	// The event log is always in files, the feed and the archive only if they are not empty.
	if in.tally.Events+in.tally.Other == 0 && len(in.files) == 1 {
		env.Hint("nothing was logged here yet; gt-hooks install --all wires gt into your agents")
		return nil
	}
	return in.print(env, p)
}

type logFile struct {
	Path   string    `json:"path"`
	Size   int64     `json:"size"`
	Events int       `json:"event_count"`
	Other  int       `json:"other_lines,omitempty"`
	Oldest time.Time `json:"oldest_event,omitzero"`
	Newest time.Time `json:"newest_event,omitzero"`
}

type inventory struct {
	files        []logFile
	tally        *retention.Tally // of the logs that are pruned
	rotated      int              // number of rotated logs
	rotatedBytes int64
	state        retention.State
}

// takeInventory counts the logs and the archive. Its tally lacks the archive, which no prune changes.
func (p logBooks) takeInventory() (inventory, error) {
	in := inventory{tally: p.newTally()}
	logs := p.logs()
	for i, l := range append(logs[:len(logs):len(logs)], logs[0].Archive()) {
		own := p.newTally()
		counted := []*retention.Tally{own, in.tally}
		if i == len(logs) { // the archive
			counted = counted[:1]
		}
		if err := p.tallyLog(l, counted...); err != nil {
			return in, err
		}
		size, err := l.Size()
		if err != nil {
			return in, err
		}
		if size > 0 || i == 0 {
			in.files = append(in.files, logFile{string(l), size, own.Events, own.Other, own.Oldest, own.Newest})
		}
	}
	for _, s := range logs[0].Segments() {
		size, err := eventlog.Log(s).Size()
		if err != nil {
			return in, err
		}
		in.rotated++
		in.rotatedBytes += size
	}
	var err error
	in.state, err = retention.LoadState(p.town.Retention(), p.env.WarnError)
	return in, err
}

func (in *inventory) printJSON(env *cli.Env) error {
	type kind struct {
		TTL     int64     `json:"ttl"` // in nanoseconds, as in Gas Town
		Count   int       `json:"count"`
		Expired int       `json:"expired"`
		Bytes   int64     `json:"bytes"`
		Oldest  time.Time `json:"oldest_event,omitzero"`
	}
	kinds := map[string]kind{}
	for _, k := range in.tally.Kinds() {
		kinds[k.Type] = kind{int64(k.TTL), k.Events, k.Expired, k.Bytes, k.Oldest}
	}
	return env.JSON(struct {
		Files    []logFile       `json:"files"`
		ByType   map[string]kind `json:"by_type"`
		ByAge    retention.Ages  `json:"by_age"`
		Aside    int             `json:"rotated_logs"`
		AsideB   int64           `json:"rotated_bytes"`
		LastTime time.Time       `json:"last_prune_time,omitzero"`
	}{in.files, kinds, in.tally.Ages, in.rotated, in.rotatedBytes, in.state.LastPrune})
}

func (in *inventory) print(env *cli.Env, p logBooks) error {
	width, style, now := term.Width(env.Stdout, env.Getenv), term.StyleFor(env.Stdout, env.Getenv), env.Now()
	rows := [][]string{{"EVENTS", "SIZE", "OLDEST", "NEWEST", "FILE"}}
	for _, f := range in.files {
		name, err := filepath.Rel(p.town.Root, f.Path)
		if err != nil {
			name = f.Path
		}
		if f.Other > 0 {
			name += fmt.Sprintf(" (and %s no event)", count.PluralForm(f.Other, "line that is", "lines that are"))
		}
		rows = append(rows, []string{strconv.Itoa(f.Events), term.FormatSize(f.Size), term.FormatDay(f.Oldest, now), term.FormatDay(f.Newest, now), name})
	}
	var b strings.Builder
	style.Table(&b, width, term.Narrow(width, rows, "OLDEST", "SIZE"), nil)
	if in.rotated > 0 {
		fmt.Fprintf(&b, "%s in %s, in .sessions/archive\n", term.FormatSize(in.rotatedBytes), count.Plural(in.rotated, "rotated log"))
	}
	b.WriteString("\n")
	if in.tally.Events > 0 {
		rows = [][]string{{"EVENTS", "EXPIRED", "SIZE", "KEPT FOR", "OLDEST", "TYPE"}}
		for _, k := range in.tally.Kinds() {
			rows = append(rows, []string{strconv.Itoa(k.Events), strconv.Itoa(k.Expired), term.FormatSize(k.Bytes), duration.Format(k.TTL), term.FormatDay(k.Oldest, now), k.Type})
		}
		style.Table(&b, width, term.Narrow(width, rows, "EXPIRED", "OLDEST", "SIZE"), nil)
		b.WriteString("\n")
	}
	last := "never pruned"
	if at := in.state.LastPrune; !at.IsZero() {
		last = fmt.Sprintf("pruned %s, the last time %s ago", count.Plural(in.state.Prunes, "time"), duration.Format(max(0, now.Sub(at))))
	}
	fmt.Fprintf(&b, "%s; prune --auto, where something runs it, prunes at most every %s\n", last, p.policy.Interval)
	return env.Print(b.String())
}

type decay struct {
	JSON bool `name:"json" help:"One JSON object."`
}

// Run prints what the events of each type are still worth: 1 when they are new, 0 once expired.
func (c *decay) Run(env *cli.Env) error {
	p, err := openBooks(env)
	if err != nil {
		return err
	}
	t := p.newTally()
	for _, l := range p.logs() {
		if err := p.tallyLog(l, t); err != nil {
			return err
		}
	}
	total, waning, expired := 0.0, 0, 0
	for _, k := range t.Kinds() {
		total += k.Value
		waning += k.Waning
		expired += k.Expired
	}
	if t.Events > 0 {
		total /= float64(t.Events)
	}
	if c.JSON {
		type kind struct {
			Type    string  `json:"event_type"`
			Count   int     `json:"count"`
			TTL     int64   `json:"ttl"`
			Curve   string  `json:"curve"`
			Mean    float64 `json:"avg_score"`
			Lowest  float64 `json:"min_score"`
			Waning  int     `json:"at_risk"`
			Expired int     `json:"expired_count"`
		}
		kinds := []kind{}
		for _, k := range t.KindsByValue() {
			// Tally leaves Lowest at 1 if all events have expired.
			if k.Events == k.Expired {
				k.Lowest = 0
			}
			kinds = append(kinds, kind{k.Type, k.Events, int64(k.TTL), string(k.Curve), k.Mean(), k.Lowest, k.Waning, k.Expired})
		}
		return env.JSON(struct {
			Types   []kind  `json:"types"`
			Events  int     `json:"total_events"`
			Value   float64 `json:"total_score"`
			Waning  int     `json:"at_risk"`
			Expired int     `json:"expired"`
		}{kinds, t.Events, total, waning, expired})
	}
	if t.Events == 0 {
		env.Hint("nothing was logged here yet; gt-hooks install --all wires gt into your agents")
		return nil
	}
	rows := [][]string{{"SCORE", "LOWEST", "EVENTS", "AT RISK", "EXPIRED", "KEPT FOR", "CURVE", "TYPE"}}
	for _, k := range t.KindsByValue() {
		lowest := ""
		if k.Events > k.Expired {
			lowest = fmt.Sprintf("%.2f", k.Lowest)
		}
		rows = append(rows, []string{
			fmt.Sprintf("%.2f", k.Mean()), lowest, strconv.Itoa(k.Events), strconv.Itoa(k.Waning), strconv.Itoa(k.Expired),
			duration.Format(k.TTL), string(k.Curve), k.Type,
		})
	}
	width := term.Width(env.Stdout, env.Getenv)
	if err := term.StyleFor(env.Stdout, env.Getenv).Table(env.Stdout, width, term.Narrow(width, rows, "LOWEST", "CURVE", "KEPT FOR", "EXPIRED"), nil); err != nil {
		return err
	}
	return env.Printf("\n%s, average score %.2f (1 is new); %d at risk (below 0.25), %d expired\n", count.Plural(t.Events, "event"), total, waning, expired)
}

type prune struct {
	Auto   bool `help:"Prune only if the interval since the last prune has passed, and print nothing unless events were removed: for a crontab."`
	DryRun bool `help:"Print what would be removed, and change nothing."`
	JSON   bool `name:"json" help:"One JSON object."`
}

// Run prunes the event log and the feed; with --auto only if that is due, and no other does it now.
func (c *prune) Run(env *cli.Env) error {
	p, err := openBooks(env)
	if err != nil {
		return err
	}
	begun := env.Now()
	// Events that had to go to the spare log are pruned with the others.
	if !c.DryRun {
		p.env.WarnError(eventlog.Log(p.town.Events()).TakeSpare(eventlog.Log(p.town.SpareEvents())))
	}
	size, err := p.totalSize()
	if err != nil {
		return err
	}
	if c.DryRun || size == 0 { // the folder may not exist
		result, err := c.pruneLogs(p, begun)
		if err != nil {
			return err
		}
		return c.print(env, result)
	}
	lock, err := retention.Lock(p.town.Retention())
	if errors.Is(err, flock.ErrBusy) && c.Auto { // another process prunes
		return c.reportSkipped(env, map[string]any{"ran": false})
	} else if err != nil {
		return err
	}
	defer lock.Unlock()
	state, err := retention.MendState(p.town.Retention(), p.env.WarnError)
	if err != nil {
		return err
	}
	if c.Auto && !state.IsDue(begun, p.policy.Interval) {
		return c.reportSkipped(env, map[string]any{"ran": false, "last_prune_time": state.LastPrune})
	}
	result, err := c.pruneLogs(p, begun)
	if err != nil {
		return err
	}
	if err := state.RecordPrune(begun, result); err != nil {
		return err
	}
	if err := state.Store(p.town.Retention(), p.env.WarnError); err != nil {
		return cli.WithHint(err, "the prune itself is done")
	}
	return c.print(env, result)
}

func (p logBooks) totalSize() (size int64, err error) {
	for _, l := range p.logs() {
		n, err := l.Size()
		if err != nil {
			return 0, err
		}
		size += n
	}
	return size, nil
}

func (c *prune) reportSkipped(env *cli.Env, report map[string]any) error {
	if !c.JSON {
		return nil
	}
	return env.JSON(report)
}

// pruneLogs prunes both logs. Only the first has an archive, because the feed is an excerpt of it.
func (c *prune) pruneLogs(p logBooks, begun time.Time) (retention.Result, error) {
	result := retention.Result{ByType: map[string]int{}}
	for i, l := range p.logs() {
		bar := term.NewProgress(p.env.Stderr, p.env.Getenv, "pruning "+filepath.Base(string(l)), p.env.Now)
		done, err := l.Prune(eventlog.Pruning{
			Expired:   func(h eventlog.Head) bool { return p.policy.IsExpired(h.Type, begun.Sub(h.Time)) },
			StillRuns: func(h eventlog.Head) bool { return isAtWork(p.town.State, h, begun) },
			Keep:      p.policy.Keep,
			Archive:   i == 0,
			DryRun:    c.DryRun,
			Progress:  bar.Show,
		})
		bar.Finish()
		if err != nil {
			return result, replacedLogError(err)
		}
		result.Processed += done.Events
		result.Pruned += done.TotalRemoved()
		result.Before += done.Before
		result.After += done.After
		result.Carried += done.Carried
		for kind, n := range done.Removed {
			result.ByType[kind] += n
		}
	}
	result.Retained = result.Processed - result.Pruned
	result.Duration = p.env.Now().Sub(begun)
	return result, nil
}

func (c *prune) print(env *cli.Env, result retention.Result) error {
	switch {
	case c.JSON:
		return env.JSON(struct {
			Ran    bool `json:"ran"`
			DryRun bool `json:"dry_run,omitempty"`
			retention.Result
		}{!c.DryRun, c.DryRun, result})
	case c.Auto && result.Pruned == 0:
		return nil
	}
	return env.Print(c.describeResult(result))
}

// describeResult says what was removed, or with --dry-run what would be.
func (c *prune) describeResult(r retention.Result) string {
	if r.Pruned == 0 {
		if r.Processed == 0 {
			return "the log is empty\n"
		}
		return fmt.Sprintf("nothing to remove from %s\n", count.Plural(r.Processed, "event"))
	}
	verb := "removed"
	if c.DryRun {
		verb = "would remove"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s %d of %s, %s of %s\n", verb, r.Pruned, count.Plural(r.Processed, "event"), term.FormatSize(r.Before-r.After), term.FormatSize(r.Before))
	for _, kind := range slices.Sorted(maps.Keys(r.ByType)) {
		fmt.Fprintf(&b, "  %6d  %s\n", r.ByType[kind], term.Clean(kind))
	}
	if r.Carried > 0 {
		carried := "carried"
		if c.DryRun {
			carried = "would be carried"
		}
		fmt.Fprintf(&b, "%s of sessions %s over to .sessions/archive/sessions.jsonl\n", count.Plural(r.Carried, "event"), carried)
	}
	return b.String()
}

func isAtWork(state place.State, h eventlog.Head, now time.Time) bool {
	id, err := session.ParseID(h.Session)
	return err == nil && session.AtWork(state, id, now)
}

func replacedLogError(err error) error {
	if errors.Is(err, eventlog.ErrReplaced) {
		return cli.Fail(cli.Busy, err)
	}
	return err
}

type rotate struct {
	Over byteSize `placeholder:"SIZE" help:"Only if the log is larger: 64MiB, 1GB, …"`
	JSON bool     `name:"json" help:"One JSON object."`
}

// Run rotates the event log if it is larger than c.Over. With --over, it is silent otherwise.
func (c *rotate) Run(env *cli.Env) error {
	p, err := openBooks(env)
	if err != nil {
		return err
	}
	l := p.logs()[0]
	var done eventlog.Rotated
	n, err := l.Size()
	if err != nil {
		return err
	}
	if n > 0 && n > int64(c.Over) {
		lock, err := retention.Lock(p.town.Retention())
		if errors.Is(err, flock.ErrBusy) && c.Over > 0 && !c.JSON {
			return nil // another process rotates, and a crontab tries again
		} else if err != nil {
			return err
		}
		defer lock.Unlock()
		bar := term.NewProgress(env.Stderr, env.Getenv, "rotating "+filepath.Base(string(l)), env.Now)
		done, err = l.Rotate(env.Now(), bar.Show)
		bar.Finish()
		if err != nil {
			return replacedLogError(err)
		}
	}
	switch {
	case c.JSON:
		return env.JSON(struct {
			Path    string `json:"path,omitempty"`
			Events  int    `json:"events"`
			Bytes   int64  `json:"bytes"`
			Carried int    `json:"sessions_carried"`
		}{done.Path, done.Events, done.Bytes, done.Carried})
	case done.Path == "" && c.Over > 0:
		return nil // silent in a crontab
	case done.Path == "":
		err = env.Println("the log is empty")
	default:
		err = env.Printf("%s, %s, are now %s\n", count.Plural(done.Events, "event"), term.FormatSize(done.Bytes), term.Clean(done.Path))
	}
	return err
}

type follow struct {
	Lines int    `short:"n" default:"10" placeholder:"N" help:"Begin with the last N events (default 10)."`
	Type  string `placeholder:"TYPE" help:"Only events of this type; * matches any characters."`
	JSON  bool   `name:"json" help:"Print the lines as they are in the log."`
}

func (c *follow) Validate() error { return cli.CheckAtLeast("-n", c.Lines, 0) }

func (c *follow) Run(env *cli.Env) error {
	p, err := openLogs(env)
	if err != nil {
		return err
	}
	log := eventlog.Log(p.town.Events())
	var failed error
	var wanted func(eventlog.Head) bool // nil for all
	if c.Type != "" {
		wanted = func(h eventlog.Head) bool { return h.Type != "" && retention.MatchesType(c.Type, h.Type) }
	}
	err = log.Follow(context.Background(), c.Lines, wanted, func(line []byte) bool {
		// Follow uses wanted for the last lines only, and then passes every line.
		var e eventlog.Event
		if json.Unmarshal(line, &e) != nil || e.Type == "" || c.Type != "" && !retention.MatchesType(c.Type, e.Type) {
			return true
		}
		if c.JSON {
			failed = env.JSON(openjson.Clean(line, env.Redact)) // another program may have logged it
		} else {
			failed = env.Println(formatEvent(e, env.Redact))
		}
		return failed == nil
	})
	return errors.Join(failed, err)
}

// formatEvent returns an event as text: time, type, actor and the main parts of the
// payload, which it passes through clean.
func formatEvent(e eventlog.Event, clean func(string) string) string {
	var p struct {
		Session string `json:"session_id"`
		Topic   string `json:"topic"`
		Subject string `json:"subject"`
		Outcome string `json:"outcome"`
		Reason  string `json:"reason"`
		Source  string `json:"source"`
		Error   string `json:"error"`
	}
	_ = json.Unmarshal(e.Payload, &p) // another program's payload may have other types
	words := []string{e.Time.Local().Format("Jan _2 15:04:05"), e.Type, e.Actor}
	for _, w := range []string{p.Session, p.Outcome, p.Source, p.Topic, p.Subject, p.Reason, p.Error} {
		if w != "" {
			words = append(words, term.Cut(term.Clean(clean(w)), maxWord))
		}
	}
	return term.Clean(strings.Join(words, "  "))
}

const maxWord = 80 // limits each part of an event, in columns
