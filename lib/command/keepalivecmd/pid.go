package keepalivecmd

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"syscall"
	"time"

	"gt/lib/cli"
	"gt/lib/client/names"
	"gt/lib/live/closing"
	"gt/lib/place"
	"gt/lib/place/home"
	"gt/lib/state/pidfile"
	"gt/lib/state/session"
	"gt/lib/sys/atomicfile"
	"gt/lib/sys/process"
	"gt/lib/text/duration"
	"gt/lib/text/term"
)

type pid struct {
	Track track    `cmd:"" help:"Record the process of a session."`
	Check checkPID `cmd:"" help:"Report by the exit code whether a session's process runs."`
	List  list     `cmd:"" help:"List the tracked processes."`
	Reap  reap     `cmd:"" help:"End the tracked processes, and forget those that are gone."`
}

func pidFiles(env *cli.Env) pidfile.Dir {
	return pidfile.NewDir(home.Find(env.Getenv, env.Dir, "").Town)
}

type track struct {
	Session string `arg:"" help:"The session's name, as in tmux, such as gt-api."`
	PID     int    `arg:"" optional:"" name:"pid" help:"Its process (default: the agent that runs this)."`
}

func (t *track) Run(env *cli.Env) error {
	if err := pidfile.CheckName(t.Session); err != nil {
		return cli.Fail(cli.Usage, err)
	}
	var p process.Proc
	var err error
	switch {
	case t.PID == 0:
		p, err = process.AgentOf(os.Getpid())
		// A Visible process may be the terminal's own program and no agent. But an agent may run a
		// command in a terminal of its own: then the environment names the agent.
		if err != nil || process.Visible(p.PID) && len(names.Tellers(env.Getenv)) == 0 && env.Getenv("GT_AGENT")+env.Getenv("GT_SESSION_ID") == "" {
			return cli.Fail(cli.AnswerNo, errors.New("no agent runs this"), "name its process: gt-keepalive pid track "+t.Session+" PID")
		}
	case t.PID < 0:
		return cli.Failf(cli.Usage, "there is no process %d", t.PID)
	default:
		if p, err = process.Find(t.PID); errors.Is(err, os.ErrProcessDone) {
			return cli.Failf(cli.AnswerNo, "there is no process %d", t.PID)
		} else if err != nil {
			return err
		}
	}
	if p.PID == 1 {
		return cli.Failf(cli.AnswerNo, "process 1 belongs to the system and cannot be tracked")
	}
	dir := pidFiles(env)
	if old, err := dir.Get(t.Session); err == nil && old.State == pidfile.Alive && old.Process != p {
		env.Warn("%s was process %d, which still runs and is no longer tracked", t.Session, old.Process.PID)
	}
	return dir.Track(t.Session, p)
}

type checkPID struct {
	Session string `arg:"" help:"The session's name."`
}

func (a *checkPID) Run(env *cli.Env) error {
	f, err := readPIDFile(pidFiles(env), a.Session)
	if err != nil {
		return err
	}
	if err := env.Println(describeState(f)); err != nil {
		return err
	}
	if f.State != pidfile.Alive {
		return cli.Silent
	}
	return nil
}

func readPIDFile(dir pidfile.Dir, session string) (pidfile.File, error) {
	f, err := dir.Get(session)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return f, cli.Fail(cli.AnswerNo, fmt.Errorf("'%s' is not tracked", session), "gt-keepalive pid list shows what is tracked")
	case pidfile.CheckName(session) != nil:
		return f, cli.Fail(cli.Usage, err)
	}
	return f, err
}

// describeState says whether the tracked process runs, as far as its file shows that.
func describeState(f pidfile.File) string {
	switch f.State {
	case pidfile.Alive:
		return fmt.Sprintf("alive (process %d)", f.Process.PID)
	case pidfile.Gone:
		return fmt.Sprintf("gone (was process %d)", f.Process.PID)
	case pidfile.Foreign:
		if f.Process.IsSet() {
			return fmt.Sprintf("unknown: process %d of another PID namespace, which cannot be seen from here", f.Process.PID)
		}
		if f.Runs {
			return fmt.Sprintf("unknown: process %d began when another program recorded, which does not prove that it is the session", f.Process.PID)
		}
		return fmt.Sprintf("unknown: another program recorded process %d without proof that it is the session", f.Process.PID)
	}
	return "unknown: its file names no process"
}

type list struct {
	JSON bool `name:"json" help:"One JSON object per line."`
}

