package mutants

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"gt/internal/testenv"
)

var (
	wanted = flag.Bool("mutants", false, "put mistakes back and see the tests fail (takes minutes)")
	sample = flag.Int("sample", 1, "of the mistakes, put back one of every so many")
	turn   = flag.Int("turn", 0, "which one of every so many: from 0")
)

// A mutant is a mistake.
type mutant struct {
	name  string // the mistake
	file  string
	right string // what stands there, once
	wrong string // what is put in its place
	pkg   string // whose tests notice it
	run   string // the test that does
	count int    // how often it runs, where it takes a race to notice; 0 is once
}

var mutants = []mutant{
	{
		name:  "of calls that overlap the results are swapped",
		file:  "lib/conversation/copy.go",
		right: `return e.CallID != "" || e.Tool == "" || w.tool == "" || w.tool == e.Tool`,
		wrong: `return true`,
		pkg:   "./lib/conversation", run: "TestSettle",
	},
	{
		name: "a call that a person broke off gets the next turn's result",
		file: "lib/conversation/copy.go",
		right: `delete(open, "")
		case Call:`,
		wrong: `case Call:`,
		pkg:   "./lib/conversation", run: "TestSettle",
	},
	{
		name:  "a result that stands far behind its call is lost in a conversion",
		file:  "lib/conversation/copy.go",
		right: `} else if err := s.source(at, func`,
		wrong: `} else if err := s.source(at+1, func`,
		pkg:   "./lib/conversation", run: "TestSettleWhileItGrows",
	},
	{
		name:  "a conversion holds the conversation in memory until a result comes",
		file:  "lib/conversation/copy.go",
		right: `far := len(s.ahead) >= maxAhead || s.size >= maxAheadSize`,
		wrong: `far := false`,
		pkg:   "./lib/client/writers", run: "TestMemory",
	},
	{
		name:  "each record for Claude Code holds the one before, and the last one all",
		file:  "lib/client/claude/conversation/writer.go",
		right: `before = &id`,
		wrong: `before, _ = &rec.ID, id`,
		pkg:   "./lib/client/writers", run: "TestMemory",
	},
	{
		name:  "a conversion begins with an answer, which no provider takes",
		file:  "lib/conversation/copy.go",
		right: `if e.Kind != Prompt && err == nil {`,
		wrong: `if false && err == nil {`,
		pkg:   "./lib/conversation", run: "TestSettle",
	},
	{
		name: "a call of Gemini CLI's stands in a turn of its own, behind what was said before it",
		file: "lib/conversation/copy.go",
		right: `case e.Kind == Call:
				step.Call = &e`,
		wrong: `case e.Kind == Call:
				if len(step.Said) > 0 && !yield(step, nil) {
					return
				}
				step = &Step{Call: &e}`,
		pkg: "./lib/conversation", run: "TestSteps",
	},
	{
		name:  "Gemini CLI does not take up what was asked with a slash",
		file:  "lib/client/gemini/conversation/writer.go",
		right: `[...]string{"/", "?",`,
		wrong: `[...]string{"?",`,
		pkg:   "./lib/client/writers", run: "TestPlain",
	},
	{
		name:  "a conversation for Gemini CLI lies in the folder of another project of the same name",
		file:  "lib/client/gemini/conversation/writer.go",
		right: `name == filepath.Base(name) && owns(name) {`,
		wrong: `name == filepath.Base(name) {`,
		pkg:   "./lib/client/writers", run: "TestPlaces",
	},
	{
		name:  "Qwen Code cannot pair a result with its call",
		file:  "lib/client/qwen/conversation/writer.go",
		right: `o := &outcome{r.ID, "success", step.Result.Text}`,
		wrong: `r.ID += "x"
		o := &outcome{r.ID, "success", step.Result.Text}`,
		pkg: "./lib/client/writers", run: "TestPairs",
	},
	{
		name:  "pi cannot pair a result with its call",
		file:  "lib/client/pi/conversation/writer.go",
		right: `r := result{"toolResult", id,`,
		wrong: `r := result{"toolResult", id + "x",`,
		pkg:   "./lib/client/writers", run: "TestPairs",
	},
	{
		name: "of pi's records each begins anew, and the last is all that it goes on with",
		file: "lib/client/pi/conversation/writer.go",
		right: `		before = &id
`,
		wrong: ``,
		pkg:   "./lib/client/writers", run: "TestRoundTrip",
	},
	{
		name:  "OpenCode takes what was said before for what is said after the next prompt",
		file:  "lib/client/opencode/conversation/writer.go",
		right: `at = max(last+1, min(at, c.Now.UnixMilli()-left))`,
		wrong: `at = max(last+1, at)`,
		pkg:   "./lib/client/writers", run: "TestOpenCodeOrder",
	},
	{
		name: "what a client checkpointed while its database was read is half old and half new",
		file: "lib/sys/sqlite/sqlite.go",
		right: `		if !db.stale() {
			return err
		}
		current = false`,
		wrong: `		return err`,
		pkg:   "./lib/sys/sqlite", run: "TestChangedWhileRead",
	},
	{
		name:  "a small database whose pages form a cycle is read without an end",
		file:  "lib/sys/sqlite/query.go",
		right: `l.left--; l.left < 0`,
		wrong: `l.left--; l.left < -10_000_000`,
		pkg:   "./lib/sys/sqlite", run: "TestManyDefinitions",
	},
	{
		name:  "half a secret is read for a hook out of a database",
		file:  "lib/launch/entries/entries.go",
		right: `summary.Cut(redact(e.Text), maxText)`,
		wrong: `redact(summary.Cut(e.Text, maxText))`,
		pkg:   "./lib/launch/entries", run: "TestPages",
	},
	{
		name:  "the successor that goes on with the conversation is not told the note",
		file:  "lib/command/primecmd/facts.go",
		right: `m.owner.Handoff.Conversation == f.session.ID && f.session.ID != ""`,
		wrong: `false && f.session.ID != ""`,
		pkg:   ".", run: "TestScripts/handoff_with_conversation",
	},
	{
		name:  "of a question to a record a copy of the conversation is left",
		file:  "lib/command/seancecmd/recorded.go",
		right: `done = func() { os.RemoveAll(scratch) }`,
		wrong: `done = func() { _ = os.Chmod(scratch, 0o700) }`,
		pkg:   ".", run: "TestScripts/seance_recorded",
	},
	{
		name:  "a session is asked from its record in the person's own folder of Codex",
		file:  "lib/command/seancecmd/recorded.go",
		right: `if name == client.StoreEnv {`,
		wrong: `if name == "" {`,
		pkg:   ".", run: "TestScripts/seance_recorded",
	},
	{
		name:  "Codex is asked from a record without its account",
		file:  "lib/launch/ask/scratch.go",
		right: `err != nil || !filepath.IsAbs(from) {`,
		wrong: `err == nil || !filepath.IsAbs(from) {`,
		pkg:   ".", run: "TestScripts/seance_recorded",
	},
	{
		name:  "traces are sent to whoever answers",
		file:  "lib/command/recordcmd/send.go",
		right: `&tls.Config{ServerName`,
		wrong: `&tls.Config{InsecureSkipVerify: true, ServerName`,
		pkg:   ".", run: "TestScripts/record_sent",
	},
	{
		name:  "traces go to another machine in the clear, unasked",
		file:  "lib/command/recordcmd/send.go",
		right: `u.Scheme == "http" && !plain &&`,
		wrong: `u.Scheme == "http" && plain &&`,
		pkg:   ".", run: "TestScripts/record_sent",
	},
	{
		name:  "a collector's header can hold another",
		file:  "lib/command/recordcmd/send.go",
		right: `return c < ' ' && c != '\t' || c == 0x7f`,
		wrong: `return c == 0x7f`,
		pkg:   ".", run: "TestScripts/record_sent",
	},
	{
		name: "a cache of first requests has the values of secret variables",
		file: "lib/catalog/scan/scan.go",
		right: `&f.Version, &f.Title, &f.Prompt} {
		*s = clean(*s)`,
		wrong: `&f.Version} {
		*s = clean(*s)`,
		pkg: ".", run: "TestScripts/secrets_record",
	},
	{
		name:  "the beginning of a value at which a text was cut stays",
		file:  "lib/text/redact/redact.go",
		right: `if torn > 0 {`,
		wrong: `if torn > 1<<20 {`,
		pkg:   "./lib/text/redact", run: "TestCut",
	},
	{
		name:  "a first prompt together with a session is an argument that the client drops",
		file:  "lib/client/agent/agent.go",
		right: `if c.ResumePromptEnv == "" || next.Prompt == ""`,
		wrong: `if c.ResumePromptEnv != "" || next.Prompt == ""`,
		pkg:   "./lib/client/agent", run: "TestPromptVar",
	},
	{
		name:  "what a hook hands over to be kept has its secrets",
		file:  "lib/command/recordcmd/fromhook.go",
		right: `l.Clean(env.Redact)`,
		wrong: `_ = env.Redact`,
		pkg:   ".", run: "TestScripts/record_told",
	},
	{
		name:  "what a hook cannot hand over is lost",
		file:  "lib/client/hook/record.go",
		right: `c.env.Environ, input) == nil {`,
		wrong: `c.env.Environ, input) != io.EOF {`,
		pkg:   ".", run: "TestScripts/record_told",
	},
	{
		name:  "the end of a packed record is not where a list looks for it",
		file:  "lib/record/packed.go",
		right: `At: max(end.markAt-1, 0)`,
		wrong: `At: end.size`,
		pkg:   "./lib/record", run: "TestPack",
	},
	{
		name:  "a session that goes on has its packed record begun anew",
		file:  "lib/record/writer.go",
		right: `if err := s.unpack(id); err != nil {`,
		wrong: `if err := error(nil); err != nil {`,
		pkg:   "./lib/record", run: "TestPack",
	},
	{
		name:  "what is forgotten stays in the packed record",
		file:  "lib/record/forget.go",
		right: `return gone, atomicfile.Remove(s.packedPath(id))`,
		wrong: `return gone, nil`,
		pkg:   "./lib/record", run: "TestPack",
	},
	{
		name:  "lines that are taken off the end of a record are not missed",
		file:  "lib/record/verify.go",
		right: `if seal != nil && !gone {`,
		wrong: `if seal != nil && gone {`,
		pkg:   "./lib/record", run: "TestSeal",
	},
	{
		name:  "what was kept aside is cleared though the session's file could not be saved",
		file:  "lib/record/end.go",
		right: `if err := s.WriteWhole(id); err != nil {`,
		wrong: `if err := s.WriteWhole(id); err != nil && id == "" {`,
		pkg:   "./lib/record", run: "TestEndOrder",
	},
	{
		name:  "a record is begun without a folder for what is kept aside",
		file:  "lib/record/store.go",
		right: `[]string{s.Sessions, s.Contexts}`,
		wrong: `[]string{s.Sessions}`,
		pkg:   "./lib/record", run: "TestBegins",
	},
	{
		name:  "what a hook tells twice is recorded twice",
		file:  "lib/record/hookfile/reader.go",
		right: `l.Time.Sub(last) < repeat`,
		wrong: `l.Time.Sub(last) < 0`,
		pkg:   "./lib/record/hookfile", run: "TestTold",
	},
	{
		name:  "a hook keeps what a secret file holds",
		file:  "lib/client/hook/record.go",
		right: `if secretfile.Of(called) != "" {`,
		wrong: `if secretfile.Of(called) == "-" {`,
		pkg:   ".", run: "TestScripts/record_told",
	},
	{
		name:  "the person is told at each turn that recording has stopped",
		file:  "lib/client/hook/record.go",
		right: `return stop.MarkReported(c.state())`,
		wrong: `return nil`,
		pkg:   ".", run: "TestScripts/record_asked",
	},
	{
		name:  "an export holds what was said before the time that it begins at",
		file:  "lib/record/store.go",
		right: `last.Before(s.since) {`,
		wrong: `last.Before(s.since) && l.Kind == Mark {`,
		pkg:   ".", run: "TestScripts/record_export",
	},
	{
		name:  "a result that comes in a later sync than its call is recorded, though its file is secret",
		file:  "lib/record/sync.go",
		right: `p.at, p.from, p.hidden = *m, m.Next, m.Hidden`,
		wrong: `p.at, p.from = *m, m.Next`,
		pkg:   "./lib/record", run: "TestSyncRemembersSecretCalls",
	},
	{
		name:  "what a sync had written that was killed is recorded twice",
		file:  "lib/record/sync.go",
		right: `if key := keyOfBody(body[1:]); p.seen[key] > 0 {`,
		wrong: `if key := keyOfBody(body[1:]); p.seen[key] > 99 {`,
		pkg:   "./lib/record", run: "TestSyncAfterAKillAnywhere",
	},
	{
		name:  "what is kept aside of another session is cleared as well",
		file:  "lib/record/forget.go",
		right: `string(id)+"-")`,
		wrong: `prefix)`,
		pkg:   "./lib/record", run: "TestRemove",
	},
	{
		name: "a conversation is recorded with its secrets",
		file: "lib/record/sync.go",
		right: `l.Text = clean(e.Text)
	if e.Kind`,
		wrong: `l.Text = e.Text
	if e.Kind`,
		pkg: "./lib/record", run: "TestSyncLeavesOutSecrets",
	},
	{
		name:  "a hand-over note that waits is removed for its age",
		file:  "lib/state/mail/expire.go",
		right: `return !e.has('F') && `,
		wrong: `return `,
		pkg:   ".", run: "TestScripts/handoff_retention",
	},
	{
		name:  "notes are removed although a record that may name them cannot be read",
		file:  "lib/command/handoffcmd/retire.go",
		right: `Warn: func(err error) { h.warn(err); unread = true }}.All()`,
		wrong: `Warn: h.warn}.All()`,
		pkg:   ".", run: "TestScripts/handoff_retention",
	},
	{
		name:  "what is said to a session that goes on counts as asked first",
		file:  "lib/command/keepalivecmd/asked.go",
		right: `	case "resume", "compact", "fork":`,
		wrong: `	case "compact", "fork":`,
		pkg:   ".", run: "TestScripts/flow_first_request",
	},
	{
		name:  "what was asked is not told of a session that died before its client wrote anything",
		file:  "lib/command/primecmd/assess.go",
		right: `f.asked.Text != "" && len(s.noted) == 0`,
		wrong: `false`,
		pkg:   ".", run: "TestScripts/flow_first_request",
	},
	{
		name: "an agent is told with every prompt how full its context is",
		file: "lib/command/keepalivecmd/life.go",
		right: `	s.Warning = activity.Delivered
`,
		wrong: ``,
		pkg:   ".", run: "TestScripts/keepalive_fill",
	},
	{
		name: "an amended commit counts again",
		file: "lib/place/git/head.go",
		right: `	*h = slices.Delete(*h, i, i+1)
`,
		wrong: ``,
		pkg:   "./lib/place/git", run: "TestCommits",
	},
	{
		name:  "a crash that a session was told of is told again behind its hand-over",
		file:  "lib/command/primecmd/assess.go",
		right: `		return followed || c.Handoff`,
		wrong: `		return followed && false || c.Handoff`,
		pkg:   ".", run: "TestScripts/prime_moved",
	},
	{
		name: "a resume is compared with how full the context was before a compaction",
		file: "lib/command/primecmd/shorter.go",
		right: `	a.Tokens, a.Warning = 0, activity.None
`,
		wrong: ``,
		pkg:   ".", run: "TestScripts/prime_shorter",
	},
	{
		name:  "who is reaped is told as crashed, if reap itself is killed",
		file:  "lib/state/session/thread.go",
		right: "	case r.stopped():\n",
		wrong: "	case false:\n",
		pkg:   "./lib/state/session", run: "TestStop",
	},
	{
		name:  "a resume forgets the end before it",
		file:  "lib/state/session/thread.go",
		right: "		r.Runs = append(r.Runs, Run{began, r.EndedAt, r.Outcome, r.Reason})\n",
		wrong: "		_ = began\n",
		pkg:   "./lib/state/session", run: "TestRuns",
	},
	{
		name:  "a command in another pane takes the session of tmux's environment for its own",
		file:  "lib/state/session/current.go",
		right: " && (hook || !s.inOtherPane(id, getenv))",
		wrong: "",
		pkg:   ".", run: "TestScripts/handoff_environment",
	},
	{
		name:  "a home that has a name already is called anew",
		file:  "lib/place/home/home.go",
		right: "	case err == nil && given.Role == \"\":\n		return given\n",
		wrong: "	case err == nil && given.Role != \"\":\n		return given\n",
		pkg:   ".", run: "TestScripts/town_names",
	},
	{
		name: "the marker is removed before its text is out",
		file: "lib/command/primecmd/main.go",
		right: `	// Deliver.
`,
		wrong: `	s.warn(c.acknowledge())
`,
		pkg: "./faults", run: "TestKill/prime-handed-over",
	},
	{
		name: "an event is appended without the lock",
		file: "lib/log/eventlog/eventlog.go",
		right: `	lock, err := l.lock(lockWait)
	if err != nil {
		return err
	}
	defer lock.Unlock()
	f, err`,
		wrong: `	_ = lockWait
	f, err`,
		pkg: "./lib/log/eventlog", run: "TestAppendDuringPrunesAndRotations", count: 5,
	},
	{
		name: "a torn line of the log is not ended before the next",
		file: "lib/log/eventlog/eventlog.go",
		right: `	if torn {
		line`,
		wrong: `	if false && torn {
		line`,
		pkg: "./lib/log/eventlog", run: "TestAppendEndsATornLineFirst",
	},
	{
		name: "a file is renamed into its place before its content is on disk",
		file: "lib/sys/atomicfile/atomicfile.go",
		right: `	if err == nil && d == Synced {
		err = tmp.Sync()
	}`,
		wrong: ``,
		pkg:   "./faults", run: "TestProtocol",
	},
	{
		name: "a rename is not waited for",
		file: "lib/sys/atomicfile/atomicfile.go",
		right: `	if d == Synced {
		err = syncDir(filepath.Dir(path))
	}`,
		wrong: ``,
		pkg:   "./faults", run: "TestProtocol",
	},
	{
		name: "a state file is written in place",
		file: "lib/sys/atomicfile/atomicfile.go",
		right: `	if err == nil {
		err = move(tmp.Name(), path)
	}`,
		wrong: `	if err == nil && d == Unsynced {
		_ = os.Remove(tmp.Name())
		if in, oerr := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, perm); oerr == nil {
			_, err = in.Write(data)
			in.Close()
		}
	} else if err == nil {
		err = move(tmp.Name(), path)
	}`,
		pkg: "./lib/sys/atomicfile", run: "TestReadersSeeWholeContent",
	},
	{
		name: "a title reaches the terminal as it is",
		file: "lib/text/plain/plain.go",
		right: `	if isClean(s, how) {
		return s
	}`,
		wrong: `	if isClean("", how) {
		return s
	}`,
		pkg: "./lib/text/plain", run: "TestPlain",
	},
	{
		name:  "a prune forgets what was appended while it ran",
		file:  "lib/log/eventlog/prune.go",
		right: `		err = w.copyTo(info.Size())`,
		wrong: `		err = nil`,
		pkg:   "./lib/log/eventlog", run: "TestAppendDuringPrunesAndRotations",
	},
	{
		name: "a prune takes the log's lock only after it has looked how long the log is",
		file: "lib/log/eventlog/prune.go",
		right: `	defer lock.Unlock()
	info, err := w.old.Stat()`,
		wrong: `	lock.Unlock()
	info, err := w.old.Stat()`,
		pkg: "./lib/log/eventlog", run: "TestAppendDuringPrunesAndRotations", count: 5,
	},
	{
		name:  "a killed prune is not taken back",
		file:  "lib/log/eventlog/archive.go",
		right: `		err = errors.Join(cut(f, i.Archive), f.Close())`,
		wrong: `		_ = cut
		err = f.Close()`,
		pkg: "./lib/log/eventlog", run: "TestPruneClearsAwayWhatAKilledOneLeft",
	},
	{
		name:  "what tells of sessions leaves the log for nowhere",
		file:  "lib/command/krccmd/main.go",
		right: `			Archive:  i == 0,`,
		wrong: `			Archive:  i < 0,`,
		pkg:   ".", run: "TestScripts/krc_prune",
	},
	{
		name:  "a prune keeps no minimum",
		file:  "lib/command/krccmd/main.go",
		right: `			Keep:     p.policy.Keep,`,
		wrong: `			Keep:     0 * p.policy.Keep,`,
		pkg:   ".", run: "TestScripts/krc_keep",
	},
	{
		name: "a hook exits with what went wrong",
		file: "lib/cli/run.go",
		right: `		if hook {
			code = Done
		}`,
		wrong: `		_ = hook`,
		pkg:   "./lib/cli", run: "TestRun",
	},
	{
		name:  "a process is known by its number alone",
		file:  "lib/sys/process/process.go",
		right: `func (p Proc) IsSet() bool { return p.PID > 0 && p.Start != "" }`,
		wrong: `func (p Proc) IsSet() bool { p.Start = "" ; return p.PID > 0 }`,
		pkg:   "./lib/state/pidfile ./lib/sys/process .", run: "TestScripts/pid_reap|TestScripts/hostile_pids|Test.*Reuse|Test.*Known|TestAlive",
	},
	{
		name:  "what an agent is kept in by is not compared with its pane",
		file:  "lib/launch/launcher/launcher.go",
		right: `	if len(walls) == 0 {`,
		wrong: `	if true || len(walls) == 0 {`,
		pkg:   ".", run: "TestScripts/handoff_box_unknown",
	},
	{
		name:  "an agent is known by its number in another PID namespace",
		file:  "lib/command/handoffcmd/target.go",
		right: `	if o.agent.Elsewhere() {`,
		wrong: `	if false && o.agent.Elsewhere() {`,
		pkg:   ".", run: "TestScripts/handoff_box$",
	},
	{
		name:  "git follows a link of the repository's where it writes",
		file:  "lib/place/git/worktree.go",
		right: `			if info.Mode()&fs.ModeSymlink != 0 {`,
		wrong: `			if false && info.Mode()&fs.ModeSymlink != 0 {`,
		pkg:   "./lib/place/git", run: "TestAddWorktreeFollowsNoLink",
	},
	{
		name:  "an import loses what an agent is started in",
		file:  "lib/state/instance/import.go",
		right: `Launcher: from.Launcher, `,
		wrong: ``,
		pkg:   ".", run: "TestScripts/session_box$",
	},
	{
		name:  "a launcher that an agent can change starts the next one",
		file:  "lib/launch/launch.go",
		right: `	if l.spec.BringsLauncher(l.run) {`,
		wrong: `	if false && l.spec.BringsLauncher(l.run) {`,
		pkg:   ".", run: "TestScripts/session_box$",
	},
	{
		name:  "a launcher that starts its client in a way of its own is passed over",
		file:  "lib/launch/launcher/match.go",
		right: `		case w.stranger < 0:`,
		wrong: `		case false:`,
		pkg:   "./lib/launch/launcher", run: "TestWalk",
	},
	{
		name:  "a list of variables that sudo has cut stays cut",
		file:  "lib/launch/launcher/match.go",
		right: `words: asTyped(words)`,
		wrong: `words: words`,
		pkg:   "./lib/launch/launcher", run: "TestWalk",
	},
	{
		name:  "a successor makes files with the umask of tmux's server",
		file:  "lib/sys/process/bounds_linux.go",
		right: `		b.Limits.Umask = umask`,
		wrong: `		_ = umask`,
		pkg:   ".", run: "TestScripts/handoff_limits",
	},
	{
		name: "a successor gets its niceness after its threads have begun",
		file: "lib/sys/process/bounds_linux.go",
		right: `	if err := l.thread(); err != nil {
		return err
	}
	return start()`,
		wrong: `	if err := start(); err != nil {
		return err
	}
	return l.thread()`,
		pkg: ".", run: "TestScripts/handoff_limits",
	},
	{
		name:  "a successor is started without its launcher",
		file:  "lib/launch/respawn/exec.go",
		right: `	r.Args = launcher.Around(r.In, r.Args)`,
		wrong: `	r.Args = launcher.Around(nil, r.Args)`,
		pkg:   ".", run: "TestScripts/(handoff|session)_box",
	},
	{
		name: "a pane is given away before the note is saved",
		file: "lib/command/handoffcmd/main.go",
		right: `	note, saved, err := h.save(d)
	if err != nil || !saved {`,
		wrong: `	if h.replaces {
		_ = h.launch("")
	}
	note, saved, err := h.save(d)
	if err != nil || !saved {`,
		pkg: "./faults", run: "TestPane/pane-handoff",
	},
	{
		name:  "secrets are left in a note",
		file:  "lib/text/redact/redact.go",
		right: "func Of(",
		wrong: "func Of(environ []string) func(string) string { return func(s string) string { return s } }\n\nfunc unused(",
		pkg:   "./lib/text/redact", run: "TestForms$",
	},
	{
		name:  "an index of the log is believed though its checksum is another",
		file:  "lib/sys/cachefile/cachefile.go",
		right: ` || digits(got) != wanted {`,
		wrong: ` || wanted != digits(got) && wanted == "" {`,
		pkg:   "./lib/sys/cachefile", run: "TestCache",
	},
	{
		name: "a cache that others may write is believed",
		file: "lib/sys/atomicfile/atomicfile.go",
		right: `	if info.Mode().Perm()&0o022 != 0 {
		return errors.New("other users can write to it")`,
		wrong: `	if info.Mode().Perm()&0 != 0 {
		return errors.New("other users can write to it")`,
		pkg: ".", run: "TestHostileStores/a_cache_that_is_open_to_all",
	},
	{
		name:  "a transcript that could not be read is kept as one in which nothing stands",
		file:  "lib/catalog/scan/scan.go",
		right: `			failed[n.at] = true`,
		wrong: `			failed[n.at] = false`,
		pkg:   "./faults", run: "TestSeanceErrors/seance-first",
	},
	{
		name:  "an event that comes late is told after the others",
		file:  "lib/catalog/fold.go",
		right: `	if e.at.Before(s.LastAt) || at < a.Unnamed {`,
		wrong: `	if at < a.Unnamed {`,
		pkg:   "./lib/catalog", run: "TestIndexChangesNoAnswer",
	},
	{
		name:  "what a fork copied is counted twice",
		file:  "lib/conversation/usage.go",
		right: `if _, again := t.seen[key]; !again {`,
		wrong: `if _, again := t.seen[key]; !again || again {`,
		pkg:   ".", run: "TestScripts/seance_conversations",
	},
	{
		name:  "a question to a session runs its hooks",
		file:  "lib/client/claude/agent.toml",
		right: `{"disableAllHooks":true,`,
		wrong: `{`,
		pkg:   ".", run: "TestScripts/seance_talk",
	},
	{
		name:  "the beginning of several ids means the first of them",
		file:  "lib/catalog/entry.go",
		right: `			found = append(found, c.entries[i].session())`,
		wrong: `			return []*Session{c.entries[i].session()}`,
		pkg:   "./lib/catalog", run: "TestFindAndShort",
	},
	{
		name:  "an agent that takes over gets the flags of the one before",
		file:  "lib/launch/respawn/respawn.go",
		right: `	if s.Client.Name == prev.Client {`,
		wrong: `	if true || s.Client.Name == prev.Client {`,
		pkg:   ".", run: "TestScripts/handoff_to$",
	},
	{
		name:  "a client that asks before every request has a note made each time",
		file:  "lib/command/handoffcmd/early.go",
		right: `	if h.call.Input.Trigger != "auto" {`,
		wrong: `	if true || h.call.Input.Trigger != "auto" {`,
		pkg:   ".", run: "TestScripts/handoff_gemini",
	},
	{
		name:  "a key of a person's file that means nothing is passed over",
		file:  "lib/client/agent/table.go",
		right: `		if f.ours || isSection(key[0]) {`,
		wrong: `		if false && (f.ours || isSection(key[0])) {`,
		pkg:   "./lib/client/agent", run: "TestBadFiles",
	},
	{
		name:  "a client that compacts in vain is followed at every request",
		file:  "lib/command/handoffcmd/early.go",
		right: "return full, h.record != nil && h.record.Full, nil",
		wrong: "return full, false, nil",
		pkg:   ".", run: "TestScripts/handoff_gemini",
	},
	{
		name:  "git is told all that a repository's configuration says",
		file:  "lib/place/git/config.go",
		right: `case s.sub == "" && slices.Contains(words, s.name()) && isWord(s.value),`,
		wrong: `case s.section == "filter",`,
		pkg:   "./attacks", run: "TestRepositoryNamesPrograms/its-configuration",
	},
	{
		name:  "a value with a line end is told git",
		file:  "lib/place/git/config.go",
		right: `if r < ' ' || r == 0x7f || r == '"' || r == '\\' {`,
		wrong: `if r == 0x7f {`,
		pkg:   "./lib/place/git", run: "FuzzHarmless",
	},
	{
		name:  "git asks the monitor of the person's configuration",
		file:  "lib/place/git/state.go",
		right: `"-c", "core.fsmonitor=false", `,
		wrong: ``,
		pkg:   "./attacks", run: "TestRepositoryNamesPrograms/hooks-where",
	},
	{
		name:  "git enters a repository inside",
		file:  "lib/place/git/state.go",
		right: `, "--ignore-submodules=dirty"`,
		wrong: ``,
		pkg:   "./attacks", run: "TestRepositoryNamesPrograms/a-repository-that-was-added",
	},
	{
		name:  "git inherits the environment",
		file:  "lib/place/git/state.go",
		right: `env := process.PersonEnviron(inherited)`,
		wrong: `env := inherited`,
		pkg:   "./attacks", run: "TestRepositoryNamesPrograms/variables",
	},
	{
		name:  "a partial clone has no state",
		file:  "lib/place/git/state.go",
		right: `if errors.Is(err, errMissing) {`,
		wrong: `if false {`,
		pkg:   "./attacks", run: "TestRepositoryNamesPrograms/objects",
	},
	{
		name:  "the git directory of ours lies in the project",
		file:  "lib/place/git/isolated.go",
		right: `case process.Within(dir, r.top, os.Environ()):`,
		wrong: `case false:`,
		pkg:   "./lib/place/git", run: "TestScratch",
	},
	{
		name: "the git directories of long ago stay",
		file: "lib/place/git/isolated.go",
		right: `			os.RemoveAll(old)
`,
		wrong: ``,
		pkg:   "./lib/place/git", run: "TestScratch",
	},
	{
		name:  "git is looked for in the project",
		file:  "lib/place/git/state.go",
		right: `process.LookPath("git", r.top, os.Environ())`,
		wrong: `exec.LookPath("git")`,
		pkg:   "./attacks", run: "TestPathIntoProject$/its-folder",
	},
	{
		name:  "tmux is looked for in the project",
		file:  "lib/sys/tmux/tmux.go",
		right: `process.LookPath("tmux", "", os.Environ())`,
		wrong: `func() (string, error) { _, _ = process.LookPath, os.Environ; return exec.LookPath("tmux") }()`,
		pkg:   "./attacks", run: "TestPathIntoProjectFromElsewhere",
	},
	{
		name: "a link into the project is none",
		file: "lib/sys/process/path.go",
		right: `to, err := os.Readlink(next)
		if err != nil ||`,
		wrong: `to, err := os.Readlink(next)
		if true || err != nil ||`,
		pkg: "./lib/sys/process", run: "TestLookPathOutsideProject",
	},
	{
		name: "a program in the project hides the one behind it",
		file: "lib/sys/process/path.go",
		right: `			passed = path
`,
		wrong: `			return "", &InProject{name, path}
`,
		pkg: "./lib/sys/process", run: "TestLookPathOutsideProject",
	},
	{
		name:  "a folder with the home folder in it is a project",
		file:  "lib/sys/process/path.go",
		right: `return holdsAll(top, environ) }`,
		wrong: `return false && holdsAll(top, environ) }`,
		pkg:   "./lib/sys/process", run: "TestLookPathOutsideProject",
	},
	{
		name:  "a session that crashed is not followed with the read note of its chain",
		file:  "lib/command/primecmd/assess.go",
		right: `slices.Contains(broke.DeliveredNotes, n.ID) || n.Chain != "" &&`,
		wrong: `slices.Contains(broke.DeliveredNotes, n.ID) || n.Chain == "" &&`,
		pkg:   "./lib/command/primecmd", run: "TestSituations",
	},
	{
		name: "a project is forgotten where its session left it",
		file: "lib/place/home/home.go",
		right: `		process.Distrust(d)
`,
		wrong: `		_, _ = process.Distrust, d
`,
		pkg: "./attacks", run: "TestPathIntoProjectFromElsewhere",
	},
	{
		name:  "a script that is run finds its interpreter in the project",
		file:  "lib/client/sandbox/sandbox.go",
		right: `, "PATH="+process.SearchPath(dir, environ)`,
		wrong: ``,
		pkg:   "./attacks", run: "TestInterpreterOnPath",
	},
	{
		name: "bd is run outside of towns",
		file: "lib/state/beads/beads.go",
		right: `	if h.Town.Trust == nil {
		return ""
	}
`,
		wrong: ``,
		pkg:   "./attacks", run: "TestBeadsOutsideTowns",
	},
	{
		name:  "bd inherits the environment",
		file:  "lib/state/beads/beads.go",
		right: `env := process.PersonEnviron(environ)`,
		wrong: `env := append([]string(nil), environ...)`,
		pkg:   "./attacks", run: "TestBeadsOutsideTowns",
	},
	{
		name: "a process of another PID namespace is looked up by its number here",
		file: "lib/sys/process/process.go",
		right: `	if ns == p.NS {
		return false
	}`,
		wrong: `	if ns != "" {
		return false
	}`,
		pkg: "./lib/sys/process ./lib/state/session ./lib/state/pidfile", run: "TestOtherNamespace|TestAnotherNamespace|TestElsewhere",
	},
	{
		name:  "numbers of a /proc that is not ours are believed",
		file:  "lib/sys/process/process_linux.go",
		right: `err == nil && self != strconv.Itoa(os.Getpid())`,
		wrong: `err == nil && self == ""`,
		pkg:   "./lib/sys/process", run: "TestOtherNamespace",
	},
	{
		name:  "a lock can be held by who may only read",
		file:  "lib/sys/atomicfile/atomicfile.go",
		right: `	mode := fs.FileMode(0o200)`,
		wrong: `	mode := fs.FileMode(0o600)`,
		pkg:   "./lib/sys/flock", run: "TestSandboxHoldsNoLock",
	},
	{
		name:  "a lock that was copied stays readable",
		file:  "lib/sys/atomicfile/atomicfile.go",
		right: `|| !common && perm != mode {`,
		wrong: `|| !common && perm&mode != mode {`,
		pkg:   "./lib/sys/flock", run: "TestSandboxHoldsNoLock",
	},
	{
		name:  "a note to nobody goes to oneself",
		file:  "lib/command/mailcmd/send.go",
		right: `	if strings.TrimSpace(to) == "" {`,
		wrong: `	if strings.TrimSpace(to) == "nobody" {`,
		pkg:   ".", run: "TestScripts/mail_send",
	},
	{
		name:  "a note makes a home of any folder",
		file:  "lib/command/mailcmd/send.go",
		right: `		if !inhabited(h) {`,
		wrong: `		if !inhabited(h) && dir == "" {`,
		pkg:   ".", run: "TestScripts/mail_send",
	},
	{
		name: "every checkpoint of the folder is read",
		file: "lib/state/checkpoint/checkpoint.go",
		right: `	paths := []string{h.Path(File), beside(h, byHand)}
	for _, id := range ids {`,
		wrong: `	paths, _ := filepath.Glob(h.Path(prefix + "*.json"))
	paths = append(paths, h.Path(File), beside(h, byHand))
	for _, id := range ids[:0] {`,
		pkg: "./lib/state/checkpoint", run: "TestMany",
	},
	{
		name: "a file is not judged by what was opened",
		file: "lib/sys/atomicfile/atomicfile.go",
		right: `	info, err := f.Stat()
	if err == nil {
		err = judge(info)`,
		wrong: `	info, err := f.Stat()
	if _ = info; false {
		err = judge(info)`,
		pkg: "./lib/sys/atomicfile", run: "TestJudgedByWhatWasOpened",
	},
	{
		name:  "a tmux server in a sandbox is talked to",
		file:  "lib/sys/tmux/trust.go",
		right: `	return process.Confined(peer.PID), nil`,
		wrong: `	return "", nil`,
		pkg:   "./lib/sys/tmux", run: "TestSandboxedServer",
	},
	{
		name:  "a tmux server of another user is talked to",
		file:  "lib/sys/tmux/trust.go",
		right: `	case peer.UID != 0 && peer.UID != os.Geteuid():`,
		wrong: `	case peer.UID < 0:`,
		pkg:   "./lib/sys/tmux", run: "TestForeignServer",
	},
	{
		name:  "tmux is given a name that may be another's by then",
		file:  "lib/sys/tmux/tmux.go",
		right: `		path = "/proc/self/fd/3" // the first of ExtraFiles`,
		wrong: `		path = string(s)`,
		pkg:   "./lib/sys/tmux", run: "TestExchangedSocket",
	},
	{
		name:  "a checkpoint that another program of a town left is written over untold",
		file:  "lib/state/checkpoint/checkpoint.go",
		right: "if filepath.Base(c.file.Path) != File || c.hidden {",
		wrong: "if filepath.Base(c.file.Path) != File {",
		pkg:   "./lib/state/checkpoint", run: "TestClaimWaits",
	},
	{
		name:  "a marker that another program of a town left is written over untold",
		file:  "lib/state/marker/marker.go",
		right: "err == nil || claimed(h) {",
		wrong: "err == nil {",
		pkg:   "./lib/state/marker", run: "TestClaimWaits",
	},
	{
		name:  "outside a trusted town a project is read and written",
		file:  "lib/place/home/home.go",
		right: "if !h.HasMirror() {\n\t\treturn place.Mirror{}",
		wrong: "if false {\n\t\treturn place.Mirror{}",
		pkg:   ".", run: "TestScripts/checkpoint_guard",
	},
	{
		name:  "an agent that runs within another says what is trusted",
		file:  "lib/command/hookscmd/trust.go",
		right: `range registry.SessionVars() {`,
		wrong: `range registry.SessionVars()[:0] {`,
		pkg:   ".", run: "TestScripts/^town_trust$",
	},
	{
		name:  "an agent that tells its commands nothing says what is trusted",
		file:  "lib/command/hookscmd/trust.go",
		right: `if known.IsClient(process.Name(pid)) {`,
		wrong: `if false && known.IsClient(process.Name(pid)) {`,
		pkg:   ".", run: "TestScripts/^town_trust$",
	},
	{
		name:  "a file of a town counts as it stands, whatever was trusted",
		file:  "lib/place/trust.go",
		right: `case !known || digest(data) != want:`,
		wrong: `case !known || false && digest(data) != want:`,
		pkg:   "./lib/place", run: "TestTrust",
	},
	{
		name:  "a trusted file that is gone says nothing instead of being missed",
		file:  "lib/place/trust.go",
		right: `case errors.Is(err, fs.ErrNotExist) && !known:`,
		wrong: `case errors.Is(err, fs.ErrNotExist):`,
		pkg:   ".", run: "TestScripts/^town_trust$",
	},
	{
		name:  "another folder at the path of a town is trusted",
		file:  "lib/place/trust.go",
		right: `t.Path != here.Path || !t.is(here) || t.Owner != owner`,
		wrong: `t.Path != here.Path || t.Owner != owner`,
		pkg:   ".", run: "TestScripts/^town_trust$",
	},
	{
		name:  "work in the mail of a town counts, whoever put it there",
		file:  "lib/place/town/town.go",
		right: `if t.Personal || t.Trust != nil && t.Trust.Mail {`,
		wrong: `if true || t.Trust.Mail {`,
		pkg:   ".", run: "TestScripts/^town_trust$",
	},
	{
		name: "a town.toml makes a town that nobody trusted",
		file: "lib/place/town/town.go",
		right: `			if err == nil {
				return Town{Root: d, State: state, Trust: trust, Untrusted: untrusted}`,
		wrong: `			if err == nil || true {
				return Town{Root: d, State: state, Trust: trust, Untrusted: untrusted}`,
		pkg: "./lib/place/town", run: "TestUntrusted",
	},
	{
		name: "Gas Town's first marker is not looked for",
		file: "lib/state/marker/marker.go",
		right: `	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, atomicfile.Error("read", h.Runtime(), err)`,
		wrong: `	if err != nil {
		return nil, atomicfile.Error("read", h.Runtime(), err)`,
		pkg: "./lib/state/marker", run: "TestListPassesOverWhatIsNoMarker",
	},
	{
		name:  "a note that names no folder is believed",
		file:  "lib/place/folder.go",
		right: `if !filepath.IsAbs(f.Path) || f.Inode == 0 {`,
		wrong: `if false {`,
		pkg:   ".", run: "TestHostileContent",
	},
	{
		name:  "tag characters are told",
		file:  "lib/text/plain/plain.go",
		right: `	case r >= 0xe0020 && r < 0xe0080:`,
		wrong: `	case r == 0xe007f:`,
		pkg:   "./lib/text/plain", run: "TestPlain",
	},
	{
		name:  "a text is looked through as it was written, not as it is shown",
		file:  "lib/text/redact/redact.go",
		right: `	if !plain.IsText(s) || strings.ContainsRune(s, utf8.RuneError) { // which replaces unknown bytes`,
		wrong: `	if false && utf8.RuneError == 0 {`,
		pkg:   "./lib/text/redact", run: "TestFormsTimesWrappings",
	},
	{
		name:  "what is written as an escape is a part of the word behind it",
		file:  "lib/text/redact/redact.go",
		right: `		sc.seam(i) || escaped(s[max(sc.done, i-32):i])`,
		wrong: `		sc.seam(i)`,
		pkg:   "./lib/text/redact", run: "TestFormsTimesWrappings",
	},
	{
		name: "where something was left out a word goes on",
		file: "lib/text/redact/redact.go",
		right: `	_, found := slices.BinarySearch(sc.seams, i)
	return found`,
		wrong: `	return false`,
		pkg:   "./lib/text/redact", run: "TestFormsTimesWrappings",
	},
	{
		name: "a wrapped token ends with its line",
		file: "lib/text/redact/redact.go",
		right: `	switch {
	case p < len(s) && s[p] == '\n', p > end && p < len(s) && s[p] == 'n':`,
		wrong: `	switch {
	case p < 0:`,
		pkg: "./lib/text/redact", run: "TestAssignments",
	},
	{
		name:  "what is escaped in JSON hides a secret",
		file:  "lib/text/openjson/openjson.go",
		right: `	text := clean(unescape(string(object), clean))`,
		wrong: `	text := clean(unescape(string(object), same))`,
		pkg:   "./lib/text/openjson", run: "TestCleanEscaped",
	},
	{
		name:  "a long document gives orders",
		file:  "lib/text/standing/prose.go",
		right: `r.size > maxTyped {`,
		wrong: `r.size > maxText {`,
		pkg:   "./lib/text/standing", run: "TestNoOrders",
	},
	{
		name:  "what a person tells of a program is an order",
		file:  "lib/text/standing/order.go",
		right: `len(w) < 2 || len(before) > 0 && oneOf(before[0], tellers)`,
		wrong: `len(w) < 2`,
		pkg:   "./lib/text/standing", run: "TestNoOrders",
	},
	{
		name:  "the half of a correction stays as an order",
		file:  "lib/text/standing/order.go",
		right: `!correction && `,
		wrong: `(correction || !correction) && `,
		pkg:   "./lib/text/standing", run: "TestNoOrders",
	},
	{
		name:  "an instruction takes the place of one that speaks of something else",
		file:  "lib/text/standing/merge.go",
		right: `func(w string) bool { return !slices.Contains(more, w) }`,
		wrong: `func(w string) bool { return w == "" }`,
		pkg:   "./lib/text/standing", run: "TestReplaces",
	},
	{
		name:  "a note ends its own frame",
		file:  "lib/text/frame/frame.go",
		right: "	if strings.ContainsRune(`/\\|!?／⁄∕⧸╱｜│¦∣ǀ`, first) {",
		wrong: "	if first == '/' && rest == \"/note>\" {",
		pkg:   "./lib/text/frame", run: "TestInside",
	},
	{
		name:  "a note that is cut loses its end",
		file:  "lib/command/primecmd/document.go",
		right: `		text = s.begin + text + s.end`,
		wrong: `		text = s.begin + text`,
		pkg:   "./lib/command/primecmd", run: "TestDocumentKeepsFrames",
	},
	{
		name:  "a note's headings are told as gt's own",
		file:  "lib/text/frame/frame.go",
		right: `			b.WriteByte('\\')`,
		wrong: `			_ = '\\'`,
		pkg:   "./lib/text/frame", run: "TestInside",
	},
	{
		name:  "a name is bounded by the columns that it takes",
		file:  "lib/cli/env.go",
		right: `return plain.Cut(plain.Line(e.Redact(s)), most)`,
		wrong: `return plain.Cut(plain.Line(e.Redact(s)), most+32*most)`,
		pkg:   "./lib/cli", run: "TestTold",
	},
	{
		name:  "given work counts with whatever text it has by now",
		file:  "lib/place/town/town.go",
		right: `return err == nil && strings.TrimSuffix(string(want), "\n") == Digest(data)`,
		wrong: `_, _ = want, data; return true`,
		pkg:   ".", run: "TestScripts/^town_trust$",
	},
	{
		name:  "work that was done with can be given again by anybody",
		file:  "lib/state/mail/box.go",
		right: `return atomicfile.Remove(o.home.Town.Given(idOf(e.unique)))`,
		wrong: `return map[bool]error{}[e.unique == ""]`,
		pkg:   ".", run: "TestScripts/^town_trust$",
	},
	{
		name:  "a folder of a container's image is another one once it was written to",
		file:  "lib/place/folder.go",
		right: ` || f.Inode == here.Inode && reborn(here.Path)`,
		wrong: ``,
		pkg:   "./lib/place", run: "TestFolderOfAnImage",
	},
	{
		name:  "another user's link leads to the state",
		file:  "lib/place/state.go",
		right: `if uid := atomicfile.Owner(info); uid != 0 && uid != os.Geteuid() {`,
		wrong: `if uid := atomicfile.Owner(info); uid < 0 {`,
		pkg:   "./lib/place", run: "TestForeignLink",
	},
	{
		name:  "a role's directory that is a link leads S1's files out of the town",
		file:  "lib/place/home/home.go",
		right: ` && place.Inside(place.Real(h.Dir), place.Real(h.Town.Root))`,
		wrong: ``,
		pkg:   "./lib/place/home", run: "TestMirrorStaysInTown",
	},
	{
		name:  "events go into whatever file has been given the name of a town's log",
		file:  "lib/log/eventlog/eventlog.go",
		right: `payload, spare != "")`,
		wrong: `payload, false)`,
		pkg:   "./lib/log/eventlog", run: "TestAnotherNameOfAFile",
	},
	{
		name:  "a file that has been given the name of a lock gets the mode of one",
		file:  "lib/sys/atomicfile/atomicfile.go",
		right: ` && OneName(info) == nil {`,
		wrong: ` {`,
		pkg:   "./lib/log/eventlog", run: "TestAnotherNameOfAFile",
	},
	{
		name:  "a hook looks into every note that is hooked",
		file:  "lib/state/mail/box.go",
		right: `if len(found) > 2*most {`,
		wrong: `if false {`,
		pkg:   "./lib/state/mail", run: "TestVeryManyNotes",
	},
	{
		name:  "a town's log that came with the repository is copied",
		file:  "lib/command/hookscmd/copied.go",
		right: `if atomicfile.Exists(to) || c.skips(way...) {`,
		wrong: `if atomicfile.Exists(to) {`,
		pkg:   ".", run: "TestScripts/^town_shown$",
	},
	{
		name:  "a copied note is work to start on",
		file:  "lib/state/mail/box.go",
		right: `		take = "FS"`,
		wrong: `		take = ""`,
		pkg:   "./lib/state/mail", run: "TestArriving",
	},
	{
		name:  "a request counts whatever the client shows",
		file:  "lib/state/request/request.go",
		right: ` && slices.Contains(shown, Line(item)) {`,
		wrong: ` {`,
		pkg:   "./lib/state/request", run: "TestTake$",
	},
	{
		name: "what is served is not noted first",
		file: "lib/state/request/request.go",
		right: `	if err := atomicfile.Write(served(h, id), append(done, data...), atomicfile.Synced); err != nil {
		return nil, time.Time{}, err
	}
`,
		wrong: ``,
		pkg:   "./lib/state/request", run: "TestServedIsNotedFirst",
	},
	{
		name:  "a request of an older turn is served",
		file:  "lib/state/request/request.go",
		right: `	if changed.Before(began) {`,
		wrong: `	if false && changed.Before(began) {`,
		pkg:   "./lib/state/request", run: "TestTakeOfAnOlderTurn",
	},
	{
		name:  "a request that is put back with a new date is served in a later turn",
		file:  "lib/state/request/request.go",
		right: `		if i.At.Before(began) || `,
		wrong: `		if `,
		pkg:   "./lib/state/request", run: "TestTakeOfAnOlderTurn",
	},
	{
		name: "a request that git tracks is served",
		file: "lib/state/request/request.go",
		right: `	case tracked:
`,
		wrong: `	case false && tracked:
`,
		pkg: "./lib/state/request", run: "TestTakeRefuses",
	},
	{
		name: "a request is read through a link",
		file: "lib/sys/atomicfile/atomicfile.go",
		right: `	named, err := dir.Lstat(name)
	if err != nil {`,
		wrong: `	named, err := dir.Stat(name)
	if err != nil {`,
		pkg: "./lib/state/request", run: "TestTakeRefuses",
	},
	{
		name:  "a request with another name is read",
		file:  "lib/place/shared.go",
		right: `		case !ok || st.Nlink != 1:`,
		wrong: `		case !ok || st.Nlink < 1:`,
		pkg:   "./lib/state/request", run: "TestTakeRefuses",
	},
	{
		name:  "any tool's answer shows a request",
		file:  "lib/client/hook/input.go",
		right: `outputLines(in.answered, kind, runsOurs(in.asked))`,
		wrong: `outputLines(in.answered, kind, max(1, runsOurs(in.asked)))`,
		pkg:   "./lib/client/hook", run: "TestShows",
	},
	{
		name:  "a session that lives has its request served by another's start",
		file:  "lib/state/request/serve.go",
		right: ` || s.Record.Live() {`,
		wrong: ` {`,
		pkg:   ".", run: "TestScripts/handoff_sandbox",
	},
	{
		name:  "who is on nobody's list takes over",
		file:  "lib/command/handoffcmd/handover.go",
		right: `	case t.known().Known(o.to):`,
		wrong: `	case true:`,
		pkg:   ".", run: "TestScripts/handoff_request",
	},
	{
		name:  "a successor gets more than who asks for it has",
		file:  "lib/command/handoffcmd/asked.go",
		right: `		return h.redact(h.successor.WidensPermissions(mode, h.run("")))`,
		wrong: `		return ""`,
		pkg:   ".", run: "TestScripts/handoff_request",
	},
	{
		name:  "any buffer of tmux describes a successor",
		file:  "lib/sys/tmux/buffer.go",
		right: `	if !ok || len(random)`,
		wrong: `	if _ = ok; false && len(random)`,
		pkg:   "./lib/sys/tmux", run: "TestParseBuffer",
	},
	{
		name: "what a successor took from its buffer stays there",
		file: "lib/sys/tmux/buffer.go",
		right: `, "-", ";", "delete-buffer", "-b", string(b))
	return []byte(out), err`,
		wrong: `, "-")
	return []byte(out), err`,
		pkg: "./lib/sys/tmux", run: "TestBuffer$",
	},
	{
		name:  "a project's settings name the HOME of a client's hooks, and with it all else",
		file:  "lib/client/hook/started.go",
		right: `!client && start`,
		wrong: `(client || true) && start`,
		pkg:   "./attacks", run: "TestProjectNamesHome/settings-of",
	},
	{
		name: "a project's .env names a file that a client's start writes to",
		file: "lib/command/primecmd/commit.go",
		right: `	name := c.call.Dialect.EnvFile
`,
		wrong: `	name := "CLAUDE_ENV_FILE"
`,
		pkg: "./attacks", run: "TestProjectNamesEnvFile",
	},
	{
		name: "git reads a file without an end into all of the memory",
		file: "lib/place/git/state.go",
		right: `		process.Confine(cmd.Process.Pid, maxMemory)
`,
		wrong: `		_ = process.Confine
`,
		pkg: "./attacks", run: "TestRepositoryNamesEndlessFiles",
	},
	{
		name: "a conversation that the sandbox can write shows a request",
		file: "lib/command/keepalivecmd/life.go",
		right: `.Holds(path)
	if err != nil {`,
		wrong: `.Holds(path)
	if real = path; false {`,
		pkg: "./attacks", run: "TestForgedConversation",
	},
	{
		name:  "a conversation that the sandbox can write tells what the person said",
		file:  "lib/command/handoffcmd/target.go",
		right: `t.owned(t.call.Input.Transcript)`,
		wrong: `t.call.Input.Transcript`,
		pkg:   "./attacks", run: "TestForgedConversation",
	},
	{
		name:  "a project's settings that are a link choose which file is wired",
		file:  "lib/command/hookscmd/agents.go",
		right: `if place.Inside(place.Real(real), top) {`,
		wrong: `if true || place.Inside(place.Real(real), top) {`,
		pkg:   "./attacks", run: "TestProjectLinksItsSettings",
	},
	{
		name:  "a project's settings that link to nothing choose which file is made",
		file:  "lib/command/hookscmd/agents.go",
		right: `if to, err := os.Readlink(real); err == nil {`,
		wrong: `if to, err := os.Readlink(real); err == nil && false {`,
		pkg:   "./attacks", run: "TestProjectLinksItsSettings/what-is-not-there",
	},
	{
		name:  "a launcher of the person's cannot have another HOME",
		file:  "lib/client/hook/started.go",
		right: `!client && start.Getenv("HOME")`,
		wrong: `!client && false && start.Getenv("HOME")`,
		pkg:   "./attacks", run: "TestProjectNamesHome/a-launcher",
	},
	{
		name:  "what a client read in a project before it ran itself anew counts as the person's",
		file:  "lib/sys/process/started.go",
		right: `startEnviron(origin(pid, name))`,
		wrong: `startEnviron(pid)`,
		pkg:   "./attacks", run: "TestProjectNamesHome/a-.env",
	},
	{
		name:  "a client that was started by a relative path has its environment from the project's .env",
		file:  "lib/sys/process/started.go",
		right: `samePath(a[0], b[0])`,
		wrong: `a[0] == b[0]`,
		pkg:   "./lib/sys/process", run: "TestRelaunched",
	},
	{
		name:  "with the variables of two clients a project's environment counts for an agent's commands",
		file:  "lib/client/hook/started.go",
		right: `!hook && len(told) == 0 && env`,
		wrong: `!hook && len(told) != 1 && env`,
		pkg:   "./attacks", run: "TestProjectNamesHomeOfCommands/claude-and-another",
	},
	{
		name:  "a project names the home in which an agent's commands work",
		file:  "lib/client/hook/started.go",
		right: `!(exported && slices`,
		wrong: `!((exported || !hook) && slices`,
		pkg:   "./attacks", run: "TestProjectNamesHomeOfCommands/gemini$",
	},
	{
		name:  "gt-mail believes the variables that a project's settings give it",
		file:  "lib/command/mailcmd/main.go",
		right: `	hooks.AsStarted(env)`,
		wrong: `	_ = hooks.AsStarted`,
		pkg:   "./attacks", run: "TestProjectNamesHomeOfCommands/claude$",
	},
	{
		name:  "a project's program by the name of gt's leaves requests",
		file:  "lib/client/hook/line.go",
		right: `strings.Contains(program, "/") && !installed`,
		wrong: `strings.Contains(program, "//") && !installed`,
		pkg:   "./lib/client/hook", run: "TestLine|TestShows",
	},
	{
		name:  "variables that are printed behind a request pass for its digest",
		file:  "lib/client/hook/line.go",
		right: `return a.Name != nil })`,
		wrong: `return a.Name != nil }) && len(n.Args) > 100`,
		pkg:   "./lib/client/hook", run: "TestLine",
	},
	{
		name:  "a proof starts an agent in a folder that wires it, whoever did",
		file:  "lib/command/hookscmd/prove.go",
		right: `if !here {`,
		wrong: `if false && !here {`,
		pkg:   ".", run: "TestScripts/hooks_prove_here",
	},
	{
		name:  "a hook believes the variables that a project's settings give it",
		file:  "lib/client/hook/started.go",
		right: `	env.Environ, env.Started = environ, began`,
		wrong: `	_, env.Started = environ, began`,
		pkg:   ".", run: "TestScripts/prime_environment",
	},
	{
		name:  "git takes the variables that a project's settings give a hook",
		file:  "lib/client/hook/started.go",
		right: `			os.Setenv(name, value)`,
		wrong: `			_, _ = name, value`,
		pkg:   ".", run: "TestScripts/prime_environment",
	},
	{
		name:  "git and tmux are found by the PATH that a project's settings name",
		file:  "lib/client/hook/started.go",
		right: `			os.Setenv(name, value)`,
		wrong: `			_ = value
			os.Setenv(name, env.Getenv(name))`,
		pkg: "./attacks", run: "TestSandbox$/programs-elsewhere",
	},
	{
		name:  "gt's state for git lies where a project's settings name it",
		file:  "lib/client/hook/started.go",
		right: `	os.Clearenv()`,
		wrong: `	_ = os.Clearenv`,
		pkg:   "./attacks", run: "TestSandbox$/programs-elsewhere",
	},
	{
		name: "a hook believes what its environment says",
		file: "lib/client/hook/started.go",
		right: `	env.Environ, env.Started = environ, began
`,
		wrong: `	_, env.Started = environ, began
`,
		pkg: "./attacks", run: "TestSandbox$/the-environment-of-its-hooks",
	},
	{
		name:  "the person's notify command gets what a project's settings give a hook",
		file:  "lib/command/keepalivecmd/doing.go",
		right: `args, env.ChildEnviron(), line`,
		wrong: `args, env.Environ, line`,
		pkg:   ".", run: "TestScripts/session_notify_environment",
	},
	{
		name: "what gt starts for the person gets what a project's settings add",
		file: "lib/cli/env.go",
		right: `		return e.Started
`,
		wrong: `		return e.Environ
`,
		pkg: ".", run: "TestScripts/session_notify_environment",
	},
	{
		name: "a session's home is wherever its client is",
		file: "lib/client/hook/invocation.go",
		right: `	if at == "" {
		return`,
		wrong: `	if _ = dir; true {
		return`,
		pkg: "./attacks", run: "TestSandbox$/another-folder",
	},
	{
		name: "root makes folders in the user's home",
		file: "lib/sys/atomicfile/atomicfile.go",
		right: `		case Ours(info) != nil:
			return fmt.Errorf("'%s' belongs`,
		wrong: `		case info == nil:
			return fmt.Errorf("'%s' belongs`,
		pkg: "./attacks", run: "TestSudo",
	},
	{
		name:  "a tracked file of a town's is removed as another program's",
		file:  "lib/place/mirror.go",
		right: `return m.home != "" && (m.only == nil || m.only[name])`,
		wrong: `return m.home != "" && !m.read || m.home != ""`,
		pkg:   "./attacks", run: "TestTrustedTown",
	},
	{
		name:  "what lies in a town says which process is tracked",
		file:  "lib/state/pidfile/pidfile.go",
		right: `Process: process.Proc{PID: p.PID}, State: state, Claimed: true}`,
		wrong: `Process: p, State: state, Claimed: true}`,
		pkg:   ".", run: "TestScripts/pid_track",
	},
	{
		name: "what another program noted is forgotten",
		file: "lib/command/keepalivecmd/pid.go",
		right: `		case f.Claimed && f.State != pidfile.Foreign: // of nobody who runs
`,
		wrong: ``,
		pkg:   ".", run: "TestScripts/pid_track",
	},
	{
		name:  "what an agent leaves for a town's log keeps sessions from being noted",
		file:  "lib/log/eventlog/eventlog.go",
		right: `	if err == nil || spare == "" || spare`,
		wrong: `	if err != nil || spare == "" || spare`,
		pkg:   "./attacks", run: "TestSandboxInTown/pipes",
	},
	{
		name: "the spare log of a town is not read",
		file: "lib/command/seancecmd/select.go",
		right: `	spare(here)
`,
		wrong: ``,
		pkg:   "./attacks", run: "TestSandboxInTown/pipes",
	},
	{
		name:  "a client that would tell the model is told what is for the person",
		file:  "lib/client/contract/dialect.go",
		right: `	if !d.SystemMessage || text == "" {`,
		wrong: `	if text == "" {`,
		pkg:   ".", run: "TestScripts/prime_nowhere",
	},
	{
		name:  "a project that is renamed loses its thread",
		file:  "lib/place/folder.go",
		right: `return Kept{At: at, moved: true}, true`,
		wrong: `return Kept{}, false`,
		pkg:   "./lib/place", run: "TestMovedFolder",
	},
	{
		name:  "who moves a role's directory has what is the role's",
		file:  "lib/place/folder.go",
		right: `if !k.anyone {`,
		wrong: `if true {`,
		pkg:   "./lib/place", run: "TestMovedFolder",
	},
	{
		name:  "a project's settings name HOME where a hook is wrapped in a script",
		file:  "lib/sys/process/started.go",
		right: `case isScript(pid):`,
		wrong: `case false:`,
		pkg:   "./attacks", run: "TestProjectNamesHome",
	},
	{
		name:  "what a command line runs behind a command of ours may print its line",
		file:  "lib/client/hook/line.go",
		right: `l.behind = l.behind || next.behind || l.requests > 0 && next.others`,
		wrong: `l.behind = l.behind || next.behind`,
		pkg:   "./lib/client/hook", run: "TestLine",
	},
	{
		name:  "what a command line runs beside a command of ours may print its line",
		file:  "lib/client/hook/line.go",
		right: `l.behind = l.behind || inner.behind || inner.others`,
		wrong: `l.behind = l.behind || inner.behind`,
		pkg:   "./lib/client/hook", run: "TestLine",
	},
	{
		name:  "what a project's tests print before a command of ours counts",
		file:  "lib/client/hook/shows.go",
		right: `	if n == 0 || !strings.Contains(answer, kind) {`,
		wrong: `	if n = min(99*n, 99); n == 0 || !strings.Contains(answer, kind) {`,
		pkg:   "./lib/client/hook", run: "TestShows",
	},
	{
		name:  "a quote in what a tool printed begins a line",
		file:  "lib/client/hook/shows.go",
		right: `strings.TrimPrefix(v.Str, "Output: ")`,
		wrong: `strings.ReplaceAll(v.Str, "\"", "\n")`,
		pkg:   "./lib/client/hook", run: "TestShows",
	},
	{
		name:  "any client's arguments are what a variable says",
		file:  "lib/live/live.go",
		right: `	if err != nil || !slices.Contains(c.RunVars, "GT_AGENT_ARGS") {`,
		wrong: `	if err != nil || slices.Contains([]string{}, "") {`,
		pkg:   "./lib/live", run: "TestArgsThatTheClientTells",
	},
	{
		name:  "what lies beside an item is served with it",
		file:  "lib/state/request/request.go",
		right: `return Line(line), nil`,
		wrong: `return Line(data), nil`,
		pkg:   ".", run: "TestScripts/handoff_request",
	},
	{
		name:  "another user's repository above a folder is believed",
		file:  "lib/place/repository.go",
		right: `	return err == nil && owner == uid`,
		wrong: `	return err == nil || owner == uid`,
		pkg:   "./attacks", run: "TestUserPlantsRepository",
	},
	{
		name: "programs of the repository around are run",
		file: "lib/sys/process/path.go",
		right: `			all = append(all, at)
`,
		wrong: `			return []string{at}
`,
		pkg: "./attacks", run: "TestPathIntoProjectAround",
	},
	{
		name:  "a configuration includes without end",
		file:  "lib/place/git/config.go",
		right: `	if *left--; *left < 0 || depth > 3 {`,
		wrong: `	if depth > 3 {`,
		pkg:   "./lib/place/git", run: "TestSettings",
	},
	{
		name:  "where git hides nothing it is taken to hide all",
		file:  "lib/place/git/ignored.go",
		right: `		if pattern != "" && pattern[0] != '!' && !kept[path] {`,
		wrong: `		if pattern != "" && pattern[0] != '!' {`,
		pkg:   "./lib/place/git", run: "TestIgnored",
	},
	{
		name: "a town needs no trust",
		file: "lib/place/town/town.go",
		right: `			if untrusted == "" {
				untrusted = d`,
		wrong: `			if untrusted == "" {
				return Town{Root: d, State: state}
				untrusted = d`,
		pkg: "./attacks", run: "TestBrought",
	},
	{
		name:  "each part that cannot be saved says so",
		file:  "lib/command/handoffcmd/main.go",
		right: `			return call.End(err) // nothing can`,
		wrong: `			_ = call.End(nil) // nothing can`,
		pkg:   "./attacks", run: "TestReadOnlyHome",
	},
	{
		name:  "a heap of accents covers the lines around it",
		file:  "lib/text/plain/plain.go",
		right: `	return n < maxAccents || n < maxMarks && !unicode.Is(unicode.Inherited, r)`,
		wrong: `	return n < 1000`,
		pkg:   "./lib/text/plain", run: "TestPlain",
	},
	{
		name:  "no more than a few accents stand on a letter of any script",
		file:  "lib/text/plain/plain.go",
		right: `	maxMarks   = 8`,
		wrong: `	maxMarks   = 3`,
		pkg:   "./lib/text/plain", run: "TestLanguages",
	},
	{
		name:  "tags spell words behind any letter",
		file:  "lib/text/plain/plain.go",
		right: `	if prev == 0x1f3f4 {`,
		wrong: `	if prev > 0 {`,
		pkg:   "./lib/text/plain", run: "TestPlain",
	},
	{
		name:  "a flag is spelled with any tags",
		file:  "lib/text/plain/plain.go",
		right: `			if strings.HasPrefix(s, f) {`,
		wrong: `			if f = s[:min(len(s), len(f))]; f != "" {`,
		pkg:   "./lib/text/plain", run: "TestPlain",
	},
	{
		name:  "selectors behind an emoji are bytes that nobody sees",
		file:  "lib/text/plain/plain.go",
		right: `	return (r == 0xfe0e || r == 0xfe0f) && pictures(prev)`,
		wrong: `	return pictures(prev) || r == 0xfe01`,
		pkg:   "./lib/text/plain", run: "TestClasses",
	},
	{
		name:  "a selector stays behind an ideograph",
		file:  "lib/text/plain/plain.go",
		right: `	return r == 0x24c2 || r == 0x2934`,
		wrong: `	return r >= 0x3400 && r < 0xa000 || r == 0x24c2 || r == 0x2934`,
		pkg:   "./lib/text/plain", run: "TestClasses",
	},
	{
		name: "a sign of Arabic stands before anything",
		file: "lib/text/plain/plain.go",
		right: `	case r < 0x900: // Arabic
		return `,
		wrong: `	case r < 0x900: // Arabic
		return next > 0 || `,
		pkg: "./lib/text/plain", run: "TestClasses",
	},
	{
		name:  "an empty pattern of Braille is a blank that is none",
		file:  "lib/text/plain/plain.go",
		right: `		return blank`,
		wrong: `		return visible`,
		pkg:   "./lib/text/plain", run: "TestPlain",
	},
	{
		name:  "what is no character stays at a plane's end",
		file:  "lib/text/plain/plain.go",
		right: `r&0xfffe == 0xfffe`,
		wrong: `r|1 == 0xffff`,
		pkg:   "./lib/text/plain", run: "TestClasses",
	},
	{
		name:  "JSON covers the lines around it with accents",
		file:  "lib/text/term/json.go",
		right: `plain.Hidden(r) || plain.Heaps(r, marks)`,
		wrong: `plain.Hidden(r)`,
		pkg:   "./lib/text/term", run: "TestJSON",
	},
	{
		name:  "a client's tag of several words opens within a note",
		file:  "lib/text/frame/frame.go",
		right: `	return (several(name) || `,
		wrong: `	return (several(name) && len(name) > 30 || `,
		pkg:   "./lib/text/frame", run: "TestClients",
	},
	{
		name:  "a client's tag of one word opens within a note",
		file:  "lib/text/frame/frame.go",
		right: `	if words[name] {`,
		wrong: `	if words[name] && len(name) > 30 {`,
		pkg:   "./lib/text/frame", run: "TestClients",
	},
	{
		name:  "the argument of a type is taken for a client's tag",
		file:  "lib/text/frame/frame.go",
		right: `	if before == "" || len(rest) < 2 {`,
		wrong: `	if before == "" || len(rest) < 1000 {`,
		pkg:   "./lib/text/frame", run: "TestCode",
	},
	{
		name:  "a comparison is taken for a client's tag",
		file:  "lib/text/frame/frame.go",
		right: `	if len(tight) != len(rest) || `,
		wrong: `	if len(tight) < len(rest) || `,
		pkg:   "./lib/text/frame", run: "TestCode",
	},
	{
		name:  "a note speaks for the person",
		file:  "lib/text/frame/frame.go",
		right: `	if speaks(name) {`,
		wrong: `	if speaks(name) && len(name) > 1000 {`,
		pkg:   "./lib/text/frame", run: "TestInside",
	},
	{
		name:  "a note has a model's own marks of turns",
		file:  "lib/text/frame/frame.go",
		right: `			if token(text[i+size:]) {`,
		wrong: `			if token(text[i+size:]) && i < 0 {`,
		pkg:   "./lib/text/frame", run: "TestInside",
	},
	{
		name:  "a name hides a tag with what is not seen",
		file:  "lib/text/frame/frame.go",
		right: `	line = plain.Line(line)`,
		wrong: `	_ = plain.Line(line)`,
		pkg:   "./lib/text/frame", run: "TestLine",
	},
	{
		name:  "a name in a sentence of gt's opens a client's frame",
		file:  "lib/cli/env.go",
		right: `quotes.Replace(frame.Line(e.Line(s, maxQuoted)))`,
		wrong: `quotes.Replace(e.Line(s, maxQuoted) + frame.Line(""))`,
		pkg:   "./lib/cli", run: "TestTold",
	},
	{
		name:  "what looks like a quote ends a name",
		file:  "lib/cli/env.go",
		right: `"”", "'", `,
		wrong: ``,
		pkg:   "./lib/cli", run: "TestTold",
	},
	{
		name:  "what was said instructs the summariser as gt does",
		file:  "lib/command/handoffcmd/summary.go",
		right: `	told := frame.Of(fromConversation, facts)`,
		wrong: `	told := facts`,
		pkg:   ".", run: "TestScripts/^handoff_auto_hostile$",
	},
	{
		name: "what a summariser is told is cut until it fits, and never does",
		file: "lib/command/handoffcmd/summary.go",
		right: `		if n <= 0 {
			return text + end`,
		wrong: `		if n <= 0 {
			break`,
		pkg: "./lib/command/handoffcmd", run: "TestToKeep",
	},
	{
		name:  "the rest of a note has the tags that its beginning must not have",
		file:  "lib/command/mailcmd/read.go",
		right: `	b.WriteString(frame.Words(r.Body))`,
		wrong: `	b.WriteString(frame.Words("") + r.Body)`,
		pkg:   ".", run: "TestScripts/^handoff_auto_hostile$",
	},
	{
		name:  "a checkpoint that is read in full has a client's tags",
		file:  "lib/command/checkpointcmd/main.go",
		right: `frame.Words(c.Text())`,
		wrong: `c.Text()`,
		pkg:   ".", run: "TestScripts/^handoff_auto_hostile$",
	},
	{
		name:  "a dry run shows an agent a client's tags",
		file:  "lib/command/handoffcmd/launch.go",
		right: `strings.Lines(frame.Words(d.note.Body))`,
		wrong: `strings.Lines(d.note.Body)`,
		pkg:   "./attacks", run: "TestTextIsPrinted/frames",
	},
	{
		name:  "an issue's id is more than a word of the command that is named",
		file:  "lib/command/primecmd/text.go",
		right: `return term.Quote(p.env.DisplayPath(w.ID))`,
		wrong: `return p.env.Line(w.ID, 200)`,
		pkg:   "./lib/command/primecmd", run: "TestIssue",
	},
	{
		name:  "what is written with escapes is not read",
		file:  "lib/text/redact/redact.go",
		right: `together(formed(s, seams), encoded(s, values))`,
		wrong: `together(formed(s, seams), nil)`,
		pkg:   "./lib/text/redact", run: "TestClasses",
	},
	{
		name:  "JSON within JSON within JSON is not read",
		file:  "lib/text/redact/encoded.go",
		right: `const maxLevels = 3`,
		wrong: `const maxLevels = 1`,
		pkg:   "./lib/text/redact", run: "TestClasses",
	},
	{
		name:  "a bracket behind a value is a part of it",
		file:  "lib/text/redact/value.go",
		right: `			if depth--; depth < 0 {`,
		wrong: `			if depth--; false {`,
		pkg:   "./lib/text/redact", run: "TestClasses",
	},
	{
		name:  "a secret in a wrapper is code",
		file:  "lib/text/redact/value.go",
		right: `	i = opening(s, i)`,
		wrong: ``,
		pkg:   "./lib/text/redact", run: "TestClasses",
	},
	{
		name:  "code that makes a secret is taken for one",
		file:  "lib/text/redact/opening.go",
		right: `	if !wraps(`,
		wrong: `	if false && !wraps(`,
		pkg:   "./lib/text/redact", run: "TestHarmless",
	},
	{
		name:  "the name of an element stands in its tag only",
		file:  "lib/text/redact/element.go",
		right: `		if name = attribute(tag[end:]); name == "" {`,
		wrong: `		if name = ""; name == "" {`,
		pkg:   "./lib/text/redact", run: "TestClasses",
	},
	{
		name:  "any word of a table is a secret",
		file:  "lib/text/redact/spaced.go",
		right: `	case !strong(s[from:to]):`,
		wrong: `	case false:`,
		pkg:   "./lib/text/redact", run: "TestHarmless",
	},
	{
		name:  "the path of a webhook may be told",
		file:  "lib/text/redact/redact.go",
		right: `ok && webhook(name) && len(path)`,
		wrong: `ok && false && len(path)`,
		pkg:   "./lib/text/redact", run: "TestValues",
	},
	{
		name:  "an agent of one's own has no store but that of its dialect",
		file:  "lib/command/handoffcmd/target.go",
		right: `own.File(t.name, path)`,
		wrong: `own.File(t.form(), path)`,
		pkg:   ".", run: "TestScripts/handoff_of_clients",
	},
	{
		name:  "a change is made of a session that is another by now",
		file:  "lib/reconcile/perform/perform.go",
		right: `m == nil || m.Session != ch.Before`,
		wrong: `m == nil`,
		pkg:   "./lib/reconcile/perform", run: "TestStale",
	},
	{
		name:  "two that fill the last place of a pool make two",
		file:  "lib/reconcile/perform/perform.go",
		right: `if pool.occupied >= t.Pool.Max {`,
		wrong: `if pool.occupied > t.Pool.Max {`,
		pkg:   "./lib/reconcile/perform", run: "TestTogether",
	},
	{
		name:  "the agents of a tick are started one after the other",
		file:  "lib/reconcile/perform/perform.go",
		right: `cli.Several(w.AtOnce, starts,`,
		wrong: `cli.Several(1, starts,`,
		pkg:   "./lib/reconcile/perform", run: "TestStartsAtOnce",
	},
	{
		name:  "a damaged record counts as one session less",
		file:  "lib/reconcile/perform/world.go",
		right: `if damaged != nil {`,
		wrong: `if false {`,
		pkg:   "./lib/reconcile/perform", run: "TestFailClosed",
	},
	{
		name:  "a shrink takes one more than it has to, besides what leaves already",
		file:  "lib/reconcile/tick/pools.go",
		right: `stay := occupied - d.leaving[t.Name]`,
		wrong: `stay := occupied`,
		pkg:   "./lib/reconcile/tick", run: "TestRetiredOnce",
	},
	{
		name:  "the backups of a closed session keep its secrets",
		file:  "lib/state/instance/store.go",
		right: `	if in.scrubbed() {`,
		wrong: `	if false {`,
		pkg:   "./lib/reconcile/perform", run: "TestRetained",
	},
	{
		name:  "of two copies of a session the one in the list counts",
		file:  "lib/state/instance/managed.go",
		right: `in.Managed.Revision > found.Managed.Revision)`,
		wrong: `false)`,
		pkg:   "./lib/state/instance", run: "TestCopies",
	},
}

