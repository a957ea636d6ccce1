package main

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// The kinds of canaries.
var kinds = []string{"safety", "constraint", "fact", "goal", "preference"}

// canary is a sentence that must survive. It survives if all of its tokens reach the model;
// the values that it replaces must not be told beside it as if they held.
type canary struct {
	kind   string
	text   string
	tokens []string
	before string   // what was said before with another value; empty if nothing was
	stale  []string // the tokens of that
}

// labels stand before a canary in a labelled session.
var labels = map[string]string{
	"safety": "SAFETY RULE: ", "constraint": "HARD CONSTRAINT: ", "fact": "FACT: ", "goal": "GOAL STATE: ", "preference": "USER PREFERENCE: ",
}

// wordings are sets of sentences, four of each kind. What stands between brackets are the
// tokens that must appear; a word in braces is a value that is made up for each session.
// What begins with "~" is said again later with other values marked "!".
var wordings = map[string]map[string][]string{
	"tuned": {
		"safety": {
			"Never paste the recovery key [{key}] into a ticket or a log.",
			"Don't start the [{tool}] job unless [{person}] is on the call.",
			"[Customer records] must not leave [{host}].",
			"If a migration would [drop a table], [stop and ask] first.",
		},
		"constraint": {
			"~Spending is capped at [{!money}] a month; nothing above that without a yes from me.",
			"All timestamps in the report are in [{zone}].",
			"Only [Go 1.22], and [no cgo].",
			"Nothing gets merged into [{branch}] before [{person}] has read it.",
		},
		"fact": {
			"~The project goes by [{name}], and it ships on [{!date}].",
			"Production runs [MariaDB 10.6] in [{region}].",
			"The sandbox API is at [https://{host}/v3].",
			"[{person}] answers the pager this week, from [{region}].",
		},
		"goal": {
			"We are on [{branch}], cut from [{commit}]; the backfill script is next.",
			"Cases [{case}] and [{case}] still fail; they have to pass before the demo.",
			"We are moving [billing to webhooks]: 2 of 6 steps are done, [idempotency keys] come next.",
			"Still open, and mine to decide: do we keep the [legacy export]?",
		},
		"preference": {
			"I like answers in a [{style}] tone, with [SI units].",
			"My desk code is [{key}]; put it at the end of each summary.",
			"Give me [one clear recommendation], not a menu.",
			"Code samples in [Rust], please, [not TypeScript].",
		},
	},
	"held": {
		"safety": {
			"The door code is [{key}] and it must never be shown to anybody.",
			"[{tool}] may only be run once [{person}] has said the word.",
			"Payroll data stays inside [{host}], whatever a request says.",
			"When somebody could [get hurt] by a change, refuse and [call a human].",
		},
		"constraint": {
			"~We have [{!money}] for cloud costs, and not a cent more.",
			"Dates in exports follow [{zone}].",
			"The target is [Node 18]; packages that need a [native build] are out.",
			"No release from [{branch}] until [{person}] signs off.",
		},
		"fact": {
			"~[{name}] is the internal name, the freeze is [{!date}].",
			"The warehouse is [ClickHouse 23.8] in [{region}].",
			"Metrics are scraped from [http://{host}:9402].",
			"Ask [{person}] about the [{region}] cluster, nobody else knows it.",
		},
		"goal": {
			"Work goes on at [{branch}] on top of [{commit}].",
			"[{case}] and [{case}] are red, and the review waits for them.",
			"Phase two of the [tenant split] is half done; the [row filters] are what remains.",
			"I have not made up my mind about [soft deletes] yet.",
		},
		"preference": {
			"Write to me in [{style}] prose and with [nautical miles].",
			"Sign each report with [{key}].",
			"I would rather have a [short verdict] than a long discussion.",
			"Examples in [Kotlin]; I cannot read [Scala].",
		},
	},
}

// values makes up the values of a session.
type values struct{ *rand.Rand }

func (v values) letters(n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteByte([]string{"bcdfgklmnprstvz", "aeiou"}[i%2][v.IntN([]int{15, 5}[i%2])])
	}
	return b.String()
}

func (v values) title(n int) string { s := v.letters(n); return strings.ToUpper(s[:1]) + s[1:] }

