package term

import (
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"time"
)

// Progress shows the progress of a long task on a terminal, in one line that disappears at
// the end. It writes nothing without a terminal, nor in the first second.
type Progress struct {
	w     io.Writer
	width int
	label string
	now   func() time.Time
	begun time.Time
	shown time.Time // zero before the first
}

const (
	patience = time.Second            // before the bar appears
	redraw   = 100 * time.Millisecond // between two updates
	barWidth = 24
)

// NewProgress shows progress on w if that is a terminal. label names the task.
func NewProgress(w io.Writer, getenv func(string) string, label string, now func() time.Time) *Progress {
	p := &Progress{label: Clean(label), now: now, begun: now()}
	if IsTerminal(w) && getenv("TERM") != "dumb" {
		p.w, p.width = w, Width(w, getenv)
	}
	return p
}

// Show updates the bar.
func (p *Progress) Show(done, total int64) {
	if p.w == nil || total <= 0 {
		return
	}
	now := p.now()
	if now.Sub(p.begun) < patience || now.Sub(p.shown) < redraw {
		return
	}
	p.shown = now
	done = min(max(done, 0), total)
	full := int(done * barWidth / total)
	line := fmt.Sprintf("%s [%s%s] %d%%", p.label, strings.Repeat("#", full), strings.Repeat(".", barWidth-full), done*100/total)
	if p.width > 0 {
		line = Cut(line, p.width-1)
	}
	io.WriteString(p.w, "\r"+line+"\x1b[K")
}

// Finish removes the line.
func (p *Progress) Finish() {
	if !p.shown.IsZero() {
		io.WriteString(p.w, "\r\x1b[K")
		p.shown = time.Time{}
	}
}

// ParseSize parses a number of bytes: 4096, 64k, 64MiB, 1GB. The units are powers of 1024.
func ParseSize(text string) (n int64, ok bool) {
	word := strings.TrimSuffix(strings.ToLower(text), "b")
	if unit, ok := strings.CutSuffix(word, "i"); ok && strings.TrimRight(unit, "kmgt") != unit { // KiB
		word = unit
	}
	number := strings.TrimRight(word, "kmgt")
	shift, known := map[string]uint{"": 0, "k": 10, "m": 20, "g": 30, "t": 40}[word[len(number):]]
	n, err := strconv.ParseInt(strings.TrimSpace(number), 10, 64)
	return n << shift, err == nil && known && n >= 0 && n <= math.MaxInt64>>shift
}

// FormatSize formats a number of bytes: 812 B, 4.1 MiB.
func FormatSize(n int64) string {
	if n < 1024 {
		return fmt.Sprintf("%d B", n)
	}
	f := float64(n)
	for _, u := range []string{"KiB", "MiB", "GiB", "TiB"} {
		f /= 1024
		if f < 1023.95 || u == "TiB" {
			return fmt.Sprintf("%.1f %s", f, u)
		}
	}
	return ""
}
