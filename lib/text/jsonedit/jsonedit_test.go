package jsonedit

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"gt/internal/testenv"
)

func parse(t *testing.T, text string) *Doc {
	t.Helper()
	d, err := Parse([]byte(text), false)
	if err != nil {
		t.Fatalf("Parse(%q): %v", text, err)
	}
	return d
}

// What is no strict JSON is refused, and the place is the one that an editor
// would jump to.
func TestParseRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"{\n  // why\n  \"a\": 1\n}":          "line 2, column 3: a comment, which JSON does not have",
		"{\n  \"a\": 1 /* why */\n}":          "line 2, column 10: a comment, which JSON does not have",
		"{}\n// end":                          "line 2, column 1: a comment, which JSON does not have",
		"{\n  \"a\": [\n    1,\n  ]\n}":       "line 3, column 6: a comma with nothing behind it",
		"{\n  \"ä\": 1,\n\n}":                 "line 2, column 9: a comma with nothing behind it",
		"{\n  \"a\": 1,\n  \"\\u0061\": 2\n}": `line 3, column 3: the key "a" is already in line 2`,
		"{\"o\": {\"a\": 1, \"a\": 1}}":       `line 1, column 16: the key "a" is already in line 1`,
		"{\n  \"a\": 'b'\n}":                  `line 2, column 8: invalid character '\'' at start of value`,
		"\ufeff{\"abc\": x}":                  "line 1, column 9: invalid literal: x",
		"{\n  \"a\": [1, 2\n":                 "line 3, column 1: unexpected end of JSON input",
		"":                                    "line 1, column 1: unexpected end of JSON input",
		"{} {}":                               "line 1, column 4: invalid character '{' after top-level value",
		strings.Repeat("[", 20000):            "line 1, column 10001: more than 10000 arrays and objects",
	} {
		_, err := Parse([]byte(text), false)
		if err == nil || err.Error() != want {
			t.Errorf("Parse(%.40q) = %v, want %s", text, err, want)
		}
	}
}

// Where comments are allowed, the rest is as strict.
func TestParseComments(t *testing.T) {
	text := "\ufeff// a\n{ // b\n  \"k\": /* c */ [1 /* d */, 2], // e\n  \"//\": \"/* no */\"\n  // f\n} // g"
	d, err := Parse([]byte(text), true)
	testenv.NoError(t, err)
	if !d.HasComments() || len(d.Root.Items) != 2 || d.Root.Get("k").Line != 3 {
		t.Errorf("%+v", d.Root)
	}
	if got := string(d.Raw(d.Root.Get("k"))); strings.TrimSpace(got) != "[1        , 2]" {
		t.Errorf("Raw gives %q", got)
	}
	if got := Strip([]byte("[1] // x")); !json.Valid(got) {
		t.Errorf("Strip gives %q", got)
	}
	for text, want := range map[string]string{
		"{ // a\n  \"a\": 1, // b\n}":    "line 2, column 9: a comma with nothing behind it",
		"{ \"a\": 1, /* , */ \"a\": 2 }": `line 1, column 19: the key "a" is already in line 1`,
		"{ /* \n \"a\": 1 }":             "line 2, column 10: unexpected end of JSON input",
		"{} # a":                         "line 1, column 4: invalid character '#' after top-level value",
	} {
		if _, err := Parse([]byte(text), true); err == nil || err.Error() != want {
			t.Errorf("Parse(%q) = %v, want %s", text, err, want)
		}
	}
}

