package hooks

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"gt/lib/cli"
	"gt/lib/client/wiring"
	"gt/lib/client/wirings"
	"gt/lib/log/eventlog"
	"gt/lib/place"
	"gt/lib/place/town"
	"gt/lib/sys/atomicfile"
	"gt/lib/text/openjson"
	"gt/lib/text/redact"
	"gt/lib/text/term"
	"gt/lib/upgrade"
)

type migrate struct {
	Dirs   []string `arg:"" optional:"" name:"dir" help:"Look again, and only at this folder: it was renamed since, or no log names it."`
	DryRun bool     `help:"Show what would be taken over, and change nothing."`
	Yes    bool     `help:"Do not ask."`
	Once   bool     `hidden:"" help:"Print nothing if that was done on this machine."`
	Again  bool     `help:"Look again, even if that was done on this machine."`
	Clean  bool     `help:"Afterwards remove gt's files from the projects. An earlier version finds nothing there any more."`
	JSON   bool     `name:"json" help:"One JSON object per line (with --yes or --dry-run)."`
}

// Help returns the long help. kong calls it.
func (c *migrate) Help() string {
	return `
Earlier versions kept records, notes and checkpoints in each project, in .runtime/.
They are in your own state folder now (docs/upgrade.md). This command takes them over,
once on each machine: from the folders, and of the sessions, that your own event log or
an agent's own store knows. The old files stay.

  gt-hooks migrate --dry-run
  gt-hooks migrate
  gt-hooks migrate ~/src/renamed
  gt-hooks migrate --clean
`
}

// Validate checks the combination of flags. kong calls it.
func (c *migrate) Validate() error {
	switch {
	case c.JSON && !c.Yes && !c.DryRun:
		return cli.Failf(cli.Usage, "--json needs --yes or --dry-run, because it cannot ask")
	case len(c.Dirs) > 0 && c.Clean:
		return cli.Failf(cli.Usage, "--clean works on all folders, so it takes no folder")
	case c.DryRun && c.Clean:
		return cli.Failf(cli.Usage, "--dry-run and --clean exclude each other")
	}
	return nil
}

// migrated records that the migration was done. It is a file of the state.
type migrated struct {
	At      time.Time `json:"at"`
	Version string    `json:"version"`
	Homes   []string  `json:"homes,omitempty"` // whose files were taken over
	Towns   []string  `json:"towns,omitempty"` // that the person was asked to trust
}

const migratedFile = "migrated.json"

// Run takes over what an earlier version left.
func (c *migrate) Run(env *cli.Env) error {
	if err := refuseBelowAgent(env, "an agent cannot take over files from projects"); err != nil {
		return err
	}
	if inHook(env) {
		return cli.Fail(cli.No, errors.New("a hook cannot take over files from projects"), "run this in a terminal of your own")
	}
	state := place.StateOf(env.Getenv)
	if err := state.Check(); err != nil {
		return err
	}
	note := state.Path(migratedFile)
	var before migrated
	data, err := atomicfile.Read(note, 1<<20)
	if err == nil && json.Unmarshal(data, &before) == nil && !c.Again && !c.Clean && !c.DryRun && len(c.Dirs) == 0 {
		return c.done(env, before)
	} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	known, failed := c.learn(env, state)
	for _, dir := range c.Dirs {
		if !filepath.IsAbs(dir) {
			dir = filepath.Join(env.Dir, dir)
		}
		if info, err := os.Stat(dir); err != nil || !info.IsDir() {
			return cli.Fail(cli.No, fmt.Errorf("there is no folder '%s'", dir))
		}
		known.Name(dir)
	}
	say := &printer{env: env}
	var plans []upgrade.Plan
	takes := false
	for _, h := range known.Homes("") {
		if p, ok := known.Plan(h); ok {
			plans = append(plans, p)
			takes = takes || p.Takes()
		}
	}
	towns := slices.DeleteFunc(known.Towns(), func(root string) bool { return slices.Contains(before.Towns, root) })
	if c.DryRun || !c.JSON {
		c.show(say, plans)
	}
	if c.DryRun {
		c.gone(say, known)
		c.name(say, towns)
		if len(plans) == 0 && !c.JSON && failed == nil {
			say.line("nothing of an earlier version is there to take over")
		}
		return cmp.Or(failed, say.err)
	}
	if takes && !c.Yes {
		if err := ask(env, "Take this over? It is copied, and stays where it is. [y/N] ", "nothing was taken over"); err != nil {
			return err
		}
	}
	for _, p := range plans {
		failed = errors.Join(failed, p.Apply())
	}
	if c.JSON {
		c.show(say, plans)
	}
	c.conclude(say, plans, failed)
	done := migrated{At: env.Now().UTC().Truncate(time.Second), Version: cli.Number}
	done.Homes = slices.Compact(slices.Sorted(slices.Values(append(before.Homes, having(plans, upgrade.Taken, upgrade.InState)...))))
	done.Towns = append(before.Towns, towns...)
	c.gone(say, known)
	c.name(say, towns)
	if failed != nil {
		return cli.WithHint(failed, "what could be taken over was; run this again for the rest")
	}
	if len(c.Dirs) > 0 && before.At.IsZero() {
		return say.err // the other folders were not examined yet
	}
	text, err := openjson.File(done)
	if err == nil {
		err = state.Prepare(string(state))
	}
	if err == nil {
		atomicfile.Sweep(string(state), env.Now())
		err = atomicfile.Write(note, text, atomicfile.Synced)
	}
	if err == nil && c.Clean {
		err = c.clean(env, say, plans)
	}
	return cmp.Or(err, say.err)
}

