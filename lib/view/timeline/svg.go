package timeline

import (
	"bufio"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"encoding/xml"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"gt/lib/text/count"
	"gt/lib/text/term"
	"gt/lib/view/chain"
	"gt/lib/view/palette"
)

// Sizes in pixels.
const (
	rowHeight     = 18 // a bar with its margin
	barHeight     = 9
	lanePad       = 6 // above and below a lane's bars
	axisHeight    = 46
	namesWidth    = 190  // width of the lanes' names
	plotWidth     = 1000 // width of the axis for which marks are counted
	maxName       = 26
	chartUnits    = 1_000_000 // width of the threads' own coordinates
	maxLevels     = 5         // of marks on the axis, each for four times the zoom
	maxLevelMarks = 1500      // limit for the marks of a level
)

func escape(text string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(term.Clean(text)))
	return b.String()
}

func percent(f float64) string { return strconv.FormatFloat(100*f, 'f', 4, 64) + "%" }

// laneTops returns where each lane begins, and last the height of the picture.
func (p *Picture) laneTops() []int {
	tops := make([]int, 0, len(p.lanes)+1)
	y := 0
	for _, l := range p.lanes {
		tops = append(tops, y)
		y += l.rows*rowHeight + 2*lanePad
	}
	return append(tops, y)
}

func (b *bar) middle() int { return lanePad + b.row*rowHeight + rowHeight/2 }

// marks are the shapes at the end of a bar, around the point 0,0.
const marks = `<path id="mh" d="M-4-6.5L6.5 0L-4 6.5Z"/>` +
	`<circle id="md" r="4.5"/>` +
	`<path id="mc" d="M-6-3.5L-3.5-6L0-2.5L3.5-6L6-3.5L2.5 0L6 3.5L3.5 6L0 2.5L-3.5 6L-6 3.5L-2.5 0Z"/>` +
	`<path id="mk" d="M-4.5-5.5H4.5V5.5H-4.5Z"/>` +
	`<path id="ma" d="M-5-6H-2L4 0L-2 6H-5L1 0ZM1-6H4L10 0L4 6H1L7 0Z"/>` +
	`<circle id="mg" r="3.2"/>` +
	`<linearGradient id="fade" class="g"><stop offset="0" stop-color="currentColor" stop-opacity=".85"/><stop offset="1" stop-color="currentColor" stop-opacity=".12"/></linearGradient>` +
	`<pattern id="hatch" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)"><path class="hatch" d="M0 0V6"/></pattern>`

// chart draws the picture without its axis and names. attributes set its width, and the
// content follows.
func (p *Picture) chart(b *bufio.Writer, attributes string) {
	tops := p.laneTops()
	height := tops[len(p.lanes)]
	fmt.Fprintf(b, `<svg id="chart" %s height="%d"><defs>%s</defs>`, attributes, height, marks)
	for n := range p.lanes {
		class := "lane"
		if n%2 == 1 {
			class += " odd"
		}
		fmt.Fprintf(b, `<rect class="%s" y="%d" width="100%%" height="%d"/>`, class, tops[n], tops[n+1]-tops[n])
	}
	// Lines that stretch with the page keep their own width.
	fmt.Fprintf(b, "\n"+`<svg width="100%%" height="%d" viewBox="0 0 %d %d" preserveAspectRatio="none">`, height, chartUnits, height)
	for level, marks := range p.zoomLevels() {
		var d strings.Builder
		for _, t := range marks.below {
			fmt.Fprintf(&d, "M%d 0V%d", int(t.position*chartUnits), height)
		}
		fmt.Fprintf(b, `<path class="grid t%d" d="%s"/>`, level, d.String())
	}
	b.WriteString("</svg>\n")
	for _, g := range p.scale.pieces {
		if g.gap {
			fmt.Fprintf(b, `<rect class="gap" x="%s" width="%s" height="%d"><title>%s in which nobody was at work</title></rect>`,
				percent(g.start), percent(g.end-g.start), height, chain.FormatLength(g.to.Sub(g.from)))
		}
	}
	fmt.Fprintf(b, "\n"+`<svg id="threads" width="100%%" height="%d" viewBox="0 0 %d %d" preserveAspectRatio="none">`, height, chartUnits, height)
	p.drawThreads(b, tops)
	b.WriteString("</svg>\n")
	for n, l := range p.lanes {
		fmt.Fprintf(b, `<g class="l" transform="translate(0 %d)">`, tops[n])
		for _, i := range l.bars {
			p.drawBar(b, p.bars[i])
		}
		b.WriteString("</g>\n")
	}
	b.WriteString("</svg>\n")
}