// No edit takes a comment away, puts anything into one, or parts it from what it
// stands beside.
func TestEditBesideComments(t *testing.T) {
	at := func(key string) func(*Doc) *Node { return func(d *Doc) *Node { return d.Root.Get(key) } }
	for _, c := range []struct {
		name, text string
		to         func(*Doc) *Node
		want       string
	}{
		{"behind a value's own", "{\n  \"a\": [\n    1 // one\n  ] // all\n}", at("a"), "{\n  \"a\": [\n    1, // one\n    7\n  ] // all\n}"},
		{"CR LF", "{\r\n  \"a\": [\r\n    1 // one\r\n  ]\r\n}", at("a"), "{\r\n  \"a\": [\r\n    1, // one\r\n    7\r\n  ]\r\n}"},
		{"before what stands below", "{\n  \"a\": [\n    1\n    // end\n  ]\n}", at("a"), "{\n  \"a\": [\n    1,\n    7\n    // end\n  ]\n}"},
		{"of several lines", "{\n  \"a\": [\n    1 /* on\n e */ // two\n  ]\n}", at("a"), "{\n  \"a\": [\n    1, /* on\n e */ // two\n    7\n  ]\n}"},
		{"in one line", "{\"a\": [1 /* one */] }", at("a"), "{\"a\": [1,7 /* one */] }"},
		{"in an empty array", "{\n  \"a\": [ // none\n  ]\n}", at("a"), "{\n  \"a\": [ // none\n    7\n  ]\n}"},
		{"in an empty array in one line", "{\"a\": [/* none */]}", at("a"), "{\"a\": [/* none */\n7\n]}"},
		{"in an empty document", "{ // none\n}\n", func(d *Doc) *Node { return d.Root }, "{ // none\n  \"k\": 7\n}\n"},
	} {
		d, err := Parse([]byte(c.text), true)
		if err != nil {
			t.Fatal(c.name, err)
		}
		if got, err := d.Append(c.to(d), "k", 7); err != nil || string(got) != c.want {
			t.Errorf("%s: Append gives\n%q\nwant\n%q (%v)", c.name, got, c.want, err)
		}
	}
	const three = "[ // all\n  1, // one\n  // of two\n  2 /* two */, // 2\n  3 // three\n  // end\n]"
	for i, want := range []string{
		"[ // all\n  // one\n  // of two\n  2 /* two */, // 2\n  3 // three\n  // end\n]",
		"[ // all\n  1, // one\n  // of two\n  /* two */ // 2\n  3 // three\n  // end\n]",
		"[ // all\n  1, // one\n  // of two\n  2 /* two */ // 2\n  // three\n  // end\n]",
	} {
		d, err := Parse([]byte(three), true)
		testenv.NoError(t, err)
		if got := string(d.Remove(d.Root.Items[i])); got != want {
			t.Errorf("Remove(%d) gives\n%s\nwant\n%s", i, got, want)
		}
	}
}

func TestNodes(t *testing.T) {
	d := parse(t, "\ufeff{\n\"a\": [1, {\"b\\\"\": \"x\\\\\"}, null],\n\n\"c\": -1.5e3}\n")
	a, c := d.Root.Get("a"), d.Root.Get("c")
	if !a.IsArray() || a.Line != 2 || c.Line != 4 || len(a.Items) != 3 {
		t.Errorf("a = %+v, c = %+v", a, c)
	}
	b := a.Items[1].Get(`b"`)
	if got := string(d.Raw(b)); got != `"x\\"` {
		t.Errorf("b = %s", got)
	}
	if got := string(d.Raw(c)); got != "-1.5e3" {
		t.Errorf("c = %s", got)
	}
	if b.Get("x") != nil || d.Root.Get("x").Get("y") != nil {
		t.Error("a value that is not there was found")
	}
}

// Each edit takes over the indentation, the line ends and the brevity of its
// surroundings.
func TestEdit(t *testing.T) {
	value := map[string]any{"n": []int{1}, "s": "<&>"}
	root := func(d *Doc) *Node { return d.Root }
	at := func(key string) func(*Doc) *Node { return func(d *Doc) *Node { return d.Root.Get(key) } }
	for _, c := range []struct {
		name, text string
		to         func(*Doc) *Node
		want       string
	}{
		{"an empty document", "{}\n", root, "{\n  \"k\": {\n    \"n\": [\n      1\n    ],\n    \"s\": \"<&>\"\n  }\n}\n"},
		{"tabs", "{\n\t\"a\": 1\n}", root, "{\n\t\"a\": 1,\n\t\"k\": {\n\t\t\"n\": [\n\t\t\t1\n\t\t],\n\t\t\"s\": \"<&>\"\n\t}\n}"},
		{"CR LF", "{\r\n \"a\": 1\r\n}\r\n", root, "{\r\n \"a\": 1,\r\n \"k\": {\r\n  \"n\": [\r\n   1\r\n  ],\r\n  \"s\": \"<&>\"\r\n }\r\n}\r\n"},
		{"one line", `{"a":[]}`, root, `{"a":[],"k":{"n":[1],"s":"<&>"}}`},
		{"one line, empty array", `{"a":[]}`, at("a"), `{"a":[{"n":[1],"s":"<&>"}]}`},
		{"a short array", "{\n  \"a\": [1, 2]\n}", at("a"), "{\n  \"a\": [1, 2, {\"n\":[1],\"s\":\"<&>\"}]\n}"},
		{"an empty array", "{\n  \"a\": [ ]\n}", at("a"), "{\n  \"a\": [\n    {\n      \"n\": [\n        1\n      ],\n      \"s\": \"<&>\"\n    }\n  ]\n}"},
		{"no indentation", "{\n\"a\": 1\n}", root, "{\n\"a\": 1,\n\"k\": {\n\"n\": [\n1\n],\n\"s\": \"<&>\"\n}\n}"},
	} {
		d := parse(t, c.text)
		got, err := d.Append(c.to(d), "k", value)
		if err != nil || string(got) != c.want {
			t.Errorf("%s: Append gives\n%q\nwant\n%q (%v)", c.name, got, c.want, err)
		}
	}

	text := "{\n    \"a\": {\n        \"b\": 1\n    },\n    \"c\": {\"d\": 1}\n}"
	d := parse(t, text)
	got, err := d.Replace(d.Root.Get("a"), []int{7})
	if want := strings.Replace(text, "{\n        \"b\": 1\n    }", "[\n        7\n    ]", 1); err != nil || string(got) != want {
		t.Errorf("Replace gives\n%s\nwant\n%s (%v)", got, want, err)
	}
	got, err = d.Replace(d.Root.Get("c"), []int{7})
	if want := strings.Replace(text, `{"d": 1}`, "[7]", 1); err != nil || string(got) != want {
		t.Errorf("Replace gives\n%s\nwant\n%s (%v)", got, want, err)
	}
	if _, err := d.Append(d.Root, "k", func() {}); err == nil {
		t.Error("a value that JSON cannot hold was appended")
	}

	for i, want := range []string{`{"b": 2, "c": 3}`, `{"a": 1, "c": 3}`, `{"a": 1, "b": 2}`} {
		d := parse(t, `{"a": 1, "b": 2, "c": 3}`)
		if got := string(d.Remove(d.Root.Items[i])); got != want {
			t.Errorf("Remove(%d) gives %s, want %s", i, got, want)
		}
	}
}

