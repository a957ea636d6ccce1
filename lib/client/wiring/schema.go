package wiring

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"gt/lib/client/agent"
	"gt/lib/text/jsonedit"
)

// A Schema holds the kinds of value that a client takes in its settings: the kind of each
// path. For a value of another kind the client skips the whole file.
type Schema map[string]string

// ParseSchema parses a text whose lines have a kind and the paths of this kind, as far as they
// hold for a version of the client: a line that begins with ">=1.2.3" or "<1.2.3" is for versions
// from there on, or before, and overrides lines above it. An unknown version, "", counts as the
// newest. In a path, "*" is any other member of an object and "[]" any element of an array; "."
// is the whole file. A path that ends with "!" must be there, one that ends with "?" may be
// null, and the paths below "x=y" are those of an object x whose type or source is y. Lines that
// begin with "#" are comments.
//
// The kinds are object, array, string, boolean, number, positive (a number), zero (a number
// from 0), integer, whole (0 or a positive integer), count (a positive integer), share (0 to
// 1), url, switch (a boolean or an array), toggle (a boolean or an object), any, and the values
// of a string that are allowed: a|b, where "{}" is any object; "none" is a key that may not be
// there. "closed" is an object with no members but those that have a path, a^b one with one of
// these members and not both. "1" is that number. A kind that begins with "@" is itself a path,
// at which the rules for such values stand. The path "BOM" stands for a byte order mark.
func ParseSchema(text, version string) Schema {
	s := Schema{}
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		if len(words) == 0 || words[0] == "#" {
			continue
		}
		from, isFrom := strings.CutPrefix(words[0], ">=")
		before, isBefore := strings.CutPrefix(words[0], "<")
		if isFrom && agent.IsBefore(version, from) || isBefore && !agent.IsBefore(version, before) {
			continue
		}
		if isFrom || isBefore {
			words = words[1:]
		}
		for _, path := range words[1:] {
			s[strings.TrimPrefix(path, ".")] = words[0]
		}
	}
	return s
}

// A Refusal is the value for which a client skips its whole settings file.
type Refusal struct {
	Line   int    // 0 if it is not known
	Key    string // "hooks.Stop[0].matcher"
	Reason string
}

func (r *Refusal) String() string {
	text := r.Reason
	if r.Key != "" {
		text = r.Key + " " + text
	}
	if r.Line > 0 {
		text = fmt.Sprintf("line %d: %s", r.Line, text)
	}
	return text
}

// Check returns the first value that the client refuses, or nil.
func (s Schema) Check(doc *jsonedit.Doc) *Refusal {
	if len(s) == 0 {
		return nil
	}
	if s["BOM"] != "" && doc.Marked() {
		return &Refusal{1, "", "it begins with a byte order mark"}
	}
	if !doc.Root.IsObject() {
		return &Refusal{doc.Root.Line, "", "the settings are no object"}
	}
	return s.checkNode(doc, doc.Root, "", "")
}

// kindAt returns the kind of the values at a path, and whether they may be null.
func (s Schema) kindAt(path string) (kind string, nullable bool) {
	if kind, nullable = s[path+"?"]; nullable {
		return kind, true
	}
	return cmp.Or(s[path+"!"], s[path]), false
}

