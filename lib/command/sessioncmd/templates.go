package sessioncmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"gt/lib/cli"
	"gt/lib/live/fleet"
	"gt/lib/live/status"
	"gt/lib/place/town"
	"gt/lib/reconcile/agents"
	"gt/lib/reconcile/perform"
	"gt/lib/state/instance"
	"gt/lib/state/lifecycle"
	"gt/lib/state/route"
	"gt/lib/sys/flock"
	"gt/lib/text/duration"
	"gt/lib/text/term"
)

func openWorld(at scope) (*perform.World, error) {
	return agents.OpenWorld(at.Env, at.Town, at.Profile)
}

// withExitCodeOf is withExitCode for errors of package perform about the session name, "" for none.
func withExitCodeOf(name string, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, flock.ErrBusy):
		return cli.Fail(cli.Busy, fmt.Errorf("another command is working on %s: %w", name, err), "try again")
	case errors.Is(err, perform.ErrOverlay):
		return cli.Fail(cli.Usage, err)
	case errors.Is(err, perform.ErrNoTemplate):
		return cli.Fail(cli.AnswerNo, err, "gt-reconcile status lists the templates")
	case errors.Is(err, perform.ErrState), errors.Is(err, perform.ErrHeld), errors.Is(err, perform.ErrFull), errors.Is(err, instance.ErrClosed), errors.Is(err, instance.ErrTaken):
		if name != "" {
			err = fmt.Errorf("%s: %w", name, err)
		}
		return cli.Fail(cli.AnswerNo, err)
	}
	return withExitCode(name, err)
}

type fromTemplate struct {
	Template string            `type:"given" group:"From a template:" placeholder:"NAME" help:"Make a session of this template (gt-reconcile check)."`
	Set      map[string]string `group:"From a template:" placeholder:"KEY=VALUE" mapsep:"none" help:"Settings of its own: model, name, title, prompt, env.NAME, as its template allows."`
}

// checkTrusted returns an error in a town that is not trusted. The person means its templates
// there, not their own.
func checkTrusted(t town.Town) error {
	root := t.UntrustedRoot()
	if root == "" {
		return nil
	}
	return cli.Fail(cli.AnswerNo, fmt.Errorf("the town '%s' is not trusted, so its templates are not read", root), "gt-hooks trust shows what that means")
}

// makeSession makes and starts a session of the template, and prints it.
func (c fromTemplate) makeSession(at scope, asJSON bool) error {
	env := at.Env
	if err := checkTrusted(at.Town); err != nil {
		return err
	}
	w, err := openWorld(at)
	if err != nil {
		return err
	}
	if prompt, is := c.Set["prompt"]; is {
		if c.Set["prompt"], err = readText(env, prompt); err != nil {
			return err
		}
	}
	in, err := w.New(context.Background(), c.Template, c.Set)
	if err != nil {
		// New returns a session with the error if only its start failed; ticks try again.
		if in == nil {
			return withExitCodeOf("", err)
		}
		return cli.WithHint(cli.Fail(cli.AnswerNo, fmt.Errorf("cannot start %s: %w", in.Name, err)), "the next gt-reconcile tick tries again; gt-session close %s removes it", in.Name)
	}
	if asJSON {
		return printJSONAgent(at, at.Member(in))
	}
	return env.Printf("started %s (%s) in %s; gt-session attach %s shows it\n", in.Name, in.Agent, env.DisplayPath(in.Path), in.Name)
}

// picked has the arguments and flags that select sessions, archived ones included.
type picked struct {
	profile
	Names    []string `arg:"" optional:"" name:"name" help:"Names of sessions, such as worker-a3f2b7 or worker~2."`
	State    string   `placeholder:"STATES" help:"All sessions in these states: archived,quarantined (held back after too many crashes), ..."`
	Template string   `placeholder:"NAME" help:"Only sessions of this template."`
}

func (c picked) Validate() error {
	if len(c.Names) == 0 && c.State == "" && c.Template == "" {
		return errors.New("no session is named (give names, --state or --template)")
	}
	return checkStates(c.State)
}

