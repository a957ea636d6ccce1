package standing

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// The words that make an order one that stands, in the languages that gt knows.
const (
	neverWords  = "never nie niemals keinesfalls jamais nunca jamás mai nooit"
	notWords    = "not don't dont no nicht nichts kein keine keinen pas rien non não niet geen"
	alwaysWords = "always immer stets toujours siempre sempre altijd"
	onlyWords   = "only nur ausschließlich uniquement seulement solo sólo solamente só somente apenas alleen uitsluitend"
)

// Phrases: with which a clause begins that asks something of the agent; that say how long
// something holds, or at which of many occasions; that it holds only for the moment; and
// what has to stay as it is.
const (
	asksNever  = "you must not|you must never|you should never|you should not|you may not|you are not allowed|you're not allowed|you don't edit|you don't touch|you don't change|i want you to never|i don't want you to|i don't want any|i never want|what i don't want|make sure you never|make sure to never|remember to never|under no circumstances|hands off|stop adding|stop using|stop creating|stop writing|stop changing|stop asking|stop apologizing|refrain from|avoid adding|avoid using|avoid introducing|avoid creating|avoid touching|avoid changing|no new|no additional|no external|no more|keine neuen|keine zusätzlichen|geen nieuwe|pas de nouvelle|pas de nouveau|nada de|sin librerías|lass die finger von|finger weg von|du darfst nicht|du darfst kein|du darfst keine|du darfst nie|du darfst nichts|du sollst nicht|du sollst nie|il ne faut jamais|il ne faut pas|tu ne dois pas|tu ne dois jamais|ich will keine neuen|ich möchte keine neuen"
	asksAlways = "you must always|you should always|i want you to always|make sure to always|make sure you always|remember to always|ask before|ask me before|ask me first|check with me before|frag mich jedes|frag mich bevor|frag mich vorher|frag vorher|frag immer|frage immer|pregúntame antes|pregunta antes|me pergunte antes|pergunte antes|demande-moi avant|demandez-moi avant|demande avant|chiedimi prima|one commit per|before every|before each|after every|after each|wait for my review before|wait for my approval before|wait for my ok before"
	asksOnly   = "you must only|you may only|you should only|you're only allowed to edit|you're only allowed to change|you're only allowed to touch|you are only allowed to edit|you are only allowed to change|you are only allowed to touch|frag nur bei|frage nur bei|frag nur wenn|frage nur wenn|only ever|only write|only use|only touch|only change|only edit|only modify|only work|only commit|only push|only deploy|stick to|limit yourself|limit your changes|stay within|stay inside|stay under|stay below|stay out of"
	lasting    = "at all costs|not under any circumstance|not under any circumstances|don't under any circumstance|don't under any circumstances|from now on|from here on|going forward|henceforth|ab jetzt|ab sofort|von jetzt an|von nun an|künftig|in zukunft|désormais|dorénavant|à partir de maintenant|a partir de ahora|de ahora en adelante|d'ora in poi|d'ora in avanti|a partir de agora|daqui em diante|de agora em diante|vanaf nu|voortaan|until i say|until i tell|until i ask|until i've|unless i ask|unless i say|unless i tell|without asking me|ohne rücksprache|sans me demander|sin preguntarme"
	// recurringForeign are the occasions of an order in other languages.
	recurringForeign = "vor jedem|vor jeder|nach jedem|nach jeder|avant chaque|après chaque|antes de cada|después de cada|prima di ogni|dopo ogni|depois de cada|voor elke|na elke"
	recurring        = "before pushing|before committing|before merging|before every|before each|before any|after every|after each|every time you|whenever you|whatever you do|no matter what|at all times"
	passing          = "yet|for now|this time|right now|for the moment|at the moment|like that|like this|while we're|heute nicht|heute kein|heute keine|bis morgen|erstmal|vorerst|noch nicht|noch nichts|pour l'instant|pour le moment|por ahora|todavía|de momento|per ora|per adesso|por enquanto|voorlopig"
	momentary        = "just this once|in this turn|this turn|for this commit|in this commit|for this run|in this run|until tomorrow"
	bounds           = "out of the question|are off the table|not an option|isn't an option|off limits|off-limits|out of bounds|not negotiable|must not|mustn't|may only be|can't change|must stay|must remain|has to stay|have to stay|must not be changed|must not be touched|must not be modified|darf sich nicht ändern|dürfen sich nicht ändern|darf nicht geändert|darf nicht verändert|auf keinen fall|unter keinen umständen|en aucun cas|sous aucun prétexte|bajo ningún concepto|em hipótese alguma|in nessun caso|in geen geval"
)

