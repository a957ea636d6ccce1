package hook

import (
	"gt/internal/testenv"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A request line counts only if no other command of the line can print after gt's.
func TestLine(t *testing.T) {
	self, err := os.Executable()
	testenv.NoError(t, err)
	bin := filepath.Dir(self)
	for line, want := range map[string]int{
		"gt-handoff -s x":                1,
		"cd /w && make test; gt-handoff": 1,
		"gt-checkpoint write && gt-mail send self -m a; gt-handoff":  3,
		"A=1 env B=2 " + bin + "/gt-handoff":                         1,
		"~/" + filepath.Base(bin) + "/gt-handoff":                    1,
		"gt-handoff; export A=1; set -e; tail -n 3":                  1,
		"if true; then gt-handoff; fi":                               1,
		"(cd x && gt-handoff)":                                       1,
		"bash -lc 'cd x && gt-handoff -s \"a b\"'":                   1,
		"gt-handoff -s 'a; (b) & ./c' -m \"it's; d\"":                1, // the agent's own text
		"gt-handoff -m \"$(cat <<'EOF'\none; two\n./three\nEOF\n)\"": 1,
		"gt-handoff -m - <<EOF\n./one\nEOF":                          1,
		"gt-handoff -m \"$(./notes)\"":                               1, // runs before
		"gt-handoff | tail -5":                                       1,
		"gt-handoff 2>&1 | head -n 3; echo \"exit $?\"":              1,
		"gt-handoff || echo 'failed; why?'":                          1,
		"gt-mail send self < notes.txt":                              1,
		"# gt-handoff\ngt-handoff # ./x":                             1,
		"for n in 1 2; do gt-mail send self; done":                   1,
		"gt-mail work done 3f; gt-mail work claim":                   2,

		"make test":                                  0,
		"echo gt-handoff":                            0,
		"echo 'x; gt-handoff'; ./evil":               0,
		"grep -rh gt-handoff docs":                   0,
		"gt-mail read 1":                             0,
		"gt-mail work":                               0,
		"gt-mail work list --json":                   0,
		"gt-mail work give w -s x":                   0,
		"/b/gt-handoff":                              0, // a project's program with gt's name
		"./gt-handoff":                               0,
		"~/w/gt-handoff":                             0,
		"gt-handoff; export":                         0,
		"gt-handoff; export -p":                      0,
		"gt-handoff; set":                            0,
		"gt-handoff; cat 7":                          0,
		"gt-handoff; head -5 7":                      0,
		"gt-handoff; ./evil":                         0,
		"gt-handoff && make test":                    0,
		"gt-handoff | ./evil":                        0,
		"gt-handoff > >(./evil)":                     0,
		"gt-handoff; cat README":                     0,
		"gt-handoff; cat < README":                   0,
		"gt-handoff; cat <<< \"$(<README)\"":         0,
		"gt-handoff; cat <<EOF\n$(<README)\nEOF":     0,
		"gt-handoff; echo $(<README)":                0,
		"gt-handoff; echo $(cat README)":             0,
		"gt-handoff; echo *":                         0,
		"gt-handoff; echo \"$X\"":                    0,
		"gt-handoff; cd \"$(./evil >&2)\"":           0,
		"gt-handoff; eval ./evil":                    0,
		"gt-handoff; f() { ./evil; }; f":             0,
		"./evil & gt-handoff":                        0,
		"(./evil; true) & gt-handoff":                0,
		"while ./evil; do gt-handoff; done":          0,
		"for n in 1 2; do ./evil; gt-handoff; done":  0,
		"bash -c 'gt-handoff; ./evil'":               0,
		"bash -c gt-handoff; bash -c ./evil":         0,
		"gt-handoff; bash evil.sh":                   0,
		"gt-handoff 'never ends":                     0,
		"gt-handoff " + strings.Repeat("x", maxLine): 0,
		strings.Repeat("(", maxLine):                 0,
		strings.Repeat("$(", maxLine/2):              0,
		"":                                           0,
	} {
		if got := parseRequests(line).requests; got != want {
			t.Errorf("%.200s: %d, not %d", line, got, want)
		}
	}
}
