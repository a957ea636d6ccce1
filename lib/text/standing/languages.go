package standing

// finder returns what finds instructions in the language that most of the lines are
// in. What belongs to none is taken for English.
func finder(said [][]sentence) func(*sentence) (int, Kind, bool) {
	type language struct {
		find  func(*sentence) (int, Kind, bool)
		words string // that the others have not, and few sentences are without
	}
	european := []language{
		{english, "the and is it you to of this that with not don't please"},
		{german, "der die das und ist nicht bitte ich wir ein eine den mit auf auch es zu du nur"},
		{french, "le la les et est pas je une des du vous tu que dans pour ne il"},
		{spanish, "el los las y es por que una del para no con en se lo"},
		{italian, "il di che non è per gli della un con le nel del si"},
		{portuguese, "o os não que de uma para com é em do da no na você"},
		{dutch, "de het een en niet ik dat van je op voor met maar er"},
	}
	counts := make([]int, len(european))
	characters, kana := 0, 0
	for _, line := range said {
		for _, s := range line {
			for _, w := range s.words {
				for i, l := range european {
					if oneOf(w.text, l.words) {
						counts[i]++
					}
				}
				for _, r := range w.text {
					if isCJK(r) {
						characters++
						if r <= 0x30ff {
							kana++
						}
					}
				}
			}
		}
	}
	best := 0
	for i, n := range counts {
		if n > counts[best] {
			best = i
		}
	}
	switch {
	case characters > 4*counts[best] && kana > 0:
		return japanese
	case characters > 4*counts[best] && characters > 0:
		return chinese
	}
	return european[best].find
}

// begins reports whether the word begins a part of the sentence, or stands behind one
// of these.
func begins(s *sentence, i int, after string) bool {
	return i == 0 || s.words[i].mark != 0 || i > 0 && oneOf(s.at(i-1), after)
}