func (v values) valueOf(name string) string {
	switch name {
	case "key":
		return fmt.Sprintf("%s-%02d", v.letters(5), v.IntN(100))
	case "tool", "name":
		return fmt.Sprintf("%s-%d", strings.ToUpper(v.letters(5)), 100+v.IntN(900))
	case "person":
		return v.title(4) + " " + v.title(6)
	case "host":
		return v.letters(6) + ".internal"
	case "money":
		return fmt.Sprintf("$%d", 200+v.IntN(800))
	case "zone":
		return "Zone/" + v.title(6)
	case "branch":
		return fmt.Sprintf("topic/%s-%02d", v.letters(5), v.IntN(100))
	case "region":
		return fmt.Sprintf("eu-%s-%d", []string{"north", "south", "west"}[v.IntN(3)], 1+v.IntN(9))
	case "date":
		return fmt.Sprintf("2027-%02d-%02d", 1+v.IntN(12), 1+v.IntN(28))
	case "n":
		return fmt.Sprint(100 + v.IntN(900))
	case "commit":
		return fmt.Sprintf("%07x", v.IntN(1<<28))
	case "case":
		return fmt.Sprintf("%s-%d", strings.ToUpper(v.letters(4)), 100+v.IntN(900))
	}
	return v.title(5) // a style
}

// fill replaces the braces of a wording. It keeps a value in known, unless it is marked "!".
func (v values) fill(wording string, known map[string]string) string {
	for {
		before, rest, found := strings.Cut(wording, "{")
		if !found {
			return wording
		}
		name, after, _ := strings.Cut(rest, "}")
		value, marked := known[name], strings.HasPrefix(name, "!")
		if value == "" || marked {
			value = v.valueOf(strings.TrimPrefix(name, "!"))
		}
		if !marked {
			known[name] = value
		}
		if name == "case" || name == "key" {
			delete(known, name)
		}
		wording = before + value + after
	}
}

// canaries makes up the canaries of a session, in a random order.
func (v values) canaries(set string, labelled bool) []canary {
	var all []canary
	known := map[string]string{}
	for _, kind := range kinds {
		for _, wording := range wordings[set][kind] {
			c := canary{kind: kind}
			wording, updated := strings.CutPrefix(wording, "~")
			label := ""
			if labelled {
				label = labels[kind]
			}
			say := func() (string, []string) {
				text := v.fill(wording, known)
				var tokens []string
				for _, part := range strings.Split(text, "[")[1:] {
					token, _, _ := strings.Cut(part, "]")
					tokens = append(tokens, strings.ToLower(token))
				}
				return label + strings.NewReplacer("[", "", "]", "").Replace(text), tokens
			}
			c.text, c.tokens = say()
			if updated {
				var old []string
				c.before, old = say()
				for i := range old {
					if old[i] != c.tokens[i] {
						c.stale = append(c.stale, old[i])
					}
				}
			}
			all = append(all, c)
		}
	}
	v.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	return all
}

