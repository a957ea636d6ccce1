package keepalivecmd

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
	"time"

	"gt/lib/cli"
	"gt/lib/client/account"
	"gt/lib/client/hook"
	"gt/lib/live/closing"
	"gt/lib/live/status"
	"gt/lib/state/activity"
	"gt/lib/state/keepalive"
	"gt/lib/state/mail"
	"gt/lib/state/request"
	"gt/lib/state/session"
	"gt/lib/sys/process"
	"gt/lib/text/count"
	"gt/lib/text/duration"
	"gt/lib/text/term"
)

// maxCommand bounds the name of a command in a sign of life.
const maxCommand = 200

type touch struct {
	hook.Flags
	Command string `arg:"" optional:"" help:"What the agent is doing (default: as in the hook's input)."`
}

// Run gives a sign of life. It runs at every prompt and tool call, so it does
// no more than that; only for a session that has no record yet it makes one, and
// at the end of a turn it sees to a hand-over that waits for it.
func (t *touch) Run(env *cli.Env) error {
	call := hook.NewInvocation(env, t.Flags)
	if call.Idle() {
		return nil
	}
	if t.Hook && call.Input.Kind() == "SessionEnd" {
		return (&end{Flags: t.Flags}).record(env, call) // who drops our arguments cannot tell the two apart
	}
	if t.Hook && call.Input.Kind() == "Stop" && call.Input.AgentID == "" && call.Headless() {
		return (&end{Flags: t.Flags}).record(env, call)
	}
	sign := keepalive.Heartbeat{
		LastCommand: t.Command, Timestamp: env.Now().UTC(),
		State: keepalive.Running, SessionID: call.ID,
	}
	if sign.LastCommand == "" {
		sign.LastCommand = call.Input.Kind()
		if tool := call.Input.ToolName; tool != "" {
			sign.LastCommand = tool
		}
	}
	call.Warn(call.Tell(t.Flags))
	sign.LastCommand = term.Cut(term.Clean(env.Redact(sign.LastCommand)), maxCommand)
	var err error
	var doing activity.State
	var prompted time.Time // when the session was given the prompt before this
	if t.Hook && call.ID != "" {
		err = call.EnsureRecord() // a session without a record lives all the same
		if doing = activity.Read(call.Home, call.ID); isLate(call, doing) {
			return nil
		}
		prompted = doing.Prompted
		var nerr error
		var begun bool
		doing, begun, nerr = record(call, doing, sign.Timestamp)
		if begun && t.Notify != "" {
			nerr = t.report(env, call, doing)
		}
		if err == nil || !errors.Is(nerr, fs.ErrNotExist) { // else it is missing because there is no record
			err = errors.Join(err, nerr)
		}
	}
	sign.State = signOf(call.Input, doing.Status)
	err = errors.Join(err, keepalive.Touch(call.Home, sign))
	if t.Hook && call.ID != "" && call.Input.AgentID == "" && call.Input.Kind() == "UserPromptSubmit" && !call.Dialect.DropsPromptContext {
		err = errors.Join(err, tellAgent(env, call, doing, prompted))
	}
	if t.Hook && call.ID != "" {
		hold, rerr := requested(env, call)
		err = errors.Join(err, rerr)
		if hold != nil {
			return errors.Join(call.End(err), call.End(t.handOver(env, call, *hold)))
		}
	}
	return call.End(err)
}

// tellAgent tells the agent with a prompt what it cannot know, each once: which notes have
// come in since the prompt before, and how full its context is, as the end of the last turn
// has measured it.
func tellAgent(env *cli.Env, call *hook.Invocation, s activity.State, prompted time.Time) error {
	text, err := newNotes(call, prompted)
	if s.Warning == activity.Due {
		text += s.Text()
	}
	if text == "" {
		return err
	}
	if _, werr := io.WriteString(env.Stdout, call.Dialect.Reply(call.Input.Event, text)); werr != nil {
		return errors.Join(err, werr)
	}
	if s.Warning != activity.Due {
		return err
	}
	return errors.Join(err, activity.Change(call.Home, call.ID, func(s *activity.State) bool {
		s.Warning = activity.Delivered
		return true
	}))
}