// Random documents in random layouts: Append adds exactly one value and keeps
// every byte that was there, and Remove takes exactly that value away again.
func TestRemoveUndoesAppend(t *testing.T) {
	for seed := range testenv.Seeds(3000) {
		r := rand.New(rand.NewPCG(seed, 1))
		text := layout(r, map[string]any{"x": random(r, 4), "y": random(r, 4)})
		d := parse(t, text)
		to := container(r, d.Root)
		if len(to.Items) == 0 && to.end-to.start != 2 {
			continue // white space in an empty array or object is not kept
		}
		value := random(r, 3)
		edited, err := d.Append(to, "new\t<key>", value)
		testenv.NoError(t, err)
		e := parse(t, string(edited))
		last := find(e.Root, to.start)
		last = last.Items[len(last.Items)-1]
		if got := decode(t, e.Raw(last)); !reflect.DeepEqual(got, value) {
			t.Fatalf("seed %d: %s became %s, where the new value is %v", seed, text, edited, got)
		}
		if undone := string(e.Remove(last)); undone != text {
			t.Fatalf("seed %d: Remove gives\n%s\nwant\n%s", seed, undone, text)
		}
	}
}

// The same with comments in any place: each is there once after an edit, in the
// same order, the rest of the text has the same values, and Remove undoes Append.
func TestEditKeepsComments(t *testing.T) {
	for seed := range testenv.Seeds(3000) {
		r := rand.New(rand.NewPCG(seed, 3))
		text := commented(r, random(r, 4))
		d, err := Parse([]byte(text), true)
		if err != nil {
			t.Fatalf("seed %d: %v in\n%s", seed, err, text)
		}
		to := container(r, d.Root)
		if !to.IsObject() && !to.IsArray() {
			continue
		}
		edited, err := d.Append(to, "new\t<key>", "new")
		testenv.NoError(t, err)
		e, err := Parse(edited, true)
		if err != nil {
			t.Fatalf("seed %d: %v: %s\nbecame\n%s", seed, err, text, edited)
		}
		if got, want := comments(string(edited)), comments(text); !slices.Equal(got, want) {
			t.Fatalf("seed %d: %q became %q in\n%s", seed, want, got, edited)
		}
		last := find(e.Root, to.start)
		last = last.Items[len(last.Items)-1]
		if got := string(e.Raw(last)); got != `"new"` {
			t.Fatalf("seed %d: %s became %s, where the new value is %s", seed, text, edited, got)
		}
		for _, undo := range []struct {
			doc  *Doc
			node *Node
		}{{e, last}, {d, anyOf(r, to)}} {
			if undo.node == nil {
				continue
			}
			less := undo.doc.Remove(undo.node)
			u, err := Parse(less, true)
			if err != nil {
				t.Fatalf("seed %d: %v: %s\nbecame\n%s", seed, err, undo.doc.text, less)
			}
			want := slices.DeleteFunc(comments(text), func(c string) bool {
				return strings.Contains(string(undo.doc.text[undo.node.begin:undo.node.end]), c)
			})
			if got := comments(string(less)); !slices.Equal(got, want) {
				t.Fatalf("seed %d: %q became %q in\n%s", seed, want, got, less)
			}
			if undo.node == last && !reflect.DeepEqual(rebuild(t, u, u.Root), rebuild(t, d, d.Root)) {
				t.Fatalf("seed %d: Remove gives\n%s\nof\n%s", seed, less, text)
			}
		}
	}
}

// anyOf is one of the items, nil where there is none.
func anyOf(r *rand.Rand, n *Node) *Node {
	if len(n.Items) == 0 {
		return nil
	}
	return n.Items[r.IntN(len(n.Items))]
}

