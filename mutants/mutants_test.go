package mutants

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"gt/internal/testenv"
)

var (
	wanted = flag.Bool("mutants", false, "make each mistake and see a test fail (takes minutes)")
	sample = flag.Int("sample", 1, "make one of every so many mistakes")
)

const root = ".."

// marker matches a comment that marks a line: how it is changed, the other package, the test.
var marker = regexp.MustCompile(`^// mutant (never|always|skip|swap|without \S+): (?:(\.\S*) )?(Test\S+)$`)

// A mutant is one mistake in one file.
type mutant struct {
	name    string // file:line
	code    string // the marked line
	path    string // of the file
	changed []byte // its content with the mistake
	pkg     string // relative to the root, as "./lib/cli"
	test    string // for -run
}

// findMutants returns the mutants of all marked lines.
func findMutants(t *testing.T) (found []mutant) {
	for _, dir := range []string{"lib", "cmd"} {
		err := filepath.WalkDir(filepath.Join(root, dir), func(path string, d fs.DirEntry, err error) error {
			if err == nil && strings.HasSuffix(path, ".go") && !strings.HasSuffix(path, "_test.go") {
				found = append(found, mutantsOf(t, path)...)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return found
}

func mutantsOf(t *testing.T, path string) (found []mutant) {
	source, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(source, []byte("// mutant ")) {
		return nil
	}
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, path, source, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(source), "\n")
	for _, group := range file.Comments {
		for _, c := range group.List {
			if !strings.HasPrefix(c.Text, "// mutant ") {
				continue
			}
			n := fset.Position(c.Pos()).Line
			if strings.TrimSpace(lines[n-1]) == c.Text {
				n++
			}
			name := fmt.Sprintf("%s:%d", filepath.Base(path), n)
			m := marker.FindStringSubmatch(c.Text)
			if m == nil {
				t.Errorf("%s: invalid marker: %s", name, c.Text)
				continue
			}
			pkg := m[2]
			if pkg == "" {
				pkg = "./" + strings.TrimPrefix(filepath.ToSlash(filepath.Dir(path)), root+"/")
			}
			changed, err := marked{fset, file, source, n}.change(m[1])
			if err != nil {
				t.Errorf("%s: %s: %v", name, c.Text, err)
				continue
			}
			found = append(found, mutant{name, strings.TrimSpace(lines[n-1]), path, changed, pkg, m[3]})
		}
	}
	return found
}

// marked is a marked line of a file.
type marked struct {
	fset   *token.FileSet
	file   *ast.File
	source []byte
	line   int
}

// change returns the file's content with the mistake.
func (m marked) change(how string) ([]byte, error) {
	how, what, _ := strings.Cut(how, " ")
	switch how {
	case "never", "always":
		found := m.conditions()
		if len(found) != 1 {
			return nil, fmt.Errorf("the line has %d conditions", len(found))
		}
		if how == "never" {
			return m.replace(found[0], found[0], "false && ("+m.text(found[0])+")"), nil
		}
		return m.replace(found[0], found[0], "true || ("+m.text(found[0])+")"), nil
	case "without":
		return m.withoutCall(what)
	}
	found, next := m.statement()
	switch {
	case found == nil, how == "swap" && next == nil:
		return nil, errors.New("the line begins no statement, or none is behind it")
	case how == "swap":
		return m.replace(found, next, m.text(next)+"\n"+m.text(found)), nil
	}
	return m.replace(found, found, "if false {"+m.text(found)+"}"), nil
}

func (m marked) text(n ast.Node) string {
	return string(m.source[m.fset.Position(n.Pos()).Offset:m.fset.Position(n.End()).Offset])
}

// onLine reports whether a node is wholly on the line.
func (m marked) onLine(n ast.Node) bool {
	return m.fset.Position(n.Pos()).Line == m.line && m.fset.Position(n.End()).Line == m.line
}

// conditions returns the conditions on the line that are in no other one there.
func (m marked) conditions() (found []ast.Expr) {
	add := func(exprs ...ast.Expr) {
		for _, e := range exprs {
			if e != nil && m.onLine(e) && !slices.ContainsFunc(found, func(f ast.Expr) bool { return f.Pos() <= e.Pos() && e.End() <= f.End() }) {
				found = append(found, e) // outer ones come first
			}
		}
	}
	ast.Inspect(m.file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.IfStmt:
			add(n.Cond)
		case *ast.ForStmt:
			add(n.Cond)
		case *ast.SwitchStmt:
			for _, c := range n.Body.List {
				if n.Tag == nil {
					add(c.(*ast.CaseClause).List...)
				}
			}
		case *ast.UnaryExpr:
			if n.Op == token.NOT {
				add(n)
			}
		case *ast.BinaryExpr:
			switch n.Op {
			case token.LAND, token.LOR:
				add(n, n.X, n.Y)
			case token.EQL, token.NEQ, token.LSS, token.LEQ, token.GTR, token.GEQ:
				add(n)
			}
		}
		return true
	})
	return found
}

// statement returns the outermost statement that begins on the line, and the next one.
func (m marked) statement() (found, next ast.Stmt) {
	ast.Inspect(m.file, func(n ast.Node) bool {
		var list []ast.Stmt
		switch n := n.(type) {
		case *ast.BlockStmt:
			list = n.List
		case *ast.CaseClause:
			list = n.Body
		}
		for i, s := range list {
			if found == nil && m.fset.Position(s.Pos()).Line == m.line {
				found = s
				if i+1 < len(list) {
					next = list[i+1]
				}
			}
		}
		return found == nil
	})
	return found, next
}

// replace returns the source with other text for two nodes and what is between them.
func (m marked) replace(first, last ast.Node, text string) []byte {
	from, to := m.fset.Position(first.Pos()).Offset, m.fset.Position(last.End()).Offset
	return slices.Concat(m.source[:from], []byte(text), m.source[to:])
}

func (m marked) withoutCall(what string) ([]byte, error) {
	var changed []byte
	ast.Inspect(m.file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			if m.onLine(n) && m.text(n.Fun) == what {
				changed = m.replace(n, n, m.text(n.Args[0]))
				if strings.Contains(what, ".") { // so that the import is used
					changed = append(changed, "\nvar _ = "+what+"\n"...)
				}
			}
		case *ast.BasicLit:
			if m.onLine(n) && m.text(n) == what {
				changed = m.replace(n, n, `""`)
			}
		}
		return true
	})
	if changed == nil {
		return nil, fmt.Errorf("the line has no %s", what)
	}
	return changed, nil
}