// inHook reports whether a client runs this as its hook.
func inHook(env *cli.Env) bool {
	return slices.ContainsFunc(wirings.All(), func(c wiring.Client) bool {
		return slices.ContainsFunc(c.HookVars, func(name string) bool { return env.Getenv(name) != "" })
	})
}

// done prints that the migration was done on this machine.
func (c *migrate) done(env *cli.Env, before migrated) error {
	if c.JSON {
		return env.JSON(struct {
			Migrated time.Time `json:"migrated"`
		}{before.At})
	}
	if c.Once {
		return nil
	}
	fmt.Fprintf(env.Stdout, "what an earlier version left was taken over on %s; gt-hooks migrate --again looks again\n", before.At.UTC().Format(time.DateOnly))
	return nil
}

// learn reads the person's own log, the agents' own stores, and the logs of the trusted
// towns. It returns errors that may pass, with which the migration does not count as done.
// It only warns of problems with the files themselves.
func (c *migrate) learn(env *cli.Env, state place.State) (*upgrade.Known, error) {
	known := upgrade.New(env.Getenv)
	own := town.Personal(env.Getenv)
	var failed error
	got := func(err error) {
		if err != nil && upgrade.Passing(err) {
			failed = errors.Join(failed, err)
		} else if err != nil {
			env.Warn("%v", err)
		}
	}
	bar := term.NewProgress(env.Stderr, env.Getenv, "reading the event log", env.Now)
	err := known.Log(eventlog.Log(own.Events()), "", bar.Show)
	bar.Done()
	got(err)
	cache := own.Transcripts()
	if c.DryRun || !atomicfile.Exists(string(state)) {
		cache = ""
	}
	for _, err := range learnStores(env, known, cache) {
		got(err)
	}
	all, err := state.Towns()
	got(err)
	for _, t := range all {
		switch _, err := state.Trusted(t.Path); {
		case err == nil:
			got(known.Town(t.Path, nil))
		case upgrade.Passing(err):
			got(err)
		}
	}
	return known, failed
}

func learnStores(env *cli.Env, known *upgrade.Known, cache string) []error {
	bar := term.NewProgress(env.Stderr, env.Getenv, "reading the agents' conversations", env.Now)
	defer bar.Done()
	return known.Stores(env.Getenv, redact.Cut(env.Environ), cache, bar.Show)
}

// show lists what was found in each home.
func (c *migrate) show(say *printer, plans []upgrade.Plan) {
	for _, p := range plans {
		if c.JSON {
			for _, i := range p.Items {
				if i.Kind != upgrade.Rest {
					say.json(struct {
						Home string `json:"home"`
						upgrade.Item
					}{p.Home.Dir, i})
				}
			}
			continue
		}
		showPlan(say, p)
	}
}

