package wiring

import (
	"path/filepath"
	"slices"
	"strings"

	"gt/lib/client/settings"
	"gt/lib/text/jsonedit"
)

// An Allow is the list in the client's user settings of what it runs without asking.
type Allow struct {
	Keys []string                    // of nested objects, down to an array of strings
	Rule func(program string) string // returns the rule that allows a program with any arguments
}

// Allowed are the programs that an agent may run without asking.
var Allowed = []string{"gt-handoff", "gt-mail"}

// ownRules returns our rules in order: each program by its path, then by its name, which
// agents type. The path marks the next rule as ours.
func (a Allow) ownRules(dir string) (all []string) {
	for _, program := range Allowed {
		all = append(all, a.Rule(quoteShell(filepath.Join(dir, program))), a.Rule(program))
	}
	return all
}

// ownProgram returns the path that a rule allows, if it is one of ours.
func (a Allow) ownProgram(rule string) (path string, ok bool) {
	before, after, _ := strings.Cut(a.Rule("\x00"), "\x00") // what stands around the program in a rule
	line, begins := strings.CutPrefix(rule, before)
	line, ends := strings.CutSuffix(line, after)
	if !begins || !ends {
		return "", false
	}
	path, rest := SplitCommand(line)
	return path, rest == "" && filepath.IsAbs(path) && slices.Contains(Allowed, filepath.Base(path))
}

// findOwnRules returns the indexes of our rules. A rule by name that does not follow the one by
// path is the person's.
func (a Allow) findOwnRules(list []string) (at []int) {
	for i, rule := range list {
		if _, ok := a.ownProgram(rule); ok {
			at = append(at, i)
		} else if i > 0 && slices.Contains(at, i-1) {
			if before, ok := a.ownProgram(list[i-1]); ok && rule == a.Rule(filepath.Base(before)) {
				at = append(at, i)
			}
		}
	}
	return at
}

// Allows returns our rules in the text of the client's settings.
func (c Client) Allows(text []byte) (rules []string) {
	if c.Allow == nil || len(strings.TrimSpace(string(text))) == 0 {
		return nil
	}
	doc, err := jsonedit.Parse(text, c.Comments)
	if err != nil {
		return nil // EditAllow returns the error
	}
	list := itemTexts(doc, c.Allow.ruleList(doc))
	for _, i := range c.Allow.findOwnRules(list) {
		rules = append(rules, list[i])
	}
	return rules
}

// AllowedIn reports whether the rules allow the programs of a folder and no others.
func (c Client) AllowedIn(dir string, rules []string) bool {
	want := c.Allow.ownRules(dir)
	return len(rules) > 0 && !slices.ContainsFunc(rules, func(r string) bool { return !slices.Contains(want, r) })
}

// EditAllow lets the client run gt's programs in the folder dir without asking. If dir is
// "", it removes our rules. The person's rules stay. old is the content of the settings at path.
// A backup is made if old has nothing of gt.
func (c Client) EditAllow(path string, old []byte, dir string) (settings.Edit, error) {
	same := settings.Edit{Text: old}
	text := old
	if len(strings.TrimSpace(string(text))) == 0 {
		if dir == "" {
			return same, nil
		}
		text = []byte("{}\n")
	}
	doc, err := jsonedit.Parse(text, c.Comments)
	if err != nil {
		return same, err
	}
	list := itemTexts(doc, c.Allow.ruleList(doc))
	var want []string
	if dir != "" {
		want = c.Allow.ownRules(dir) // if just these are there, nothing changes
		if rest := slices.DeleteFunc(slices.Clone(want), func(w string) bool { return slices.Contains(list, w) }); len(rest) == 0 && c.AllowedIn(dir, c.Allows(text)) {
			return same, nil
		}
	}
	hadRules := false
	for { // removes our rules, the last one first; then the wanted ones are added
		at := c.Allow.findOwnRules(itemTexts(doc, c.Allow.ruleList(doc)))
		if len(at) == 0 {
			break
		}
		hadRules = true
		n := c.Allow.ruleList(doc).Items[at[len(at)-1]]
		for n.Parent != doc.Root && doc.IsOnlyChild(n) { // what would be left empty goes, too
			n = n.Parent
		}
		text = doc.Remove(n)
		if doc, err = jsonedit.Parse(text, c.Comments); err != nil {
			return same, err
		}
	}
	list = itemTexts(doc, c.Allow.ruleList(doc))
	for _, rule := range want {
		if slices.Contains(list, rule) { // the person's own
			continue
		}
		if text, err = c.Allow.addRule(doc, rule); err != nil {
			return same, err
		}
		if doc, err = jsonedit.Parse(text, c.Comments); err != nil {
			return same, err
		}
	}
	if dir == "" && !hadRules {
		return same, nil
	}
	var remaining []Handler // nil: a file that gt created may be removed
	if want != nil {
		remaining = []Handler{}
	}
	return settings.Edit{Text: c.remainingText(path, text, remaining), Backup: !hadRules && len(c.ownHandlers(doc)) == 0}, nil
}

// ruleList returns the array at a.Keys, or nil if the settings have none there.
func (a Allow) ruleList(doc *jsonedit.Doc) *jsonedit.Node {
	n := doc.Root
	for _, key := range a.Keys {
		n = n.Get(key)
	}
	if !n.IsArray() {
		return nil
	}
	return n
}

func itemTexts(doc *jsonedit.Doc, n *jsonedit.Node) []string {
	if n == nil {
		return nil
	}
	all := make([]string, len(n.Items))
	for i, item := range n.Items {
		all[i] = doc.Text(item)
	}
	return all
}

// addRule appends a rule, and creates missing objects around the list.
func (a Allow) addRule(doc *jsonedit.Doc, rule string) ([]byte, error) {
	node := doc.Root
	for i, key := range a.Keys {
		if !node.IsObject() {
			return nil, shapeError(node, strings.Join(a.Keys[:i], ".")+" is not an object")
		}
		next := node.Get(key)
		if next == nil {
			var value any = []string{rule}
			for j := len(a.Keys) - 1; j > i; j-- {
				value = map[string]any{a.Keys[j]: value}
			}
			return doc.Append(node, key, value)
		}
		node = next
	}
	if !node.IsArray() {
		return nil, shapeError(node, strings.Join(a.Keys, ".")+" is no array")
	}
	return doc.Append(node, "", rule)
}
