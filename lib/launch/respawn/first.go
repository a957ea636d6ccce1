package respawn

import (
	"cmp"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"time"

	"gt/lib/client/account"
	"gt/lib/client/agent"
	"gt/lib/client/readers/files"
	"gt/lib/conversation"
	"gt/lib/launch/send"
	"gt/lib/live"
	"gt/lib/place"
	"gt/lib/place/git"
	"gt/lib/place/home"
	"gt/lib/state/activity"
	"gt/lib/state/session"
	"gt/lib/sys/process"
	"gt/lib/sys/tmux"
	"gt/lib/text/term"
)

// FirstPrompt is a first prompt that is typed like gt-session send does, because everybody can
// read arguments while the agent runs. A process beside the pane waits until the client
// takes a prompt, which may be after the person has answered its questions, so that the
// starter need not wait.
type FirstPrompt struct {
	Text    string       `json:"text"`
	Client  agent.Client `json:"client"`
	Pane    string       `json:"pane"`
	Process process.Proc `json:"process"` // the agent
	// Dir and Vars are the agent's folder and the variables that say where its home and its
	// conversations are. Another process types, with the environment of the tmux server.
	Dir  string            `json:"dir,omitempty"`
	Vars map[string]string `json:"vars,omitempty"`
	// Began is when the agent began, and Resumed the conversation that it goes on with, if any.
	Began   time.Time  `json:"began,omitzero"`
	Resumed session.ID `json:"resumed,omitempty"`
	// Unreported reports that perhaps no hook and no conversation tells the process that types: gt's
	// hooks are not in the client's settings, or a launcher may hide the agent's home.
	Unreported bool `json:"untold,omitempty"`
	// AsksTrust reports that the client will ask about the folder, by its own files.
	AsksTrust bool `json:"asks_trust,omitempty"`
}

// States of a pane whose agent has not got its first prompt.
const (
	firstNote    = "first"
	stateWaits   = "waits"
	stateAsks    = "asks" // the client asks something, or the person has typed something
	failedPrefix = "failed: "
)

// startTyper starts the process that types, for the agent that this process becomes, in that
// folder and environment. It notes in the pane that the prompt waits (see FirstPromptState).
func (f FirstPrompt) startTyper(server tmux.Server, pane, dir string, environ []string) (err error) {
	f.Pane, f.Dir, f.Vars, f.Began = pane, dir, map[string]string{}, time.Now()
	for _, kv := range environ {
		switch name, value, _ := strings.Cut(kv, "="); name {
		case "HOME", "XDG_STATE_HOME", "GT_HOME", "GT_ROOT", "GT_TOWN_ROOT", "GT_ROLE", f.Client.StoreEnv:
			f.Vars[name] = value
		}
	}
	if f.Process, err = process.Find(os.Getpid()); err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	data, err := json.Marshal(Run{FirstPrompt: &f})
	if err != nil {
		return err
	}
	if err := server.SetNote(pane, firstNote, stateWaits); err != nil {
		return err
	}
	b := tmux.NewBuffer()
	// Of TMUX, gt reads only the socket (tmux.FromEnv).
	around := "TMUX=" + term.Quote(string(server)+",0,0") + " TMUX_PANE=" + term.Quote(pane)
	return server.RunShell(b, data, around+" exec "+term.Quote(self)+" --exec "+string(b))
}

// typeInto types the text once the agent takes it, and notes the state, which the starter reads.
// It returns nil also if the agent or its pane is gone before.
func (f FirstPrompt) typeInto(server tmux.Server) error {
	quietTime := calmTime // how long the box has to be there before the text is typed
	switch {
	case f.AsksTrust:
		quietTime = DialogDue
	case len(f.Client.OpensPatterns) > 0:
		quietTime = Undisturbed
	}
	to := f.target(server)
	notedState := stateWaits
	note := func(word string) {
		if word != notedState {
			notedState = word
			_ = server.SetNote(f.Pane, firstNote, word) // only the starter waits for it
		}
	}
	var takesSince time.Time // since when it takes a prompt
	for pause := firstPoll; !f.Process.Gone(); time.Sleep(pause) {
		pause = min(pause+pause/10, slowPoll)
		screen, err := server.CaptureStyled(f.Pane)
		switch {
		case errors.Is(err, tmux.ErrDead):
			return nil
		case err != nil: // tmux is busy
			continue
		}
		plain := agent.Plain(screen)
		switch shown, _ := f.Client.Input(screen); {
		case shown == agent.Asks, shown == agent.Draft:
			note(stateAsks)
			takesSince = time.Time{}
			if shown == agent.Asks {
				quietTime = min(quietTime, Undisturbed)
			}
			continue
		case shown != agent.EmptyInput, f.Client.MayAskTrust(plain), f.Client.ScreenState(plain) == agent.Busy:
			takesSince = time.Time{}
			continue
		case takesSince.IsZero():
			takesSince, pause = time.Now(), firstPoll
			continue
		case time.Since(takesSince) < quietTime:
			pause = firstPoll
			continue
		}
		_, err = to.Send(f.Text, send.Patience)
		switch {
		case send.IsUntyped(err):
			takesSince = time.Time{}
			continue
		case err != nil:
			note(failedPrefix + err.Error())
		default:
			note("") // it has got the text
		}
		return err
	}
	return nil
}