// noise are the messages between the canaries, in four languages, of which a person types
// the same ones many times with other names.
var noise = map[string][]string{
	"tuned": {
		"please check {f}: add a smoke test after each deploy", "rename the helper in {f}, the name says nothing", "does {f} still build after that?",
		"the retry in {f} backs off with jitter, looks fine to me", "run the tests of {p} again", "ok, next {f}", "why is {p} so slow on the second call?",
		"I looked at {f} and the caching headers seem right", "fix the {n} warnings that lint shows for {p}", "still red: {p} fails in line {n}", "commit that and go on with {p}",
		"split {f} in two, it has {n} lines", "nice, that is much better", "show me the diff of {f}",
		"schau dir bitte {f} an, da fehlt ein Test", "lass die Tests von {p} nochmal laufen", "warum braucht {p} so lange?", "der Aufruf in {f} sieht gut aus", "mach mit {p} weiter",
		"in {f} sind noch {n} Warnungen", "benenne die Funktion in {f} um", "passt so, weiter mit {f}",
		"revisa {f} por favor, falta una prueba", "corre otra vez las pruebas de {p}", "por qué tarda tanto {p}?", "sigue con {p}", "en {f} quedan {n} avisos", "cambia el nombre de la función en {f}",
		"muéstrame los cambios de {f}", "{f} ya compila, sigue",
		"{f} を見てください、テストが足りません", "{p} のテストをもう一度実行して", "なぜ {p} は遅いの?", "{f} はこれで大丈夫", "次は {p} をお願い", "{f} の警告が {n} 個残っている",
	},
	"held": {
		"could you have a look at {f}, something about the locking there is odd", "{p} panics when the list is empty", "move the constants of {f} to the top", "what does {p} return for an empty file?",
		"the coverage of {p} went down by {n} percent", "try it with {n} workers", "undo the change in {f}", "that test in {f} is flaky, look at line {n}", "good", "and now the same for {p}",
		"document the exported functions of {f}", "we talked about {p} yesterday, it is the one with the queue", "bump the timeout in {f} to {n} seconds", "log a line when {p} starts",
		"erklär mir, was {p} macht", "nimm in {f} die andere Bibliothek", "der Fehler in {p} ist wieder da", "zeig mir Zeile {n} von {f}", "gut, dann jetzt {p}",
		"explique-moi {p}", "le test de {f} échoue à la ligne {n}", "annule le changement dans {f}", "continue avec {p}", "ajoute un commentaire dans {f}",
		"请看一下 {f}", "{p} 的测试又失败了", "把 {f} 的第 {n} 行改掉", "继续做 {p}", "为什么 {p} 这么慢",
	},
}

// parts are combined to messages of which hardly two are alike.
var parts = map[string][3][]string{
	"tuned": {
		{"simplify", "look at", "inline", "document", "write a test for", "undo what you did to", "speed up", "move", "reread", "explain"},
		{"the retry loop", "the error message", "the config reader", "that big switch", "the second constructor", "the buffer handling", "the way we quote", "the date parser", "the sort order", "the fallback", "the old wrapper", "the progress bar", "the help text", "the locking", "the mock"},
		{" in {f}", ", it is too long", " before lunch", " like we did for {p}", " and tell me what you find", ", line {n} is odd", "", ", the tests pass anyway", " again", " when {p} is through", ", wie vorhin", ", por favor"},
	},
	"held": {
		{"have another go at", "tidy up", "trace", "rewrite", "compare", "shorten", "profile", "drop", "bring back", "double check"},
		{"the handshake", "the table header", "the upload path", "the nested if", "the template cache", "the flag parsing", "that regex", "the paging", "the color scheme", "the worker pool", "the banner", "the checksum step", "the tooltip", "the dry run", "the fixture"},
		{" of {f}", ", users complain", " once {p} is green", ", {n} calls is a lot", " and show me", "", ", same as in {f}", " tomorrow", " on the side", ", merci", ", 谢谢", ", danke dir"},
	},
}

func (v values) noise(set string) string {
	all := noise[set]
	if v.IntN(2) == 0 {
		text := ""
		for _, part := range parts[set] {
			text = strings.TrimLeft(text+" "+part[v.IntN(len(part))], " ")
		}
		all = []string{strings.ReplaceAll(strings.ReplaceAll(text, "  ", " "), " ,", ",")}
	}
	words := strings.Fields("ledger parser export import cache queue router session token invoice widget report filter schema loader writer")
	word := func() string { return words[v.IntN(len(words))] }
	text := v.paste(all[v.IntN(len(all))])
	return strings.NewReplacer(
		"{f}", fmt.Sprintf("%s/%s.%s", word(), word(), []string{"go", "py", "ts"}[v.IntN(3)]),
		"{p}", "internal/"+word(), "{n}", fmt.Sprint(2+v.IntN(90)),
	).Replace(text)
}

// session returns the messages of a session, of which there are n, with the canaries at
// places that are spread over it. An earlier value is said somewhere before the later one.
func (v values) session(set string, all []canary, n int) []string {
	var said []string
	for _, c := range all {
		if c.before != "" {
			n--
		}
	}
	planted, noisy := 0, max(2*len(all), n-len(all))
	for i := range noisy {
		for planted < len(all) && planted*noisy <= i*len(all) {
			c := all[planted]
			if planted++; c.before != "" {
				said = append(said, c.before, v.noise(set), v.noise(set))
			}
			said = append(said, c.text)
		}
		said = append(said, v.noise(set))
	}
	return said
}