// showPlan lists what was found in a home, with one line for similar files.
func showPlan(say *printer, p upgrade.Plan) {
	taken, known := counts(p, upgrade.Taken), counts(p, upgrade.InState)
	type reason struct {
		kind upgrade.Kind
		why  string
	}
	first, more := map[reason]upgrade.Item{}, map[reason]int{}
	var order []reason
	for _, i := range p.Items {
		if i.Fate != upgrade.Left || i.Why == "" {
			continue
		}
		r := reason{i.Kind, i.Why}
		if more[r]++; more[r] == 1 {
			first[r] = i
			order = append(order, r)
		}
	}
	if taken == "" && known == "" && len(order) == 0 {
		return
	}
	say.line("%s", p.Home.Dir)
	if taken != "" {
		say.line("  takes %s", taken)
	}
	if known != "" {
		say.line("  has already %s", known)
	}
	for _, r := range order {
		name := first[r].Path
		if rel, err := filepath.Rel(p.Home.Dir, name); err == nil {
			name = rel
		}
		if n := more[r] - 1; n > 0 {
			name += fmt.Sprintf(" and %d more", n)
		}
		say.line("  leaves %s: %s", name, r.why)
		if r.kind == upgrade.Role {
			to := place.Config(say.env.Getenv, "roles", "default.md")
			say.line("    to tell it to agents in all folders outside towns: mkdir -p %s && cp %s %s", term.Typed(filepath.Dir(to)), term.Typed(first[r].Path), term.Typed(to))
		}
	}
}

// words are the singular and plural names of kinds.
var words = []struct {
	kind      upgrade.Kind
	one, many string
}{
	{upgrade.Record, "record", "records"}, {upgrade.Note, "note", "notes"}, {upgrade.Checkpoint, "checkpoint", "checkpoints"},
	{upgrade.Log, "file of the log", "files of the log"},
}