// target returns the agent as a target of send, with the functions by which send sees in its hooks'
// reports and its conversation that the prompt has arrived. Without hooks, only the screen tells.
func (f FirstPrompt) target(server tmux.Server) send.Target {
	to := send.Target{Server: server, Pane: f.Pane, Client: f.Client}
	if f.Client.Dialect == "" || f.Vars == nil {
		return to
	}
	getenv := func(name string) string { return f.Vars[name] }
	h := home.Find(getenv, f.Dir, "")
	reader := files.FindReader(f.Client.Dialect)
	var known *session.Record // once its first hook has run
	record := func() *session.Record {
		if known == nil {
			known, _ = live.SessionIn(session.Store{Home: h}, server, f.Pane)
		}
		return known
	}
	conversations := func(since time.Time) []conversation.File {
		r := record()
		if r == nil {
			return f.changedConversations(h, reader, account.Stores(reader.Client(), getenv), since)
		}
		path := cmp.Or(r.Transcript, files.Path(f.Client.Dialect, getenv, r.CWD, string(r.ID)))
		if path == "" {
			return nil
		}
		return []conversation.File{{Client: f.Client.Dialect, Path: path, ID: r.ID}}
	}
	to.LastPrompt = func() (time.Time, string) {
		if r := record(); r != nil {
			doing := activity.Read(h, r.ID)
			return doing.Prompted, doing.Request // LastPrompt hides an opening; this may be one
		}
		return time.Time{}, ""
	}
	to.ShowsPrompt = func(since time.Time) send.Sight {
		guessed, seen := record() == nil, false // guessed: no record names the conversation
		if reader == nil || guessed && f.Unreported {
			return send.Unknown
		}
		files := conversations(since)
		if !guessed && len(files) == 0 {
			return send.Unknown
		}
		for _, file := range files {
			_, _ = reader.Read(file, conversation.Options{}, func(e conversation.Entry) bool {
				seen = seen || send.IsPrompt(e, f.Text, since, guessed)
				return !seen
			})
		}
		switch {
		case !seen:
			return send.Absent
		case guessed:
			return send.Guessed
		}
		return send.Seen
	}
	return to
}

// changedConversations returns the conversations of the agent's folder that have changed since a
// time, without those of agents in other panes, of subagents, and from before the agent began
// that nothing says it goes on with. Codex runs its first hook with its first prompt, so until
// then nothing else tells which conversation is the agent's.
func (f FirstPrompt) changedConversations(h home.Home, reader conversation.Reader, stores []string, since time.Time) (changed []conversation.File) {
	records := session.Store{Home: h}
	dir := place.Real(f.Dir)
	for _, store := range stores {
		_ = reader.Find(store, func(file conversation.File) {
			if file.Changed < since.Truncate(time.Second).UnixNano() {
				return
			}
			of, _ := reader.Metadata(file)
			if of.CWD != "" && !mayWorkIn(place.Real(of.CWD), dir) {
				return
			}
			r, _ := records.Get(of.ID) // nil if it cannot be read
			switch {
			case of.Parent != "":
			case r != nil && r.TmuxPane != f.Pane && r.Live():
			case r == nil && of.ID != f.Resumed && !of.Started.IsZero() && of.Started.Before(f.Began.Truncate(time.Second)):
			default:
				changed = append(changed, file)
			}
		})
	}
	return changed
}

// mayWorkIn reports whether an agent that started in a folder may work in another one: a client
// can make a worktree in its repository.
func mayWorkIn(folder, started string) bool {
	if folder == started {
		return true
	}
	top, project := git.Top(folder), git.Top(started)
	if top == project || !place.IsBelow(top, project) {
		return false
	}
	is, _ := git.IsWorktreeOf(top, project)
	return is
}

// How long an input box must be visible before typing. Some clients draw it before they ask
// whether the folder is trusted.
const (
	calmTime    = 300 * time.Millisecond
	Undisturbed = 3 * time.Second
	// DialogDue is for a client that will ask, and for a busy machine.
	DialogDue = 20 * time.Second
)

// The first and the longest pause between two captures.
const (
	firstPoll = 100 * time.Millisecond
	slowPoll  = time.Second
)

// FirstPromptState returns the state of an agent's first prompt: it is pending, the client
// asks something first, or typing it failed. All are zero once it was typed.
func FirstPromptState(server tmux.Server, pane string) (pending, asked bool, failure string) {
	word, err := server.NoteOf(pane, firstNote)
	if err != nil { // tmux is busy or the pane is gone, which others notice
		return true, false, ""
	}
	failure, _ = strings.CutPrefix(word, failedPrefix)
	if failure == word {
		failure = ""
	}
	return word == stateWaits, word == stateAsks, failure
}