// checkStates returns an error if a list, separated by commas, has an unknown lifecycle state.
func checkStates(list string) error {
	for state := range strings.SplitSeq(list, ",") {
		if _, ok := lifecycle.State(state).Row(); !ok && state != "" {
			var known []string
			for _, row := range lifecycle.States {
				known = append(known, string(row.State))
			}
			return fmt.Errorf("--state: unknown state '%.40s' (try %s)", state, strings.Join(known, ", "))
		}
	}
	return nil
}

// readAllSessions returns all instances, also archived and closed ones. err says what it could not read.
func readAllSessions(store instance.Store) (all []*instance.Instance, err error) {
	all, err = store.ReadInstances()
	for _, folder := range []string{instance.Archived, instance.Closed} {
		more, merr := store.ReadFolder(folder)
		all, err = append(all, more...), errors.Join(err, merr)
	}
	return all, err
}

// findPicked returns the sessions that the flags choose; without names and states, those that are not
// closed. With an error it can return those that it could read.
func (c picked) findPicked(at scope, store instance.Store) (found []*instance.Instance, err error) {
	var damaged error
	if len(c.Names) == 0 { // of a damaged file, an older copy counts, which may have another state
		store.Warn = func(err error) { damaged = errors.Join(damaged, err) }
	}
	all, unread := readAllSessions(store)
	unread = errors.Join(unread, damaged)
	add := func(in *instance.Instance) {
		if !slices.Contains(found, in) && (c.Template == "" || in.Managed.Template == c.Template) {
			found = append(found, in)
		}
	}
	for _, name := range c.Names {
		in, err := findByName(at, all, unread, name)
		if err != nil {
			return nil, err
		}
		if in.Managed == nil {
			return nil, cli.Failf(cli.AnswerNo, "%s was made from no template", in.Name)
		}
		add(in)
	}
	states := strings.Split(c.State, ",")
	for _, in := range all {
		switch {
		case in.Managed == nil || len(c.Names) > 0:
		case c.State != "" && slices.Contains(states, string(in.Managed.State)),
			c.State == "" && in.Managed.State != lifecycle.Closed:
			add(in)
		}
	}
	return found, unread
}

// forEachPicked calls do for the picked sessions: for those in the usual state if the command names
// neither sessions nor states, or for all that are not closed if usual is "". done says what was
// done. ends are the flags of a command that ends agents: it asks about busy ones first.
func (c picked) forEachPicked(at scope, done string, usual lifecycle.State, do action, ends ...cut) error {
	if len(c.Names) == 0 {
		c.State = cmp.Or(c.State, string(usual))
		if err := checkTrusted(at.Town); err != nil {
			return err
		}
	}
	w, err := openWorld(at)
	if err != nil {
		return err
	}
	all, unread := c.findPicked(at, w.Store)
	if all == nil && unread != nil {
		return unread
	}
	if len(all) == 0 {
		at.Env.Hint("no session matches")
		return nil
	}
	for _, e := range ends {
		if err := e.confirmBusy(at, done, all); err != nil {
			return err
		}
	}
	return errors.Join(unread, forEachInstance(at.Env, all, func(in *instance.Instance) (string, error) {
		if err := do(w, context.Background(), in.ID); err != nil {
			return "", withExitCodeOf(in.Name, err)
		}
		return done + " " + in.Name, nil
	}))
}

type suspend struct {
	picked
	cut
}

func (c *suspend) Run(at scope) error {
	return c.forEachPicked(at, "suspended", lifecycle.Active, (*perform.World).Suspend, c.cut)
}

type resume struct{ picked }

func (c *resume) Run(at scope) error {
	return c.forEachPicked(at, "resumed", lifecycle.Suspended, (*perform.World).Resume)
}

type drain struct{ picked }

func (c *drain) Run(at scope) error {
	return c.forEachPicked(at, "draining", lifecycle.Active, (*perform.World).Drain)
}

