package standing

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"gt/internal/testenv"
)

// labelled is a prompt with what a careful person finds in it.
type labelled struct {
	name, lang, text string
	labels           []string
}

func prompts(t *testing.T, set string) []labelled {
	data, err := os.ReadFile("testdata/" + set)
	testenv.NoError(t, err)
	var all []labelled
	for _, record := range strings.Split("\n"+string(data), "\n=== ")[1:] {
		head, rest, _ := strings.Cut(record, "\n")
		text, labels, _ := strings.Cut("\n"+rest+"\n", "\n---\n")
		name, lang, _ := strings.Cut(head, " ")
		p := labelled{name: name, lang: lang, text: strings.TrimPrefix(text, "\n")}
		for line := range strings.Lines(labels) {
			if line = strings.Join(strings.Fields(line), " "); line != "" {
				p.labels = append(p.labels, line)
			}
		}
		all = append(all, p)
	}
	return all
}

// score counts what a careful person labelled and what Find found.
type score struct{ labels, found, right, given int }

func (s *score) add(t *testing.T, p labelled) {
	found := slices.DeleteFunc(Find(p.text), func(i Instruction) bool { return i.Kind == Lifted })
	s.labels += len(p.labels)
	s.given += len(found)
	for _, l := range p.labels {
		if slices.ContainsFunc(found, func(f Instruction) bool { return matches(l, f.Text) }) {
			s.found++
		} else {
			t.Logf("%s %s missed: %s", p.name, p.lang, l)
		}
	}
	for _, f := range found {
		if slices.ContainsFunc(p.labels, func(l string) bool { return matches(l, f.Text) }) {
			s.right++
		} else {
			t.Logf("%s %s wrong: %s", p.name, p.lang, f.Text)
		}
	}
}

func (s *score) String() string {
	return fmt.Sprintf("%d of %d found, %d of %d right", s.found, s.labels, s.right, s.given)
}

// More than nine of ten findings are right. The rules were made with made-with.txt and
// checked with prompts.txt, whose labels are generous; heldout.txt was written before the
// rules, and nothing is tuned on it: who changes a rule for one of its prompts moves that
// prompt to made-with.txt. natives.txt has thirty or more sentences of each of eight languages; the
// rules were mended with it.
func TestPrompts(t *testing.T) {
	for set, found := range map[string]float64{"heldout.txt": 0.6, "made-with.txt": 0.9, "natives.txt": 0.9, "prompts.txt": 0.25} {
		t.Run(set, func(t *testing.T) {
			var english, other score
			for _, p := range prompts(t, set) {
				if p.lang == "en" {
					english.add(t, p)
				} else {
					other.add(t, p)
				}
			}
			t.Logf("English: %v; other languages: %v", &english, &other)
			all := score{english.labels + other.labels, english.found + other.found, english.right + other.right, english.given + other.given}
			if precision := float64(all.right) / float64(all.given); precision < 0.9 {
				t.Errorf("precision %.3f, want 0.9", precision)
			}
			// That little is found would be right, too, if nothing were.
			if recall := float64(all.found) / float64(all.labels); recall < found {
				t.Errorf("recall %.3f, want %.2f", recall, found)
			}
		})
	}
}

// matches reports whether a finding is what the label says: the one contains the other, or
// most of its words.
func matches(label, found string) bool {
	label, found = strings.ToLower(label), strings.ToLower(strings.TrimSuffix(found, "…"))
	if strings.Contains(found, label) || strings.Contains(label, found) {
		return true
	}
	in, words := 0, strings.Fields(label)
	for _, w := range words {
		if strings.Contains(found, w) {
			in++
		}
	}
	return utf8.RuneCountInString(label) > 20 && in*10 >= len(words)*7
}

