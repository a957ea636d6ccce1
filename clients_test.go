package gt_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	agents "gt/lib/client"
)

// namesClients are the files that may name clients all the same, with the reason.
var namesClients = map[string]string{
	"lib/client/client.go":          "the list of the folders",
	"lib/client/names/names.go":     "the names by which a program that links no client recognises one",
	"lib/conversation/tail/tail.go": "OpenCode's conversations are in a database, whose reader finds its own place",
	"lib/record/otlp/provider.go":   "families of models, some of which are called as their clients",
	"lib/text/frame/frame.go":       "how the frames of clients and models begin, in any text",
	"lib/text/redact/encoded.go":    "an entity of HTML",
}

// What is known of a client stands in lib/client/<agent>. Nobody else branches on a
// client's name: it is not compared with, not a case, and neither the key nor the
// element of a literal.
func TestClientsAreNamedInTheirFolders(t *testing.T) {
	names := agents.Names()
	used := map[string]bool{}
	for _, root := range []string{"lib", "cmd", "hooks"} {
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			path = filepath.ToSlash(path)
			if d.IsDir() {
				if folder, ok := strings.CutPrefix(path, "lib/client/"); ok && slices.Contains(names, folder) {
					return filepath.SkipDir
				}
				return nil
			}
			if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return nil
			}
			fset := token.NewFileSet()
			file, err := parser.ParseFile(fset, path, nil, 0)
			if err != nil {
				return err
			}
			for _, lit := range branches(file) {
				name, err := strconv.Unquote(lit.Value)
				if err != nil || !slices.Contains(names, name) {
					continue
				}
				used[path] = true
				if namesClients[path] == "" {
					t.Errorf("%s: %q is for lib/client/%s to say", fset.Position(lit.Pos()), name, name)
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for path := range namesClients {
		if !used[path] {
			t.Errorf("%s may name clients and does not", path)
		}
	}
}

// branches returns the texts of a file that decide something: what is compared with,
// the cases of a switch, the keys and elements of literals.
func branches(file *ast.File) (all []*ast.BasicLit) {
	add := func(exprs ...ast.Expr) {
		for _, e := range exprs {
			for {
				p, ok := e.(*ast.ParenExpr)
				if !ok {
					break
				}
				e = p.X
			}
			if lit, ok := e.(*ast.BasicLit); ok && lit.Kind == token.STRING {
				all = append(all, lit)
			}
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.BinaryExpr:
			add(n.X, n.Y)
		case *ast.CaseClause:
			add(n.List...)
		case *ast.CompositeLit:
			for _, e := range n.Elts {
				if kv, ok := e.(*ast.KeyValueExpr); ok {
					add(kv.Key, kv.Value)
				} else {
					add(e)
				}
			}
		case *ast.IndexExpr:
			add(n.Index)
		}
		return true
	})
	return all
}

// The test sees each form in which code can branch on a name.
func TestBranches(t *testing.T) {
	const source = `package p
var a = x == "1" || ("2") != y
var b = map[string]int{"3": 1}
var c = slices.Contains([]string{"4"}, z)
var d = []struct{ name string }{{"5"}, {name: "6"}}
var e = b["7"]
func f() { switch z { case "8", "9": }; g("not this one") }
`
	file, err := parser.ParseFile(token.NewFileSet(), "p.go", source, 0)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, lit := range branches(file) {
		got = append(got, strings.Trim(lit.Value, `"`))
	}
	slices.Sort(got)
	if want := strings.Split("123456789", ""); !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}