type drainAll struct {
	profile
	Template string `required:"" placeholder:"NAME" help:"The template."`
}

func (c *drainAll) Run(at scope) error {
	d := drain{picked{profile: c.profile, Template: c.Template}}
	return d.Run(at)
}

type closes struct {
	picked
	cut
}

func (c *closes) Run(at scope) error {
	return c.forEachPicked(at, "closed", "", closeByUser, c.cut)
}

type adminClose struct {
	picked
	Offline bool `required:"" help:"Do it without a controller: it fails while one runs."`
	Yes     bool `required:"" help:"Yes, end them and close them."`
}

// Run closes sessions while no tick runs, and blocks ticks meanwhile.
func (c *adminClose) Run(at scope) error {
	w, err := openWorld(at)
	if err != nil {
		return err
	}
	lock, err := w.Store.LockController()
	if errors.Is(err, flock.ErrBusy) {
		return cli.Fail(cli.Busy, errors.New("gt-reconcile runs here"), "stop it first, or use gt-session close")
	} else if err != nil {
		return err
	}
	defer lock.Unlock()
	return c.forEachPicked(at, "closed", "", func(w *perform.World, ctx context.Context, id instance.ID) error {
		return w.Close(ctx, id, lifecycle.Manual)
	})
}

type inspect struct {
	profile
	Name string `arg:"" help:"The session."`
	JSON bool   `name:"json" help:"Print it as JSON."`
}

const redacted = "[redacted]"

// overlayLines returns an overlay for printing, without the variables' values, which can be secret.
func overlayLines(overlay map[string]string) map[string]string {
	shown := map[string]string{}
	for key, value := range overlay {
		switch {
		case strings.HasPrefix(key, "env."):
			value = redacted
		case key == "prompt":
			value = fmt.Sprintf("[%d bytes appended]", len(value))
		}
		shown[key] = value
	}
	return shown
}

// Run prints a session and its settings by layer: the template's, its own, and what takes effect.
func (c *inspect) Run(env *cli.Env, at scope) error {
	w, err := openWorld(at)
	if err != nil {
		return err
	}
	all, unread := readAllSessions(w.Store)
	in, err := findByName(at, all, unread, c.Name)
	if err != nil {
		return err
	}
	if in.Managed == nil {
		return cli.Fail(cli.AnswerNo, fmt.Errorf("%s was made from no template", in.Name), fmt.Sprintf("gt-session show %s shows it", in.Name))
	}
	plain, effective, err := w.Inspect(in)
	env.WarnError(err)
	for key := range in.Managed.Overlay {
		if strings.HasPrefix(key, "env.") && effective[key] != "" {
			effective[key] = redacted
		}
	}
	label, err := routeMarkers{}.labelOf(w.Store, in.Name)
	if err != nil {
		return err
	}
	key := ""
	if in.SessionID != "" {
		key = redacted
	}
	m := in.Managed
	if c.JSON {
		return env.JSON(map[string]any{
			"id": in.ID, "name": in.Name, "lifecycle": m.Session, "revision": m.Revision, "runtime": m.Runtime, "session_key": key,
			"routable": label != "", "routing_label": label, "overlay": overlayLines(m.Overlay), "template": plain, "effective": effective,
		})
	}
	rows := [][2]string{
		{"name", in.Name}, {"id", string(in.ID)}, {"template", m.Template}, {"state", fmt.Sprintf("%s (%s)", m.State, m.Reason.Words())},
		{"slot", m.SlotText()}, {"generation", fmt.Sprint(m.Generation)}, {"marker", label}, {"session", key}, {"config", m.Hash},
		{"agent", in.Agent}, {"folder", in.Path}, {"tmux", in.TmuxSession}, {"runtime", m.Runtime},
		{"made", formatTime(m.CreatedAt)}, {"active", formatTime(m.ActiveAt)}, {"suspended", formatTime(m.SuspendedAt)}, {"draining", formatTime(m.DrainAt)},
		{"archived", formatTime(m.ArchivedAt)}, {"closed", formatTime(m.ClosedAt)}, {"crashes", nonZero(m.CrashCount)}, {"ended", m.CrashReason}, {"quarantine", formatTime(m.QuarantineUntil)},
	}
	for _, layer := range []struct {
		name   string
		fields map[string]string
	}{{"template", plain}, {"overlay", overlayLines(m.Overlay)}, {"effective", effective}} {
		for _, key := range slices.Sorted(maps.Keys(layer.fields)) {
			rows = append(rows, [2]string{layer.name + "." + key, layer.fields[key]})
		}
	}
	return printFields(env, 22, rows)
}