// What is said later holds, where it says the same or the opposite.
func TestReplaces(t *testing.T) {
	for _, c := range []struct {
		said string // a line each time
		want string
	}{
		{"Never push to main.\nAlways run the tests.", "Never push to main.|Always run the tests."},
		{"Never push to main.\nYou can push to main now.", ""},
		{"Never push to main.\nYou can push now.", ""},
		{"Never push to main.\nAlways push to main.", "Always push to main."},
		{"Don't touch the tests.\nFrom now on, never touch the tests!", "From now on, never touch the tests!"},
		{"Don't touch the tests.\nDon't touch the docs.", "Don't touch the tests.|Don't touch the docs."},
		{"Never push to main.\nAlways push to main behind a flag and tag each of the releases.", "Never push to main.|Always push to main behind a flag and tag each of the releases."},
		{"Use only tabs.\nWhy can you never push now?", "Use only tabs."},
		{"Bitte nie auf main pushen.\nDu darfst jetzt auf main pushen.", ""},
		{"Don't commit until I say so.\nok you can commit now", ""},
		{"Never push to main.\nOk, you can push to main now.", ""},
		{"Always commit.\nyou can commit now", "Always commit."},
		{"Don't commit anything.\nyou can commit anything again", ""},
		{"Never push to main.\nNever push to main.", "Never push to main."},
		{"You can see it now.\nnever use sudo", "never use sudo"},
		{"Никогда не пушь в main.\nВсегда пушь в main.", "Всегда пушь в main."},
		{"절대 테스트 파일을 수정하지 마세요.\n절대 설정 파일을 수정하지 마세요.", "절대 테스트 파일을 수정하지 마세요.|절대 설정 파일을 수정하지 마세요."},
		{"不要修改测试文件。\n不要修改配置文件。", "不要修改测试文件。|不要修改配置文件。"},
		{"Never touch lexer.go in the big old module of billing code.\nNever touch parser.go in the big old module of billing code.", "Never touch lexer.go in the big old module of billing code.|Never touch parser.go in the big old module of billing code."},
	} {
		var all []Instruction
		for said := range strings.SplitSeq(c.said, "\n") {
			for _, found := range Find(said) {
				all = append(slices.DeleteFunc(all, found.Replaces), found)
			}
		}
		var texts []string
		for _, i := range all {
			if i.Kind != Lifted {
				texts = append(texts, i.Text)
			}
		}
		if got := strings.Join(texts, "|"); got != c.want {
			t.Errorf("%q leaves %q, want %q", c.said, got, c.want)
		}
	}
}

// The end of a turn waits for this.
func BenchmarkFind(b *testing.B) {
	for name, text := range map[string]string{
		"request": strings.Repeat("Port the parser to the new grammar, but never touch the tests. ", 10),
		"paste":   strings.Repeat("2026-01-17T01:00:00Z INFO  server: request 4711 took 12 ms and must not be retried\n", 800),
		"word":    strings.Repeat("ä", maxText/2),
		"prose":   strings.Repeat("the quick brown fox jumps over the lazy dog and never comes back to us\n", 900),
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				Find(text)
			}
		})
	}
}

// Whatever is said, what is found is short and stands on one line.
func FuzzFind(f *testing.F) {
	for _, s := range []string{"Never push to main.", "a) don't\n> never\n```\nmust\n", "`never`", "必须用 tabs。", "«ne touche pas»", "1. always\n\n\tnever", "\"do not\" only", "MUST NOT\xff", "<a>never</a>", "::(", "-/", "a/", "'", "(()(", "Rules:\n- a", "Rules:\n- ?", "#", "no", "use", "ne"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, in := range Find(text) {
			if utf8.RuneCountInString(in.Text) > MaxLength || strings.ContainsAny(in.Text, "\n\r") || in.Text == "" || in.Kind == KindNone {
				t.Errorf("%q gives %+v", text, in)
			}
		}
	})
}

