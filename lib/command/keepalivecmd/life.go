package keepalivecmd

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
	"syscall"
	"time"

	"gt/lib/cli"
	"gt/lib/client/account"
	"gt/lib/client/hook"
	"gt/lib/live/closing"
	"gt/lib/live/status"
	"gt/lib/state/activity"
	"gt/lib/state/instance"
	"gt/lib/state/keepalive"
	"gt/lib/state/mail"
	"gt/lib/state/request"
	"gt/lib/state/session"
	"gt/lib/sys/process"
	"gt/lib/text/count"
	"gt/lib/text/duration"
	"gt/lib/text/term"
)

const maxCommand = 200 // limits the name of a command, in columns

type touch struct {
	hook.Flags
	Command string `arg:"" optional:"" help:"What the agent is doing (default: as in the hook's input)."`
}

// Run updates the keepalive file. It runs at every prompt and tool call, so it does little else: it
// creates a missing record, and at the end of a turn it serves a requested hand-over.
func (t *touch) Run(env *cli.Env) error {
	call := hook.NewInvocation(env, t.Flags)
	if call.IsIdle() {
		return nil
	}
	if t.Hook && call.Input.Kind() == "SessionEnd" {
		return (&end{Flags: t.Flags}).closeSession(env, call) // a client that drops our arguments calls touch for both events
	}
	if t.Hook && call.Input.Kind() == "Stop" && call.Input.AgentID == "" && call.Dialect.EndsSilently && call.Headless() && !call.Input.RunsBackground() {
		return (&end{Flags: t.Flags}).closeSession(env, call)
	}
	heartbeat := keepalive.Heartbeat{
		Timestamp: env.Now().UTC(), State: keepalive.Running, SessionID: call.ID, Awake: process.Awake(),
	}
	heartbeat.LastCommand = cmp.Or(t.Command, call.Input.ToolName, call.Input.Kind())
	call.Warn(call.RecordInput(t.Flags))
	heartbeat.LastCommand = term.Cut(term.Clean(env.Redact(heartbeat.LastCommand)), maxCommand)
	var err error
	prompt := ""
	var doing activity.State
	var prompted time.Time // time of the prompt before this one
	if t.Hook && call.ID != "" {
		err = call.EnsureRecord() // alive even without a record
		prompt = typedPrompt(env, call)
		if doing = activity.Read(call.Home, call.ID); hasEnded(call, doing) {
			if call.Input.Kind() == "UserPromptSubmit" && call.Input.AgentID == "" { // it is being resumed
				return call.End(errors.Join(err, keepPrompt(env, call, prompt)))
			}
			return nil
		}
		prompted = doing.Prompted
		var nerr error
		var begun bool
		doing, begun, nerr = recordState(call, doing, prompt, heartbeat.Timestamp)
		if begun && t.Notify != "" {
			nerr = t.notifyPerson(env, call, doing)
		}
		if !errors.Is(nerr, fs.ErrNotExist) || err == nil && call.Store.Exists(call.ID) { // otherwise it is missing because there is no record
			err = errors.Join(err, nerr)
		}
	}
	heartbeat.State = heartbeatState(call.Input, doing.Status)
	err = errors.Join(err, keepalive.Touch(call.Home, heartbeat))
	if t.Hook && call.ID != "" && call.Input.AgentID == "" && call.Input.Kind() == "UserPromptSubmit" && !call.Dialect.DropsPromptContext {
		err = errors.Join(err, tellAgent(env, call, doing, prompted))
	}
	if t.Hook && call.ID != "" {
		hold, rerr := serveRequest(env, call, prompt)
		err = errors.Join(err, rerr)
		if hold != nil {
			return errors.Join(call.End(err), call.End(t.handOver(env, call, *hold)))
		}
	}
	return call.End(err)
}

