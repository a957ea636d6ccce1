package standing

import (
	"slices"
	"strings"
)

const (
	// foreignVerbs are verbs with which orders begin in other languages than English, and
	// forbidden those that follow "no" and "não" in a prohibition.
	foreignVerbs = "benutze verwende nutze nimm schreib schreibe mach lass fass ändere lösche rühr antworte committe pushe halte arbeite utilise utilisez écris fais faites réponds lance garde laisse touche usa utiliza escribe haz responde ejecuta mantén deja comenta scrivi rispondi fai esegui mantieni lascia use escreva escreve responda rode faça mantenha gebruik schrijf antwoord maak laat houd push raak commit führe verändere fasse teste prüfe schalte formatiere modifie supprime exécute vérifie teste ajoute change touche commente commite formule ejecuta corre lanza revisa prueba añade agrega modifica cambia toca comprueba pregunta esegui tieni aggiungi tocca controlla rode execute teste adicione altere mexa verifique pergunte comente utilize wijzig deixa deixe respóndeme contéstame réponds-moi répondez-moi responda-me verander voer controleer voeg raadpleeg"
	forbidden    = "uses modifiques cambies hagas borres añadas agregues crees instales edites elimines renombres subas escribas metas rompas quites toque use modifique cambie haga utilices ejecutes faça altere mexa rode commite mude crie adicione apague quebre instale edite remova escreva troque toques subas hagan usen modifiquen cambien"

	// changes are the infinitives of what an agent is forbidden.
	changes = "borrar tocar modificar cambiar eliminar usar editar instalar crear agregar añadir subir commitear pushear ejecutar renombrar mexer apagar alterar mudar remover utilizar adicionar instalar renomear criar modificare cancellare toccare cambiare usare installare aggiungere rinominare eseguire modifier supprimer toucher changer utiliser ajouter installer renommer pousser committer exécuter effacer"

	keineVerbs = "schreiben pushen committen ändern löschen anfassen verwenden benutzen einbauen hinzufügen einführen loggen umbenennen installieren erstellen anlegen"
)

// forbids reports whether a clause begins like "está prohibido borrar" or "interdiction de
// supprimer", with what an agent can do: access that is denied is no order.
func forbids(w []string) bool {
	for len(w) > 2 && oneOf(w[0], "está queda é fica il est è") {
		w = w[1:]
	}
	if len(w) > 2 && oneOf(w[1], "de di") {
		return oneOf(w[0], "interdiction interdit défense évite évitez") && oneOf(w[2], changes)
	}
	return len(w) > 1 && oneOf(w[0], "prohibido proibido vietato evita evite evitar évite évitez") && oneOf(strings.TrimPrefix(w[1], "d'"), changes)
}

// foreignKind returns the kind of the instruction with which a clause of two words or more begins,
// in another language that is written with Latin letters. An order begins with one of foreignVerbs,
// or is an infinitive ("nie direkt pushen"). polite says that the clause has a word such as bitte:
// then a German or Dutch clause orders wherever its verb stands.
func foreignKind(words []string, polite bool) Kind {
	near := words[1:min(len(words), 5)]
	last := words[len(words)-1]
	infinitive := strings.HasSuffix(last, "en") && oneOf(words[0], "nie niemals nur immer nooit altijd nicht") ||
		len(words[1]) > 4 && slices.ContainsFunc([]string{"er", "re", "ir", "rlo", "rla"}, func(end string) bool { return strings.HasSuffix(words[1], end) })
	order := oneOf(words[0], foreignVerbs)
	// In turn: "committe nie", "ne touche pas", "no uses", "nunca borres", "non modificare".
	switch {
	case order && !hasAnyWord(near, "sorgen gedanken stress") && hasAnyWord(near, neverWords+" nicht nichts keine keinen kein pas rien niet geen"),
		(words[0] == "ne" || strings.HasPrefix(words[0], "n'")) && hasAnyWord(words, "pas jamais plus rien aucun aucune") && !strings.HasSuffix(words[0], "nt") && !strings.HasSuffix(words[1], "nt") && !hasAnyWord(words[:2], "n'oublie n'oubliez n'hésite n'hésitez n'est n'a t'inquiète vous marche fonctionne sait sert"),
		oneOf(words[0], "no nunca jamás não jamais") && oneOf(words[1], forbidden),
		oneOf(words[0], "nunca jamás") && len(words[1]) > 5 && (strings.HasSuffix(words[1], "es") || strings.HasSuffix(words[1], "as")),
		infinitive && oneOf(words[0], "non nie niemals nooit nicht"),
		oneOf(words[0], "kein keine keinen") && oneOf(last, keineVerbs) && !hasAnyWord(words, "zum darf dürfen kann können wird werden dass"),
		forbids(words), startsWith(words, "je ne veux pas de") && len(words) > 5 && strings.HasSuffix(words[5], "s") && words[5] != "ces", words[0] == "vermeide", order && hasAnyWord(words, "paz paix tranquille tranquilles quieto quieta pace"),
		polite && hasAnyWord(words, "nicht nichts") && strings.HasSuffix(last, "en") && !oneOf(last, "vergessen") && !oneOf(words[0], "kannst könntest"),
		polite && hasAnyWord(words, "nie niemals keine keinen kein nooit geen"):
		return KindNever
	case order && hasAnyWord(near[:min(len(near), 2)], alwaysWords), oneOf(words[0], "immer siempre sempre altijd") && oneOf(words[1], foreignVerbs),
		infinitive && oneOf(words[0], alwaysWords), polite && hasAnyWord(words, "immer altijd"),
		strings.HasSuffix(last, "en") && oneOf(words[0], "vor nach") && hasAnyWord(words, "immer"):
		return KindAlways
	case order && hasAnyWord(near[:min(len(near), 2)], onlyWords), infinitive && oneOf(words[0], "nur"):
		return KindOnly
	}
	return KindNone
}