func german(s *sentence) (int, Kind, bool) {
	if s.asks && !oneOf(s.at(0), "kannst könntest würdest bitte") {
		return 0, 0, false
	}
	// Who tells what happened orders nothing.
	told := oneOf(s.at(0), "ich wir es er sie das da gestern warum wieso leider") || s.hasAny("hat|wurde|hatte|war|habe")
	for i := range s.words {
		w, next, prev := s.at(i), s.at(i+1), s.at(i-1)
		switch w {
		case "nie", "niemals", "nimmer":
			if !told || obligesGerman(s) {
				return i, Never, true
			}
		case "immer":
			if oneOf(next, "noch wieder mehr wenn") && !(next == "wenn" && s.has("du")) {
				continue
			}
			if !told && (imperativeGerman(s) || s.has("bitte") || i == 0) || obligesGerman(s) && !s.has("ich") {
				return i, Always, true
			}
		case "keinesfalls", "keineswegs":
			return i, Never, w == "keinesfalls"
		case "auf":
			if s.is(i, "auf keinen fall") {
				return i, Never, true
			}
		case "unter":
			if s.is(i, "unter keinen umständen") {
				return i, Never, true
			}
		case "ab":
			if oneOf(next, "jetzt sofort") && !(told && s.has("ich")) {
				return i, Always, true
			}
		case "künftig", "zukünftig":
			if !told {
				return i, Always, true
			}
		case "darf", "dürfen", "darfst":
			for k := range s.words {
				if oneOf(s.at(k), "nicht nur kein keine keinen nichts nie niemals keinesfalls") && s.at(0) != "ich" {
					return i, Never, true
				}
			}
		case "muss", "müssen", "musst", "muß":
			if oneOf(s.at(0), "ich da es") && !s.hasAny("immer|muss") && (s.hasAny("gewesen|liegen") || s.is(len(s.words)-1, "sein") && oneOf(s.at(0), "das es")) || s.has("nur noch") || s.is(i+1, "du nur") || prev == "wir" && !s.has("immer") {
				continue
			}
			return i, Always, true
		case "soll", "sollen", "sollst", "sollte", "sollten":
			if s.hasAny("nicht|immer|nie|nur|keine|keinen|unverändert|bleiben|weiterhin|danach noch") {
				if s.at(0) != "ich" && !s.has("eigentlich") {
					return i, Never, true
				}
			}
		case "nur":
			if !told && (i == 0 || imperativeGerman(s) || begins(s, i, "bitte und") && s.words[i].mark == 0) && !s.has("da musst") && !oneOf(next, "noch wenn so mal weil dass kurz") && !oneOf(prev, "nicht ist sind") {
				return i, Only, true
			}
		case "ausschließlich":
			if !told {
				return i, Only, true
			}
		case "nicht", "nichts", "keine", "keinen", "kein", "keinerlei", "keines", "keiner":
			if oneOf(s.at(i+1), "nur mehr") && w == "nicht" && told {
				continue
			}
			if oneOf(next, "ahnung sorge problem panik idee eile stress thema fehler ausgabe wunder") {
				continue
			}
			if !told && (imperativeGerman(s) || s.has("bitte") || i == 0 && w != "nicht" && w != "nichts" || i == 0 && len(s.words) > 2 && w != "kein") && !oneOf(s.at(0), "wenn falls weil geht läuft klappt funktioniert") {
				if w == "nicht" && oneOf(next, "vergessen nötig schlimm wundern") || s.has("vergiss") {
					continue
				}
				return i, Never, true
			}
			if begins(s, i, "aber bitte und") && w != "nicht" && w != "nichts" && !told {
				return i, Never, true
			}
			if s.hasAny("aber bitte|bitte aber|fass|ändere|ich will|ich möchte") {
				return i, Never, !s.has("weiß nicht")
			}
		case "achte", "stell", "stelle", "sorge", "pass":
			if w == "achte" && next != "" || s.has("sicher") && oneOf(w, "stell stelle") || w == "sorge" && next == "dafür" || w == "pass" && s.has("auf") && s.has("nicht") {
				return i, Always, true
			}
		case "lass", "lasse", "finger":
			if w == "finger" && next == "weg" || s.hasAny("in ruhe|unverändert|unangetastet|wie sie|wie es|wie er|finger von") {
				return i, Never, true
			}
		case "bleiben", "bleibt":
			if s.hasAny("wie|unverändert|so|gleich|bei|unangetastet|erhalten|bestehen") || next == code || s.hasAny("stabil|kompatibel|auf") {
				return i, Always, true
			}
		case "lassen":
			if s.hasAny("so|unverändert|wie") {
				return i, Never, true
			}
		case "deutsch", "englisch":
			if prev == "auf" && !told {
				return i, Always, true
			}
		case "ohne":
			if s.hasAny("zu ändern|anzufassen|zu verändern|kaputt zu machen|zu brechen|neue") {
				if !told {
					return i, Never, true
				}
			}
		case "tabu", "verboten", "vermeide", "verzichte", "zwingend", "unbedingt":
			if w == "unbedingt" && (prev == "nicht" || told) {
				continue
			}
			return i, Never, true
		case "halte", "halt", "bleib", "bleibe":
			if (s.has("dich") || oneOf(w, "bleib bleibe") && (next == "bei" || next == "auf" || next == "in")) && !told {
				return i, Only, true
			}
		case "jedes", "jedem", "jeder":
			if (prev == "vor" || prev == "nach" || prev == "bei") && !told && (imperativeGerman(s) || s.has("bitte")) {
				return i, Always, true
			}
		}
	}
	return 0, 0, false
}

// obligesGerman reports whether somebody shall, must or may do something.
func obligesGerman(s *sentence) bool {
	for _, w := range s.words {
		if oneOf(w.text, "muss müssen darf dürfen soll sollen sollst darfst musst sollte bitte") {
			return true
		}
	}
	return false
}

