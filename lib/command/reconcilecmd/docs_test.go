package reconcilecmd

import (
	"fmt"
	"gt/internal/testenv"
	"os"
	"strings"
	"testing"

	"gt/internal/golden"
	"gt/lib/reconcile/tick"
	"gt/lib/state/lifecycle"
)

// The tables of docs/reconcile.md and lib/reconcile/tick/tables.md match the code.
func TestDocs(t *testing.T) {
	tables(t, "../../../docs/reconcile.md", map[string]string{"states": meanings()})
	tables(t, "../../reconcile/tick/tables.md", map[string]string{"states": states(), "orders": orders(), "repairs": repairs()})
}

// tables compares the tables of a page with the code's, or writes them.
func tables(t *testing.T, file string, all map[string]string) {
	data, err := os.ReadFile(file)
	testenv.NoError(t, err)
	text := string(data)
	for name, table := range all {
		begin, end := "<!-- "+name+" -->\n", "<!-- /"+name+" -->"
		i, j := strings.Index(text, begin), strings.Index(text, end)
		if i < 0 || j < i {
			t.Fatalf("%s has no place for the table of %s", file, name)
		}
		text = text[:i+len(begin)] + table + text[j:]
	}
	if text == string(data) {
		return
	}
	if !*golden.Update {
		t.Fatalf("the tables of %s are not those of the code; go test ./lib/command/reconcilecmd -run TestDocs -update writes them", file)
	}
	testenv.NoError(t, os.WriteFile(file, []byte(text), 0o644))
}

func words[T ~string](all []T) string {
	text := make([]string, len(all))
	for i, w := range all {
		text[i] = string(w)
	}
	return strings.Join(text, ", ")
}

func formatYes(is bool) string {
	if is {
		return "yes"
	}
	return ""
}

func meanings() string {
	var b strings.Builder
	b.WriteString("| state | what it means |\n|---|---|\n")
	for _, s := range lifecycle.States {
		fmt.Fprintf(&b, "| `%s` | %s |\n", s.State, s.Means)
	}
	return b.String()
}

func states() string {
	var b strings.Builder
	b.WriteString("| state | entered for | then | counts | in lists |\n|---|---|---|---|---|\n")
	for _, s := range lifecycle.States {
		then := words(s.To)
		if s.State != lifecycle.Closed {
			then = strings.TrimPrefix(then+", closed", ", ")
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s |\n", s.State, words(s.Reasons), then, formatYes(s.Occupies), formatYes(s.Listed))
	}
	return b.String()
}

func orders() string {
	var b strings.Builder
	b.WriteString("| change | from | to | in this order | for |\n|---|---|---|---|---|\n")
	for _, o := range lifecycle.Orders {
		from := words(o.From)
		switch {
		case o.From == nil:
			from = "any"
		case len(o.From) == 0:
			from = "nothing"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s |\n", o.Change, from, o.To, words(o.Ops), o.Why)
	}
	return b.String()
}

func repairs() string {
	mark := func(n int) string { return map[int]string{0: "no", 1: "yes", tick.AnyValue: "any"}[n] }
	runs := func(n int) string {
		if n == tick.AnyValue {
			return "any"
		}
		return tick.Liveness(n).String()
	}
	var b strings.Builder
	b.WriteString("| state | marker | runs | pool | what is done |\n|---|---|---|---|---|\n")
	for _, r := range tick.Repairs {
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s |\n", r.State, mark(r.Marker), runs(r.Runtime), mark(r.Pool), r.Do)
	}
	return b.String()
}
