package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"gt/internal/programs"
	"gt/lib/cli"
)

// page writes a program's page in the macros of man(7), from the grammar that it parses
// its command line by and the texts of its help.
func page(p cli.Program) (string, error) {
	app, err := p.Model()
	if err != nil {
		return "", err
	}
	w := &roff{}
	summary := strings.TrimSpace(p.Summary)
	w.macro("TH", strings.ToUpper(p.Name), "1", "", "gt "+cli.Number, "gt")
	w.WriteString(".ad l\n.nh\n") // no blanks and no hyphens that one would copy
	w.macro("SH", "NAME")
	w.text(p.Name + " \\- " + escape(inShort(summary)))
	w.macro("SH", "SYNOPSIS")
	synopsis(w, app.Node, p.Name)
	w.macro("SH", "DESCRIPTION")
	w.prose(summary)
	if flags := visible(app.Flags); len(flags) > 0 {
		w.macro("SH", "OPTIONS")
		options(w, flags)
	}
	if len(app.Positional) > 0 {
		w.macro("SH", "ARGUMENTS")
		arguments(w, app.Positional)
	}
	for _, group := range groups(app.Children) {
		w.macro("SH", strings.ToUpper(group.title))
		for _, child := range group.nodes {
			commands(w, child, "")
		}
	}
	w.macro("SH", "EXIT STATUS")
	for _, c := range p.ExitStatus() {
		w.tagged("\\fB"+escape(c[0])+"\\fR", c[1])
	}
	w.macro("SH", "SEE ALSO")
	var others []string
	for _, other := range programs.List() {
		if other.Name != p.Name {
			others = append(others, "\\fB"+escape(other.Name)+"\\fR(1)")
		}
	}
	w.text(strings.Join(others, ", "))
	return w.String(), nil
}

// inShort is the first sentence of a summary, as the line NAME has it.
func inShort(summary string) string {
	first, _, _ := strings.Cut(summary, "\n\n")
	first = strings.Join(strings.Fields(first), " ")
	for _, end := range []string{". ", ": ", ", for ", "; "} {
		first, _, _ = strings.Cut(first, end)
	}
	first = strings.TrimRight(first, ".:")
	return strings.ToLower(first[:1]) + first[1:]
}

// synopsis writes a line for the program, or for each of its commands.
func synopsis(w *roff, app *kong.Node, name string) {
	if len(app.Children) == 0 {
		w.text("\\fB" + escape(name) + "\\fR [\\fIflags\\fR]" + positional(app.Positional))
		return
	}
	first := true
	for _, child := range app.Children {
		if child.Hidden {
			continue
		}
		if !first {
			w.macro("br")
		}
		first = false
		line := "\\fB" + escape(name+" "+child.Name) + "\\fR"
		if len(child.Children) > 0 {
			line += " \\fIcommand\\fR"
		}
		w.text(line + " [\\fIflags\\fR]" + positional(child.Positional))
	}
}

// positional are the arguments of a command, in the form of a synopsis.
func positional(all []*kong.Positional) string {
	var b strings.Builder
	for _, p := range all {
		b.WriteString(" " + escape(strings.NewReplacer("<", "", ">", "").Replace(p.Summary())))
	}
	return b.String()
}

// group are the commands below one heading.
type group struct {
	title string
	nodes []*kong.Node
}

// groups sorts commands by their headings, in the order of the help.
func groups(nodes []*kong.Node) []group {
	all := []group{{title: "commands"}}
	for _, n := range nodes {
		if n.Hidden {
			continue
		}
		title := "commands"
		if n.Group != nil && n.Group.Title != "" {
			title = strings.TrimRight(n.Group.Title, ":")
		}
		if last := &all[len(all)-1]; last.title == title {
			last.nodes = append(last.nodes, n)
			continue
		}
		all = append(all, group{title, []*kong.Node{n}})
	}
	if len(all[0].nodes) == 0 {
		all = all[1:]
	}
	return all
}

