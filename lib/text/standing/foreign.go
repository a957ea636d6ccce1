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

// foreignKind returns the kind of the instruction with which a clause begins in another
// language that is written with Latin letters.
func foreignKind(w []string, polite bool) Kind {
	near := w[1:min(len(w), 5)]
	last := w[len(w)-1]
	infinitive := strings.HasSuffix(last, "en") && oneOf(w[0], "nie niemals nur immer nooit altijd nicht") ||
		len(w[1]) > 4 && slices.ContainsFunc([]string{"er", "re", "ir", "rlo", "rla"}, func(end string) bool { return strings.HasSuffix(w[1], end) })
	order := oneOf(w[0], foreignVerbs)
	switch {
	case order && !anyOf(near, "sorgen gedanken stress") && anyOf(near, neverWords+" nicht nichts keine keinen kein pas rien niet geen"),
		(w[0] == "ne" || strings.HasPrefix(w[0], "n'")) && anyOf(w, "pas jamais plus rien aucun aucune") && !strings.HasSuffix(w[0], "nt") && !strings.HasSuffix(w[1], "nt") && !anyOf(w[:2], "n'oublie n'oubliez n'hésite n'hésitez n'est n'a t'inquiète vous marche fonctionne sait sert"),
		oneOf(w[0], "no nunca jamás não jamais") && oneOf(w[1], forbidden),
		oneOf(w[0], "nunca jamás") && len(w[1]) > 5 && (strings.HasSuffix(w[1], "es") || strings.HasSuffix(w[1], "as")),
		infinitive && oneOf(w[0], "non nie niemals nooit nicht"),
		oneOf(w[0], "kein keine keinen") && oneOf(last, keineVerbs) && !anyOf(w, "zum darf dürfen kann können wird werden dass"),
		forbids(w), startsWith(w, "je ne veux pas de") && len(w) > 5 && strings.HasSuffix(w[5], "s") && w[5] != "ces", w[0] == "vermeide", order && anyOf(w, "paz paix tranquille tranquilles quieto quieta pace"),
		polite && anyOf(w, "nicht nichts") && strings.HasSuffix(last, "en") && !oneOf(last, "vergessen") && !oneOf(w[0], "kannst könntest"),
		polite && anyOf(w, "nie niemals keine keinen kein nooit geen"):
		return KindNever
	case order && anyOf(near[:min(len(near), 2)], alwaysWords), oneOf(w[0], "immer siempre sempre altijd") && oneOf(w[1], foreignVerbs),
		infinitive && oneOf(w[0], alwaysWords), polite && anyOf(w, "immer altijd"),
		strings.HasSuffix(last, "en") && oneOf(w[0], "vor nach") && anyOf(w, "immer"):
		return KindAlways
	case order && anyOf(near[:min(len(near), 2)], onlyWords), infinitive && oneOf(w[0], "nur"):
		return KindOnly
	}
	return KindNone
}