// outcomes returns how the sessions in the picture ended.
func (p *Picture) outcomes() (found []*palette.OutcomeStyle) {
	for i := range palette.OutcomeStyles {
		l := &palette.OutcomeStyles[i]
		if slices.ContainsFunc(p.bars, func(b *bar) bool { return b.style == l }) {
			found = append(found, l)
		}
	}
	return found
}

// drawBar draws a session and the mark of its end. page.js finds the bars of a chain by data-c.
func (p *Picture) drawBar(b *bufio.Writer, s *bar) {
	from, to := p.scale.position(s.from), p.scale.position(s.to)
	y := s.middle()
	fmt.Fprintf(b, `<rect class="b %s"`, s.style.Letter)
	if s.chain > 0 {
		fmt.Fprintf(b, ` data-c="%d"`, s.chain)
	}
	fmt.Fprintf(b, ` x="%s" y="%d" width="%s" height="%d" rx="2"><title>%s</title></rect>`,
		percent(from), y-barHeight/2, percent(max(to-from, 0.00001)), barHeight, escapeLines(p.describeBar(s)))
	fmt.Fprintf(b, `<use class="m %s" href="#m%s" x="%s" y="%d"/>`+"\n", s.style.Letter, s.style.Letter, percent(to), y)
}

func escapeLines(lines []string) string {
	escaped := make([]string, len(lines))
	for i, l := range lines {
		escaped[i] = escape(l)
	}
	return strings.Join(escaped, "\n")
}

// drawThreads draws a curve from the end of a session to the start of each linked one, as one
// path for each chain and kind of link.
func (p *Picture) drawThreads(b *bufio.Writer, tops []int) {
	type key struct {
		chain int
		link  chain.Link
	}
	paths := map[key]*strings.Builder{}
	var order []key
	for _, s := range p.bars {
		if s.above < 0 {
			continue
		}
		above := p.bars[s.above]
		k := key{s.chain, s.link}
		d := paths[k]
		if d == nil {
			d = &strings.Builder{}
			paths[k] = d
			order = append(order, k)
		}
		x1, x2 := p.scale.position(above.to), p.scale.position(s.from)
		if s.link != chain.Follows { // it began while the other ran: leave that one's bar just before
			x1 = min(max(p.scale.position(above.from), x2-0.006), x1)
		}
		bend := max((x2-x1)/2, 0.0025) // 2.5 pixels in plotWidth
		y1, y2 := tops[above.lane]+above.middle(), tops[s.lane]+s.middle()
		x := func(f float64) int { return int(f * chartUnits) }
		fmt.Fprintf(d, "M%d,%dC%d,%d %d,%d %d,%d", x(x1), y1, x(x1+bend), y1, x(x2-bend), y2, x(x2), y2)
	}
	for _, k := range order {
		fmt.Fprintf(b, `<path class="thread %s" data-c="%d" d="%s"/>`, k.link, k.chain, paths[k])
	}
}

type level struct{ below, above []tick }

// zoomLevels returns the marks for each zoom level of the page, up to the first that has too many.
func (p *Picture) zoomLevels() []level {
	var all []level
	zoom := 1
	for range maxLevels {
		width := float64(plotWidth * zoom)
		var l level
		// A time needs 42 pixels, and a day above it 90.
		l.below, l.above = p.scale.ticks(16*zoom, 42/width, 90/width, p.Now.Year())
		if len(all) > 0 && len(l.below)+len(l.above) > maxLevelMarks {
			break
		}
		all = append(all, l)
		zoom *= 4
	}
	return all
}

// axis draws the marks of all levels. The style sheet shows those of one, by the classes t0 to t4.
func (p *Picture) axis(b *bufio.Writer, attributes string) {
	fmt.Fprintf(b, `<svg id="axis" %s height="%d"><rect class="head" width="100%%" height="%d"/>`, attributes, axisHeight, axisHeight)
	for n, l := range p.zoomLevels() {
		fmt.Fprintf(b, `<g class="t%d">`, n)
		for _, t := range l.above {
			fmt.Fprintf(b, `<text class="day" x="%s" dx="4" y="18">%s</text>`, percent(t.position), escape(t.text))
		}
		for _, t := range l.below {
			fmt.Fprintf(b, `<text class="tick" x="%s" dx="4" y="37">%s</text>`, percent(t.position), escape(t.text))
		}
		b.WriteString("</g>\n")
	}
	b.WriteString("</svg>\n")
}