// comments are those that commented has put in.
func comments(text string) []string {
	return regexp.MustCompile(`c[0-9]+c`).FindAllString(text, -1)
}

// commented writes a value with comments in any place.
func commented(r *rand.Rand, v any) string {
	n := 0
	comment := func() string {
		n++
		switch r.IntN(8) {
		case 0:
			return fmt.Sprintf(" // c%dc , ] }\n", n)
		case 1:
			return fmt.Sprintf("/* c%dc \n , ] } */", n)
		case 2:
			return fmt.Sprintf("\n  // c%dc\r\n", n)
		case 3:
			return "\n  "
		}
		return ""
	}
	return regexp.MustCompile(`"(?:[^"\\]|\\.)*"|[][{},:]|[^][{},:"\s]+`).ReplaceAllStringFunc(layout(r, v), func(token string) string {
		return token + comment()
	})
}

// random makes a value as encoding/json decodes it.
func random(r *rand.Rand, depth int) any {
	n := r.IntN(8)
	if depth == 0 {
		n %= 4
	}
	switch n {
	case 0:
		return nil
	case 1:
		return r.IntN(2) == 0
	case 2:
		return json.Number(fmt.Sprint(float64(r.IntN(1000)) / 8))
	case 3:
		return []string{"", "a\"b", "\\", "},]{[", "\u2028<é>", "// no comment", "x,"}[r.IntN(7)]
	case 4, 5:
		a := []any{}
		for range r.IntN(4) {
			a = append(a, random(r, depth-1))
		}
		return a
	default:
		m := map[string]any{}
		for range r.IntN(4) {
			m[fmt.Sprintf("k%d \"", r.IntN(9))] = random(r, depth-1)
		}
		return m
	}
}

func layout(r *rand.Rand, v any) string {
	compact, _ := json.Marshal(v)
	var b bytes.Buffer
	switch r.IntN(5) {
	case 0:
		return string(compact)
	case 1:
		json.Indent(&b, compact, "", "\t")
		return strings.ReplaceAll(b.String(), "\n", "\r\n") + "\r\n"
	case 2: // blanks where nobody would put them
		json.Indent(&b, compact, "", "")
		return " \n" + strings.ReplaceAll(b.String(), "\n", "  \n \t ")
	case 3:
		json.Indent(&b, compact, "", "    ")
		return byteOrderMark + b.String()
	default:
		json.Indent(&b, compact, "", "  ")
		return b.String() + "\n"
	}
}

func container(r *rand.Rand, n *Node) *Node {
	var all []*Node
	for _, m := range n.Items {
		if m.IsObject() || m.IsArray() {
			all = append(all, m)
		}
	}
	if len(all) == 0 || r.IntN(4) == 0 {
		return n
	}
	return container(r, all[r.IntN(len(all))])
}

func find(n *Node, start int) *Node {
	if n.start == start {
		return n
	}
	for _, m := range n.Items {
		if m.start <= start && start < m.end {
			return find(m, start)
		}
	}
	return nil
}

func decode(t *testing.T, raw []byte) any {
	t.Helper()
	var v any
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber() // 1e999 is valid JSON
	if err := dec.Decode(&v); err != nil {
		t.Fatalf("%s: %v", raw, err)
	}
	return v
}

// Parse takes what encoding/json takes, duplicate keys and depth apart, sees
// the same values in it, and neither panics nor misplaces a byte.
func FuzzParse(f *testing.F) {
	for _, s := range []string{"{}", `{"a": [1, "\"", {"b": null}]}`, "[ ]", "\ufeff1", "{,}", `{"a":1,"a":2}`, "//", "[1,/", "\"\\ud800\""} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		d, err := Parse(text, false)
		bare := bytes.TrimPrefix(text, []byte(byteOrderMark))
		if err != nil {
			if json.Valid(bare) && !strings.Contains(err.Error(), "is already in line") {
				t.Fatalf("%q is refused: %v", text, err)
			}
			return
		}
		if !json.Valid(bare) {
			t.Fatalf("%q is taken", text)
		}
		if got, want := rebuild(t, d, d.Root), decode(t, bare); !reflect.DeepEqual(got, want) {
			t.Fatalf("%q reads as %v, want %v", text, got, want)
		}
	})
}

// rebuild makes a value of a node from nothing but its parts.
func rebuild(t *testing.T, d *Doc, n *Node) any {
	switch {
	case n.IsArray():
		a := []any{}
		for _, m := range n.Items {
			a = append(a, rebuild(t, d, m))
		}
		return a
	case n.IsObject():
		o := map[string]any{}
		for _, m := range n.Items {
			o[m.Key] = rebuild(t, d, m)
		}
		return o
	}
	return decode(t, d.Raw(n))
}