// printFields prints a line for each field that has a value, with the names in width columns.
func printFields(env *cli.Env, width int, fields [][2]string) error {
	for _, field := range fields {
		if field[1] == "" {
			continue
		}
		if err := env.Printf("%-*s %s\n", width, env.Line(field[0], maxCell), env.Line(field[1], maxCell)); err != nil {
			return err
		}
	}
	return nil
}

func nonZero(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprint(n)
}

func describeCandidate(in *instance.Instance) string {
	if in.Managed == nil {
		return fmt.Sprintf("%s  %s  %s", in.Name, fmt.Sprintf("%.8s", in.ID), in.Path)
	}
	return fmt.Sprintf("%s  (%s, %s)", in.Name, in.Managed.State, formatAge(in, time.Now()))
}

func formatAge(in *instance.Instance, now time.Time) string {
	return duration.Format(max(now.Sub(in.CreatedAt), 0))
}

type action func(*perform.World, context.Context, instance.ID) error

func closeByUser(w *perform.World, ctx context.Context, id instance.ID) error {
	return w.Close(ctx, id, lifecycle.UserRequest)
}

// actOnManaged carries out actions on a session of a template, and returns a sentence that says so.
func actOnManaged(at scope, in *instance.Instance, done string, verbs ...action) (string, error) {
	w, err := openWorld(at)
	if err != nil {
		return "", err
	}
	for _, do := range verbs {
		if err := do(w, context.Background(), in.ID); err != nil {
			return "", withExitCodeOf(in.Name, err)
		}
	}
	return done + " " + in.Name, nil
}

// resumeShutDown resumes sessions that a shutdown ended. Those that depend on others are tried
// again as long as another one could be started.
func resumeShutDown(env *cli.Env, down []*instance.Instance, scopeOf map[*instance.Instance]scope) (err error) {
	for len(down) > 0 {
		var mu sync.Mutex
		held := map[*instance.Instance]error{} // why these may not start yet
		err = errors.Join(err, forEachInstance(env, down, func(in *instance.Instance) (string, error) {
			at := scopeOf[in]
			w, err := openWorld(at)
			if err == nil {
				err = w.Resume(context.Background(), in.ID)
			}
			switch {
			case errors.Is(err, perform.ErrHeld):
				mu.Lock()
				defer mu.Unlock()
				held[in] = err
				return "", nil
			case err != nil:
				return "", withExitCodeOf(in.Name, err)
			}
			return "started " + in.Name + at.Suffix(), nil
		}))
		if len(held) == len(down) { // no other one started, so trying again would not help
			return errors.Join(err, forEachInstance(env, down, func(in *instance.Instance) (string, error) { return "", withExitCodeOf(in.Name, held[in]) }))
		}
		down = slices.DeleteFunc(down, func(in *instance.Instance) bool { return held[in] == nil })
	}
	return err
}

// explainManaged prints the steps with which a session of a template would start.
func explainManaged(at scope, in *instance.Instance) error {
	w, err := openWorld(at)
	if err != nil {
		return err
	}
	e, err := w.Effective(in)
	if err != nil {
		return withExitCodeOf(in.Name, err)
	}
	return w.Agents.Explain(context.Background(), in, e)
}