// imperativeGerman reports whether the sentence begins with a verb that orders, or
// ends in an infinitive that does.
func imperativeGerman(s *sentence) bool {
	k := 0
	for k < len(s.words)-1 && oneOf(s.at(k), "und aber also bitte ok dann dabei außerdem wichtig ach übrigens noch im in die den das am an code tests neue hier alle regel regeln achtung hinweis") {
		k++
	}
	w := s.at(k)
	last := s.at(len(s.words) - 1)
	infinitive := len(last) > 4 && (hasSuffix(last, "en") || hasSuffix(last, "ern") || hasSuffix(last, "eln"))
	return infinitive && !oneOf(last, "haben werden worden können") ||
		oneOf(w, "nutze nutz verwende benutze benutz ändere änder fass fasse mach mache lass lasse schreib schreibe committe commite commit pushe push lösche lösch rühr rühre füge nimm halte arbeite führe führ bau baue teste starte start deploye merge antworte frag frage geh gehe prüfe prüf leg lege installiere refactore gib setz setze behalte sprich dokumentiere kommentiere korrigiere fix fixe bearbeite pack packe erstelle logge zeig zeige ersetze stell stelle denk denke entferne passe pass übernimm räum ergänze refaktoriere aktualisiere sag sage lies implementiere")
}

func hasSuffix(w, end string) bool { return len(w) >= len(end) && w[len(w)-len(end):] == end }

func french(s *sentence) (int, Kind, bool) {
	if s.asks && !oneOf(s.at(0), "peux-tu pouvez-vous pourrais-tu pourriez-vous") {
		return 0, 0, false
	}
	told := oneOf(s.at(0), "je j'ai ça cela il elle on c'est le la pourquoi hier") && !s.hasAny("il faut|il ne faut|doit|doivent|je veux|je ne veux")
	for i := range s.words {
		w, next := s.at(i), s.at(i+1)
		switch {
		case w == "jamais" && !told, w == "toujours" && !told && next != "pas":
			if w == "jamais" {
				return i, Never, true
			}
			if i <= 6 {
				return i, Always, true
			}
		case w == "désormais", s.isAny(i, "à partir de maintenant|dorénavant"):
			return i, Always, true
		case s.isAny(i, "en aucun cas|sous aucun prétexte"), oneOf(w, "interdit interdite interdits obligatoire impérativement"):
			return i, Never, true
		case oneOf(w, "ne n'") || len(w) > 2 && w[:2] == "n'":
			// "Ne touche pas à …", "il ne faut pas …", "tu ne dois pas".
			if told || !s.hasAny("pas|rien|plus|que|aucun|aucune") {
				continue
			}
			if oneOf(next, "t'inquiète vous oublie oubliez marche fonctionne sais comprends") && next != "vous" {
				continue
			}
			if begins(s, i, "et mais donc surtout stp svp plaît merci") || s.is(i-1, "tu") || s.is(i-1, "vous") || s.is(i-1, "il") && next == "faut" || s.hasAny("doit|doivent|je ne veux") {
				return i, Never, true
			}
		case s.is(i, "en anglais") && !told || s.is(i, "en français") && !told:
			return i, Always, true
		case s.is(i, "on reste"), w == "restez", w == "reste" && i == 0:
			return i, Always, true
		case s.is(i, "il faut") && i == 0, s.isAny(i, "tu dois|vous devez"), oneOf(w, "doit doivent") && !s.hasAny("ça doit|doit être un"):
			return i, Always, true
		case oneOf(w, "uniquement seulement exclusivement") && !told:
			return i, Only, true
		case oneOf(w, "veille veillez assure-toi assurez-vous évite évitez") && begins(s, i, "et mais bien donc"):
			return i, Always, true
		case w == "sans" && oneOf(next, "toucher modifier changer casser ajouter introduire") && !told:
			return i, Never, true
		case oneOf(w, "pas aucun aucune surtout") && begins(s, i, "et mais surtout") && (oneOf(next, "de d' pas") || w != "pas" && w != "surtout" || len(next) > 2 && next[:2] == "d'") && !oneOf(next, "problème souci idée"):
			return i, Never, !s.hasAny("problème|souci")
		case oneOf(w, "garde gardez laisse laissez") && begins(s, i, "et mais") && s.hasAny("tel quel|telle quelle|tels quels|tranquille|intact|compatible|comme"):
			return i, Never, true
		case s.isAny(i, "avant chaque|après chaque"):
			if !told {
				return i, Always, true
			}
		}
	}
	return 0, 0, false
}

