package cli

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"gt/internal/testenv"
)

// The hints of Fail are printed as they are: vet, which knows a call of Printf's kind, sees
// none in it, and a verb would reach the person.
func TestHintsHaveNoVerbs(t *testing.T) {
	verb := regexp.MustCompile(`%[-+# 0-9.]*[a-zA-Z]`)
	fset := token.NewFileSet()
	found := 0
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		file, err := parser.ParseFile(fset, path, nil, 0)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok || len(call.Args) < 3 {
				return true
			}
			name := ""
			switch f := call.Fun.(type) {
			case *ast.SelectorExpr:
				if pkg, ok := f.X.(*ast.Ident); ok && pkg.Name == "cli" {
					name = f.Sel.Name
				}
			case *ast.Ident:
				if file.Name.Name == "cli" {
					name = f.Name
				}
			}
			if name != "Fail" {
				return true
			}
			for _, hint := range call.Args[2:] {
				found++
				ast.Inspect(hint, func(n ast.Node) bool {
					if inner, ok := n.(*ast.CallExpr); ok { // Sprintf, which vet checks
						return len(inner.Args) == 0
					}
					if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
						if s, err := strconv.Unquote(lit.Value); err == nil && verb.MatchString(s) {
							t.Errorf("%s: the hint %s has a verb (fmt.Sprintf, or cli.WithHint)", fset.Position(lit.Pos()), lit.Value)
						}
					}
					return true
				})
			}
			return true
		})
		return nil
	})
	testenv.NoError(t, err)
	if found < 50 {
		t.Errorf("%d hints were looked at", found)
	}
}
