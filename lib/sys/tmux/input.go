package tmux

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"time"
)

// ErrDead is returned for a pane that is gone, and for input to one whose process has ended.
var ErrDead = errors.New("nothing runs in its pane any more")

var ErrReadOnly = errors.New("input to its pane is switched off")

// PressKeys presses keys in a pane, by tmux's names: Down, C-n. It ends copy mode first, which
// would take the keys. If the person has synchronized the panes of its window, tmux would press
// them in each, so PressKeys switches that off meanwhile. Pasted text goes into one pane only.
func (s Server) PressKeys(pane string, keys ...string) error {
	for _, key := range keys {
		if strings.Trim(key, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-") != "" || strings.HasPrefix(key, "-") {
			return fmt.Errorf("'%s' is not the name of a key", key)
		}
	}
	const press = "send-keys -t PANE KEYS"
	// Without a setting of its own the pane follows its window again, if the window has one.
	const alone = "set-option -p -t PANE synchronize-panes off ; " + press + " ; set-option -p -u -t PANE synchronize-panes" +
		` ; if-shell -F -t PANE "#{?pane_synchronized,0,1}" "set-option -p -t PANE synchronize-panes on"`
	const all = "if-shell -F -t PANE '#{pane_in_mode}' 'copy-mode -q -t PANE' ; if-shell -F -t PANE '#{pane_synchronized}' '" + alone + "' '" + press + "'"
	return s.giveInput(pane, nil, strings.ReplaceAll(strings.ReplaceAll(all, "KEYS", strings.Join(keys, " ")), "PANE", pane))
}

// Paste pastes a text into a pane, bracketed if the program has asked for that, so that a
// line end does not count as Enter. Line feeds stay, which Cline does not make of the
// returns that tmux would paste.
func (s Server) Paste(pane, text string) error { return s.paste(pane, text, "-p -r") }

// TypeText types characters into a pane. Unlike PressKeys it does not end copy mode.
func (s Server) TypeText(pane, text string) error { return s.paste(pane, text, "-r") }

// paste pastes a text through a buffer. how are flags of paste-buffer.
func (s Server) paste(pane, text, how string) error {
	b := NewBuffer()
	err := s.giveInput(pane, strings.NewReader(text), fmt.Sprintf("paste-buffer -d %s -b %s -t %s", how, b, pane),
		"load-buffer", "-b", string(b), "-", ";")
	if err != nil {
		_ = s.DropBuffer(b) // it may not have been loaded
	}
	return err
}

// giveInput runs a command that gives input to a pane, after the commands in before. All input
// goes through here, because tmux (at least up to 3.3a) crashes with all its sessions when
// a buffer is pasted into a pane whose process has ended. So one call checks the pane and
// acts; a check in an earlier call is not enough.
func (s Server) giveInput(pane string, data io.Reader, command string, before ...string) error {
	if !isPane(pane) {
		return fmt.Errorf("'%s' is not a tmux pane", pane)
	}
	out, err := s.runWith(data, inputWait, append(before, "if-shell", "-F", "-t", pane, "#{||:#{pane_dead},#{pane_input_off}}",
		"display-message -p -t "+pane+" '#{?pane_dead,dead,off}'", command)...)
	switch {
	case err != nil && strings.Contains(err.Error(), "pane has exited"), out == "dead": // newer versions report it themselves
		return ErrDead
	case out == "off":
		return ErrReadOnly
	}
	return deadIfGone(err)
}

// inputWait bounds the wait for a busy server. Nobody knows whether input that is cut off arrives.
const inputWait = time.Minute

// deadIfGone returns ErrDead for tmux's error that a pane is gone, with or without its server.
func deadIfGone(err error) error {
	if err != nil && (strings.Contains(err.Error(), "can't find pane") || errors.Is(err, ErrNoServer) && !errors.Is(err, ErrNoTmux)) {
		return ErrDead
	}
	return err
}