func spanish(s *sentence) (int, Kind, bool) {
	if s.asks && !oneOf(s.at(0), "puedes podrías") {
		return 0, 0, false
	}
	told := oneOf(s.at(0), "yo esto eso ayer el la los las me creo siempre") && !s.hasAny("debe|deben") && s.at(0) != "siempre"
	for i := range s.words {
		w, next := s.at(i), s.at(i+1)
		switch {
		case oneOf(w, "nunca jamás") && !told:
			return i, Never, true
		case w == "siempre" && !told && (i < 5 || s.hasAny("debe|deben")):
			return i, Always, true
		case s.isAny(i, "a partir de ahora|de ahora en adelante|en adelante"):
			return i, Always, true
		case s.isAny(i, "bajo ningún|en ningún caso"), oneOf(w, "prohibido prohibida obligatorio"):
			return i, Never, true
		case w == "no" && begins(s, i, "y pero favor porfa que por") && (orderSpanish(next) || oneOf(next, "me los las lo la") && hasSuffix(s.at(i+2), "s") && len(s.at(i+2)) > 4) && !told:
			return i, Never, true
		case w == "no" && oneOf(next, "debe deben debes puede pueden") && (s.at(i+1) != "puede" || !told):
			return i, Never, oneOf(next, "debe deben debes")
		case oneOf(w, "debes debe deben") && !oneOf(next, "haber de ser") || s.isAny(i, "tienes que|tiene que quedar") || oneOf(w, "deben debe") && next == "ser" && !told:
			return i, Always, true
		case oneOf(w, "solo sólo solamente únicamente") && !told && (begins(s, i, "y pero") || i <= 2):
			return i, Only, true
		case oneOf(w, "asegúrate evita procura cuida mantén mantener respeta") && begins(s, i, "y pero"):
			return i, Always, true
		case s.is(i, "en inglés") && !told, s.is(i, "en español") && !told:
			return i, Always, true
		case w == "sin" && oneOf(next, "tocar cambiar romper modificar añadir agregar introducir") && !told:
			return i, Never, true
		case oneOf(w, "nada ningún ninguna") && begins(s, i, "y pero") && next != "":
			return i, Never, !s.has("funciona")
		case s.isAny(i, "antes de cada|después de cada|antes de seguir|antes de continuar"), w == "cada" && s.has("su propio"), w == "sigue" && oneOf(next, "siendo igual"):
			return i, Always, true
		case oneOf(w, "deja dejad") && begins(s, i, "y pero") && s.hasAny("como está|como están|en paz|tal cual|intacto|intacta"):
			return i, Never, true
		}
	}
	return 0, 0, false
}

// orderSpanish reports whether the word behind "no" can be a subjunctive or an
// infinitive, which order, and is none of the forms that tell.
func orderSpanish(w string) bool {
	if oneOf(w, "es hay sé se está están funciona puedo entiendo tengo quiero me lo le he ha te hace problem importa olvides era fue pasa sirve encuentro tiene va sale") {
		return w == "quiero"
	}
	return hasSuffix(w, "es") || hasSuffix(w, "as") || hasSuffix(w, "e") || hasSuffix(w, "en") || hasSuffix(w, "ar") || hasSuffix(w, "er") || hasSuffix(w, "ir") || hasSuffix(w, "an") || hasSuffix(w, "a") && !hasSuffix(w, "ba") || hasSuffix(w, "as")
}