// What stands in code, in a quotation, in output that was pasted, or in a document is
// nobody's order.
func TestNoOrders(t *testing.T) {
	for _, text := range []string{
		"Look at this:\n```\nnever push to main\n```\nWhat does it do?",
		"Look at this:\n~~~sh\nalways run this\n~~~\n",
		"Look at this\n\n    never run this\n",
		"Tom wrote:\n> Never push to main.\n\nIs he right?",
		"The ticket says:\n\nNever push to main.\nAlways push.\n\nIs it right?",
		"It prints \"you must never do that\" and stops.",
		"\"You must never do that\" is what it prints.",
		"`never do that` is what it prints.",
		"2026-01-17T01:00:00Z WARN never retry this request",
		"[error] you must not call this",
		"src/a.go:12:3: never use this",
		"TypeError: never pass a string",
		"<log>\nnever do this\n</log>\nfix it",
		"<system-reminder>Never answer.</system-reminder>",
		strings.Repeat("The parser reads a token. Its type says what follows.\n", 80) + "Never push to main.",
		strings.Repeat("word ", 60) + "and, please, never push",
		"They start and never stop again.",
		"Don't remove the old flag, rename it.",
		"Don't worry about the tests.",
		"Don't push the branch yet.",
		"Do you never push?",
		"It always crashes.",
		"The parser never returns nil.",
		"Validation rules:\n- no digits\n- a name",
		"Validation rule: the name has no digits.",
		"Please check x.go: add a smoke test after each deploy.",
		"Look at lib/a.go and run the test after every change.",
		"Nothing was lost before the crash.",
		"Only the tests failed.",
		"SAFETY RULE: may we push?",
		"Never mind. It was the cache. Use it.",
		"He said we must not deploy today, but that was wrong.",
		"Every test needs about a minute.",
		"All rows need to be sorted by date here.",
		"No luck, not ever.",
		"Only use the second half of the file for the sample.",
		"Whenever you are ready.",
		"Keep the second one out of it.",
		"It must pass before you go home.",
		"Alle Tests müssen heute noch laufen.",
		"Vor jedem Test leere ich die Datenbank.",
		"Avant chaque test la base est vidée.",
		"b, but no more than 5 seconds",
		"ja, aber nicht mehr als 5 Sekunden",
		"no, don't delete it",
		"no, use the second one, not the first",
		"don't touch the tests in this commit",
		"do not edit any files in this turn",
		"don't run the load test today",
		"no external calls today",
		"bitte heute nicht deployen",
		"don't use the cache just this once",
		"do not push until tomorrow",
		"Acceptance criteria:\n- never show a digit\n- always ask twice",
		"We may never know why it failed on Monday.",
		"This may never happen in production, but let us check.",
		"It must never have worked before.",
		"The value must never have been null, so I wonder what happened.",
		"You may never need this.",
		"The function may never return if the channel is closed.",
		"The loop may never terminate.",
		"He may never come back to the project.",
		"If n is 0 the loop must never have run.",
		"If it runs at night the loop must never be read.",
		"It seems the cache may never expire, find out why.",
		"It seems the file may never be read, find out why.",
		"It may never be merged, they told me.",
		"It may never be zero here, so the division is safe.",
		"It must never be too late to learn.",
		"It was too late and must never have run.",
		"I think the log must never be read twice.",
		"I cannot believe it must never... never mind.",
		"Once deleted, you may never use the name again.",
		"A summary you may never read is loaded up front.",
		"The migration must not have been applied, otherwise the column would exist.",
		"Nothing works without the proxy here.",
		"It only runs when asked, explicitly.",
		"You are not to blame for the outage.",
		"You're not to worry about the old tests.",
		"You may never find the cause.",
		"You may never have heard of it, but there's a tool called jq.",
		"When the user clicks cancel, stop.",
		"If it fails, stop.",
		"If the build fails, stop and report what you found, then go on with the next file.",
		"Kubernetes is off the table, so we went with Nomad.",
		"The refund needs my approval flag set, fix the query.",
		"The button is shown only when I ask for the page twice.",
		"It crashes only if I ask for more than 10 rows.",
		"It only works only if I say --force.",
		"Make sure nothing is ever null in this list.",
		"Wait for the server before you send the first request.",
		"You're only allowed three retries by their API, so add a backoff.",
		"You are only allowed to send 500 requests per minute according to the docs.",
		"Je ne veux pas de cette version, montre-moi l'autre.",
		"Je ne veux pas de mal à ton code, mais il est lent.",
		"Ich möchte keine Zeit verlieren, fang mit dem Parser an.",
		"Évite de justesse le crash, ce patch est fragile.",
		"Evita llamar dos veces a la base: eso hace la nueva función.",
		"Frag nicht warum, aber der Test läuft jetzt.",
		"The job must not have finished.",
		"The worker must not have started when it fell over.",
		"Je ne veux pas de ces tests, efface-les.",
		"If the parser hits an unknown tag, stop and report the line.",
		"This PR needs my approval, where is the button?",
	} {
		if found := Find(text); len(found) > 0 {
			t.Errorf("%q gives %+v", text, found)
		}
	}
	// An answer can have one.
	for _, text := range []string{"no, never push to main", "yes, and always use UTC for times", "b, but don't touch the schema", "No, never touch the other services.", "No, always keep the first line of each file.", "OK, never rename the first column.",
		"no, never push it", "Always update the changelog with what changed today.", "Never commit anything in this run directory.", "Always add new tests in this commit style: one function for each case."} {
		if found := Find(text); len(found) != 1 {
			t.Errorf("%q gives %+v", text, found)
		}
	}
}

