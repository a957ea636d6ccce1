package standing

import (
	"slices"
	"strings"
)

const (
	// foreignVerbs are verbs with which orders begin in other languages than English, and
	// forbidden those that follow "no" and "não" in a prohibition.
	foreignVerbs = "benutze verwende nutze nimm schreib schreibe mach lass fass ändere lösche rühr antworte committe pushe halte arbeite utilise utilisez écris fais faites réponds lance garde laisse touche usa utiliza escribe haz responde ejecuta mantén deja comenta scrivi rispondi fai esegui mantieni lascia use escreva escreve responda rode faça mantenha gebruik schrijf antwoord maak laat houd push raak commit"
	forbidden    = "toques uses modifiques cambies hagas borres añadas agregues crees instales edites elimines renombres subas escribas metas rompas quites toque use modifique cambie haga utilices ejecutes faça altere mexa rode commite mude crie adicione apague quebre instale edite remova escreva troque"
)

// foreign returns the kind of the instruction with which a clause begins in another
// language that is written with Latin letters.
func foreign(w []string, polite bool) Kind {
	near := w[1:min(len(w), 5)]
	last := w[len(w)-1]
	infinitive := strings.HasSuffix(last, "en") && oneOf(w[0], "nie niemals nur immer nooit altijd nicht") ||
		len(w[1]) > 4 && slices.ContainsFunc([]string{"er", "re", "ir", "rlo", "rla"}, func(end string) bool { return strings.HasSuffix(w[1], end) })
	order := oneOf(w[0], foreignVerbs)
	switch {
	case order && anyOf(near, neverWords+" nicht nichts keine keinen kein pas rien niet geen"),
		(w[0] == "ne" || strings.HasPrefix(w[0], "n'")) && anyOf(w, "pas jamais plus rien aucun aucune") && !strings.HasSuffix(w[0], "nt") && !strings.HasSuffix(w[1], "nt") && !anyOf(w[:2], "n'oublie n'oubliez n'hésite n'hésitez n'est n'a t'inquiète vous marche fonctionne sait sert"),
		oneOf(w[0], "no nunca não") && oneOf(w[1], forbidden),
		w[0] == "nunca" && len(w[1]) > 5 && (strings.HasSuffix(w[1], "es") || strings.HasSuffix(w[1], "as")),
		infinitive && oneOf(w[0], "non nie niemals nooit nicht"),
		polite && anyOf(w, "nicht nichts") && strings.HasSuffix(last, "en") && !oneOf(last, "vergessen") && !oneOf(w[0], "kannst könntest"),
		polite && anyOf(w, "nie niemals keine keinen kein nooit geen"):
		return Never
	case order && anyOf(near[:min(len(near), 2)], alwaysWords),
		infinitive && oneOf(w[0], alwaysWords), polite && anyOf(w, "immer altijd"),
		strings.HasSuffix(last, "en") && oneOf(w[0], "vor nach") && anyOf(w, "immer"):
		return Always
	case order && anyOf(near[:min(len(near), 2)], onlyWords), infinitive && oneOf(w[0], "nur"):
		return Only
	}
	return None
}

// cjk returns the kind of an instruction in Chinese or Japanese.
func (s *sentence) cjk() Kind {
	has := func(parts string) bool {
		return slices.ContainsFunc(strings.Fields(parts), func(p string) bool { return strings.Contains(s.text, p) })
	}
	begins := func(words string) bool {
		text := strings.TrimLeft(s.words[0], "请但是另外还有也千万")
		return slices.ContainsFunc(strings.Fields(words), func(w string) bool { return strings.HasPrefix(text, w) })
	}
	switch {
	case s.asks || has("吗 为什么 怎么 先不 先别 暂时 まだ 今は とりあえず 一旦 なぜ"):
		return None
	case has("ないでください しないこと 禁止です"), begins("禁止 切勿 不准 不许 严禁 永远不要"), begins("不要 别") && has("改 动 删 提交 推送 使用 引入 添加 创建 碰 直接"):
		return Never
	case has("今後 これからは"), has("必ず 常に") && has("てください すること"), begins("始终 以后 今后 从现在 必须 务必 一律 每次"):
		return Always
	}
	return None
}