// tellers are words with which a clause begins that tells what is or was.
const tellers = "i it it's they he she we who if when because i'm i've that this there let's the a an my our its which ich es er sie wir wenn weil das der die je il elle ça le la les el los las lo si o os het de ik"

// instructionKind returns the kind of the instruction that a sentence is, KindNone if it is none.
func (s *sentence) instructionKind() Kind {
	if s.lifts() {
		return Lifted
	}
	if utf8.RuneCountInString(s.text) > MaxLength {
		return KindNone
	}
	if l := s.language(); l != nil {
		if kind := l.instructionKind(s); kind != KindNone || l.script != nil && s.words[0][0] >= utf8.RuneSelf {
			return kind // a sentence that begins in its script is in no other language
		}
	}
	switch {
	case s.isVetoed():
		return KindNone
	case hasPhrase(s.words, lasting):
		return s.kind()
	}
	var before []string
	for i, c := range s.clauses {
		w := trimLeadIn(c)
		if kind := s.kindOfStart(i, w, before); kind != KindNone {
			return kind
		}
		before = w
	}
	return KindNone
}

// isVetoed reports whether a sentence cannot be an instruction: it asks (but not "could you never
// …?"), holds only for the moment, or answers a question.
func (s *sentence) isVetoed() bool {
	first := s.words[0]
	if s.asks {
		return !oneOf(first, "can could would will please kannst könntest peux puedes") || !hasAnyWord(s.words, neverWords+" "+alwaysWords)
	}
	if !hasAnyWord(s.words, neverWords+" "+alwaysWords) {
		if n := len(s.words); n > 1 && s.words[n-1] == "today" && !oneOf(s.words[n-2], "is are was were") || hasPhrase(s.words, momentary) {
			return true
		}
		if s.isAnswer() && (s.refersBack() || hasPhrase(s.words, "the first|the second|the other|no more than|nicht mehr als")) {
			return true // it says nothing without the question
		}
	}
	return hasPhrase(s.words, passing) && !hasPhrase(s.words, "until i") || oneOf(first, "why how which who where warum wieso wie pourquoi comment perché waarom")
}

// isAnswer reports whether a sentence begins as the answer to a question does: "no, …", "b, …".
func (s *sentence) isAnswer() bool {
	return len(s.clauses) > 1 && len(s.clauses[0]) == 1 &&
		(len(s.words[0]) == 1 || oneOf(s.words[0], "yes yeah no nope ok okay ja nein oui non sí si sim não sì nee"))
}

// onlyLasts reports whether a sentence says that the one before it holds from now on, and
// nothing else.
func (s *sentence) onlyLasts() bool {
	if l := s.language(); l != nil && l.lasting != "" {
		text := l.textOf(s)
		rest := compileCues(l.lasting).ReplaceAllString(text, "")
		return rest != text && strings.Trim(rest, " ,") == ""
	}
	return slices.Contains(strings.Split(lasting, "|"), strings.Join(trimLeadIn(s.words), " "))
}

// refersBack reports whether a sentence says nothing without the one before it: "Never exceed
// it."
func (s *sentence) refersBack() bool {
	return len(s.words) < 6 && oneOf(s.words[len(s.words)-1], "it that this them those these")
}

// kind returns the kind of a sentence that is known to be an instruction.
func (s *sentence) kind() Kind {
	switch {
	case hasAnyWord(s.words, neverWords+" "+notWords+" avoid"):
		return KindNever
	case hasAnyWord(s.words, onlyWords):
		return KindOnly
	}
	return KindAlways
}

// trimLeadIn returns the words of a clause without those that only lead to what is said.
func trimLeadIn(w []string) []string {
	for len(w) > 0 && oneOf(w[0], "please pls plz also btw ok okay and but so just important note reminder rule again hey well yes really seriously generally first bitte aber und auch außerdem surtout aussi por favor además inoltre graag ook") {
		w = w[1:]
	}
	return w
}