// commands writes what a command, and what is below it, does, with its arguments and
// flags.
func commands(w *roff, n *kong.Node, above string) {
	name := strings.TrimSpace(above + " " + n.Name)
	w.macro("SS", name+plainPositional(n.Positional))
	w.text(escape(n.Help))
	if n.Detail != "" {
		w.macro("PP")
		w.prose(n.Detail)
	}
	arguments(w, n.Positional)
	options(w, visible(n.Flags))
	for _, child := range n.Children {
		if !child.Hidden {
			commands(w, child, name)
		}
	}
}

func plainPositional(all []*kong.Positional) string {
	var b strings.Builder
	for _, p := range all {
		b.WriteString(" " + p.Summary())
	}
	return b.String()
}

func arguments(w *roff, all []*kong.Positional) {
	for _, p := range all {
		if p.Help != "" {
			w.tagged("\\fI"+escape(p.Name)+"\\fR", p.Help)
		}
	}
}

func visible(all []*kong.Flag) (shown []*kong.Flag) {
	for _, f := range all {
		if !f.Hidden {
			shown = append(shown, f)
		}
	}
	return shown
}

// options writes flags, those of a group below its heading.
func options(w *roff, all []*kong.Flag) {
	title := ""
	slices.SortStableFunc(all, func(a, b *kong.Flag) int { return strings.Compare(titleOf(a), titleOf(b)) })
	for _, f := range all {
		if t := titleOf(f); t != title {
			title = t
			w.macro("PP")
			w.text(escape(t))
		}
		tag := "\\fB"
		if f.Short != 0 {
			tag += escape("-"+string(f.Short)) + "\\fR, \\fB"
		}
		tag += escape("--") + escape(f.Name)
		if !f.IsBool() && !f.IsCounter() {
			tag += escape("=") + "\\fI" + escape(f.FormatPlaceHolder())
		}
		w.tagged(tag+"\\fR", f.Help)
	}
}

func titleOf(f *kong.Flag) string {
	if f.Group == nil {
		return ""
	}
	return f.Group.Title
}

// roff collects a page.
type roff struct{ strings.Builder }

// macro writes a request with its arguments.
func (w *roff) macro(name string, args ...string) {
	w.WriteString("." + name)
	for _, a := range args {
		w.WriteString(` "` + strings.ReplaceAll(escape(a), `"`, `\(dq`) + `"`)
	}
	w.WriteByte('\n')
}

// text writes a line that is roff already.
func (w *roff) text(line string) {
	if line == "" {
		return
	}
	if line[0] == '.' || line[0] == '\'' {
		line = `\&` + line
	}
	w.WriteString(line + "\n")
}

// tagged writes a paragraph behind a tag.
func (w *roff) tagged(tag, paragraph string) {
	w.macro("TP")
	w.text(tag)
	w.text(escape(paragraph))
}

// prose writes paragraphs, and as they stand the lines that are indented.
func (w *roff) prose(text string) {
	for i, block := range strings.Split(text, "\n\n") {
		if i > 0 {
			w.macro("PP")
		}
		example := false
		for line := range strings.Lines(block) {
			line = strings.TrimRight(line, "\n")
			switch indented := strings.HasPrefix(line, "  "); {
			case indented && !example:
				w.macro("RS", "2n")
				w.macro("EX")
				example = true
			case !indented && example:
				w.macro("EE")
				w.macro("RE")
				example = false
			}
			w.text(escape(strings.TrimPrefix(line, "  ")))
		}
		if example {
			w.macro("EE")
			w.macro("RE")
		}
	}
}

// escape makes of a text what roff prints as it.
func escape(s string) string {
	s = strings.NewReplacer(`\`, `\e`, "-", `\-`, "'", `\(aq`, "`", `\(ga`, "^", `\(ha`, "~", `\(ti`).Replace(s)
	var b strings.Builder
	for _, r := range s {
		if r < 0x80 {
			b.WriteRune(r)
		} else {
			fmt.Fprintf(&b, `\[u%04X]`, r)
		}
	}
	return b.String()
}
