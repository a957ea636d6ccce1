package respawn

import (
	"encoding/json"
	"os"
	"strings"
	"time"

	"gt/lib/client/agent"
	"gt/lib/launch/send"
	"gt/lib/sys/process"
	"gt/lib/sys/tmux"
	"gt/lib/text/term"
)

// First is a first prompt that is typed like gt-session send does, because everybody can
// read arguments while the agent runs. A process beside the pane waits until the client
// takes a prompt, which may be after the person has answered its questions, so that the
// starter need not wait.
type First struct {
	Text    string       `json:"text"`
	Client  agent.Client `json:"client"`
	Pane    string       `json:"pane"`
	Process process.Proc `json:"process"` // the agent
	// AsksTrust reports that the client will ask about the folder, by its own files.
	AsksTrust bool `json:"asks_trust,omitempty"`
}

// States of a pane whose agent has not got its first prompt.
const (
	firstNote = "first"
	waits     = "waits"
	asks      = "asks" // the client asks something, or the person has typed something
	failed    = "failed: "
)

// beside starts the process that types, for the agent that this process becomes.
func (f First) beside(server tmux.Server, pane string) (err error) {
	f.Pane = pane
	if f.Process, err = process.Find(os.Getpid()); err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	data, err := json.Marshal(Run{First: &f})
	if err != nil {
		return err
	}
	if err := server.Note(pane, firstNote, waits); err != nil {
		return err
	}
	b := tmux.NewBuffer()
	around := "TMUX=" + term.Quote(string(server)+",0,0") + " TMUX_PANE=" + term.Quote(pane)
	return server.Beside(b, data, around+" exec "+term.Quote(self)+" --exec "+string(b))
}

// typeInto types the text once the agent takes it, and notes the state.
func (f First) typeInto(server tmux.Server) error {
	rest := calm
	switch {
	case f.AsksTrust:
		rest = DialogDue
	case len(f.Client.OpensPatterns) > 0:
		rest = Undisturbed
	}
	to := send.Target{Server: server, Pane: f.Pane, Client: f.Client}
	said := waits
	note := func(word string) {
		if word != said {
			said = word
			_ = server.Note(f.Pane, firstNote, word) // only the starter waits for it
		}
	}
	var since time.Time // since when it takes a prompt
	for pause := firstPoll; f.Process.Alive(); time.Sleep(pause) {
		pause = min(pause+pause/10, slowPoll)
		screen, err := server.CaptureStyled(f.Pane)
		if err != nil { // the pane is gone, or tmux is busy
			continue
		}
		plain := agent.Plain(screen)
		switch shown, _ := f.Client.Input(screen); {
		case shown == agent.Asks, shown == agent.Draft:
			note(asks)
			since = time.Time{}
			if shown == agent.Asks {
				rest = min(rest, Undisturbed)
			}
			continue
		case shown != agent.EmptyInput, f.Client.Opens(plain), f.Client.ScreenState(plain) == agent.Busy:
			since = time.Time{}
			continue
		case since.IsZero():
			since, pause = time.Now(), firstPoll
			continue
		case time.Since(since) < rest:
			pause = firstPoll
			continue
		}
		_, err = to.Send(f.Text, send.Patience)
		switch {
		case send.Untyped(err):
			since = time.Time{}
			continue
		case err != nil:
			note(failed + err.Error())
		default:
			note("")
		}
		return err
	}
	return nil
}

// How long an input box must be visible before typing. Some clients draw it before they ask
// whether the folder is trusted.
const (
	calm        = 300 * time.Millisecond
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
// asks something first, or typing it failed.
func FirstPromptState(server tmux.Server, pane string) (pending, asked bool, failure string) {
	word, err := server.Noted(pane, firstNote)
	if err != nil { // tmux is busy or the pane is gone, which others notice
		return true, false, ""
	}
	failure, _ = strings.CutPrefix(word, failed)
	if failure == word {
		failure = ""
	}
	return word == waits, word == asks, failure
}
