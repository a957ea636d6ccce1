package main

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"regexp/syntax"
	"strings"

	"github.com/zricethezav/gitleaks/v8/config"
	"github.com/zricethezav/gitleaks/v8/detect"

	"gt/lib/text/redact"
)

// sample is a text in which a rule of the scanner's finds a secret.
type sample struct {
	rule, text, secret string
}

// perContext is how many samples are made of a rule in each surrounding.
const perContext = 5

// contexts are what a token can stand in; % is the token.
var contexts = []string{
	"use % for it\n", "x = \"%\"\n", `{"a":"%"}` + "\n", "a: %\n", "export X=%\nnext\n", "(`%`)\n", `"one\n%\ntwo"` + "\n",
}

// settings are what a secret that has no form of its own can stand in, by name;
// {i} is what the rule looks for in the name, {I} the same in capitals.
var settings = []string{
	"{I}_API_KEY=%\n", "export {I}_TOKEN=\"%\"\n", "{i}_api_token: %\n", `{"{i}Token": "%"}` + "\n", "{i}_secret = '%'\n",
	`{i}ApiKey := "%"` + "\n", `os.Setenv("{I}_TOKEN", "%")` + "\n", `"{i}_token" => "%",` + "\n", "{I}_TOKEN ?= %\n",
	"{i}ClientSecret = `%`\n", "<{i}Token>\n    %\n</{i}Token>\n",
}

// operator stands in every rule that goes by a setting's name.
const operator = `(?:=|>|:{1,3}=`

// samples makes texts of the scanner's own rules, each checked by the scanner
// itself: what it does not find is no sample.
func samples(d *detect.Detector, rng *rand.Rand) (made []sample, without []string) {
	for _, rule := range sorted(d.Config.Rules) {
		if rule.Regex == nil { // it goes by a file's name
			continue
		}
		tree, err := syntax.Parse(rule.Regex.String(), syntax.Perl)
		if err != nil {
			panic(err) // it was compiled before
		}
		g := generator{rng, rule.Regex.String()}
		around, body := contexts, tree
		if len(rule.Keywords) > 0 && !strings.Contains(rule.Regex.String(), rule.Keywords[0]) {
			around = []string{rule.Keywords[0] + ": %\n"} // it wants a word beside it
		}
		if strings.Contains(rule.Regex.String(), operator) {
			around = nil
			for _, s := range settings {
				for _, name := range names(rule) {
					around = append(around, strings.NewReplacer("{i}", name, "{I}", strings.ToUpper(name)).Replace(s))
				}
			}
			if c := capture(tree, max(rule.SecretGroup, 1)); c != nil {
				body = c
			}
		}
		n := 0
		for _, context := range around {
			for range perContext {
				for range 20 { // not every text that fits passes its other filters
					text := strings.Replace(context, "%", g.text(body), 1)
					if secret := found(d, rule.RuleID, text); secret != "" {
						made = append(made, sample{rule.RuleID, text, secret})
						n++
						break
					}
				}
			}
		}
		if n == 0 {
			without = append(without, rule.RuleID)
		}
	}
	return made, without
}

// named finds the words that a rule looks for in a setting's name.
var named = regexp.MustCompile(`\{0,50\}\?\(\?i?:([^()\[\]]+)\)`)

func names(rule config.Rule) []string {
	words := rule.Keywords
	if m := named.FindStringSubmatch(rule.Regex.String()); m != nil {
		words = strings.Split(m[1], "|")
	}
	var all []string
	for _, w := range words {
		all = append(all, strings.NewReplacer(" ", "_", ".", "_", "-", "_", "?", "").Replace(strings.Trim(w, "_-. ")))
	}
	return all
}

// found is the secret that the rule finds in the text, empty for none.
func found(d *detect.Detector, rule, text string) string {
	for _, f := range d.DetectString(text) {
		if f.RuleID == rule {
			return f.Secret
		}
	}
	return ""
}

// caught reports whether nothing of the secret stays that is worth anything: no
// ten characters of it in a row.
func (s sample) caught() bool {
	clean := redact.Text(s.text, nil)
	const worth = 10
	for _, public := range []string{"_gitlab_session=", "hooks.slack.com/services/", "hooks.slack.com/workflows/", "hooks.slack.com/triggers/"} {
		if _, value, ok := strings.Cut(s.secret, public); ok {
			s.secret = value
		}
	}
	if len(s.secret) <= worth {
		return !strings.Contains(clean, s.secret)
	}
	for i := 0; i+worth <= len(s.secret); i++ {
		if part := s.secret[i : i+worth]; strings.Contains(clean, part) && strings.Trim(part, "- \n") != "" {
			return false
		}
	}
	return true
}

// capture finds a group of a regular expression by its number.
func capture(re *syntax.Regexp, number int) *syntax.Regexp {
	if re.Op == syntax.OpCapture && re.Cap == number {
		return re
	}
	for _, sub := range re.Sub {
		if c := capture(sub, number); c != nil {
			return c
		}
	}
	return nil
}

// generator writes texts that a regular expression matches.
type generator struct {
	*rand.Rand
	rule string // as it is written
}

func (g generator) text(re *syntax.Regexp) string {
	var b strings.Builder
	g.write(&b, re)
	return b.String()
}

func (g generator) write(b *strings.Builder, re *syntax.Regexp) {
	times := func(lo, hi int) {
		if hi < 0 {
			hi = lo + 10
		}
		for range lo + g.IntN(hi-lo+1) {
			g.write(b, re.Sub[0])
		}
	}
	switch re.Op {
	case syntax.OpLiteral:
		text := string(re.Rune)
		if re.Flags&syntax.FoldCase != 0 { // in either case, and tokens are written as the rule is
			text = strings.ToLower(text)
			if i := strings.Index(strings.ToLower(g.rule), text); i >= 0 {
				text = g.rule[i : i+len(text)]
			}
		}
		b.WriteString(text)
	case syntax.OpCharClass:
		b.WriteRune(g.pickChar(re.Rune))
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		b.WriteByte('.') // which is what is meant most often
	case syntax.OpStar:
		times(0, 10)
	case syntax.OpPlus:
		times(1, 10)
	case syntax.OpQuest:
		times(0, 1)
	case syntax.OpRepeat:
		times(re.Min, re.Max)
	case syntax.OpAlternate:
		g.write(b, re.Sub[g.IntN(len(re.Sub))])
	case syntax.OpCapture, syntax.OpConcat:
		for _, sub := range re.Sub {
			g.write(b, sub)
		}
	}
}

// pickChar picks a character of a class, one that is printed where there is any.
func (g generator) pickChar(class []rune) rune {
	var all []rune
	for i := 0; i < len(class); i += 2 {
		for r := max(class[i], '!'); r <= min(class[i+1], '~'); r++ {
			all = append(all, r)
		}
	}
	if len(all) == 0 {
		return class[0]
	}
	return all[g.IntN(len(all))]
}

func sorted(rules map[string]config.Rule) []config.Rule {
	var all []config.Rule
	for _, id := range sortedKeys(rules) {
		all = append(all, rules[id])
	}
	return all
}

// tally counts by rule.
type tally struct{ caught, of int }

func (t tally) String() string { return fmt.Sprintf("%d of %d", t.caught, t.of) }

// compare redacts every sample.
func compare(all []sample) map[string]tally {
	by := map[string]tally{}
	for _, s := range all {
		t := by[s.rule]
		t.of++
		if s.caught() {
			t.caught++
		}
		by[s.rule] = t
	}
	return by
}
