package chain

import (
	"fmt"
	"slices"
	"strings"

	"gt/lib/state/session"
	"gt/lib/text/term"
	"gt/lib/view/palette"
)

// maxLabel limits a title or a hand-over in a graph, in columns.
const maxLabel = 40

// label returns the lines of a session's box: its mark and id, its agent, its time and its title.
func (v View) label(n *Node) []string {
	empty := func(s string) bool { return s == "" }
	join := func(parts ...string) string {
		for i := range parts {
			parts[i] = term.Clean(parts[i])
		}
		return strings.Join(slices.DeleteFunc(parts, empty), " · ")
	}
	mark := string(palette.FindStyle(n.Outcome).Mark)
	return slices.DeleteFunc([]string{
		join(mark+" "+v.shortID(n.ID), n.Agent),
		join(n.Address()),
		join(term.FormatDay(n.StartedAt, v.Now), FormatLasted(n.Session, v.Now), string(n.Outcome)),
		term.Cut(join(n.Headline()), maxLabel),
	}, empty)
}

// eachEdge calls each for every link, with what was handed over as its label.
func (c Chain) eachEdge(each func(from, to *Node, label string)) {
	c.Walk(func(n *Node) {
		for _, side := range n.Branches {
			each(n, side, term.Cut(term.Clean(side.DescribeLink(n.Session)), maxLabel))
		}
		if n.Next != nil {
			each(n, n.Next, term.Cut(term.Clean(n.Next.DescribeLink(n.Session)), maxLabel))
		}
	})
}

// DOT returns chains as a graph for Graphviz.
func DOT(chains []Chain, v View) string {
	var b strings.Builder
	b.WriteString(`digraph chains {
  graph [rankdir=TB, fontname="sans-serif"]
  node [shape=box, style="rounded,filled", fillcolor="white", penwidth=2, fontname="sans-serif", fontsize=11]
  edge [fontname="sans-serif", fontsize=10, color="#60666f", fontcolor="#60666f"]
`)
	for i, c := range chains {
		fmt.Fprintf(&b, "  subgraph cluster_%d {\n    label=%s\n    color=\"#c8ccd2\"\n", i, dotText(v.heading(c)))
		c.Walk(func(n *Node) {
			look := palette.FindStyle(n.Outcome)
			fmt.Fprintf(&b, "    %s [label=%s, color=\"%s\"]\n", dotText(string(n.ID)), dotText(v.label(n)...), look.Light)
		})
		c.eachEdge(func(from, to *Node, label string) {
			style := ""
			switch to.Link {
			case Fork:
				style = ", style=dashed"
			case Subagent:
				style = ", style=dotted"
			}
			fmt.Fprintf(&b, "    %s -> %s [label=%s%s]\n", dotText(string(from.ID)), dotText(string(to.ID)), dotText(label), style)
		})
		b.WriteString("  }\n")
	}
	b.WriteString("}\n")
	return b.String()
}

// dotText returns a quoted string of DOT. A backslash begins an escape there, and an
// ampersand an entity.
func dotText(lines ...string) string {
	escape := strings.NewReplacer(`\`, `\\`, `"`, `\"`, "&", "&amp;")
	for i, l := range lines {
		lines[i] = escape.Replace(term.Clean(l))
	}
	return `"` + strings.Join(lines, `\n`) + `"`
}

// Mermaid returns chains as a Mermaid flowchart.
func Mermaid(chains []Chain, v View) string {
	var b strings.Builder
	b.WriteString("flowchart TD\n")
	for _, l := range palette.OutcomeStyles {
		fmt.Fprintf(&b, "  classDef %s stroke:%s,stroke-width:2px\n", l.Outcome, l.Light)
	}
	names := map[session.ID]string{} // an id could be a keyword
	for i, c := range chains {
		fmt.Fprintf(&b, "  subgraph c%d[%s]\n    direction TB\n", i, mermaidText(v.heading(c)))
		c.Walk(func(n *Node) {
			names[n.ID] = fmt.Sprintf("n%d", len(names))
			fmt.Fprintf(&b, "    %s(%s):::%s\n", names[n.ID], mermaidText(v.label(n)...), palette.FindStyle(n.Outcome).Outcome)
		})
		c.eachEdge(func(from, to *Node, label string) {
			arrow := "-->"
			if to.Link != Follows {
				arrow = "-.->"
			}
			fmt.Fprintf(&b, "    %s %s|%s| %s\n", names[from.ID], arrow, mermaidText(label), names[to.ID])
		})
		b.WriteString("  end\n")
	}
	return b.String()
}

// mermaidText returns a quoted string of Mermaid. Mermaid has no escapes but entities,
// reads Markdown and HTML in strings, and looks for directives before strings. So all but
// plain characters become entities.
func mermaidText(lines ...string) string {
	var b strings.Builder
	for i, l := range lines {
		if i > 0 {
			b.WriteString("<br/>")
		}
		text := []rune(term.Clean(l))
		for i, r := range text {
			alone := i == 0 || i == len(text)-1 || text[i-1] == ' ' || text[i+1] == ' ' // would be a list in Markdown
			switch {
			case r > '~', r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', strings.ContainsRune(" ,:/()", r),
				!alone && (r == '-' || r == '.'):
				b.WriteRune(r)
			default:
				fmt.Fprintf(&b, "#%d;", r)
			}
		}
	}
	return `"` + b.String() + `"`
}