// tellAgent tells the agent with a prompt, once each: the number of notes since the prompt
// before, and how full the context was at the end of the last turn.
func tellAgent(env *cli.Env, call *hook.Invocation, s activity.State, prompted time.Time) error {
	text, err := newNotes(env, call, prompted)
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

// newNotes returns a line with the number of notes that arrived since the prompt before, or
// since the session's start if this is the first one.
func newNotes(env *cli.Env, call *hook.Invocation, prompted time.Time) (string, error) {
	box := mail.NewBox(call.Home, call.Home.Identity.Address())
	box = box.ReadBy(instance.MatchOtherAgents(call.Home.Town.State, env.Getenv(instance.Variable), call.ID))
	n, err := box.CountArrived(prompted)
	if n == 0 || err != nil {
		return "", err
	}
	r, err := call.Store.Get(call.ID)
	if err != nil {
		return "", err
	}
	if r != nil && r.Began().After(prompted) {
		if n, err = box.CountArrived(r.Began()); n == 0 || err != nil {
			return "", err
		}
	}
	notes := count.PluralForm(n, "note has come in: `gt-mail inbox` lists it", "notes have come in: `gt-mail inbox` lists them")
	return notes + ". What the person asks for comes first.\n", nil
}

// serveRequest looks for a request that a command of the session left from its sandbox
// (lib/state/request). If it must be served now, hold is not nil: "" at the end of a turn,
// otherwise why the pane is kept.
//
// A request is served at the end of the turn, or before if the person sends a prompt first.
func serveRequest(env *cli.Env, call *hook.Invocation, prompt string) (hold *string, err error) {
	home, id := call.Home, call.ID
	asks := request.MayHaveRequest(home, id)
	switch kind := call.Input.Kind(); {
	case kind == "PostToolUse":
		if asks {
			_, err = request.Take(home, id, call.Input.OutputLines(request.Kind))
		}
		return nil, err
	case call.Input.AgentID != "", kind != "Stop" && kind != "UserPromptSubmit":
		return nil, nil
	case kind == "UserPromptSubmit":
		hold = new("a person said something first")
	default:
		hold = new(string)
	}
	if asks {
		shown, terr := shownRequests(env, call)
		call.Warn(terr)
		_, err = request.Take(home, id, shown)
	}
	if *hold != "" {
		err = errors.Join(err, keepPrompt(env, call, prompt), request.BeginTurn(home, id, env.Now()))
	}
	if !request.HasStored(home, id) {
		hold = nil
	}
	return hold, err
}

// shownRequests returns the request lines in the session's conversation, for a client whose
// hooks did not show them. The conversation must be in a store of the person's: a project's
// settings can move the client's folder to a place that the sandbox can write.
func shownRequests(env *cli.Env, call *hook.Invocation) ([]string, error) {
	path := call.Input.Transcript
	if path == "" {
		r, err := call.Store.Get(call.ID)
		if err != nil || r == nil || r.Transcript == "" {
			return nil, err
		}
		path = r.Transcript
	}
	real, err := account.StoreGuard{Getenv: env.Getenv, Projects: []string{call.Home.Dir, call.Dir}}.FindAnyAccount(path)
	if err != nil {
		return nil, err
	}
	return hook.FindOutputLines(real, request.Kind)
}

const maxMode = 40 // limits the name of a permission mode, in columns

// handOver executes gt-handoff in place of this process, to do what the command could not
// do in its sandbox. It returns only an error.
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

// hasEnded reports whether the session has ended. It reads the record only if doing, the stored
// state, does not show that the session works. That is so at its first hook.
func hasEnded(call *hook.Invocation, doing activity.State) bool {
	if doing.Status != "" && doing.Status != activity.Ended {
		return false
	}
	r, err := call.Store.Get(call.ID)
	return err == nil && r != nil && r.Ended()
}

// heartbeatState returns Waiting after the agent's turn, else Running, also if it asks in a turn.
func heartbeatState(in hook.Input, doing activity.Status) keepalive.State {
	switch in.Kind() {
	case "Stop", "Notification", "StopFailure", "Interrupt":
		if in.AgentID == "" && doing != activity.NeedsInput { // the parent of a subagent goes on
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

func (e *end) Validate() error {
	_, err := session.ParseOutcome(e.Outcome)
	return err
}

func (e *end) Run(env *cli.Env) error {
	call := hook.NewInvocation(env, e.Flags)
	if call.IsIdle() {
		return nil
	}
	return e.closeSession(env, call)
}

// closeSession closes the session that e names, or the current one. For a hook it is no error if
// the session is unknown or has ended. It then has gt-record record the conversation, if wanted.
func (e *end) closeSession(env *cli.Env, call *hook.Invocation) error {
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
		return cli.WithHint(cli.Failf(cli.AnswerNo, "this is not running in a session: name one"), "gt-seance list shows the ids; gt-keepalive end ID closes one")
	}
	reason = env.Redact(reason)
	err := e.closeIn(env, call, id, outcome, reason)
	if errors.Is(err, session.ErrEnded) || errors.Is(err, session.ErrUnknown) {
		if e.Hook {
			return nil
		}
		return cli.Fail(cli.AnswerNo, err, "gt-seance list shows the sessions")
	}
	if e.Hook {
		call.Warn(call.KeepConversation(e.Flags, hook.SessionEnded))
	}
	return call.End(err)
}

// outcomeOf returns how a session came to its end: Killed or Done. Some clients give the same
// reason for an exit and for a signal. Then an interrupted turn tells that it was a signal.
func outcomeOf(call *hook.Invocation) session.Outcome {
	inTurn := func() bool {
		s := keepalive.Read(call.Home)
		return s != nil && s.SessionID == call.ID && s.State == keepalive.Running
	}
	if call.Killed(inTurn) {
		return session.Killed
	}
	return session.Done
}

// endWait limits the wait for the home's lock. A session whose end is not recorded counts as crashed.
const endWait = 6 * time.Second

// closeIn closes the session id of call's home, and records what is known of the client's run.
func (e *end) closeIn(env *cli.Env, call *hook.Invocation, id session.ID, o session.Outcome, reason string) error {
	if e.Hook && !call.Store.Exists(id) {
		return nil // an unknown session
	}
	// Some clients stop the hook after a few seconds.
	wait := endWait
	if e.Hook && call.Dialect.EndWait > 0 {
		wait = call.Dialect.EndWait
	}
	end := closing.End{ID: id, Outcome: o, Reason: reason, At: env.Now(), ByClient: e.Hook}
	if e.Hook && call.Headless() {
		end.Headless = call.Process()
	}
	if args, err := call.Process().Args(); e.Hook && err == nil && len(strings.Join(args, " ")) < maxArgs {
		for _, a := range args {
			end.Args = append(end.Args, env.Redact(a))
		}
	}
	if e.Hook {
		// Copilot CLI kills the hook's process group after 1.5 s. What is asked of the client comes
		// before: it is the parent of this group.
		_, _ = syscall.Setsid()
	}
	return end.Close(call.Store, wait)
}

const maxArgs = 8 << 10 // the length of a client's command line, in bytes, from which on it is not kept

type show struct {
	JSON bool `name:"json" help:"Print it as one JSON object."`
}

func (s *show) Run(env *cli.Env) error {
	sign, err := readHeartbeat(env)
	if err != nil {
		return err
	}
	if sign == nil {
		if !s.JSON {
			env.Hint("an agent whose hooks are wired gives one at each prompt; gt-hooks status shows the wiring")
		}
		return reportNoHeartbeat(env, s.JSON)
	}
	age := sign.Age(env.Now()).Round(time.Second)
	sign.LastCommand = env.Redact(sign.LastCommand) // another program may have written it
	if s.JSON {
		return env.JSON(agedHeartbeat{sign, age.Seconds(), nil})
	}
	text := describeSign(sign, age)
	if sign.LastCommand != "" {
		text += ": " + sign.LastCommand
	}
	if sign.SessionID != "" {
		text += fmt.Sprintf(" (session %s)", sign.SessionID)
	}
	return env.Println(term.Clean(text))
}

func readHeartbeat(env *cli.Env) (*keepalive.Heartbeat, error) {
	call := hook.NewInvocation(env, hook.Flags{})
	if err := call.Home.Town.State.CheckOwner(); err != nil {
		return nil, err
	}
	return keepalive.Read(call.Home), nil
}

type agedHeartbeat struct {
	*keepalive.Heartbeat
	Age   float64 `json:"age_seconds"`
	Alive *bool   `json:"alive,omitempty"` // the answer of check
}

// reportNoHeartbeat prints that there is none, in JSON with an age of a year, and answers no.
func reportNoHeartbeat(env *cli.Env, asJSON bool) error {
	age := (*keepalive.Heartbeat)(nil).Age(env.Now())
	var err error
	if asJSON {
		err = env.JSON(struct {
			State string  `json:"state"`
			Age   float64 `json:"age_seconds"`
			Alive bool    `json:"alive"`
		}{"none", age.Seconds(), false})
	} else {
		err = env.Println("no sign of life here")
	}
	return cmp.Or(err, error(cli.Silent))
}

// describeSign returns the state and its age: "running, 3s ago". Another program's file may
// have no state.
func describeSign(s *keepalive.Heartbeat, age time.Duration) string {
	return term.Clean(fmt.Sprintf("%s, %v ago", cmp.Or(string(s.State), "alive"), age))
}

type check struct {
	MaxAge duration.Flag `help:"How old the last sign may be: 90s, 5m (default), 7d." default:"5m" placeholder:"DURATION"`
	JSON   bool          `name:"json" help:"Print it as one JSON object."`
}

// Run answers whether the agent gave a sign of life, its last heartbeat, within c.MaxAge: in words
// or JSON, and by the exit code.
func (c *check) Run(env *cli.Env) error {
	sign, err := readHeartbeat(env)
	if err != nil {
		return err
	}
	age := sign.Age(env.Now()).Round(time.Second)
	if sign == nil {
		return reportNoHeartbeat(env, c.JSON)
	}
	seen := status.OfHeartbeat(sign)
	// Age has corrected a time in the future.
	seen.At = env.Now().Add(-age)
	is := status.DeriveStatus(status.Facts{Now: env.Now(), MaxAge: max(time.Duration(c.MaxAge), 1), Seen: []status.Observation{seen}}).Status
	if c.JSON {
		sign.LastCommand = env.Redact(sign.LastCommand)
		alive := is != status.Stopped && is != status.Unknown
		if err := env.JSON(agedHeartbeat{sign, age.Seconds(), &alive}); err != nil || alive {
			return err
		}
		return cli.Silent
	}
	switch is {
	case status.Stopped:
		fmt.Fprintln(env.Stdout, describeSign(sign, age))
		return cli.Silent
	case status.Unknown: // too old
		fmt.Fprintf(env.Stdout, "idle for %v\n", age)
		return cli.Silent
	}
	return env.Println(describeSign(sign, age))
}