// kindOfStart returns the kind of the instruction with which clause i begins: w are its words, and
// before those of the clause before it. After a clause that tells what happens it is KindNone: "it
// hangs and never returns".
func (s *sentence) kindOfStart(i int, w, before []string) Kind {
	// An order under a condition: "if it fails, ask me", "if it fails, stop and tell me".
	if len(before) > 0 && oneOf(s.words[0], "if when whenever") && (startsWith(w, "refuse|escalate|ask first|ask me") ||
		len(w) == 1 && (hasPhrase(s.words, "stop ask|stop tell me|stop wait for me") || hasPhrase(s.words[len(s.words)-2:], "stop report"))) {
		return KindAlways
	}
	if startsWith(w, "must never") && s.forbidsEver(w) {
		return KindNever
	}
	if len(w) < 2 ||
		len(before) > 0 && oneOf(before[0], tellers) { // mutant never: TestNoOrders
		return KindNone
	}
	switch verb := w[1]; {
	case startsWith(w, asksNever) && !hasAnyWord(w, "now see get"), s.forbids(i, w, before),
		// "no emojis please", "no merges until I say so", "never push", "leave main.go alone"
		w[0] == "no" && (hasAnyWord(s.clauses[i], "please pls plz ever") || i == 0 && len(w) > 2 && s.words[len(s.words)-1] == "ever"),
		oneOf(w[0], "no nothing") && hasAnyWord(w[1:], "until before without unless") && !hasAnyWord(w, "was were") && !hasPhrase(w, "work without|works without"),
		w[0] == "never" && (isVerb(verb) || isOrder(before)),
		oneOf(w[0], "leave keep") && !oneOf(verb, "it that this as as-is") && hasPhrase(w, "alone|untouched|unchanged|as is|as-is|intact|as it is|as they are"),
		(hasPhrase(w, bounds) && !compileCues(`(not|n't) have (been |\w+ed( when|$))`).MatchString(strings.Join(w, " ")) || s.forbidsEver(w)) && !hasAnyWord(w, "that which now today said says told thinks thought") && !strings.Contains(s.text, "MUST NOT"): // a specification's
		return KindNever
	case startsWith(w, asksAlways), w[0] == "always" && isVerb(verb):
		return KindAlways
	case startsWith(w, asksOnly) && !hasAnyWord(w, "half first second last"), w[0] == "only" && i == 0 && len(s.words) < 5 && strings.ToLower(s.text[1:]) != s.text[1:] && isVerb(w[len(w)-1]),
		(isOrder(w) || startsWith(w, "commits only|deploys only")) && hasPhrase(w, "only when i ask|only if i ask|only when i say|only if i say"):
		return KindOnly
	case isOrder(w) && hasPhrase(w, recurring) && !slices.ContainsFunc(before, func(w string) bool { return strings.ContainsAny(w, "./") }), // not a task in a file
		// "quote all paths", "reply in German", "prefer tabs", "every change needs tests"
		oneOf(w[0], "report answer reply format quote cite") && hasAnyWord(w, "all every each"),
		startsWith(w, "answer in|reply in|respond in") && len(w) < 5, w[0] == "prefer", oneOf(w[0], "all every each") && hasPhrase(w, "needs a|needs to|needs tests|need a|must|has to|have to") && !hasAnyWord(w, "fixed done now"), oneOf(w[0], "all any anything every everything") && hasPhrase(w, "needs my|need my"),
		i == 0 && !oneOf(w[0], tellers) && hasAnyWord(w, "must") && hasPhrase(w, "before you|before every|before each|before any"),
		i > 0 && startsWith(s.words, "whenever you|every time you|each time you") && isOrder(w),
		w[0] == "keep" && oneOf(verb, "all any every") && hasPhrase(w, "out of|away from"),
		oneOf(w[0], "alle jede jeder jedes tous toutes chaque todos todas cada tutti tutte ogni elke") && hasAnyWord(w, "müssen muss doivent doit deben debe devono deve devem moeten moet") && hasAnyWord(w, alwaysWords+" "+neverWords),
		hasPhrase(s.words, recurringForeign) && hasAnyWord(w, foreignVerbs) && !hasAnyWord(s.words, "ich wir je j'ai nous yo io eu ik"),
		len(w) > 2 && w[0] == "we" && (verb == "never" && isVerb(w[2]) || isOrder(w[2:]) && (oneOf(verb, "always only") || i == 0 && verb == "don't")),
		startsWith(w, "use|we use") && hasAnyWord(s.words, "not never") && len(s.words) < 9 && !hasAnyWord(s.words, "if is are"): // "use pnpm, not npm"
		return s.kind()
	}
	return foreignKind(w, hasAnyWord(s.clauses[i], "bitte graag alsjeblieft"))
}

