package timeline

import (
	"bufio"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"fmt"
	"io"

	"gt/lib/view/palette"
)

//go:embed page.css
var css string

//go:embed page.js
var js string

// many is the number of sessions from which on threads are faint and only bad ends are
// marked, until one zooms in.
const many = 1500

// allowed returns the source expression of a Content-Security-Policy that allows only this
// inline style or script.
func allowed(text string) string {
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
`, allowed(style), allowed(js), escape(p.heading()), style, escape(p.heading()))
	there := map[string]bool{}
	for _, s := range p.bars {
		there[s.style.Letter] = true
	}
	for _, l := range palette.OutcomeStyles {
		if !there[l.Letter] {
			continue
		}
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
		if len(p.bars) > many {
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