// counts returns how many items of each kind have a fate: "3 records (1 of a session that
// still runs), 2 notes".
func counts(p upgrade.Plan, fate upgrade.Fate) string {
	var parts []string
	for _, w := range words {
		n, special := 0, map[string]int{}
		for _, i := range p.Items {
			if i.Kind == w.kind && i.Fate == fate {
				n++
				special[i.What]++
			}
		}
		if n == 0 {
			continue
		}
		text := number(n, w.one, w.many)
		var notes []string
		for _, s := range []struct{ what, text string }{
			{"live", "of a session that still runs"}, {"given", "given as work"}, {"unread", "unread"},
		} {
			if special[s.what] > 0 {
				notes = append(notes, fmt.Sprintf("%d %s", special[s.what], s.text))
			}
		}
		if len(notes) > 0 {
			text += " (" + strings.Join(notes, ", ") + ")"
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, ", ")
}

func number(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// having returns the homes that have an item with one of these fates.
func having(plans []upgrade.Plan, fates ...upgrade.Fate) []string {
	var homes []string
	for _, p := range plans {
		if slices.ContainsFunc(p.Items, func(i upgrade.Item) bool { return slices.Contains(fates, i.Fate) }) {
			homes = append(homes, p.Home.Dir)
		}
	}
	return homes
}

// conclude prints one line about what was done.
func (c *migrate) conclude(say *printer, plans []upgrade.Plan, failed error) {
	n := 0
	for _, p := range plans {
		for _, i := range p.Items {
			if i.Fate == upgrade.Taken {
				n++
			}
		}
	}
	homes := having(plans, upgrade.Taken)
	switch {
	case c.JSON:
		say.json(struct {
			Taken int `json:"taken"`
			Homes int `json:"homes"`
		}{n, len(homes)})
	case n > 0:
		say.line("taken over from %s; the old files stay, and docs/upgrade.md says how to go back", number(len(homes), "folder", "folders"))
	case failed != nil: // there may be more
	case len(having(plans, upgrade.InState)) > 0:
		say.line("there is nothing more to take over")
	default:
		say.line("there is nothing of an earlier version to take over")
	}
}

// gone lists the folders that do not exist any more. If one was only renamed, its files
// can still be taken over.
func (c *migrate) gone(say *printer, known *upgrade.Known) {
	all := known.Gone()
	if len(all) == 0 || len(c.Dirs) > 0 {
		return
	}
	if c.JSON {
		for _, dir := range all {
			say.json(struct {
				Gone string `json:"gone"`
			}{dir})
		}
		return
	}
	say.line("%s not there any more; for a folder that was renamed: gt-hooks migrate DIR",
		number(len(all), "folder in which sessions worked is", "folders in which sessions worked are"))
	for _, dir := range all[:min(len(all), maxGone)] {
		say.line("  %s", dir)
	}
	if more := len(all) - maxGone; more > 0 {
		say.line("  and %d more (--json lists all)", more)
	}
}

// maxGone is how many of those folders are listed.
const maxGone = 10

// name lists the towns that are in use but not trusted.
func (c *migrate) name(say *printer, towns []string) {
	for _, root := range towns {
		if c.JSON {
			say.json(struct {
				Town string `json:"town"`
			}{root})
			continue
		}
		say.line("%s counts as a town only once you trust it, which also takes over its notes: gt-hooks trust %s", root, term.Typed(root))
	}
}

// clean removes gt's old files from projects. It leaves the folders of roles in towns,
// because other programs of the town read there.
func (c *migrate) clean(env *cli.Env, say *printer, plans []upgrade.Plan) error {
	n := 0
	plans = slices.DeleteFunc(plans, func(p upgrade.Plan) bool {
		shared := !p.Home.Town.Personal && p.Home.Identity.Role != ""
		if !shared {
			n += p.Cleans()
		}
		return shared || p.Cleans() == 0
	})
	if n == 0 {
		return nil
	}
	if !c.Yes {
		question := fmt.Sprintf("Remove %s of gt in %s? An earlier version finds nothing there any more. [y/N] ",
			number(n, "file", "files"), number(len(plans), "folder", "folders"))
		if err := ask(env, question, "nothing was removed"); err != nil {
			return err
		}
	}
	var failed error
	for _, p := range plans {
		failed = errors.Join(failed, p.Clean())
	}
	if failed == nil && !c.JSON {
		say.line("removed %s of gt in %s", number(n, "file", "files"), number(len(plans), "folder", "folders"))
	}
	return failed
}

// ask asks the person at the terminal. It returns an error with the text not if the answer
// is not yes.
func ask(env *cli.Env, question, not string) error {
	if !term.IsTerminal(env.Stdin) {
		return cli.Fail(cli.No, errors.New(not+": there is no terminal to ask on"), "--yes answers for you")
	}
	fmt.Fprint(env.Stdout, question)
	answer, _ := bufio.NewReader(env.Stdin).ReadString('\n')
	if a := strings.ToLower(strings.TrimSpace(answer)); a != "y" && a != "yes" {
		return cli.Failf(cli.No, "%s", not)
	}
	return nil
}

// bringShared copies the log and mail of a town in which git would show them to the state,
// where gt keeps them from now on. It must run before the town is trusted, so that nothing
// is written there yet.
func bringShared(env *cli.Env, state place.State, t *place.Trust) error {
	p, ok := upgrade.New(env.Getenv).Shared(town.Town{Root: t.Path, State: state, Trust: t})
	if !ok {
		return nil
	}
	err := p.Apply()
	showPlan(&printer{env: env}, p)
	return err
}

// bringTown takes over what an earlier version left in the folders of a town that the
// person has just trusted.
func bringTown(env *cli.Env, root string) error {
	known := upgrade.New(env.Getenv)
	if err := known.Town(root, nil); err != nil {
		return err
	}
	say := &printer{env: env}
	var failed error
	stores := false
	for _, h := range known.Homes(root) {
		if _, err := os.Lstat(place.OldPath(h.Dir)); err != nil {
			continue
		}
		if !stores { // this takes a while; it finds the conversations of these homes
			for _, err := range learnStores(env, known, town.Personal(env.Getenv).Transcripts()) {
				env.Warn("%v", err)
			}
			stores = true
		}
		if p, ok := known.Plan(h); ok {
			takes := p.Takes()
			failed = errors.Join(failed, p.Apply())
			if takes {
				showPlan(say, p)
			}
		}
	}
	return cmp.Or(failed, say.err)
}