// names draws the names of the lanes, beside the chart.
func (p *Picture) names(b *bufio.Writer, attributes string) {
	tops := p.laneTops()
	fmt.Fprintf(b, `<svg id="names" %s width="%d" height="%d">`, attributes, namesWidth, tops[len(p.lanes)])
	for n, l := range p.lanes {
		odd := ""
		if n%2 == 1 {
			odd = " odd"
		}
		height := tops[n+1] - tops[n]
		fmt.Fprintf(b, `<g class="n" transform="translate(0 %d)"><title>%s: %s</title><rect class="lane%s" width="100%%" height="%d"/>`,
			tops[n], escape(l.name), count.Plural(len(l.bars), "session"), odd, height)
		fmt.Fprintf(b, `<text class="name" x="10" y="%d">%s</text>`, lanePad+rowHeight/2+4, escape(p.label(l)))
		if l.rows > 1 {
			fmt.Fprintf(b, `<text class="count" x="10" y="%d">%s</text>`, lanePad+rowHeight+rowHeight/2+3, count.Plural(len(l.bars), "session"))
		}
		b.WriteString("</g>\n")
	}
	b.WriteString("</svg>\n")
}

func (p *Picture) label(l lane) string {
	if p.By == Session {
		return term.Cut(l.name+" "+term.Clean(p.bars[l.bars[0]].about), maxName)
	}
	return term.CutFront(l.name, maxName)
}

// heading sums the picture up in a line: its sessions, agents, chains and crashes, days and zone.
func (p *Picture) heading() string {
	if len(p.bars) == 0 {
		return "no sessions"
	}
	zone := p.Now.Location()
	first, last := p.first.In(zone), p.last.In(zone)
	days := last.Format("2 Jan 2006")
	switch {
	case first.Year() != last.Year():
		days = first.Format("2 Jan 2006") + " to " + days
	case first.YearDay() != last.YearDay():
		days = first.Format("2 Jan") + " to " + days
	}
	name, _ := last.Zone()
	agents := map[string]int{}
	var crashes int
	for _, b := range p.bars {
		if agent := b.facts.Value().agent; agent != "" {
			agents[agent]++
		}
		if b.style.Letter == "c" { // a crash
			crashes++
		}
	}
	parts := []string{count.Plural(len(p.bars), "session")}
	if len(agents) > 1 {
		parts = append(parts, fmt.Sprintf("%d agents", len(agents)))
	}
	if p.chains > 0 {
		parts = append(parts, count.Plural(p.chains, "chain"))
	}
	if crashes > 0 {
		parts = append(parts, fmt.Sprintf("%d crashed", crashes))
	}
	return strings.Join(append(parts, days, "times in "+name), " · ")
}

// colors returns the CSS for light and dark pages.
func colors() string {
	var b strings.Builder
	b.WriteString(`.lane{fill:#fff}.odd{fill:#f6f7f9}.head{fill:#fff}.grid{stroke:#e3e6ea;fill:none;vector-effect:non-scaling-stroke}` +
		`.hatch{stroke:#cfd4da;stroke-width:2}.gap{fill:url(#hatch);opacity:.75}` +
		`.thread{fill:none;stroke:#5b6470;stroke-width:1.4;stroke-opacity:.6;vector-effect:non-scaling-stroke}.fork{stroke-dasharray:6 4}.subagent{stroke-dasharray:1.5 3}` +
		`text{font:12px system-ui,-apple-system,"Segoe UI",sans-serif;fill:#23272e}.tick,.count{fill:#666e79;font-size:11px}.day{font-weight:600}` +
		`.b{fill:currentColor;stroke:currentColor;stroke-width:2}.b.g{fill:url(#fade);stroke-width:1;stroke-dasharray:3 2}` +
		`.m{fill:currentColor;stroke:#fff;stroke-width:1.4;paint-order:stroke}.m.g{fill:#fff;stroke:currentColor}`)
	for _, l := range palette.OutcomeStyles {
		fmt.Fprintf(&b, ".%s{color:%s}", l.Letter, l.Light)
	}
	b.WriteString(`@media(prefers-color-scheme:dark){.lane{fill:#14171b}.odd{fill:#1a1e23}.head{fill:#14171b}.grid{stroke:#2a2f36}.hatch{stroke:#343a42}` +
		`.thread{stroke:#aab3bf}text{fill:#e4e7eb}.tick,.count{fill:#98a1ac}.m{stroke:#14171b}.m.g{fill:#14171b;stroke:currentColor}`)
	for _, l := range palette.OutcomeStyles {
		fmt.Fprintf(&b, ".%s{color:%s}", l.Letter, l.Dark)
	}
	b.WriteString("}")
	return b.String()
}