func italian(s *sentence) (int, Kind, bool) {
	if s.asks {
		return 0, 0, false
	}
	told := oneOf(s.at(0), "ho io il la questo ieri credo è")
	for i := range s.words {
		w, next := s.at(i), s.at(i+1)
		switch {
		case w == "mai" && !told, s.is(i, "in nessun caso"), oneOf(w, "vietato vietata"):
			return i, Never, true
		case w == "sempre" && !told && i < 5:
			return i, Always, true
		case s.isAny(i, "d'ora in poi|da ora in poi|d'ora in avanti"):
			return i, Always, true
		case w == "non" && begins(s, i, "e ma favore però") && !told && (hasSuffix(next, "re") || hasSuffix(next, "te") || hasSuffix(next, "rlo") || hasSuffix(next, "rli") || hasSuffix(next, "rla") || oneOf(next, "deve devono devi si")) && !oneOf(next, "dimenticare parte"):
			return i, Never, true
		case (oneOf(w, "deve devono") || w == "devi" && i > 0) && !told:
			return i, Always, true
		case oneOf(w, "solo soltanto solamente esclusivamente") && !told && i <= 3:
			return i, Only, true
		case oneOf(w, "assicurati evita mantieni nessuna nessun niente") && begins(s, i, "e ma") && next != "":
			return i, Always, true
		case w == "senza" && oneOf(next, "toccare cambiare modificare rompere aggiungere") && !told:
			return i, Never, true
		case w == "commit" && s.has("per ogni"), s.is(i, "in inglese"):
			return i, Always, true
		case s.isAny(i, "prima di ogni|dopo ogni"):
			return i, Always, true
		}
	}
	return 0, 0, false
}

func portuguese(s *sentence) (int, Kind, bool) {
	if s.asks {
		return 0, 0, false
	}
	told := oneOf(s.at(0), "eu ontem isso isto o a acho") && !s.hasAny("deve|devem")
	for i := range s.words {
		w, next := s.at(i), s.at(i+1)
		switch {
		case oneOf(w, "nunca jamais") && !told && !oneOf(next, "foi foram era tinha teve vi"), s.isAny(i, "em hipótese alguma|de jeito nenhum"), oneOf(w, "proibido proibida"):
			return i, Never, true
		case w == "sempre" && !told && i < 5:
			return i, Always, true
		case s.isAny(i, "a partir de agora|daqui em diante|de agora em diante|daqui pra frente"):
			return i, Always, true
		case w == "não" && begins(s, i, "e mas favor porém") && !told && !oneOf(next, "sei é está funciona consigo entendi tem há esquece esqueça precisa deu"):
			return i, Never, true
		case oneOf(w, "deve devem") && (next != "ser" || !oneOf(s.at(i+2), "a o um uma isso por")) || oneOf(w, "tem têm") && next == "que" && !told:
			return i, Always, true
		case oneOf(w, "só somente apenas") && !oneOf(next, "acontece funciona falta que quando aparece falha") && !told && i <= 3:
			return i, Only, true
		case oneOf(w, "garanta evite evita mantenha mantém certifique-se nada nenhuma nenhum") && begins(s, i, "e mas") && next != "":
			return i, Always, true
		case w == "sem" && oneOf(next, "mexer mudar alterar quebrar adicionar tocar") && !told:
			return i, Never, true
		case w == "precisa" && next == "ter", w == "máximo" && s.at(i-1) == "no":
			return i, Always, true
		case s.isAny(i, "antes de cada|depois de cada"):
			return i, Always, true
		}
	}
	return 0, 0, false
}