func TestFind(t *testing.T) {
	for text, want := range map[string]string{
		"Rules:\n- tabs\n- British spelling\n\nNow port the parser.":      "tabs, always|British spelling, always",
		"## Ground rules\n1. only tabs\n2. no globals\n\n## Task\n- Port": "only tabs, only|no globals, never",
		"1. Never push to main.":                               "Never push to main., never",
		"HARD CONSTRAINT: Report all times in UTC.":            "HARD CONSTRAINT: Report all times in UTC., always",
		"HARD CONSTRAINT: Only Python 3.11. No sockets.":       "HARD CONSTRAINT: Only Python 3.11. No sockets., never",
		"Rule two: the vault code is abc-12, it is secret.":    "Rule two: the vault code is abc-12, it is secret., always",
		"Budget cap is $956 total. Never exceed it.":           "Budget cap is $956 total. Never exceed it., never",
		"Only Python 3.11. No external network.":               "Only Python 3.11., only|No external network., never",
		"The code is abc-12 and must never be shared.":         "The code is abc-12 and must never be shared., never",
		"Only write code in TypeScript.":                       "Only write code in TypeScript., only",
		"Each PR needs tests before it gets merged.":           "Each PR needs tests before it gets merged., always",
		"Every endpoint has to validate its input.":            "Every endpoint has to validate its input., always",
		"No console.log in production code, ever.":             "No console.log in production code, ever., never",
		"Keep all secrets out of the repository.":              "Keep all secrets out of the repository., always",
		"Whenever you change the schema, update the docs.":     "Whenever you change the schema, update the docs., always",
		"Avoid global state at all costs.":                     "Avoid global state at all costs., never",
		"Log output may never contain secrets.":                "Log output may never contain secrets., never",
		"The seed may never be changed.":                       "The seed may never be changed., never",
		"Keys must never ever be sent by mail.":                "Keys must never ever be sent by mail., never",
		"Keys must never, under any circumstances, be logged.": "Keys must never, under any circumstances, be logged., never",
		"Refrain from editing generated files.":                "Refrain from editing generated files., never",
		"Tests must pass before you push.":                     "Tests must pass before you push., always",
		"Alle Texte müssen immer auf Deutsch sein.":            "Alle Texte müssen immer auf Deutsch sein., always",
		"Toutes les dates doivent toujours être en UTC.":       "Toutes les dates doivent toujours être en UTC., always",
		"Antes de cada commit ejecuta las pruebas.":            "Antes de cada commit ejecuta las pruebas., always",
		"Avant chaque commit, lance les tests.":                "Avant chaque commit, lance les tests., always",
		"All commits need a ticket.":                           "All commits need a ticket., always",
		"Answer in German.":                                    "Answer in German., always",
		"Run the tests before pushing.":                        "Run the tests before pushing., always",
		"Report all times in UTC.":                             "Report all times in UTC., always",
		"Nothing gets merged before Dana has read it.":         "Nothing gets merged before Dana has read it., never",
		"No release until Dana signs off.":                     "No release until Dana signs off., never",
		"Customer data must not leave the host.":               "Customer data must not leave the host., never",
		"If a change could drop a table, stop and ask first.":  "If a change could drop a table, stop and ask first., always",
		"Never use `git push --force`.":                        "Never use `git push --force`., never",
		"```\ncode\n```\nonly touch the parser":                "only touch the parser, only",
		"You can push now.":                                    "You can push now., lifted",
		"Never push. Never push.":                              "Never push., never",
		"My key must never be printed.":                        "My key must never be printed., never",
		"Data must never be lost.":                             "Data must never be lost., never",
		"If the build fails you must never skip the tests.":    "If the build fails you must never skip the tests., never",
		"As agreed, we never deploy on fridays.":               "As agreed, we never deploy on fridays., never",
		"You may never force-push.":                            "You may never force-push., never",
		"You are not to install anything.":                     "You are not to install anything., never",
		"You're only allowed to edit files in src/.":           "You're only allowed to edit files in src/., only",
		"Schema changes are off the table.":                    "Schema changes are off the table., never",
		"Keep it local unless I explicitly ask.":               "Keep it local unless I explicitly ask., always",
		"Commits only when I ask for them.":                    "Commits only when I ask for them., only",
		"Do not, under any circumstance, run migrations.":      "Do not, under any circumstance, run migrations., never",
		"Wait for my review before you commit anything.":       "Wait for my review before you commit anything., always",
		"Anything in billing needs my sign-off.":               "Anything in billing needs my sign-off., always",
		"If any hook fails, stop and report.":                  "If any hook fails, stop and report., always",
		"Frage nur bei Löschungen nach.":                       "Frage nur bei Löschungen nach., only",
		"Vermeide neue Abhängigkeiten.":                        "Vermeide neue Abhängigkeiten., never",
		"Ich will keine neuen Abhängigkeiten.":                 "Ich will keine neuen Abhängigkeiten., never",
		"Evita usar emojis en el código.":                      "Evita usar emojis en el código., never",
		"Évite de toucher aux tests.":                          "Évite de toucher aux tests., never",
		"I don't want you to touch this again.":                "I don't want you to touch this again., never",
		"You must never ask me again whether to push.":         "You must never ask me again whether to push., never",
		"The cache must never be filled again by the worker.":  "The cache must never be filled again by the worker., never",
		"Make sure to never need a network in the tests.":      "Make sure to never need a network in the tests., never",
		"I don't want any notice in the license changed.":      "I don't want any notice in the license changed., never",
		"Avoid adding what you don't need.":                    "Avoid adding what you don't need., never",
		"You must not add files that nobody need.":             "You must not add files that nobody need., never",
		"No merge until CI works.":                             "No merge until CI works., never",
		"Nothing ships unless it works on Safari.":             "Nothing ships unless it works on Safari., never",
		"The backup must not have any secrets in it.":          "The backup must not have any secrets in it., never",
		"The code must not have unused imports.":               "The code must not have unused imports., never",
		"We never use jQuery anymore.":                         "We never use jQuery anymore., never",
		"When in doubt, stop and ask.":                         "When in doubt, stop and ask., always",
		"If any hook fails, stop and report":                   "If any hook fails, stop and report, always",
		"Users may never see a stack trace.":                   "Users may never see a stack trace., never",
		"Don't push under any circumstances.":                  "Don't push under any circumstances., never",
		"Frag immer vor dem Löschen.":                          "Frag immer vor dem Löschen., always",
		"Évite d'ajouter des dépendances.":                     "Évite d'ajouter des dépendances., never",
		"Je ne veux pas de commentaires.":                      "Je ne veux pas de commentaires., never",
		"Port it and keep the tests\nas they are please.":      "",
		"Do not change the files of the old parser and do not even think of the tests that\ngo with them.": "Do not change the files of the old parser and do not even think of the tests that go with them., never",
		"Rules:\n- " + strings.Repeat("word ", 60):                                                         strings.Repeat("word ", 39) + "word…, always",
	} {
		var texts []string
		for _, in := range Find(text) {
			texts = append(texts, in.Text+", "+string(in.Kind))
		}
		if got := strings.Join(texts, "|"); got != want {
			t.Errorf("%q gives %q, want %q", text, got, want)
		}
	}
	if n := len(Find("Rules:\n- " + strings.Join(strings.Split("abcdefghijklmnopqrstuvwxyz", ""), "\n- "))); n != maxFound {
		t.Errorf("of 25 rules are found %d, want %d", n, maxFound)
	}
}

