package gt_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
)

// unsearchable are the words that say nothing when they are a whole name, and that a search
// finds in every comment: the function words of English, and adverbs of place, time and degree.
const unsearchable = `
about above across after against along alongside amid among amongst around as at atop before
behind below beneath beside besides between beyond by despite during except for from in inside
into minus near of off on onto out outside over past per plus since than through throughout till
to toward towards under underneath until unto up upon versus via with within without down

i me my mine myself we us our ours ourselves you your yours yourself he him his himself she her
hers herself it its itself they them their theirs themselves this that these those who whom whose
which what whoever whatever whichever one ones oneself none nobody nothing someone somebody
something anyone anybody anything everyone everybody everything

a an the all any both each either every few fewer first half last least less little many more most
much neither next no other others another own same self several some such whole enough

again ago ahead alone aloud already also altogether always anew anyhow anyway anywhere apart aside
away back backward backwards barely early else elsewhere even ever everywhere far finally forth
forward forwards further hardly hence here hereby herein how however indeed instead just lastly
late lately later likely likewise maybe meanwhile merely moreover mostly namely nearly never
nonetheless not now nowhere often once only otherwise perhaps quite rarely rather really recently
seldom simply so somehow sometimes somewhat somewhere soon still then thence there thereby
therefore thus together too twice usually very well when whence whenever where whereas whereby
wherever while wholly why yes yet

am is are was were be been being has have had having do does did doing can cannot could may might
must shall should will would ought

and or but nor if unless because although though whether lest`

// TestNames: no function, method, type, variable or constant of a package has a word as its
// whole name that nobody can search for. Fields and locals are read beside their type.
func TestNames(t *testing.T) {
	words := map[string]bool{}
	for word := range strings.FieldsSeq(unsearchable) {
		words[word] = true
	}
	fset, files := token.NewFileSet(), 0
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") {
			return err
		}
		file, err := parser.ParseFile(fset, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		files++
		for _, name := range declared(file) {
			if words[strings.ToLower(name.Name)] {
				t.Errorf("%s: the name '%s' says nothing", fset.Position(name.Pos()), name.Name)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if files < 500 {
		t.Errorf("only %d files were read", files)
	}
}

// declared returns the names of a file's functions, types, variables and constants, and of the
// methods of both types and interfaces.
func declared(file *ast.File) (names []*ast.Ident) {
	for _, decl := range file.Decls {
		switch decl := decl.(type) {
		case *ast.FuncDecl:
			names = append(names, decl.Name)
		case *ast.GenDecl:
			for _, spec := range decl.Specs {
				switch spec := spec.(type) {
				case *ast.ValueSpec:
					names = append(names, spec.Names...)
				case *ast.TypeSpec:
					names = append(names, spec.Name)
					if methods, ok := spec.Type.(*ast.InterfaceType); ok {
						for _, method := range methods.Methods.List {
							names = append(names, method.Names...)
						}
					}
				}
			}
		}
	}
	return names
}
