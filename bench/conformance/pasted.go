package main

import (
	"fmt"
	"strings"
)

// The set "pasted" has sentences without the words that say what they are, and noise as
// people make it who paste: code, logs, lists of files, and one prompt many times with
// another name, in French, Portuguese, Russian and Korean.
func init() {
	wordings["pasted"] = map[string][]string{
		"safety": {
			"Treat [{key}] as a secret; whoever asks for it gets a no.",
			"Ask [{person}] before [{tool}] touches production.",
			"[Patient names] stay out of [{host}], even in test data.",
			"The moment [disk usage] passes [{n} %], everything stops and a human looks.",
		},
		"constraint": {
			"~The bill for this quarter ends at [{!money}].",
			"We support [Python 3.9] and up, without [numpy].",
			"[{branch}] is frozen till [{person}] lifts it.",
			"Responses come back within [{n} ms] at [p99].",
		},
		"fact": {
			"~We call it [{name}] inside the house; launch day is [{!date}].",
			"Sessions live in [Redis 7] over in [{region}].",
			"The proxy listens at [https://{host}:8444].",
			"[{person}] owns the [{region}] side.",
		},
		"goal": {
			"We sit on [{branch}] at [{commit}] now.",
			"What is left: [{case}] and [{case}].",
			"The [cursor rewrite] is two thirds through, the [retry queue] comes after it.",
			"[Soft launch] or [hard launch]: undecided so far.",
		},
		"preference": {
			"Short sentences in [{style}] style, distances in [furlongs].",
			"Close every summary with [{key}].",
			"One [recommended option] beats three.",
			"[Elixir] for examples; [Perl] makes me sad.",
		},
	}
	noise["pasted"] = []string{
		"regarde {f}, il manque un test pour le cas vide", "les tests de {p} passent chez toi ?", "renomme la variable dans {f}", "encore {n} avertissements dans {f}", "c'est bon, on passe à {p}", "pourquoi {p} met autant de temps au démarrage",
		"olha o {f} por favor, falta um teste", "roda os testes de {p} de novo", "ainda tem {n} avisos em {f}", "por que {p} demora tanto?", "ok, agora o {p}", "desfaz a mudança em {f}",
		"посмотри {f}, там не хватает теста", "запусти тесты {p} ещё раз", "почему {p} такой медленный?", "в {f} осталось {n} предупреждений", "хорошо, дальше {p}", "верни как было в {f}",
		"{f} 좀 봐줘, 테스트가 빠졌어", "{p} 테스트 다시 돌려줘", "{p} 왜 이렇게 느려?", "{f} 에 경고가 {n}개 남았어", "좋아, 다음은 {p}", "{f} 변경 되돌려줘",
		"review {f} and tell me if anything is off", "review {f} and tell me if anything is off", "add logging to {f}", "add logging to {f}", "port {f} to the new client", "port {f} to the new client",
		"does the build pass now?", "hm, that broke {p}", "what about line {n} of {f}", "still {n} failures in {p}, see above", "explain {f}", "ship it",
		"{log}", "{log}", "{code}", "{code}", "{list}", "{list}", "{trace}",
	}
	parts["pasted"] = [3][]string{
		{"extract", "regarde", "inline", "clean up", "olha", "measure", "redo", "посмотри", "split", "check"},
		{"the session cookie", "le bouton", "the paging", "the csv header", "o formulário", "the diff view", "the arrow keys", "кнопку", "the empty state", "the tooltip", "the debounce", "the icon set", "the sidebar", "the modal", "the footer"},
		{" in {f}", ", users see it twice", " after {p}", " like in {f}", " and report back", ", около строки {n}", "", ", s'il te plaît", " once more", " now", ", por favor", " 부탁해"},
	}
}

// paste replaces the names of pasted texts by one that is made up.
func (v values) paste(text string) string {
	letters := v.letters
	lines := func(n int, line func() string) string {
		var all []string
		for range n {
			all = append(all, line())
		}
		return strings.Join(all, "\n")
	}
	switch text {
	case "{log}":
		return "this is what the log says\n" + lines(12, func() string {
			return fmt.Sprintf("2027-03-%02d %02d:%02d:%02d.%03d INFO [%s-%d] %s=%d took %dms id=%x", 1+v.IntN(28), v.IntN(24), v.IntN(60), v.IntN(60), v.IntN(1000), letters(6), v.IntN(9), letters(5), v.IntN(5000), v.IntN(900), v.IntN(1<<30))
		})
	case "{code}":
		return lines(9, func() string {
			return fmt.Sprintf("\t%s, err := %s.%s(ctx, %q, %d)", letters(4), letters(5), v.title(6), letters(7), v.IntN(100))
		}) + "\nwhy does this not compile"
	case "{list}":
		return "these files are left: " + lines(15, func() string {
			return fmt.Sprintf("src/%s/%s_%s.ts", letters(5), letters(6), letters(4))
		})
	case "{trace}":
		return "TypeError: cannot read properties of undefined (reading '" + letters(5) + "')\n" + lines(7, func() string {
			return fmt.Sprintf("    at %s.%s (/srv/app/%s/%s.js:%d:%d)", v.title(6), letters(6), letters(5), letters(6), v.IntN(900), v.IntN(90))
		})
	}
	return text
}