// newNotes says how many notes have come in since the prompt before, or, at the first one,
// since the session was told at its start what waits.
func newNotes(call *hook.Invocation, prompted time.Time) (string, error) {
	box := mail.Of(call.Home, call.Home.Identity.Address())
	n, err := box.Arrived(prompted)
	if n == 0 || err != nil {
		return "", err
	}
	r, err := call.Store.Get(call.ID)
	if err != nil {
		return "", err
	}
	if r != nil && r.Began().After(prompted) {
		if n, err = box.Arrived(r.Began()); n == 0 || err != nil {
			return "", err
		}
	}
	verb, it := "have", "them"
	if n == 1 {
		verb, it = "has", "it"
	}
	return fmt.Sprintf("%s %s come in: `gt-mail inbox` lists %s. What the person asks for comes first.\n", count.Of(n, "note"), verb, it), nil
}

// requested looks for what a command of the session asks for that ran in a sandbox
// (lib/state/request). Where it is to be served now it says why the pane is not given away,
// which is "" at the end of a turn.
//
// That is at the end of the turn, and where a person has said something first.
func requested(env *cli.Env, call *hook.Invocation) (hold *string, err error) {
	home, id := call.Home, call.ID
	asks := request.Asks(home, id)
	switch kind := call.Input.Kind(); {
	case kind == "PostToolUse":
		if asks {
			_, err = request.Take(home, id, call.Input.OutputLines(request.Kind))
		}
		return nil, err
	case call.Input.AgentID != "", kind != "Stop" && kind != "UserPromptSubmit":
		return nil, nil
	case kind == "UserPromptSubmit":
		hold = new(string)
		*hold = "a person said something first"
	default:
		hold = new(string)
	}
	if asks {
		shown, terr := shownRequests(env, call)
		call.Warn(terr)
		_, err = request.Take(home, id, shown)
	}
	if *hold != "" {
		if !request.HadTurn(home, id) {
			err = errors.Join(err, keepRequest(env, call))
		}
		err = errors.Join(err, request.Turn(home, id, env.Now()))
	}
	if !request.Waits(home, id) {
		hold = nil
	}
	return hold, err
}

// shownRequests returns the lines of requests that the session's conversation shows, for a
// client whose hooks did not. It has to be one of the person's: where a project's own
// settings name the client's folder, the sandbox can write what stands there.
func shownRequests(env *cli.Env, call *hook.Invocation) ([]string, error) {
	path := call.Input.Transcript
	if path == "" {
		r, err := call.Store.Get(call.ID)
		if err != nil || r == nil || r.Transcript == "" {
			return nil, err
		}
		path = r.Transcript
	}
	real, err := account.Own{Getenv: env.Getenv, Projects: []string{call.Home.Dir, call.Dir}}.Holds(path)
	if err != nil {
		return nil, err
	}
	return hook.Conversation(real, request.Kind)
}

// maxMode bounds the word for what an agent may do without asking.
const maxMode = 40

// handOver has gt-handoff take our place, which does what no command could in the
// sandbox. It returns only when that fails.
func (t *touch) handOver(env *cli.Env, call *hook.Invocation, hold string) error {
	environ := slices.DeleteFunc(slices.Clone(env.Environ), func(kv string) bool {
		return strings.HasPrefix(kv, "GT_HOME=") || strings.HasPrefix(kv, "GT_SESSION_UUID=")
	})
	environ = append(environ, "GT_HOME="+call.Home.Dir, "GT_SESSION_UUID="+string(call.ID))
	args := []string{process.SiblingBinary("gt-handoff"), "--finish", string(call.ID), "--agent", call.Agent}
	if t.Dialect != "" {
		args = append(args, "--dialect", t.Dialect)
	}
	if mode := call.Input.Mode; mode != "" {
		args = append(args, "--mode="+term.Cut(term.Clean(mode), maxMode))
	}
	if hold != "" {
		args = append(args, "--hold", hold)
	}
	return process.Exec(call.Dir, args, environ)
}