// forbids reports whether a clause is a prohibition that stays: not "don't worry", and not
// the half of a correction ("don't guess, read the header").
func (s *sentence) forbids(i int, words, before []string) bool {
	if !oneOf(words[0], "don't dont") {
		return false
	}
	ever := hasAnyWord(words, "ever even")
	for words = words[1:]; len(words) > 0 && oneOf(words[0], "ever even just also please you"); {
		words = words[1:]
	}
	if len(words) < 2 || oneOf(words[len(words)-1], "this that now") || !isVerb(words[0]) || oneOf(words[0], "worry blame forget bother know think mind get have need be like care remember see understand want guess explain panic rush tell hesitate wait fix implement start begin code build go do let we leave show give look believe") {
		return false
	}
	if len(before) > 0 { // "add a cache, but don't keep it" is a task
		return oneOf(words[0], "touch change modify edit alter rename delete reformat refactor rewrite commit push merge deploy break install upgrade use print log")
	}
	correction := i == 0 && len(s.clauses) > 1 && (isOrder(trimLeadIn(s.clauses[1])) || oneOf(s.clauses[1][0], "just rather instead only"))
	return ever || !correction && (len(words) > 3 || !oneOf(words[1], "it that this them those these one"))
}

// forbidsEver reports whether a clause says what must or may never be done: not "we may never
// know", "it must never have run" or what somebody only takes to be so.
func (s *sentence) forbidsEver(words []string) bool {
	i := slices.Index(words, "never")
	if i < 1 || !oneOf(words[i-1], "must may") || oneOf(s.words[0], "i if as since because he she") && !startsWith(words[max(0, i-2):], "you must") || hasAnyWord(s.words, "say told seems apparently maybe perhaps guess hunch") {
		return false
	}
	must, vague := words[i-1] == "must", i > 2 && words[i-2] == "you" || hasAnyWord(words, "again") // "a summary you may never read"
	words = words[i+1:]
	if len(words) > 0 && words[0] == "ever" {
		words = words[1:]
	}
	switch {
	case len(words) == 0: // "must never, under any circumstances, …"
		return must
	case words[0] == "be":
		return len(words) > 1 && (strings.HasSuffix(words[1], "ed") || oneOf(words[1], "in on read written run rerun sent put set shown kept held left given taken made built rebuilt seen done hidden broken cut split sold lost"))
	}
	return words[0] != "have" && (must || !vague && oneOf(words[0], "see contain use run call log write read share push force-push commit touch change modify edit delete leave exceed access store print send import depend appear deploy hold include"))
}

// isOrder reports whether the words begin with a verb that orders.
func isOrder(w []string) bool {
	return len(w) > 0 && oneOf(w[0], "use run write put add keep make report give ask commit push merge test check format read update create delete name document log mock support wrap prefer stick stay follow work answer reply comment sign tag squash rebase quote cite label set print bump build lint edit rename replace call return try move ship")
}

// isVerb reports whether a word can be a verb's plain form.
func isVerb(w string) bool {
	for _, end := range []string{"ed", "ing", "ly", "s"} {
		if strings.HasSuffix(w, end) && !strings.HasSuffix(w, "ss") && !oneOf(w, "need embed exceed proceed feed speed apply rely reply bring focus") {
			return false
		}
	}
	return !oneOf(w, "i it we they you the a an any that these those there are had my our your their mind again before quite even once more less than in on at for to of with by from one two some sure enough when if been too found got saw were did went came made knew gave took wrote broke fell kept lost meant sent felt seen ran heard done gone known")
}
