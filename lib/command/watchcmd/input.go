package watchcmd

import (
	"bytes"
	"cmp"
	"os"
	"strings"
	"unicode"
	"unicode/utf8"

	tea "charm.land/bubbletea/v2"
)

// A terminal without bracketed paste, such as the Linux console, sends a pasted text like
// keys, but all at once. typedInput makes a burst of it: a bracketed paste whose text begins
// with burstMark, which no terminal pastes.
const (
	pasteBegin, pasteEnd = "\x1b[200~", "\x1b[201~"
	burstMark            = "\x00"
)

// typedInput is a terminal whose bursts are told from keys.
type typedInput struct {
	*os.File
	held []byte // the beginning of a character whose end was not there yet
}

// Read returns what one read of the terminal gets, because the reader of keys waits for the
// terminal and not for this.
func (t *typedInput) Read(p []byte) (int, error) {
	room := len(p) - len(pasteBegin+burstMark+pasteEnd)
	if room <= utf8.UTFMax {
		return t.File.Read(p)
	}
	n := copy(p, t.held)
	t.held = nil
	read, err := t.File.Read(p[n:room])
	if n += read; !isBurst(p[:n]) {
		return n, err
	}
	text := p[:n]
	// Keep the beginning of a last character that is not complete yet.
	for i := 1; i < utf8.UTFMax && i < n; i++ {
		if b := text[n-i]; utf8.RuneStart(b) {
			if !utf8.FullRune(text[n-i:]) {
				t.held, text = bytes.Clone(text[n-i:]), text[:n-i]
			}
			break
		}
	}
	return copy(p, pasteBegin+burstMark+string(text)+pasteEnd), err
}

// isBurst reports whether a terminal sent a text at once. One key sends a character, the same one
// several times if it is held down, or an escape sequence, which has a control character.
func isBurst(b []byte) bool {
	first, size := utf8.DecodeRune(b)
	if size == len(b) || len(bytes.TrimRight(b, "\r\n")) == 0 || bytes.Count(b, b[:size])*size == len(b) && first != utf8.RuneError {
		return false
	}
	return !bytes.ContainsFunc(b, func(r rune) bool { return unicode.IsControl(r) && r != '\r' && r != '\n' && r != '\t' })
}

// takeBurst takes characters that came at once: as text for the box, if one is open. In the list
// each acts as its key, if that changes nothing. Once a key opens a box, the rest is text for it.
func (m *model) takeBurst(text string) tea.Cmd {
	if m.mode == typing {
		line, entered := strings.CutSuffix(text, "\r")
		cmd := m.updateInput(tea.PasteMsg{Content: line})
		if entered && !strings.ContainsAny(line, "\r\n") {
			return tea.Batch(cmd, m.submitInput())
		}
		return cmd
	}
	m.sought.acted = true
	var all []tea.Cmd
	for i, r := range text {
		b := bindingOf(cmp.Or(map[rune]string{'\t': "tab", '\r': "enter", '\n': "enter", ' ': "space"}[r], string(r)))
		if m.mode != browsing || b == nil || !b.harmless {
			m.message = message{command: "gt-watch", text: "a pasted text runs no command; s opens a box for it", failed: true}
			return tea.Batch(all...)
		}
		if all = append(all, b.do(m)); m.mode == typing {
			return tea.Batch(append(all, m.updateInput(tea.PasteMsg{Content: text[i+utf8.RuneLen(r):]}))...)
		}
	}
	return tea.Batch(all...)
}

// layouts are the letters of keyboards without Latin ones, and what the same keys type on
// an American one. Few terminals tell both.
var layouts = [][2]string{
	{"йцукенгшщзхъфывапролджэячсмитьбюіїє", "qwertyuiop[]asdfghjkl;'zxcvbnm,.s]'"}, // Russian, Ukrainian
	{"ςερτυθιοπασδφγηξκλζχψωβνμ", "wertyuiopasdfghjklzxcvbnm"},                     // Greek
	{"קראטוןםפשדגכעיחלךףזסבהנמצתץ", "ertyuiopasdfghjkl;zxcvbnm,."},                 // Hebrew
	{"ضصثقفغعهخحجدشسيبلاتنمكطئءؤرىةوزظ", "qwertyuiop[]asdfghjkl;'zxcvnm,./"},       // Arabic
	{"ㅂㅈㄷㄱㅅㅛㅕㅑㅐㅔㅁㄴㅇㄹㅎㅗㅓㅏㅣㅋㅌㅊㅍㅠㅜㅡ", "qwertyuiopasdfghjklzxcvbnm"},                   // Korean
	{"ๆไำพะัีรนยฟหกดเ้่าสวผปแอิืทมใฝ", "qwertyuiopasdfghjkl;zxcvbnm,./"},           // Thai
}

// toLatinKey returns a key as an American keyboard has it, so that a command has its key, and
// Ctrl-C works, in every layout. A key with a Latin letter stays what it is.
func toLatinKey(msg tea.KeyPressMsg) tea.KeyPressMsg {
	r := msg.Code
	if text := []rune(msg.Text); len(text) == 1 {
		r = text[0]
	}
	if r < utf8.RuneSelf || r > unicode.MaxRune || unicode.Is(unicode.Latin, r) && r < 0xff00 {
		return msg
	}
	small := unicode.ToLower(r)
	base := msg.BaseCode
	switch {
	case base > ' ' && base < utf8.RuneSelf: // the terminal tells it
	case r > 0xff00 && r < 0xff5f: // full width
		base, small = r-0xfee0, r
	default:
		base = 0
		for _, l := range layouts {
			if at := strings.IndexRune(l[0], small); at >= 0 {
				base = rune(l[1][utf8.RuneCountInString(l[0][:at])])
				break
			}
		}
	}
	if base == 0 {
		return msg
	}
	if small != r {
		base = unicode.ToUpper(base)
	}
	msg.Code = base
	if msg.Text != "" {
		msg.Text = string(base)
	}
	return msg
}