// isLate reports whether the session is over already. One of which it is known that it
// works is not looked up, which is all but the first of its hooks.
func isLate(call *hook.Invocation, doing activity.State) bool {
	if doing.Status != "" && doing.Status != activity.Ended {
		return false
	}
	r, err := call.Store.Get(call.ID)
	return err == nil && r != nil && r.Ended()
}

// signOf is what a sign of life says of an event: the agent works, or its turn is over.
func signOf(in hook.Input, doing activity.Status) keepalive.State {
	switch in.Kind() {
	case "Stop", "Notification", "StopFailure", "Interrupt":
		if in.AgentID == "" && doing != activity.NeedsInput { // else who sent it out goes on
			return keepalive.Waiting
		}
	}
	return keepalive.Running
}

type end struct {
	hook.Flags
	Session *string `arg:"" optional:"" help:"The session (default: the one that runs this)."`
	Outcome string  `help:"How it ended: done (default), killed, crash or handoff; a hook reads it from its input." default:"done" placeholder:"WORD"`
	Reason  string  `help:"Why." placeholder:"TEXT"`
}

// Validate refuses what is no outcome.
func (e *end) Validate() error {
	_, err := session.ParseOutcome(e.Outcome)
	return err
}

// Run closes a session's record and logs its end.
func (e *end) Run(env *cli.Env) error {
	call := hook.NewInvocation(env, e.Flags)
	if call.Idle() {
		return nil
	}
	return e.record(env, call)
}

func (e *end) record(env *cli.Env, call *hook.Invocation) error {
	id, outcome, reason := call.ID, session.Outcome(e.Outcome), e.Reason
	if e.Session != nil {
		var err error
		if id, err = session.ParseID(*e.Session); err != nil {
			return cli.Fail(cli.Usage, err)
		}
	}
	if e.Hook {
		reason = call.Input.Reason
		outcome = outcomeOf(call)
	}
	if id == "" {
		return cli.WithHint(cli.Failf(cli.No, "this is not running in a session: name one"), "gt-seance list shows the ids; gt-keepalive end ID closes one")
	}
	reason = env.Redact(reason)
	err := e.close(env, call, id, outcome, reason)
	if errors.Is(err, session.ErrEnded) || errors.Is(err, session.ErrUnknown) {
		if e.Hook {
			return nil
		}
		return cli.Fail(cli.No, err, "gt-seance list shows the sessions")
	}
	if e.Hook {
		call.Warn(call.KeepConversation(e.Flags, hook.SessionEnded))
	}
	return call.End(err)
}

// outcomeOf reads the reason that a client gives with SessionEnd, as its dialect does.
func outcomeOf(call *hook.Invocation) session.Outcome {
	if call.Killed(func() bool {
		s := keepalive.Read(call.Home)
		return s != nil && s.SessionID == call.ID && s.State == keepalive.Running
	}) {
		return session.Killed
	}
	return session.Done
}

// endWait is how long an end waits for others that work in the same home: a
// session whose end is not noted is taken for one that crashed.
const endWait = 6 * time.Second

func (e *end) close(env *cli.Env, call *hook.Invocation, id session.ID, o session.Outcome, reason string) error {
	if e.Hook && !call.Store.Exists(id) {
		return nil // nothing is known of it, so there is nothing to close
	}
	wait := endWait
	if e.Hook && call.Dialect.EndWait > 0 {
		wait = call.Dialect.EndWait
	}
	end := closing.End{ID: id, Outcome: o, Reason: reason, At: env.Now(), ByClient: e.Hook}
	if args, err := call.Process().Args(); e.Hook && err == nil && len(strings.Join(args, " ")) < maxArgs {
		for _, a := range args {
			end.Args = append(end.Args, env.Redact(a))
		}
	}
	return end.Close(call.Store, wait)
}

