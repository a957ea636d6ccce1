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

// First is what an agent is told first. It is typed, as gt-session send does: an argument
// is everybody's to read, for as long as the agent runs. A process beside the pane waits
// until the client takes a prompt, which may be after the person has answered what it asks;
// so whoever starts the agent need not.
type First struct {
	Text    string       `json:"text"`
	Client  agent.Client `json:"client"`
	Pane    string       `json:"pane"`
	Process process.Proc `json:"process"` // the agent
}

// What is noted of a pane whose agent has not been told yet what it is told first.
const (
	firstNote = "first"
	waits     = "waits"
	asks      = "asks" // its client does, or the person has typed something
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

// typeInto types the text once the agent takes it, and notes how that goes.
func (f First) typeInto(server tmux.Server) error {
	rest := calm
	if len(f.Client.OpensPatterns) > 0 {
		rest = opening
	}
	to := send.Target{Server: server, Pane: f.Pane, Client: f.Client}
	said := waits
	note := func(word string) {
		if word != said {
			said = word
			_ = server.Note(f.Pane, firstNote, word) // only who starts it waits for that
		}
	}
	var since time.Time // when it began to take a prompt
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

// How long an input box is looked at until something is typed into it: some clients draw it
// before they ask whether the folder is trusted.
const (
	calm    = 300 * time.Millisecond
	opening = 3 * time.Second
)

// The pauses between two looks at a screen, from the first to the longest.
const (
	firstPoll = 100 * time.Millisecond
	slowPoll  = time.Second
)

// FirstPromptState returns how far an agent is with what it is told first: whether it waits, whether
// its client asks something before that, and why it could not be told.
func FirstPromptState(server tmux.Server, pane string) (pending, asked bool, failure string) {
	word, err := server.Noted(pane, firstNote)
	if err != nil { // tmux is busy, or the pane is gone, which others find out
		return true, false, ""
	}
	failure, _ = strings.CutPrefix(word, failed)
	if failure == word {
		failure = ""
	}
	return word == waits, word == asks, failure
}