// What is changed stands once in its file.
func TestPlaces(t *testing.T) {
	for _, m := range mutants {
		source, err := os.ReadFile(filepath.Join("..", filepath.FromSlash(m.file)))
		if err != nil {
			t.Fatal(err)
		}
		if n := bytes.Count(source, []byte(m.right)); n != 1 {
			t.Errorf("%s: what is to be changed in %s is there %d times", m.name, m.file, n)
		}
	}
}

// TestMutants runs for each mistake the test that is to notice it.
func TestMutants(t *testing.T) {
	if !*wanted {
		t.Skipf("%d mistakes, put back only with -mutants: it takes minutes", len(mutants))
	}
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	for i, m := range mutants {
		if i%*sample != *turn {
			continue
		}
		t.Run(strings.ReplaceAll(m.name, " ", "-"), func(t *testing.T) {
			path := filepath.Join(root, filepath.FromSlash(m.file))
			source, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			dir := t.TempDir()
			changed := filepath.Join(dir, "changed.go")
			if err := os.WriteFile(changed, bytes.Replace(source, []byte(m.right), []byte(m.wrong), 1), 0o600); err != nil {
				t.Fatal(err)
			}
			overlay, err := json.Marshal(map[string]map[string]string{"Replace": {path: changed}})
			if err != nil {
				t.Fatal(err)
			}
			list := filepath.Join(dir, "overlay.json")
			if err := os.WriteFile(list, overlay, 0o600); err != nil {
				t.Fatal(err)
			}
			// By the environment, so that a test which builds programs builds
			// those with the mistake, too.
			env := append(os.Environ(), "GOFLAGS=-overlay="+list, testenv.Built+"=")
			cmd := exec.Command("go", append([]string{"test", "-vet=off", "-failfast", fmt.Sprint("-count=", max(m.count, 1)), "-timeout=5m", "-run", m.run}, strings.Fields(m.pkg)...)...)
			cmd.Dir, cmd.Env = root, env
			out, err := cmd.CombinedOutput()
			switch {
			case err == nil:
				t.Errorf("no test noticed that %s:\n%s", m.name, out)
			case !bytes.Contains(out, []byte("--- FAIL")), bytes.Contains(out, []byte("cannot build the programs")):
				t.Errorf("it failed for another reason, as where it does not build: %v\n%s", err, out)
			default:
				t.Logf("noticed: %s", firstFailure(out))
			}
		})
	}
}

// firstFailure is the line that names the test which failed.
func firstFailure(out []byte) string {
	found := ""
	for line := range strings.Lines(string(out)) {
		if strings.Contains(line, "--- FAIL") {
			found = strings.TrimSpace(line) // the innermost comes last
		}
	}
	return fmt.Sprint(found)
}