// maxArgs bounds what is kept of a client's command line.
const maxArgs = 8 << 10

type show struct {
	JSON bool `name:"json" help:"Print it as one JSON object."`
}

// Run prints the last sign of life.
func (s *show) Run(env *cli.Env) error {
	call := hook.NewInvocation(env, hook.Flags{})
	sign := keepalive.Read(call.Home)
	if sign == nil {
		if !s.JSON {
			env.Hint("an agent whose hooks are wired gives one at each prompt; gt-hooks status shows the wiring")
		}
		return none(env, s.JSON)
	}
	age := sign.Age(env.Now()).Round(time.Second)
	sign.LastCommand = env.Redact(sign.LastCommand) // another program may have written it
	if s.JSON {
		return env.JSON(aged{sign, age.Seconds(), nil})
	}
	text := describeSign(sign, age)
	if sign.LastCommand != "" {
		text += ": " + sign.LastCommand
	}
	if sign.SessionID != "" {
		text += fmt.Sprintf(" (session %s)", sign.SessionID)
	}
	_, err := fmt.Fprintln(env.Stdout, term.Clean(text))
	return err
}

// aged is a sign of life with its age.
type aged struct {
	*keepalive.Heartbeat
	Age   float64 `json:"age_seconds"`
	Alive *bool   `json:"alive,omitempty"` // what check answers
}

// none says that no sign of life is there, which is as old as can be.
func none(env *cli.Env, asJSON bool) error {
	age := (*keepalive.Heartbeat)(nil).Age(env.Now())
	var err error
	if asJSON {
		err = env.JSON(struct {
			State string  `json:"state"`
			Age   float64 `json:"age_seconds"`
			Alive bool    `json:"alive"`
		}{"none", age.Seconds(), false})
	} else {
		_, err = fmt.Fprintln(env.Stdout, "no sign of life here")
	}
	if err == nil {
		err = cli.Silent
	}
	return err
}

// describeSign says what the agent did and when: "running, 3s ago". Another
// program's sign may not say what.
func describeSign(s *keepalive.Heartbeat, age time.Duration) string {
	return term.Clean(fmt.Sprintf("%s, %v ago", cmp.Or(string(s.State), "alive"), age))
}

type check struct {
	MaxAge duration.Flag `help:"How old the last sign may be: 90s, 5m (default), 7d." default:"5m" placeholder:"DURATION"`
	JSON   bool          `name:"json" help:"Print it as one JSON object."`
}

// Run reports whether the last sign of life is young enough.
func (c *check) Run(env *cli.Env) error {
	call := hook.NewInvocation(env, hook.Flags{})
	sign := keepalive.Read(call.Home)
	age := sign.Age(env.Now()).Round(time.Second)
	if sign == nil {
		return none(env, c.JSON)
	}
	seen := status.OfHeartbeat(sign)
	seen.At = env.Now().Add(-age)
	is := status.Of(status.Facts{Now: env.Now(), MaxAge: max(time.Duration(c.MaxAge), 1), Seen: []status.Observation{seen}}).Status
	if c.JSON {
		sign.LastCommand = env.Redact(sign.LastCommand)
		alive := is != status.Stopped && is != status.Unknown
		err := env.JSON(aged{sign, age.Seconds(), &alive})
		if err == nil && !alive {
			err = cli.Silent
		}
		return err
	}
	switch is {
	case status.Stopped:
		fmt.Fprintln(env.Stdout, describeSign(sign, age))
		return cli.Silent
	case status.Unknown: // the sign is too old to tell
		fmt.Fprintf(env.Stdout, "idle for %v\n", age)
		return cli.Silent
	}
	_, err := fmt.Fprintln(env.Stdout, describeSign(sign, age))
	return err
}
