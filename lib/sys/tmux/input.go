package tmux

import (
	"errors"
	"fmt"
	"io"
	"strings"
)

// ErrDead is returned for input to a pane whose process has ended and that stayed.
var ErrDead = errors.New("nothing runs in its pane any more")

// ErrReadOnly is returned for input to a pane whose input is switched off.
var ErrReadOnly = errors.New("input to its pane is switched off")

// Keys presses keys in a pane, by tmux's names for them: Down, C-n. Where somebody scrolls
// in the pane, that ends first: tmux would take the keys for it.
func (s Server) Keys(pane string, keys ...string) error {
	for _, key := range keys {
		if strings.Trim(key, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-") != "" || strings.HasPrefix(key, "-") {
			return fmt.Errorf("'%s' is not the name of a key", key)
		}
	}
	return s.input(pane, nil, fmt.Sprintf("if-shell -F -t %s '#{pane_in_mode}' 'copy-mode -q -t %s' ; send-keys -t %s %s", pane, pane, pane, strings.Join(keys, " ")))
}

// Paste gives a text to what runs in a pane, bracketed where that has asked for it: an end
// of a line in it is then none that was typed.
func (s Server) Paste(pane, text string) error { return s.paste(pane, text, "-p") }

// Type gives characters to what runs in a pane as if they were typed there. Unlike Keys
// it leaves alone somebody who scrolls in the pane.
func (s Server) Type(pane, text string) error { return s.paste(pane, text, "-r") }

func (s Server) paste(pane, text, how string) error {
	b := NewBuffer()
	err := s.input(pane, strings.NewReader(text), fmt.Sprintf("paste-buffer -d %s -b %s -t %s", how, b, pane),
		"load-buffer", "-b", string(b), "-", ";")
	if err != nil {
		_ = s.Drop(b) // it may not have been loaded
	}
	return err
}

// input runs the command that gives input to a pane, behind those of before. All input goes
// through here: tmux, up to 3.3a at least, ends with all its sessions when a buffer is
// pasted into a pane whose process has ended. So tmux is asked and acts in one call, and
// does nothing else in between; to know the pane from a call before is not enough.
func (s Server) input(pane string, data io.Reader, command string, before ...string) error {
	if !isPane(pane) {
		return fmt.Errorf("'%s' is not a tmux pane", pane)
	}
	out, err := s.runWith(data, wait, append(before, "if-shell", "-F", "-t", pane, "#{||:#{pane_dead},#{pane_input_off}}",
		"display-message -p -t "+pane+" '#{?pane_dead,dead,off}'", command)...)
	switch {
	case err != nil && strings.Contains(err.Error(), "pane has exited"), out == "dead": // a newer tmux knows it in the call itself
		return ErrDead
	case out == "off":
		return ErrReadOnly
	}
	return err
}