// templated has the fields of --json that only sessions of templates have.
type templated struct {
	Template   string           `json:"template"`
	Slot       int              `json:"slot,omitempty"`
	State      lifecycle.State  `json:"state"`
	Why        lifecycle.Reason `json:"state_reason"`
	Crash      string           `json:"crash_reason,omitempty"` // how its agent last ended or failed to start
	Generation int              `json:"generation"`
	Routable   bool             `json:"routable"`
	ConfigHash string           `json:"config_hash"`
}

// templatedOf returns nil for an instance of no template. setRoutable completes the result.
func templatedOf(in *instance.Instance) *templated {
	m := in.Managed
	if m == nil {
		return nil
	}
	t := &templated{Template: m.Template, State: m.State, Why: m.Reason, Crash: m.CrashReason, Generation: m.Generation, ConfigHash: m.Hash}
	if m.SlotText() != "-" {
		t.Slot = m.Slot
	}
	return t
}

// routeMarkers holds the routing markers by store. They are read on first use.
type routeMarkers map[string]map[string][]string

// labelOf returns the label under which a session gets work, "" for none.
func (m routeMarkers) labelOf(store instance.Store, name string) (label string, err error) {
	all, ok := m[store.Dir]
	if !ok {
		all, err = route.NewMarkers(store).ReadMarkers()
		m[store.Dir] = all
	}
	for label, names := range all {
		if slices.Contains(names, name) {
			return label, err
		}
	}
	return "", err
}

// setRoutable sets whether a session can get work. t is nil for an instance of no template.
func (m routeMarkers) setRoutable(store instance.Store, t *templated, name string) error {
	if t == nil {
		return nil
	}
	label, err := m.labelOf(store, name)
	t.Routable = label != ""
	return err
}

func (c *list) wantsRetired() bool {
	return c.All || slices.ContainsFunc(strings.Split(c.State, ","), func(state string) bool {
		row, known := lifecycle.State(state).Row()
		return known && !row.Listed
	})
}

// readRetired returns the archived and closed sessions of a store. They do not run, so it
// does not look for their processes.
func readRetired(store instance.Store) (members []fleet.Member, unread error) {
	for _, folder := range []string{instance.Archived, instance.Closed} {
		all, err := store.ReadFolder(folder)
		unread = errors.Join(unread, err)
		for _, in := range all {
			members = append(members, fleet.Member{Instance: in, Status: status.Stopped})
		}
	}
	return members, unread
}

// stateReason returns why a session is in its state, with its last crash if that is why.
func stateReason(m *instance.Managed) string {
	switch reason := m.Reason.Words(); {
	case m.CrashReason == "":
		return reason
	case m.State == lifecycle.Creating, m.Reason == lifecycle.CrashLoop, m.Reason == lifecycle.CrashRecovery, m.Reason == lifecycle.QuarantineEvicted,
		m.Reason == lifecycle.StaleCreating:
		return reason + ": " + m.CrashReason
	default:
		return reason
	}
}

// printSessions prints a list of sessions of templates only. placed adds the column of scopes.
func printSessions(env *cli.Env, rows []row, placed bool) error {
	now := env.Now()
	cells := term.Cells([]column{
		profileColumn(env, placed),
		nameColumn(env),
		{Heading: "TEMPLATE", Cell: func(r row) string { return env.Line(r.Managed.Template, maxCell) }},
		{Heading: "SLOT", Cell: func(r row) string { return r.Managed.SlotText() }},
		{Heading: "STATE", Cell: func(r row) string { return env.Line(string(r.Managed.State), maxCell) }},
		{Heading: "STATUS", Cell: func(r row) string {
			if r.Managed.State.Rests() {
				return ""
			}
			return env.Line(r.StatusText, maxCell)
		}},
		{Heading: "AGE", Cell: func(r row) string { return formatAge(r.Instance, now) }},
		{Heading: "REASON", Cell: func(r row) string { return env.Line(stateReason(r.Managed), maxCell) }},
	}, rows)
	return term.StyleFor(env.Stdout, env.Getenv).CutLast("STATE").Table(env.Stdout, term.Width(env.Stdout, env.Getenv), cells,
		statusPainter(env, slices.Index(cells[0], "STATE")))
}
