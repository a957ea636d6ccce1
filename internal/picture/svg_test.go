package main

import (
	"encoding/xml"
	"strings"
	"testing"
)

// A screen becomes well-formed XML that has its words, colours and places, and is the same
// each time; what the screen says is text and no markup.
func TestSVG(t *testing.T) {
	frames := []Frame{{"a <caption>", "\x1b[1mNAME\x1b[0m  \x1b[38;5;174mred\x1b[39m & \x1b[48;2;1;2;3mdark\x1b[0m\n\n ✻ <b>\x1b[32mgreen\x1b[0m\n\n"}}
	text := SVG(20, frames)
	if text != SVG(20, frames) {
		t.Error("it differs from time to time")
	}
	d := xml.NewDecoder(strings.NewReader(text))
	var said strings.Builder
	for {
		tok, err := d.Token()
		if tok == nil {
			if err.Error() != "EOF" {
				t.Fatal(err)
			}
			break
		}
		if c, ok := tok.(xml.CharData); ok {
			said.Write(c)
		}
	}
	for _, want := range []string{"a <caption>", "NAME", "red", "dark", "✻ <b>", "green"} {
		if !strings.Contains(said.String(), want) {
			t.Errorf("%q is not in %q", want, said.String())
		}
	}
	for _, want := range []string{
		`x="16.0" y="60" textLength="33.6" lengthAdjust="spacingAndGlyphs" xml:space="preserve" fill="#d7dae0" font-weight="bold">NAME<`,
		`fill="#d78787">red<`, `fill="#010203"/>`, `x="66.4" y="96"`, `fill="#98c379">green<`, `height="116"`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
}

// The times of a list are those of the picture, and its columns stay straight.
func TestSameTimes(t *testing.T) {
	got := sameTimes("NAME  STATUS                FOR  AGENT   FOLDER\napi   running               1s   claude  ~\nweb   waiting (permission)  12s  codex   ~\nbench  stopped                   gemini  ~\n  web  waiting (permission) for 1s")
	want := "NAME  STATUS                FOR    AGENT   FOLDER\napi   running               4m12s  claude  ~\nweb   waiting (permission)  38s    codex   ~\nbench  stopped                     gemini  ~\n  web  waiting (permission) for 38s"
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