// An order is found in each language that docs/thread.md names, and a statement, a
// question or an order for the moment is none in any of them.
func TestLanguages(t *testing.T) {
	data, err := os.ReadFile("testdata/languages.txt")
	testenv.NoError(t, err)
	language, right := "", 0
	for line := range strings.Lines(string(data)) {
		line = strings.TrimSpace(line)
		want, text, ok := strings.Cut(line, "\t")
		if name, heads := strings.CutPrefix(line, "== "); heads {
			language = name
		}
		if !ok {
			continue
		}
		got := "none"
		for _, found := range Find(text) {
			if got = string(found.Kind); found.Text != text {
				t.Errorf("%s: of %q there is %q", language, text, found.Text)
			}
		}
		// What holds from now on can be a prohibition, too.
		if got != want && !(want == "always" && got == "only") {
			t.Errorf("%s: %q is %s, want %s", language, text, got, want)
		} else {
			right++
		}
	}
	if right == 0 {
		t.Error("there is no sentence")
	}
	for text, want := range map[string]string{
		"コメントは日本語で書いてください。今後も。": "コメントは日本語で書いてください。今後も。",
		"今後も。":                                         "",
		"Use tabs. From now on.":                       "Use tabs. From now on.",
		"From now on.":                                 "",
		"Never translate the word привет.":             "Never translate the word привет.",
		"Не трогай тесты. Никогда.":                    "Не трогай тесты.",
		"Never, ever reboot the box.":                  "Never, ever reboot the box.",
		"Tests must never use the network.":            "Tests must never use the network.",
		"The norm says that clients must never retry.": "",
		"Never touch テスト, and push nothing.":           "Never touch テスト, and push nothing.",
	} {
		var texts []string
		for _, found := range Find(text) {
			texts = append(texts, found.Text)
		}
		if got := strings.Join(texts, "|"); got != want {
			t.Errorf("%q gives %q, want %q", text, got, want)
		}
	}
}

