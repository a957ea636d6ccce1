package check

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gt/internal/testenv"
	"gt/lib/reconcile/template"
	"gt/lib/reconcile/tick"
	"gt/lib/text/plain"
	"gt/lib/text/redact"
)

func pool(name, check string) template.Template {
	t := template.Template{Check: check}
	t.Name, t.Pool = name, &tick.Pool{Max: 5}
	return t
}

func checks(t *testing.T) Checks {
	environ := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "API_TOKEN=hunter2hunter2", "BEADS_DOLT_PORT=1"}
	clean := redact.NewRedactor(environ)
	return Checks{Dir: t.TempDir(), Environ: environ, Clean: func(s string) string { return plain.Line(clean(s)) }}
}

// S4-84, S4-85, S4-86: what a check says is a number, or nothing is known.
func TestDemand(t *testing.T) {
	c := checks(t)
	c.EachTimeout = testenv.Patience
	for _, row := range []struct {
		check string
		want  int // -1: nothing is known
		err   string
	}{
		{"echo 3", 3, ""},
		{"printf '  12\n\n'", 12, ""},
		{"echo 0", 0, ""},
		{"echo 3; exit 1", -1, "exit status 1"},
		{"echo no bd >&2; exit 7", -1, "exit status 7: no bd"},
		{"kill -9 $$", -1, "killed"},
		{"true", -1, "'' is not a number"},
		{"echo three", -1, "'three' is not"},
		{"echo 3 workers", -1, "is not"},
		{"echo 3; echo 4", -1, "is not"},
		{"echo 3.5", -1, "is not"},
		{"echo -1", -1, "is not"},
		{"echo 99999999999999999999", -1, "is not"},
		{"head -c 5000 /dev/zero | tr '\\0' 1", -1, "too much"},
		{"echo \"token=hunter2hunter2\"; printf '\\033[31m'; exit 0", -1, "[redacted]"},
		{"echo hunter2hunter2 >&2; exit 1", -1, "[redacted]"},
		{"(sleep 600 &) ; echo 3", 3, ""},
		{"", -2, ""}, // none
	} {
		got, asked := c.Demand(context.Background(), []template.Template{pool("worker", row.check)})["worker"]
		switch {
		case row.want == -2:
			if asked {
				t.Errorf("no check says %v", got)
			}
		case row.want == -1:
			if got.Err == nil || !strings.Contains(got.Err.Error(), row.err) || strings.Contains(got.Err.Error(), "hunter2") || strings.ContainsRune(got.Err.Error(), 27) {
				t.Errorf("%s: %v, %v", row.check, got.Wanted, got.Err)
			}
		case got.Err != nil || got.Wanted != row.want:
			t.Errorf("%s: %v, %v", row.check, got.Wanted, got.Err)
		}
	}
}

// A check that hangs is ended with all that it started, and takes nothing from others.
func TestDeadline(t *testing.T) {
	c := checks(t)
	c.EachTimeout, c.AtOnce = 300*time.Millisecond, 2
	mark := filepath.Join(c.Dir, "late")
	got := c.Demand(context.Background(), []template.Template{
		pool("hangs", "sleep 5 && touch "+mark+" & wait"), pool("answers", "echo 2"),
	})
	if err := got["hangs"].Err; err == nil || !strings.Contains(err.Error(), "took too long") {
		t.Error(err)
	}
	if d := got["answers"]; d.Err == nil && d.Wanted != 2 {
		t.Errorf("%+v", d)
	}
}

// S4-87: all together have a deadline, and those behind it are not asked.
func TestDeadlineOfAll(t *testing.T) {
	c := checks(t)
	c.AllTimeout, c.AtOnce = 300*time.Millisecond, 1
	var all []template.Template
	for i := range 4 {
		all = append(all, pool(fmt.Sprint("p", i), "sleep 600; echo 1"))
	}
	begin := time.Now()
	got := c.Demand(context.Background(), all)
	if took := time.Since(begin); took > testenv.Patience {
		t.Errorf("it took %v", took)
	}
	for _, p := range all {
		if d, ok := got[p.Name]; !ok || d.Err == nil || strings.Contains(d.Err.Error(), "context") {
			t.Errorf("%s: %+v", p.Name, d)
		}
	}
}

// Twenty that mostly wait are all asked, sixteen at the same time. [S4-87]
func TestManyThatWait(t *testing.T) {
	c := checks(t)
	c.EachTimeout, c.AllTimeout = testenv.Patience, 2*testenv.Patience
	meet := fmt.Sprintf("touch $GT_TEMPLATE; while test $(ls | grep -c pool) -lt %d; do sleep 0.05; done; echo 1", 16)
	var all []template.Template
	for i := range 20 {
		all = append(all, pool(fmt.Sprint("pool", i), meet))
	}
	for name, d := range c.Demand(context.Background(), all) {
		if d.Err != nil || d.Wanted != 1 {
			t.Errorf("%s: %+v", name, d)
		}
	}
}

// They run at the same time: each waits for the other's file.
func TestParallel(t *testing.T) {
	c := checks(t)
	c.AtOnce = 2
	c.EachTimeout = testenv.Patience
	meet := func(own, other string) string {
		return fmt.Sprintf("touch %s; while ! test -e %s; do sleep 0.01; done; echo 1", own, other)
	}
	for name, d := range c.Demand(context.Background(), []template.Template{pool("a", meet("a", "b")), pool("b", meet("b", "a"))}) {
		if d.Err != nil || d.Wanted != 1 {
			t.Errorf("%s: %+v", name, d)
		}
	}
}

// A check has what it needs and no key of the person's shell.
func TestEnvironment(t *testing.T) {
	c := checks(t)
	c.EachTimeout = testenv.Patience
	p := pool("worker", `test -z "$API_TOKEN" && test "$GT_TEMPLATE" = worker && test "$BEADS_DOLT_PORT" = 1 && test "$TARGET" = x && test -n "$HOME" && test "$PWD" = "$GT_ROOT" && echo 1`)
	p.Env = map[string]string{"TARGET": "x"}
	if d := c.Demand(context.Background(), []template.Template{p})["worker"]; d.Err != nil || d.Wanted != 1 {
		t.Errorf("%+v", d)
	}
}
