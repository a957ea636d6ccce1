package main

import (
	"fmt"
	"html"
	"strconv"
	"strings"

	"github.com/rivo/uniseg"
)

// A Frame is one screen of a picture.
type Frame struct {
	Caption string
	Screen  string // as tmux captures it, with its colours
}

// The measures of a picture, in pixels.
const (
	cellWidth  = 8.4
	cellHeight = 18
	margin     = 16
	bar        = 30 // the height of a caption
)

// The colours of a dark terminal.
const (
	ground = "#16181d"
	raised = "#22252d"
	front  = "#d7dae0"
)

// colours are the sixteen of a terminal.
var colours = [16]string{
	"#2b2f38", "#e06c75", "#98c379", "#e5c07b", "#61afef", "#c678dd", "#56b6c2", "#abb2bf",
	"#7f8794", "#f08a92", "#b3d99a", "#f0d197", "#82c3f5", "#d79be8", "#7fcbd5", "#ffffff",
}

// SVG draws frames below one another, each as wide as columns characters.
func SVG(columns int, frames []Frame) string {
	width := int(cellWidth*float64(columns)) + 2*margin
	var b strings.Builder
	y := 0
	for i, f := range frames {
		if i > 0 {
			y += margin
		}
		lines := strings.Split(strings.TrimRight(f.Screen, "\n "), "\n")
		height := bar + len(lines)*cellHeight + 2*margin
		fmt.Fprintf(&b, "<rect y=\"%d\" width=\"%d\" height=\"%d\" rx=\"8\" fill=\"%s\"/>\n", y, width, height, ground)
		fmt.Fprintf(&b, "<path d=\"M0 %d v-%d a8 8 0 0 1 8 -8 h%d a8 8 0 0 1 8 8 v%d z\" fill=\"%s\"/>\n", y+bar, bar-8, width-16, bar-8, raised)
		fmt.Fprintf(&b, "<text x=\"%d\" y=\"%d\" fill=\"%s\" font-weight=\"bold\">%s</text>\n", margin, y+20, front, html.EscapeString(f.Caption))
		for n, line := range lines {
			drawLine(&b, line, y+bar+margin+n*cellHeight)
		}
		y += height
	}
	return fmt.Sprintf("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" viewBox=\"0 0 %d %d\" "+
		"font-family=\"ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace\" font-size=\"14\">\n%s</svg>\n",
		width, y, width, y, b.String())
}

// drawLine draws a line of a screen whose top is at y.
func drawLine(b *strings.Builder, line string, y int) {
	var look style
	at := 0
	for line != "" {
		if rest, ok := strings.CutPrefix(line, "\x1b["); ok {
			codes, after, _ := strings.Cut(rest, "m")
			look.take(codes)
			line = after
			continue
		}
		run, rest := line, ""
		if i := strings.IndexByte(line, '\x1b'); i >= 0 {
			if run, rest = line[:i], line[i:]; i == 0 { // of another kind, which tmux does not print
				run, rest = "", line[1:]
			}
		}
		line = rest
		wide := uniseg.StringWidth(run)
		look.draw(b, run, at, wide, y)
		at += wide
	}
}

// style is how the characters that follow are shown.
type style struct {
	front, back                              string
	bold, dim, italic, underlined, backwards bool
}

// draw draws a run of characters of one look.
func (l style) draw(b *strings.Builder, run string, column, wide, y int) {
	fill, back := l.front, l.back
	if fill == "" {
		fill = front
	}
	if l.backwards {
		if back == "" {
			back = ground
		}
		fill, back = back, fill
	}
	x := margin + cellWidth*float64(column)
	if back != "" {
		fmt.Fprintf(b, "<rect x=\"%.1f\" y=\"%d\" width=\"%.1f\" height=\"%d\" fill=\"%s\"/>\n", x, y, cellWidth*float64(wide), cellHeight, back)
	}
	if strings.TrimSpace(run) == "" {
		return
	}
	more := ""
	for _, a := range []struct {
		on   bool
		text string
	}{{l.bold, ` font-weight="bold"`}, {l.dim, ` opacity="0.6"`}, {l.italic, ` font-style="italic"`}, {l.underlined, ` text-decoration="underline"`}} {
		if a.on {
			more += a.text
		}
	}
	fmt.Fprintf(b, "<text x=\"%.1f\" y=\"%d\" textLength=\"%.1f\" lengthAdjust=\"spacingAndGlyphs\" xml:space=\"preserve\" fill=\"%s\"%s>%s</text>\n",
		x, y+14, cellWidth*float64(wide), fill, more, html.EscapeString(run))
}

// take takes in the numbers of a sequence that changes the look.
func (l *style) take(codes string) {
	fields := strings.FieldsFunc(codes, func(r rune) bool { return r == ';' || r == ':' })
	if len(fields) == 0 {
		fields = []string{"0"}
	}
	var n []int
	for _, f := range fields {
		v, _ := strconv.Atoi(f)
		n = append(n, v)
	}
	for i := 0; i < len(n); i++ {
		switch c := n[i]; {
		case c == 0:
			*l = style{}
		case c == 1:
			l.bold = true
		case c == 2:
			l.dim = true
		case c == 3:
			l.italic = true
		case c == 4:
			l.underlined = true
		case c == 7:
			l.backwards = true
		case c == 22:
			l.bold, l.dim = false, false
		case c == 23:
			l.italic = false
		case c == 24:
			l.underlined = false
		case c == 27:
			l.backwards = false
		case c >= 30 && c <= 37:
			l.front = colours[c-30]
		case c >= 90 && c <= 97:
			l.front = colours[c-82]
		case c >= 40 && c <= 47:
			l.back = colours[c-40]
		case c >= 100 && c <= 107:
			l.back = colours[c-92]
		case c == 39:
			l.front = ""
		case c == 49:
			l.back = ""
		case (c == 38 || c == 48) && i+2 < len(n) && n[i+1] == 5:
			l.set(c == 38, of256(n[i+2]))
			i += 2
		case (c == 38 || c == 48) && i+4 < len(n) && n[i+1] == 2:
			l.set(c == 38, fmt.Sprintf("#%02x%02x%02x", n[i+2]&255, n[i+3]&255, n[i+4]&255))
			i += 4
		}
	}
}

func (l *style) set(isFront bool, colour string) {
	if isFront {
		l.front = colour
	} else {
		l.back = colour
	}
}

// of256 is a colour of the 256 that a terminal has.
func of256(n int) string {
	switch {
	case n < 16:
		return colours[max(n, 0)]
	case n < 232:
		level := func(v int) int {
			if v == 0 {
				return 0
			}
			return 55 + 40*v
		}
		n -= 16
		return fmt.Sprintf("#%02x%02x%02x", level(n/36), level(n/6%6), level(n%6))
	}
	grey := 8 + 10*(min(n, 255)-232)
	return fmt.Sprintf("#%02x%02x%02x", grey, grey, grey)
}