func (l *list) Run(env *cli.Env) error {
	all, err := pidFiles(env).List()
	if l.JSON {
		for _, f := range all {
			jerr := env.JSON(struct {
				Session string        `json:"session"`
				State   pidfile.State `json:"state"`
				PID     int           `json:"pid,omitempty"`
				Start   string        `json:"start,omitempty"`
				Boot    string        `json:"boot_id,omitempty"`
				NS      string        `json:"pid_ns,omitempty"`
				Runs    *bool         `json:"runs,omitempty"`
			}{f.Session, f.State, f.Process.PID, f.Process.Start, f.Process.Boot, f.Process.NS, foreignRuns(f)})
			if jerr != nil {
				return jerr
			}
		}
		return err
	}
	if len(all) == 0 {
		if err == nil {
			env.Hint("nothing is tracked here; gt-keepalive pid track SESSION tracks a process")
		}
		return err
	}
	rows := [][]string{{"STATE", "PID", "SESSION"}}
	for _, f := range all {
		number := "-"
		if f.Process.PID > 0 {
			number = strconv.Itoa(f.Process.PID)
		}
		state := string(f.State)
		switch it := foreignRuns(f); {
		case it == nil: // not known, or said by the state
		case *it:
			state += ", runs"
		default:
			state += ", gone" // another process has its number now
		}
		rows = append(rows, []string{state, number, f.Session})
	}
	return errors.Join(term.StyleFor(env.Stdout, env.Getenv).Table(env.Stdout, term.Width(env.Stdout, env.Getenv), rows, nil), err)
}

// foreignRuns reports whether the process of another program's file runs. It is nil if that is
// unknown, and for gt's own files, whose state has it.
func foreignRuns(f pidfile.File) *bool {
	if f.State != pidfile.Foreign || !f.Timed {
		return nil
	}
	return &f.Runs
}

type reap struct {
	Session []string      `arg:"" optional:"" help:"The sessions to end (default: all that are tracked)."`
	Grace   duration.Flag `help:"How long they have to exit before they are killed (default 5s)." default:"5s" placeholder:"DURATION"`
	DryRun  bool          `help:"Print what would be done, and do nothing."`
}

// killWait is how long the kernel may take to end a killed process. One that hangs in a
// device takes longer.
const killWait = 2 * time.Second

type target struct {
	pidfile.File
	endedHow string
}

// Run asks every tracked process to end, waits for all together, kills those that are left,
// and removes the files of those that are gone. It leaves alone what it is not sure of.
func (r *reap) Run(env *cli.Env) error {
	dir := pidFiles(env)
	files, failed := r.findFiles(dir)
	var targets []*target
	left := false
	above := process.Ancestors(os.Getpid())
	for _, f := range files {
		switch {
		case f.Claimed && f.State != pidfile.Foreign: // the program that wrote it has to remove it
		case f.State == pidfile.Foreign && f.Process.IsSet():
			left = true
			env.Warn("%s: process %d is of another PID namespace and cannot be seen from here: left alone", f.Session, f.Process.PID)
		case f.State == pidfile.Foreign:
			left = true
			env.Warn("%s: another program recorded process %d without proof that it is the session: left alone", f.Session, f.Process.PID)
		case f.State == pidfile.Alive && slices.Contains(above, f.Process.PID):
			left = true
			env.Warn("%s: process %d runs this command: left alone", f.Session, f.Process.PID)
		case f.State == pidfile.Alive:
			targets = append(targets, &target{f, "ended"})
		case f.State == pidfile.Corrupt:
			failed = errors.Join(failed, r.forgetFile(env, dir, f, "its file names no process"))
		default:
			failed = errors.Join(failed, r.forgetFile(env, dir, f, fmt.Sprintf("gone (was process %d)", f.Process.PID)))
		}
	}
	if r.DryRun {
		for _, t := range targets {
			fmt.Fprintf(env.Stdout, "%s: would be ended (process %d)\n", t.Session, t.Process.PID)
		}
		return failed
	}
	sessions := sessionsOf(env, targets)
	until := env.Now().Add(time.Duration(r.Grace) + killWait + endWait)
	for _, s := range sessions {
		env.WarnError(s.announce(until)) // the process is ended anyway
	}
	for _, t := range targets {
		failed = errors.Join(failed, signalTarget(t, syscall.SIGTERM))
	}
	running := waitForEnd(targets, time.Duration(r.Grace))
	for _, t := range running {
		t.endedHow = "killed"
		failed = errors.Join(failed, signalTarget(t, syscall.SIGKILL))
	}
	running = waitForEnd(running, killWait)
	for _, t := range targets {
		if slices.Contains(running, t) {
			left = true
			env.Warn("%s: process %d still runs", t.Session, t.Process.PID)
			continue
		}
		failed = errors.Join(failed, r.forgetFile(env, dir, t.File, fmt.Sprintf("%s (process %d)", t.endedHow, t.Process.PID)))
	}
	for _, s := range sessions {
		env.WarnError(s.close(env.Now()))
	}
	if failed == nil && left {
		return cli.Silent
	}
	return failed
}