// A question obliges nobody, whatever words are in it, but a polite order is none.
func TestCues(t *testing.T) {
	for text, want := range map[string]Cues{
		"The server must answer in time.":                        {Obliges: true},
		"Must the server answer in time?":                        {Asks: true},
		"Never push to main. Is that clear?":                     {Obliges: true, Asks: true},
		"Can you make sure that prod-db-2 is never touched?":     {Obliges: true},
		"And could you use the key file conf/sbx-91.pem for it?": {},
		"Can we keep the endpoint /v1/imp until 2027-02-01?":     {},
		"Könntest du die Beträge als Cent speichern?":            {},
		"Why not write it in Go, please?":                        {Corrects: true},
		"Ich möchte Beträge in Cent, ja?":                        {Obliges: true},
		"The limit is 500 per minute, right?":                    {},
		"本番DBを使わないでください、いいですか？":                                  {},
		"Can you tell me why it must answer?":                    {Asks: true},
		"Can you find out whether the port must be open?":        {Asks: true},
		"Can you do what is next?":                               {},
		"What is right?":                                         {Asks: true},
		"¿Por qué no corre?":                                     {Corrects: true, Asks: true},
		"It has to run offline.":                                 {Obliges: true},
		"Ich mag kurze Antworten.":                               {Obliges: true},
		"The port is 7443, not 443.":                             {Corrects: true},
		"Aktuell fehlt noch der Leser.":                          {Stands: true},
		"Отчёты нужно писать кратко.":                            {Obliges: true},
		"The log says\nthat it went from 3 to 4.":                {},
	} {
		if got := CuesOf(text); got != want {
			t.Errorf("%q: %+v", text, got)
		}
	}
}