// checkNode returns why a client refuses the value at node, or something in it; nil if it does not.
// path is where s has the rules for the value, and key how the refusal names it.
func (s Schema) checkNode(doc *jsonedit.Doc, node *jsonedit.Node, path, key string) *Refusal {
	kind, nullable := s.kindAt(path)
	raw := string(doc.Raw(node))
	if nullable && raw == "null" {
		return nil
	}
	if strings.HasPrefix(kind, "@") {
		path, kind = kind, s[kind]
	}
	if wrong := kindMismatch(kind, node, raw); wrong != "" {
		return &Refusal{node.Line, key, wrong}
	}
	var bases []string // the paths of the schema that list the members of node
	for _, key := range []string{"type", "source"} {
		if kind := node.Get(key); kind != nil {
			bases = append(bases, path+"="+doc.Text(kind))
		}
	}
	bases = append(bases, path)
	missing := "" // the first member by the alphabet, so that the refusal is the same each time
	for need := range s {
		dot := strings.LastIndexByte(need, '.')
		name, ok := strings.CutSuffix(need[dot+1:], "!")
		if ok && dot > 0 && node.IsObject() && slices.Contains(bases, need[:dot]) && node.Get(name) == nil && (missing == "" || name < missing) {
			missing = name
		}
	}
	if missing != "" {
		return &Refusal{node.Line, key, fmt.Sprintf("has no %q", missing)}
	}
	for i, item := range node.Items {
		at, shown := path+".[]", fmt.Sprintf("%s[%d]", key, i)
		if node.IsObject() {
			if at, shown = s.memberPath(bases, item.Key), joinPath(key, item.Key); at == "" && kind == "closed" {
				return &Refusal{item.Line, shown, "is no key that it knows"}
			}
		}
		if r := s.checkNode(doc, item, at, shown); at != "" && r != nil { // "": there is no rule
			return r
		}
	}
	return nil
}

// memberPath returns the path of an object's member, or "" if there is no rule for it. bases are
// the paths of the object.
func (s Schema) memberPath(bases []string, key string) string {
	for _, base := range bases {
		for _, path := range []string{joinPath(base, key), joinPath(base, "*")} {
			if kind, _ := s.kindAt(path); kind != "" {
				return path
			}
		}
	}
	return ""
}

func joinPath(path, name string) string { return strings.TrimPrefix(path+"."+name, ".") }

// kindMismatch returns in which way a value is not of a kind, or "".
func kindMismatch(kind string, node *jsonedit.Node, raw string) string {
	var number float64
	numeric := json.Unmarshal([]byte(raw), &number) == nil && raw != "null"
	text := strings.HasPrefix(raw, `"`)
	matches, what := true, ""
	switch kind {
	case "", "any":
	case "none":
		matches, what = false, "a key that it takes"
	case "1":
		matches, what = numeric && number == 1, "the number 1"
	case "object", "closed":
		matches, what = node.IsObject(), "an object"
	case "array":
		matches, what = node.IsArray(), "an array"
	case "string":
		matches, what = text, "a text"
	case "boolean":
		matches, what = raw == "true" || raw == "false", "true or false"
	case "url":
		matches, what = text && strings.Contains(raw, ":"), "a URL"
	case "share":
		matches, what = numeric && number >= 0 && number <= 1, "a number from 0 to 1"
	case "switch":
		matches, what = raw == "true" || raw == "false" || node.IsArray(), "true or false"
	case "toggle":
		matches, what = raw == "true" || raw == "false" || node.IsObject(), "true or false"
	case "number":
		matches, what = numeric, "a number"
	case "zero":
		matches, what = numeric && number >= 0, "a number from 0"
	case "integer":
		matches, what = numeric && number == float64(int64(number)), "a whole number"
	case "positive":
		matches, what = numeric && number > 0, "a number above 0"
	case "whole":
		matches, what = numeric && number >= 0 && number == float64(int64(number)), "a whole number"
	case "count":
		matches, what = numeric && number > 0 && number == float64(int64(number)), "a whole number above 0"
	default:
		if one, other, alternative := strings.Cut(kind, "^"); alternative {
			matches, what = node.IsObject() && (node.Get(one) == nil) != (node.Get(other) == nil), "an object with either "+one+" or "+other
			break
		}
		var value string
		json.Unmarshal([]byte(raw), &value)
		words, object := strings.CutPrefix(kind, "{}|")
		allowed := strings.Split(words, "|")
		matches, what = text && slices.Contains(allowed, value) || object && node.IsObject(), "one of "+strings.Join(allowed, ", ")
	}
	if matches {
		return ""
	}
	return "is not " + what
}
