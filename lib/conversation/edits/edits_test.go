package edits

import (
	"reflect"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"gt/lib/conversation"
)

// The tools of all clients, with arguments as the clients write them.
func TestOf(t *testing.T) {
	for _, c := range []struct {
		tool, input string
		want        []Edit
	}{
		{"Edit", `{"file_path":"/w/a.go","old_string":"x := 1\ny()","new_string":"x := 2\ny()\nz()","replace_all":false}`, []Edit{{Path: "/w/a.go", Old: []string{"x := 1", "y()"}, New: []string{"x := 2", "y()", "z()"}}}},
		{"Write", `{"file_path":"/w/a.go","content":"package a\n\nvar b = 1\n"}`, []Edit{{Path: "/w/a.go", New: []string{"package a", "", "var b = 1"}, IsWholeFile: true}}},
		{"Write", `{"content":"path: no\nlist:\n- x","file_path":"/w/a.yaml"}`, nil}, // see below
		{"MultiEdit", `{"file_path":"/w/a.go","edits":[{"old_string":"a","new_string":"b"},{"old_string":"c","new_string":"d\ne"}]}`, []Edit{{Path: "/w/a.go", Old: []string{"a", "c"}, New: []string{"b", "d", "e"}}}},
		{"replace", `{"instruction":"do it","file_path":"/w/a.go","old_string":"a","new_string":"b"}`, []Edit{{Path: "/w/a.go", Old: []string{"a"}, New: []string{"b"}}}},
		{"write_file", `{"file_path":"/w/a","content":"one\ntwo"}`, []Edit{{Path: "/w/a", New: []string{"one", "two"}, IsWholeFile: true}}},
		{"edit", `{"filePath":"/w/a","oldString":"a","newString":"b"}`, []Edit{{Path: "/w/a", Old: []string{"a"}, New: []string{"b"}}}},
		{"edit", `{"path":"a","edits":[{"oldText":"a","newText":"b"}]}`, []Edit{{Path: "a", Old: []string{"a"}, New: []string{"b"}}}},
		{"edit", `{"path":"a","oldText":"a","newText":""}`, []Edit{{Path: "a", Old: []string{"a"}}}},
		{"StrReplaceFile", `{"path":"/w/a","edit":{"old":"a","new":"b\nc"}}`, []Edit{{Path: "/w/a", Old: []string{"a"}, New: []string{"b", "c"}}}},
		{"StrReplace", `{"path":"/w/a","old_string":"a","new_string":"b"}`, []Edit{{Path: "/w/a", Old: []string{"a"}, New: []string{"b"}}}},
		{"str_replace_editor", `{"command":"create","path":"/w/a","file_text":"b\n"}`, []Edit{{Path: "/w/a", New: []string{"b"}, IsWholeFile: true}}},
		{"write_to_file", `{"TargetFile":"/w/a","Overwrite":true,"CodeContent":"b\n","Description":"x"}`, []Edit{{Path: "/w/a", New: []string{"b"}, IsWholeFile: true}}},
		{"replace_file_content", `{"TargetFile":"/w/a","StartLine":1,"EndLine":2,"TargetContent":"a","ReplacementContent":"b"}`, []Edit{{Path: "/w/a", Old: []string{"a"}, New: []string{"b"}}}},
		{"multi_replace_file_content", `{"TargetFile":"/w/a","ReplacementChunks":[{"TargetContent":"a","ReplacementContent":"b"}]}`, []Edit{{Path: "/w/a", Old: []string{"a"}, New: []string{"b"}}}},
		{"replace_in_file", `{"path":"a","diff":"------- SEARCH\na\n=======\nb\n+++++++ REPLACE\n"}`, []Edit{{Path: "a", Old: []string{"a"}, New: []string{"b"}}}},
		{"apply_patch", `{"input":"*** Begin Patch\n*** Update File: a.go\n@@ func x\n keep\n-old\n+new\n*** Add File: b.go\n+one\n*** End Patch"}`,
			[]Edit{{Path: "a.go", Old: []string{"keep", "old"}, New: []string{"keep", "new"}}, {Path: "b.go", New: []string{"one"}, IsWholeFile: true}}},
		{"shell", `{"command":"apply_patch <<'EOF'\n*** Begin Patch\n*** Update File: a.go\n-old\n+new\n*** End Patch\nEOF"}`, []Edit{{Path: "a.go", Old: []string{"old"}, New: []string{"new"}}}},
		{"Bash", `{"command":"cat a"}`, nil},
		{"Bash", `{"command":"cat > a.sh <<'EOF'\n#!/bin/sh\nrun > log\nEOF\nchmod +x a.sh","description":"x"}`, []Edit{{Path: "a.sh", New: []string{"#!/bin/sh", "run > log"}, IsWholeFile: true}}},
		{"Bash", `{"command":"cd sub && cat <<EOF >> \"a b\"\none\nEOF"}`, []Edit{{Path: "sub/a b", New: []string{"one"}}}},
		{"shell", `{"command":"mkdir -p d && sudo tee -a /etc/x <<-\"END\" >/dev/null\n\tone\n\tEND\necho 'two' >>y && echo three"}`,
			[]Edit{{Path: "/etc/x", New: []string{"\tone"}}, {Path: "y", New: []string{"two"}}}},
		{"Bash", `{"command":"printf 'a\\nb\\n' > x; echo \"c\" > /dev/null"}`, []Edit{{Path: "x", New: []string{"a", "b"}, IsWholeFile: true}}},
		{"Bash", `{"command":"python3 - <<EOF > out\nprint(1)\nEOF\necho \"$x\" 2>err; cat <<EOF\nshown\nEOF\nls > files"}`, nil},
		{"Read", `{"file_path":"/w/a"}`, nil},
	} {
		text := conversation.CallText(gjson.Parse(c.input))
		got := FindEdits(conversation.Entry{Kind: conversation.Call, Tool: c.tool, Text: text})
		if c.want == nil && c.tool == "Write" {
			if len(got) != 1 || got[0].NetAdds("- x") != 1 {
				t.Errorf("%s: %+v", c.input, got)
			}
			continue
		}
		for i := range got {
			got[i].replaced = nil // see TestFormerLines
		}
		if !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s %s:\n%+v, not\n%+v", c.tool, c.input, got, c.want)
		}
	}
}