// TestMarkers checks that each marked line can be changed, and that the test exists.
func TestMarkers(t *testing.T) {
	for _, m := range findMutants(t) {
		name, rest, _ := strings.Cut(m.test, "/")
		function := []byte("func " + strings.TrimSuffix(name, "$") + "(")
		tests, err := filepath.Glob(filepath.Join(root, filepath.FromSlash(m.pkg), "*_test.go"))
		if err != nil {
			t.Fatal(err)
		}
		if !slices.ContainsFunc(tests, func(path string) bool {
			source, err := os.ReadFile(path)
			return err == nil && bytes.Contains(source, function)
		}) {
			t.Errorf("%s: %s has no %s", m.name, m.pkg, name)
		}
		if name == "TestScripts" {
			if _, err := os.Stat(filepath.Join(root, "testdata", "scripts", strings.TrimSuffix(rest, "$")+".txtar")); err != nil {
				t.Errorf("%s: %v", m.name, err)
			}
		}
	}
}

// TestMutants makes each mistake and runs the test that is to notice it.
func TestMutants(t *testing.T) {
	mutants := findMutants(t)
	if !*wanted {
		t.Skipf("%d mistakes, made only with -mutants: it takes minutes", len(mutants))
	}
	for i, m := range mutants {
		if i%*sample == testenv.Turn()%*sample {
			t.Run(m.name, m.run)
		}
	}
}

func (m mutant) run(t *testing.T) {
	path, err := filepath.Abs(m.path)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	changed, list := filepath.Join(dir, "changed.go"), filepath.Join(dir, "overlay.json")
	overlay, err := json.Marshal(map[string]map[string]string{"Replace": {path: changed}})
	if err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string][]byte{changed: m.changed, list: overlay} {
		if err := os.WriteFile(name, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	// A race may need several runs to show; the first failure ends them.
	cmd := exec.Command("go", "test", "-vet=off", "-failfast", "-count=5", "-timeout=10m", "-run", m.test, m.pkg)
	// GOFLAGS also counts for a test that builds programs. The caller's flags stay in it: with others
	// all dependencies would be compiled anew. The test runs whether or not it is in a sample.
	cmd.Dir, cmd.Env = root, append(os.Environ(), "GOFLAGS="+os.Getenv("GOFLAGS")+" -overlay="+list, testenv.Built+"=", "GT_SAMPLE=")
	out, err := cmd.CombinedOutput()
	switch {
	case err == nil:
		t.Errorf("%s did not notice: %s\n%s", m.test, m.code, out)
	case !bytes.Contains(out, []byte("--- FAIL")), bytes.Contains(out, []byte("cannot build the programs")):
		t.Errorf("failed for another reason, such as a build error: %s\n%v\n%s", m.code, err, out)
	}
}