// SVG writes the picture as a standalone image.
func (p *Picture) SVG(w io.Writer) error {
	const margin, head, foot = 16, 34, 40
	tops := p.laneTops()
	width, height := namesWidth+plotWidth+2*margin, head+axisHeight+tops[len(p.lanes)]+foot
	b := bufio.NewWriter(w)
	fmt.Fprintf(b, `<?xml version="1.0" encoding="UTF-8"?>
<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d">
<title>Sessions</title>
<style>%s.t1,.t2,.t3,.t4{display:none}</style>
<rect class="head" width="100%%" height="100%%"/>
<text class="day" x="%d" y="24">%s</text>
`, width, height, width, height, strings.NewReplacer("<", "&lt;", "&", "&amp;").Replace(colors()), margin+10, escape(p.heading()))
	p.axis(b, fmt.Sprintf(`x="%d" y="%d" width="%d"`, margin+namesWidth, head, plotWidth))
	p.names(b, fmt.Sprintf(`x="%d" y="%d"`, margin, head+axisHeight))
	p.chart(b, fmt.Sprintf(`x="%d" y="%d" width="%d"`, margin+namesWidth, head+axisHeight, plotWidth))
	x := margin + namesWidth + 8
	for _, l := range palette.OutcomeStyles {
		y := height - foot/2
		fmt.Fprintf(b, `<rect class="b %s" x="%d" y="%d" width="16" height="%d" rx="2"/><use class="m %s" href="#m%s" x="%d" y="%d"/><text x="%d" y="%d">%s</text>`+"\n",
			l.Letter, x, y-barHeight/2, barHeight, l.Letter, l.Letter, x+16, y, x+32, y+4, escape(string(l.Outcome)))
		x += 110
	}
	b.WriteString("</svg>\n")
	return b.Flush()
}

//go:embed page.css
var css string

//go:embed page.js
var js string

// faintFrom is the number of sessions from which on threads are faint and only bad ends are
// marked, until one zooms in.
const faintFrom = 1500

// hashSource returns the source expression of a Content-Security-Policy that allows only this
// inline style or script.
func hashSource(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

// HTML writes the picture as a page. The page loads nothing, and its policy forbids it to.
// It shows everything without its script, which adds search, zoom and keys.
func (p *Picture) HTML(w io.Writer) error {
	style := colors() + "\n" + css
	b := bufio.NewWriter(w)
	fmt.Fprintf(b, `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src %s; script-src %s; base-uri 'none'; form-action 'none'">
<meta name="referrer" content="no-referrer">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Sessions: %s</title>
<style>%s</style>
</head>
<body>
<header>
<h1>Sessions</h1><p>%s</p>
<div class="tools">
<input id="q" class="js" type="search" placeholder="Search  /" aria-label="Search" autocomplete="off" spellcheck="false"><span id="found" class="js" role="status"></span>
`, hashSource(style), hashSource(js), escape(p.heading()), style, escape(p.heading()))
	for _, l := range p.outcomes() {
		key := fmt.Sprintf(`<svg aria-hidden="true"><rect class="b %s" x="1" y="4" width="16" height="%d" rx="2"/><use class="m %s" href="#m%s" x="17" y="8"/></svg>%s`,
			l.Letter, barHeight, l.Letter, l.Letter, escape(string(l.Outcome)))
		fmt.Fprintf(b, `<span class="key nojs" title="%s">%s</span><button class="key js" data-q="%s" aria-pressed="false" title="%s">%s</button>`+"\n",
			l.Means, key, l.Outcome, l.Means, key)
	}
	b.WriteString(`<span class="zoom js"><button id="out" title="Zoom out: -" aria-label="Zoom out">−</button><button id="fit" title="All: 0">All</button><button id="in" title="Zoom in: +" aria-label="Zoom in">+</button></span>
</div>
</header>
`)
	if len(p.bars) == 0 {
		b.WriteString("<p class=\"empty\">No session fits.</p>\n")
	} else {
		class := "z0"
		if len(p.bars) > faintFrom {
			class += " many"
		}
		fmt.Fprintf(b, `<main id="view" tabindex="0" aria-label="Timeline"><div id="sheet" class="%s">`+"\n"+`<div id="corner"></div>`+"\n", class)
		p.axis(b, `width="100%"`)
		p.names(b, "")
		p.chart(b, `width="100%"`)
		b.WriteString("</div></main>\n")
		b.WriteString(`<aside id="about" class="js" aria-live="polite"><div><span><kbd>/</kbd> search · <kbd>j</kbd> <kbd>k</kbd> next, previous · <kbd>n</kbd> <kbd>p</kbd> along a chain · <kbd>+</kbd> <kbd>-</kbd> <kbd>0</kbd> zoom, also ctrl and wheel · <kbd>c</kbd> copies the command</span></div></aside>` + "\n")
	}
	fmt.Fprintf(b, "<script>%s</script>\n</body>\n</html>\n", js)
	return b.Flush()
}