func TestFormerLines(t *testing.T) {
	for _, c := range []struct{ tool, input, line, want string }{
		{"Edit", `{"file_path":"a","old_string":"fixed(x)","new_string":"grown(x)"}`, "y = grown(x) + grown(x)", "y = fixed(x) + fixed(x)|y = fixed(x) + grown(x)"},
		{"Edit", `{"file_path":"a","old_string":"fixed(x)","new_string":""}`, "y = grown(x)", ""},
		{"Edit", `{"file_path":"a","old_string":"int {\n\treturn f","new_string":"(int, error) {\n\tlog()\n\treturn g"}`, "func a() (int, error) {", "func a() int {"},
		{"Edit", `{"file_path":"a","old_string":"int {\n\treturn f","new_string":"(int, error) {\n\tlog()\n\treturn g"}`, "\treturn g(x)", "\treturn f(x)"},
		{"MultiEdit", `{"file_path":"a","edits":[{"old_string":"one","new_string":"two"},{"old_string":"fixed","new_string":"grown"}]}`, "grown(x)", "fixed(x)"},
		{"Bash", `{"command":"cd /w && sed -i 's/fixed(x)/grown/' a"}`, "y = grown", "y = fixed(x)"},
		{"Bash", `{"command":"sed -E -i 's/fixed(x)/grown/' a"}`, "y = grown", ""},
		{"Bash", `{"command":"cd /w && sed -i 's|main\\.go|cmd/go|g' a.go b"}`, "y = cmd/go", "y = main.go"},
		{"Bash", `{"command":"sed -i.bak -e \"s/seven/eight/\" a"}`, "a eight", "a seven"},
		{"Bash", `{"command":"sed -n 's/seven/eight/p' a"}`, "a eight", ""},
		// What is in many lines, or stays.
		{"Bash", `{"command":"sed -i 's/1/2/' a"}`, "port = 8142", ""},
		{"Edit", `{"file_path":"a","old_string":"\nfunc first() {\n","new_string":"\nfunc second() {\n"}`, "var mine = kept(by, a, person)", ""},
		{"Edit", `{"file_path":"a","old_string":"}\n\nfunc first() {","new_string":"};\n\nfunc second() {"}`, "};", ""},
		{"Edit", `{"file_path":"a","old_string":"\t\tx := counted(y)","new_string":"\tx := counted(y);"}`, "\tx := counted(y);", ""},
	} {
		var got []string
		for _, e := range FindEdits(conversation.Entry{Kind: conversation.Call, Tool: c.tool, Text: conversation.CallText(gjson.Parse(c.input))}) {
			got = append(got, e.FormerLines(c.line)...)
		}
		if got := strings.Join(got, "|"); got != c.want {
			t.Errorf("%s: %q, want %q", c.input, got, c.want)
		}
	}
}

func TestAdds(t *testing.T) {
	e := Edit{Old: []string{"if x {", "}"}, New: []string{"if x {", "\ty()", "", "}", "}"}}
	for line, want := range map[string]int{"y()": 1, "if x {": 0, "}": 1, "z": 0} {
		if got := e.NetAdds(line); got != want {
			t.Errorf("%s: %d", line, got)
		}
	}
	if !e.HasNeighbour("if x {", "y()", "other") || !e.HasNeighbour("", "y()", "}") || e.HasNeighbour("a", "y()", "b") || e.HasNeighbour("", "y()", "") {
		t.Error("neighbours")
	}
	// A file of n lines is not read n times.
	if e.Old, e.New = nil, nil; e.NetAdds("y()") != 1 || !e.HasNeighbour("", "y()", "}") {
		t.Error("the lines are counted again")
	}
}

func FuzzOf(f *testing.F) {
	f.Add("edit", "path: a\nold_string: b\nnew_string: c")
	f.Add("apply_patch", "*** Begin Patch\n*** Update File: a\n+x")
	f.Fuzz(func(t *testing.T, tool, text string) {
		for _, e := range FindEdits(conversation.Entry{Kind: conversation.Call, Tool: tool, Text: text}) {
			e.NetAdds("x")
			e.HasNeighbour("a", "x", "b")
		}
	})
}