// findFiles returns the files of the named sessions, or all. It reports missing and unreadable
// ones and returns the others.
func (r *reap) findFiles(dir pidfile.Dir) ([]pidfile.File, error) {
	if len(r.Session) == 0 {
		return dir.List()
	}
	var files []pidfile.File
	var failed error
	for _, session := range slices.Compact(slices.Sorted(slices.Values(r.Session))) {
		f, err := readPIDFile(dir, session)
		if err != nil {
			failed = errors.Join(failed, err)
			continue
		}
		files = append(files, f)
	}
	return files, failed
}

func (r *reap) forgetFile(env *cli.Env, dir pidfile.Dir, f pidfile.File, why string) error {
	if r.DryRun {
		why = "would be forgotten: " + why
	} else if err := dir.Remove(f); err != nil {
		return err
	}
	return env.Printf("%s: %s\n", f.Session, why)
}

// signalTarget sends sig to the process of the file and to no other. A process that is gone is not an error.
func signalTarget(t *target, sig syscall.Signal) error {
	if err := t.Process.Signal(sig); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("cannot end '%s' (process %d): %w", t.Session, t.Process.PID, err)
	}
	return nil
}

// waitForEnd waits until the processes are gone, but not longer than grace, and returns those
// that are left. One that cannot be examined counts as running.
func waitForEnd(targets []*target, grace time.Duration) []*target {
	deadline := time.Now().Add(grace)
	for {
		var running []*target
		for _, t := range targets {
			if state, err := t.Probe(); err != nil || state != pidfile.Gone {
				running = append(running, t)
			}
		}
		left := time.Until(deadline)
		if len(running) == 0 || left <= 0 {
			return running
		}
		time.Sleep(min(left, 10*time.Millisecond))
	}
}

// reapedSession is a session of a process that reap ends. It is closed as killed; otherwise it
// would count as crashed.
type reapedSession struct {
	*session.Record
	store session.Store
}

// sessionsOf returns the live sessions whose process is one of the targets or below one.
func sessionsOf(env *cli.Env, targets []*target) (found []reapedSession) {
	if len(targets) == 0 {
		return nil
	}
	state := place.StateOf(env.Getenv)
	entries, err := atomicfile.ReadDir(state.Path("sessions"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		env.WarnError(err)
	}
	for _, e := range entries {
		r, err := session.Lookup(state, session.ID(e.Name()))
		env.WarnError(err)
		if err != nil || r == nil || !r.Live() || !slices.ContainsFunc(targets, func(t *target) bool {
			return r.Process() == t.Process || r.Process().DescendsFrom(t.Process)
		}) {
			continue
		}
		at, dir, err := state.FixedHome(e.Name())
		if err != nil || at == "" {
			continue
		}
		// Its town is that of its own start environment.
		client := &cli.Env{Environ: env.Environ}
		if environ, err := r.Process().Environ(); err == nil && len(environ) > 0 {
			client.Environ = environ
		}
		found = append(found, reapedSession{r, session.Store{
			Home: home.FixedHome(place.ScopeIn(state, client.Getenv), at, dir, r.CWD, e.Name()),
			Warn: env.WarnError,
		}})
	}
	return found
}

const reason = "gt-keepalive pid reap" // the recorded reason for the end of these sessions

// announce records that the session is about to be ended, because its client reports an end
// itself and this process may be killed. A session that lives after until was spared.
func (s reapedSession) announce(until time.Time) error {
	lock, err := s.store.Home.LockWithin(endWait)
	if err != nil {
		return err
	}
	defer lock.Unlock()
	return s.store.Stop(s.ID, session.Stop{Reason: reason, Until: until})
}

// close records the session as killed, if its process is gone. Its hook may have been faster.
func (s reapedSession) close(now time.Time) error {
	if !s.Process().Gone() {
		return nil
	}
	end := closing.End{ID: s.ID, Outcome: session.Killed, Reason: reason, At: now}
	if err := end.Close(s.store, endWait); !errors.Is(err, session.ErrEnded) {
		return err
	}
	return nil
}