func dutch(s *sentence) (int, Kind, bool) {
	if s.asks {
		return 0, 0, false
	}
	told := oneOf(s.at(0), "ik het gisteren dit dat de er we waarom") && !s.hasAny("moet|moeten|mag|mogen")
	for i := range s.words {
		w, next := s.at(i), s.at(i+1)
		switch {
		case oneOf(w, "nooit") && !told, s.isAny(i, "in geen geval|onder geen beding"), w == "verboden":
			return i, Never, true
		case w == "altijd" && !told && (i < 5 || s.hasAny("moet|moeten")):
			return i, Always, true
		case s.is(i, "vanaf nu"), w == "voortaan":
			return i, Always, true
		case oneOf(w, "moet moeten") && s.at(0) != "ik" && !s.has("moet haast") && !(s.at(0) == "het" && s.has("zijn")):
			return i, Always, true
		case oneOf(w, "mag mogen") && s.hasAny("niet|geen|alleen|niets"):
			return i, Never, true
		case oneOf(w, "niet geen niets") && !told && !oneOf(next, "idee probleem zorgen haast") && !s.has("vergeet"):
			return i, Never, true
		case w == "alleen" && !told && (begins(s, i, "en maar") || i <= 3):
			return i, Only, true
		case w == "laat" && begins(s, i, "en maar") && s.hasAny("staan|zo|met rust|ongemoeid"):
			return i, Never, true
		case oneOf(w, "zorg vermijd blijf houd hou") && begins(s, i, "en maar"):
			return i, Always, true
		case w == "zonder" && !told && next != "":
			return i, Never, true
		case oneOf(w, "elke iedere") && oneOf(s.at(i-1), "voor na") && !told && s.at(i-2) != "schrijf":
			return i, Always, true
		}
	}
	return 0, 0, false
}

// chinese and japanese have no words with blanks between them: each character is one.
func chinese(s *sentence) (int, Kind, bool) {
	return phrases(s, []string{"吗", "为什么", "怎么"}, []phrase{
		{"不要", Never}, {"不能", Never}, {"不得", Never}, {"不许", Never}, {"禁止", Never}, {"绝不", Never}, {"绝对不", Never}, {"永远不", Never}, {"千万别", Never}, {"切勿", Never}, {"请勿", Never}, {"别动", Never}, {"别改", Never}, {"别碰", Never}, {"不允许", Never}, {"不准", Never}, {"不可", Never},
		{"必须", Always}, {"务必", Always}, {"一定要", Always}, {"始终", Always}, {"一律", Always}, {"从现在起", Always}, {"从现在开始", Always}, {"以后都", Always}, {"今后", Always}, {"以后", Always}, {"确保", Always}, {"每次", Always}, {"保持", Always}, {"总是用", Always},
		{"保留", Always}, {"只能", Only}, {"只用", Only}, {"只改", Only}, {"只许", Only}, {"仅限", Only}, {"只使用", Only}, {"只在", Only},
	})
}

func japanese(s *sentence) (int, Kind, bool) {
	return phrases(s, []string{"なぜ", "どうして", "ですか", "ますか"}, []phrase{
		{"絶対に", Never}, {"決して", Never}, {"ないでください", Never}, {"ないで", Never}, {"禁止", Never}, {"しないこと", Never}, {"触らない", Never}, {"変更しない", Never}, {"いけません", Never}, {"てはいけない", Never}, {"ないように", Never},
		{"必ず", Always}, {"英語で", Always}, {"日本語で", Always}, {"常に", Always}, {"今後", Always}, {"これから", Always}, {"毎回", Always}, {"なければなりません", Always}, {"こと。", Always}, {"てください。必", Always}, {"維持", Always}, {"そのまま", Always}, {"のまま", Always},
		{"のみ", Only}, {"だけを", Only}, {"だけ使", Only}, {"だけにして", Only},
	})
}

type phrase struct {
	text string
	kind Kind
}

// phrases finds the first of these phrases in a sentence that has none of the others.
func phrases(s *sentence, not []string, all []phrase) (int, Kind, bool) {
	for _, p := range not {
		if indexOf(s, p) >= 0 {
			return 0, 0, false
		}
	}
	for _, p := range all {
		if i := indexOf(s, p.text); i >= 0 {
			return i, p.kind, true
		}
	}
	return 0, 0, false
}

// indexOf returns the first word of the phrase in the sentence, -1 where it is not
// there.
func indexOf(s *sentence, phrase string) int {
	for i := range s.words {
		if w := s.words[i]; len(s.text)-w.start >= len(phrase) && s.text[w.start:w.start+len(phrase)] == phrase {
			return i
		}
	}
	return -1
}
