package standing

import "strings"

// english finds the trigger of a standing instruction: where it stands, and of which
// kind it is.
func english(s *sentence) (at int, kind Kind, ok bool) {
	if len(s.words) < 2 {
		return 0, 0, false
	}
	polite := oneOf(s.at(0), "can could would will") && s.at(1) == "you" || s.at(0) == "please"
	if s.asks && !polite {
		return 0, 0, false
	}
	for i := range s.words {
		if kind, ok := englishAt(s, i); ok {
			return i, kind, true
		}
	}
	return 0, 0, false
}

func englishAt(s *sentence, i int) (Kind, bool) {
	w, next, prev := s.at(i), s.at(i+1), s.at(i-1)
	first := directs(s, i)
	switch w {
	case "never":
		switch {
		case oneOf(next, "mind been before again,"), isPast(next):
		case first && (isVerb(next) || next == "ever" || next == "more"), first && next == code, first && i == 0 && next != "",
			bids(s, i), obliges(prev):
			return Never, true
		case oneOf(prev, "i we") && oneOf(next, "want wanted allow accept"), prev == "we" && isVerb(next) && !oneOf(next, "know need see get have could really quite actually"):
			return Never, true
		case prev == "is" && oneOf(next, "allowed acceptable ok okay permitted"), prev == "are" && oneOf(next, "allowed acceptable permitted"):
			return Never, true
		}
	case "always":
		switch {
		case oneOf(next, "been was had"), isPast(next):
		case first && (isVerb(next) || next == code), bids(s, i), obliges(prev):
			return Always, true
		case oneOf(prev, "i we") && oneOf(next, "want prefer expect need"), prev == "we" && isVerb(next) && !oneOf(next, "have get see end seem hit knew"):
			return Always, true
		}
	case "don't", "dont", "don´t", "do":
		skip := i + 1
		if w == "do" {
			if next != "not" {
				return 0, false
			}
			skip++
		}
		verb := s.at(skip)
		if oneOf(verb, "ever even just you also please") {
			skip++
			verb = s.at(skip)
		}
		switch {
		case oneOf(verb, "worry bother mind forget know think get panic stress hesitate remember need  sweat matter"):
			return 0, false
		case verb == "have" && s.at(skip+1) == "to", verb == "be" && oneOf(s.at(skip+1), "afraid shy"):
			return 0, false
		case first, bids(s, i):
			return Never, true
		case prev == "we" && oneOf(verb, "use allow want do commit push mock merge accept ship add touch support") && !oneOf(s.at(i-2), "if that why because since so"):
			return Never, true
		case prev == "i" && verb == "want" && !oneOf(s.at(i-2), "if but because") && oneOf(s.at(skip+1), "you any to new this the that anything a another it"):
			return Never, oneOf(s.at(skip+1), "you any new to a another it anything") && !s.is(skip+1, "to know") && !s.is(skip+1, "a lecture")
		case prev == "i" && verb == "want" && i <= 2 && s.at(skip+1) != "to":
			return Never, true
		}
	case "must", "shall":
		subject := prev
		switch {
		case s.words[i].mark == '(':
		case s.text[s.words[i].start] == 'M' && oneOf(s.at(0), "a an the implementations clients servers"): // a standard, quoted
		case s.words[i].mark == ',' && next == "be":
		case oneOf(subject, "i there something someone he she why what which"), oneOf(subject, "a the"):
		case oneOf(next, "have 've be") && (w == "must") && oneOf(subject, "it this that they we you") && !s.is(i+1, "be able") && !isParticiple(s.at(i+2)):
		case next == "have" && isParticiple(s.at(i+2)), oneOf(next, "admit say confess"):
		case next == "be" && oneOf(s.at(i+2), "a an some something because wrong missing due related the coming getting happening caused") && oneOf(subject, "it this that problem bug issue cause"):
		case subject == "":
			return 0, false
		default:
			if oneOf(next, "not never") {
				return Never, true
			}
			return Always, true
		}
	case "mustn't", "shouldn't":
		if w == "mustn't" || !oneOf(prev, "it this that i there which they he she why  what and") && !s.asks && !isPast(next) && !oneOf(next, "have matter be happen take need") {
			return Never, true
		}
	case "should":
		switch {
		case oneOf(next, "still continue keep stay remain") && !oneOf(prev, "i why we you") && prev != "" && !(next == "still" && oneOf(s.at(i+2), "be have") && oneOf(prev, "it there")):
			return Always, true
		case next == "always" && !oneOf(prev, "i why"):
			return Always, true
		case oneOf(next, "not never") && s.at(i+2) != "have" && !oneOf(prev, "i why this it that") && !oneOf(s.at(i+2), "matter happen"):
			return Never, true
		case next == "only" && !oneOf(prev, "i why"):
			return Only, true
		}
	case "you":
		switch {
		case next == "may" && oneOf(s.at(i+2), "not never only"), next == "can" && s.at(i+2) == "only":
			return Never, true
		case oneOf(next, "are aren't") && (s.is(i+2, "not allowed") || s.is(i+2, "not to") || s.is(i+2, "never to") || s.is(i+2, "only allowed") || next == "aren't" && oneOf(s.at(i+2), "allowed permitted")):
			return Never, true
		}
	case "can't", "cannot", "cant":
		if oneOf(prev, "you we it this that these those") && (oneOf(next, "change touch edit modify rename break add use drop upgrade assume rely alter move") && (prev == "you" || prev == "we" && !s.has("because")) || next == "change" && prev != "we") && !oneOf(s.at(i-2), "why if that because since") {
			return Never, true
		}
		if next == "be" && oneOf(s.at(i+2), "changed touched modified renamed broken edited altered upgraded") {
			return Never, true
		}
	case "needs", "need":
		if next == "to" && oneOf(s.at(i+2), "be stay remain keep work match support compile pass still continue always fit never") && !oneOf(prev, "i we don't you not doesn't would might may will it'll didn't") && prev != "" && !s.hasAny("fixed|need to be able") {
			return Always, true
		}
		if s.hasAny("commit messages|commits|every commit|every pr|each commit") && !oneOf(prev, "i don't to") && i <= 4 {
			return Always, true
		}
	case "until", "unless":
		if oneOf(next, "i i've i'm we i'd") && s.hasAny("say|said|tell|ask|told|ok|okay|approve|approved|reviewed|review|confirm|confirmed|explicitly|looked|look|seen") && (imperative(s) || negated(s, i)) {
			return Always, true
		}
	case "may":
		if next == "not" && !oneOf(s.at(i+2), "be have work know need matter make exist want get see seem even help ") && !oneOf(prev, "i we this that") {
			return Never, true
		}
	case "option":
		if s.hasAny("isn't an option|not an option|no option") {
			return Never, true
		}
	case "compatible":
		if i <= 4 && len(s.words) <= 8 && !s.hasAny("not|is|are") {
			return Always, true
		}
	case "we":
		if oneOf(next, "use write only keep work name do go") && s.hasAny("here|in this repo|on this project|in this project|everywhere") && !oneOf(prev, "if that because since when why") && !s.asks && (next != "do" || s.has("not")) {
			return Always, true
		}
	case "out":
		if s.isAny(i, "out of the question|out of scope|out of bounds") {
			return Never, true
		}
	case "follow":
		if first && s.hasAny("style|convention|conventions|guide|guidelines|rules|contributing.md|patterns|naming") {
			return Always, true
		}
	case "applies", "apply":
		if s.hasAny("style guide|rules apply|conventions apply") {
			return Always, true
		}
	case "stop":
		switch {
		case first && strings.HasSuffix(next, "ing") && !oneOf(next, "working responding going"):
			return Never, true
		case first && (next == "after" || s.is(i, "stop and") && oneOf(s.at(i+2), "ask tell list show wait report") || next == "there" || next == "when") && !s.is(i, "stop and look"):
			return Always, true
		}
	case "wait":
		if first && next == "for" && s.hasAny("my|me") {
			return Always, true
		}
	case "you're":
		if s.is(i+1, "not allowed") || s.is(i+1, "not to") || s.is(i+1, "only allowed") {
			return Never, true
		}
	case "only":
		switch {
		case oneOf(prev, "is are") && next == "for" && !oneOf(s.at(0), "it this that there"):
			return Only, true
		case oneOf(next, "if the one then problem thing issue now a two that this because recently then for after") && !(first && oneOf(next, "the after if") && s.has("may")):
			if first && i == 0 && oneOf(next, "the one two this after if for") && s.hasAny("allowed|permitted|may be") {
				return Only, true
			}
		case first && isVerb(next):
			return Only, true
		case i > 0 && i <= 4 && imperative(s) && !oneOf(prev, "if the not is was are an a"):
			return Only, true
		case i > 0 && i <= 3 && (i == len(s.words)-1 || s.words[i+1].mark != 0) && !oneOf(prev, "is was not the read it this") && !oneOf(s.at(0), "it i this that there we happens"):
			return Only, true // "comments only, …"
		case oneOf(prev, "you must shall") && isVerb(next), prev == "may" && isVerb(next):
			return Only, true
		}
	case "under":
		if s.is(i, "under no circumstances") {
			return Never, true
		}
	case "at":
		if s.isAny(i, "at no point|at all times") {
			return Always, true
		}
	case "no":
		if s.is(i, "no matter what") && imperative(s) {
			return Always, true
		}
		if first && (i == 0 || s.words[i].mark != 0 || imperative(s) || s.at(0) == "no" || oneOf(prev, "please pls so and") && !tells(s, i)) && noSuch(s, i) {
			return Never, true
		}
	case "zero":
		if first && i == 0 && oneOf(next, "new additional extra external") {
			return Never, true
		}
	case "from":
		if s.isAny(i, "from now on|from now onwards|from here on|from today on|from this point") {
			return Always, true
		}
	case "going":
		if next == "forward" && !s.asks {
			return Always, true
		}
	case "henceforth":
		return Always, true
	case "in":
		if i == 0 && (s.isAny(i, "in future|in the future")) && s.words[min(i+3, len(s.words)-1)].mark != 0 {
			return Always, true
		}
	case "make", "making":
		if first && s.is(i, "make sure") && !oneOf(s.at(i+2), "i we") {
			return Always, true
		}
		if first && i == 0 && s.is(i, "make no") {
			return Never, true
		}
	case "be":
		if first && s.is(i, "be sure to") {
			return Always, true
		}
		if first && s.is(i, "be careful") && (s.at(i+2) == "not" || s.at(i+2) == "to") {
			return Never, true
		}
	case "ensure":
		if first {
			return Always, true
		}
	case "avoid", "refrain":
		if first && next != "" {
			return Never, true
		}
	case "stick", "limit", "restrict", "confine":
		if first && (w == "stick" && next == "to" || w == "stick" && next == "with" || oneOf(next, "yourself changes the edits your") && w != "stick") {
			return Only, true
		}
	case "stay", "keep":
		switch {
		case w == "stay" && i > 0 && !first && oneOf(next, "as the at pinned where in on with put exactly unchanged untouched compatible green that below under like") && !oneOf(prev, "i they to"):
			return Always, true
		case first && w == "stay" && oneOf(next, "with at below under compatible"):
			return Always, true
		case w == "keep" && oneOf(next, "its their") && !oneOf(prev, "they to"):
			return Always, true
		case first && w == "keep" && oneOf(next, "it them the all our my existing both every each that this these those any public backwards compatibility `") && !s.is(i+1, "the changes") && !s.is(i+1, "it up") && !s.is(i+1, "it coming"):
			return Always, true
		case first && (s.is(i+1, "away from") || s.is(i+1, "out of") || s.is(i+1, "clear of") || s.is(i+1, "your hands off")):
			return Never, true
		case first && w == "stay" && oneOf(next, "within inside on in"):
			return Only, true
		case first && w == "keep" && keeps(s, i):
			return Always, true
		}
	case "leave":
		if first && keeps(s, i) {
			return Never, true
		}
	case "hands":
		if next == "off" {
			return Never, true
		}
	case "without":
		if oneOf(next, "changing touching breaking modifying adding altering introducing rewriting pulling editing renaming removing asking") && !oneOf(s.at(0), "why how i it we this that") {
			return Never, true
		}
	case "before", "after":
		if w == "before" && oneOf(next, "you anything committing pushing merging touching moving going starting") && imperative(s) && (next != "you" || oneOf(s.at(i+2), "say commit push merge start finish open claim touch call report are declare change tell go add edit write delete run do send continue move remove install")) && !oneOf(next, "going starting") {
			return Always, true
		}
		if oneOf(next, "every each any") && imperative(s) {
			return Always, true
		}
	case "whenever", "everytime":
		if next == "you" {
			return Always, true
		}
	case "every", "each":
		if s.is(i+1, "time you") || s.is(i, "every new") && s.has("needs") || s.is(i, "every new") && s.has("gets") {
			return Always, true
		}
	case "nothing":
		if first && next == "that" && len(s.words) < 8 {
			return Never, true
		}
		if first && i == 0 && s.hasAny("can change|may|should|leaves|goes|gets") {
			return Never, true
		}
	case "off-limits", "forbidden", "prohibited", "non-negotiable", "mandatory", "verboten", "untouchable", "sacred":
		if !s.hasAny("got|returns|403") && !(w == "forbidden" && oneOf(prev, "get a 403")) {
			return Never, true
		}
	case "has", "have":
		if next == "to" && oneOf(s.at(i+2), "be stay remain keep work match support compile pass run go build fit always still never happen") && !oneOf(prev, "i would will might why may it'd it'll") && prev != "" {
			return Always, true
		}
	case "stays", "remain", "remains", "keeps":
		if prev != "" && !oneOf(prev, "it he she that which and still always then just") && (w != "keeps" || oneOf(next, "its the their")) {
			return Always, true
		}
	case "same":
		if first && s.hasAny("as before|as now|as today|exit codes") {
			return Always, true
		}
	case "ask":
		if first && !s.asks && (s.hasAny("before|first") || i > 0 && s.at(i-1) == "and" && s.at(i-2) == "stop") && next != "him" {
			return Always, true
		}
	case "commit", "commits":
		if s.has("per") && oneOf(prev, "one a single separate") || s.hasAny("of its own|its own commit") {
			return Always, true
		}
	case "english", "british", "american", "german", "french", "spanish":
		if oneOf(next, "spelling english") && imperative(s) || prev == "in" && s.hasAny("commit|commits|comments|messages|docs|reply|answer|write") && (imperative(s) || !s.has("is")) {
			return Always, true
		}
	case "off":
		if next == "limits" {
			return Never, true
		}
	case "not":
		switch {
		case oneOf(next, "allowed permitted acceptable negotiable okay") && oneOf(prev, "is are ") && !s.has("error"):
			return Never, next != "okay"
		case s.words[i].mark == ',' && imperative(s) && oneOf(next, "on in the with at to by from as a your my our"):
			return Never, true
		case prev == "but" && (s.at(0) == "you" || imperative(s)) && oneOf(next, "the a any in on to more our their its for outside"):
			return Never, true
		case i == 0 && oneOf(next, "the a any in one even") && s.at(len(s.words)-1) == "either":
			return Never, true
		}
	case "remember":
		if first && (s.isAny(i, "remember to always|remember to never")) {
			return Always, true
		}
	case "use", "prefer":
		if first && w == "use" && s.hasAny("in all|for all|for every|for everything|in every") {
			return Always, true
		}
		if first && oneOf(w, "prefer") && next != "" && !s.asks && s.hasAny("over|to") {
			return Always, true
		}
		if first && w == "use" && s.hasAny("not|instead of|rather than|everywhere|throughout") && contrast(s, i) {
			return Always, true
		}
	}
	return 0, false
}

// tells reports whether a verb that tells stands behind the word, in its part of the
// sentence.
func tells(s *sentence, i int) bool {
	for k := i + 1; k < len(s.words); k++ {
		if k > i+1 && s.words[k].mark == ',' {
			break
		}
		if oneOf(s.at(k), "takes works gets comes returns shows appears seems says helps makes does has goes runs is are was were can could will would had did happens knows wants uses seem get come") {
			return true
		}
	}
	return false
}

// negated reports whether "not" or its like stands before i.
func negated(s *sentence, i int) bool {
	for k := range i {
		if oneOf(s.at(k), "not don't no nothing never dont stays stay keep leave") {
			return true
		}
	}
	return false
}

// contrast reports whether "use A, not B" or its like stands there.
func contrast(s *sentence, i int) bool {
	for k := i + 2; k < len(s.words); k++ {
		switch {
		case s.at(k) == "not" && s.words[k].mark == ',' && !isVerb2(s.at(k+1)):
			return true
		case s.is(k, "instead of"), s.is(k, "rather than"):
			return k-i <= 6
		case s.at(k) == "everywhere", s.at(k) == "throughout":
			return true
		}
	}
	return false
}

func isVerb2(w string) bool { return oneOf(w, "sure that only because yet") }

// keeps reports whether "leave X alone", "keep X as it is" stands there.
func keeps(s *sentence, i int) bool {
	for k := i + 1; k < len(s.words); k++ {
		switch s.at(k) {
		case "be":
			return k == len(s.words)-1 || s.words[k+1].mark != 0 || oneOf(s.at(k+1), "and please for pls")
		case "in", "where":
			return s.at(i) == "leave" && s.at(k+1) == "place" || s.at(k) == "where"
		case "alone", "untouched", "unchanged", "as-is", "intact", "green", "stable", "compatible", "backwards-compatible", "backward-compatible", "identical", "small", "minimal", "private", "verbatim", "working", "passing", "secret":
			return true
		case "as":
			return s.at(k+1) == "is" || s.is(k+1, "it is") || s.is(k+1, "they are")
		case "under", "below", "within", "out", "to":
			return s.at(i) == "keep" && (s.at(k) != "to" || oneOf(s.at(k+1), "a the one two"))
		}
	}
	return false
}

// noSuch reports whether "no new dependencies" stands there, and not "no idea".
func noSuch(s *sentence, i int) bool {
	next := s.at(i + 1)
	if i+1 >= len(s.words) || s.words[i+1].mark != 0 {
		return false
	}
	if oneOf(next, "problem problems idea worries worry need rush longer doubt matter way hurry clue luck one it i that this the we you thanks errors error output difference effect not don't dont wonder logs response success such please good big pressure biggie actually result results warnings further change joy dice there just stop wait comment question questions interest sign real obvious") {
		return false
	}
	for k := i + 2; k < len(s.words); k++ {
		switch w := s.at(k); {
		case oneOf(w, "is are was were has have had did does found matches shows seems happens works exists appears came got anymore needed necessary") && !s.has("allowed"):
			return false
		}
		if s.words[k].mark == ',' {
			break
		}
	}
	return true
}

// directs reports whether the word begins an order: at the beginning of the sentence,
// or of a part of it.
func directs(s *sentence, i int) bool {
	for i > 0 {
		switch s.words[i].mark {
		case ',', ':', '(', '—', '–', '-', '/', '…', '→':
			// Behind "the problem:" stands what it is, and not an order; few write so.
			return !oneOf(s.at(i-1), "i you")
		}
		switch s.at(i - 1) {
		case "and", "but", "also", "so", "or", "then", "plus", "just", "please", "pls", "plz", "kindly", "btw", "ok", "okay", "important", "note", "reminder", "rule", "rules", "however", "again", "hey", "oh", "generally", "seriously", "really", "absolutely", "basically", "thanks", "first", "therefore", "meanwhile", "otherwise", "though", "yes", "yeah", "yep", "no", "well", "right", "and/or", "additionally", "furthermore", "finally", "constraint", "constraints", "here", "there", "everywhere", "that's", "way", "done", "things", "thing", "hard":
			if joins(s.at(i - 1)) {
				return !reports(s, i-1)
			}
			if plain(s.at(i - 1)) {
				i--
				continue
			}
			return false
		}
		return false
	}
	return true
}

// joins reports whether the word joins a part of a sentence to the one before it.
func joins(w string) bool {
	return oneOf(w, "and but so or then plus also please pls plz and/or kindly just")
}

// plain reports whether the word only leads to what is said.
func plain(w string) bool {
	return oneOf(w, "btw ok okay important note reminder rule rules however again hey oh generally seriously really absolutely basically first therefore otherwise yes yeah yep well right additionally furthermore finally constraint constraints thanks")
}

// reports reports whether the part of the sentence that ends before i tells what
// happens or happened, so that what is joined to it does, too: "it hangs and never
// returns".
func reports(s *sentence, i int) bool {
	if oneOf(s.at(i), "please pls plz kindly") {
		return false
	}
	begin := i
	for begin > 0 && s.words[begin].mark == 0 {
		begin--
	}
	if oneOf(s.at(i), "but so") {
		return false
	}
	return oneOf(s.at(begin), "i it they he she we this that there the my our its if when because") && s.words[i].mark == 0
}

// bids reports whether the words before say that the agent is asked to: "I want you
// to always …", "you must always", "remember to never".
func bids(s *sentence, i int) bool {
	prev := s.at(i - 1)
	switch {
	case prev == "to":
		for k := i - 2; k >= max(0, i-6); k-- {
			if oneOf(s.at(k), "you remember want need needs sure agent claude try rule promise") {
				return true
			}
		}
	case prev == "you":
		return oneOf(s.at(i-2), "that sure if can could would will") && !oneOf(s.at(i-2), "if") && s.at(i-2) != "that" || s.is(i-3, "make sure")
	case oneOf(prev, "you'll you'd"):
		return prev == "you'll"
	case prev == "will":
		return s.at(i-2) == "you"
	case prev == "please":
		return true
	}
	return false
}

func obliges(w string) bool { return oneOf(w, "should must shall") }

// imperative reports whether the sentence begins with a verb in its plain form, as
// far as that can be told from what it does not begin with.
func imperative(s *sentence) bool {
	k := 0
	for k < len(s.words)-1 && (plain(s.at(k)) || joins(s.at(k))) {
		k++
	}
	return isVerb(s.at(k))
}

// isVerb reports whether a word can be a verb in its plain form.
func isVerb(w string) bool {
	switch {
	case w == "" || w == code || w == quoted || len(w) < 2 || strings.ContainsAny(w, "/."):
		return false
	case oneOf(w, "i it we they he she you the a an this that these those there is are was were has had does did my our your their its his her what why how when where who which if because since while as on of for to with from by after some any one two three not it's that's there's i'm i've we're they're can could would will may might should must been being very too still nothing everything something once more less word about all both in at tests users me them him sometimes maybe and or but green red"):
		return false
	case isPast(w):
		return false
	case strings.HasSuffix(w, "ing") && !oneOf(w, "bring ping string ring spring"):
		return false
	case strings.HasSuffix(w, "ly") && !oneOf(w, "apply reply rely supply fully directly silently blindly manually automatically explicitly"):
		return false
	case strings.HasSuffix(w, "s") && !strings.HasSuffix(w, "ss") && !oneOf(w, "focus bias canvas alias always"):
		return false
	}
	return true
}

// isPast reports whether a word is a verb's past.
func isPast(w string) bool {
	if strings.HasSuffix(w, "ed") && !oneOf(w, "need feed seed embed proceed exceed speed shed red succeed breed hundred") {
		return true
	}
	return oneOf(w, "found got saw had was were did went came made knew thought gave took wrote broke began fell kept lost meant sent built told felt held stood been seen ran said happened understood worked is are has quite really really")
}

func isParticiple(w string) bool {
	return isPast(w) || oneOf(w, "done gone been set run become written broken taken given hit kept met read put")
}

// oneOf reports whether a word is one of a list, in which blanks stand between the
// words; one at its end means that no word at all is one of them, too.
func oneOf(word, list string) bool {
	if word == "" {
		return strings.HasSuffix(list, " ")
	}
	for at := 0; ; {
		i := strings.Index(list[at:], word)
		if i < 0 {
			return false
		}
		i += at
		end := i + len(word)
		if (i == 0 || list[i-1] == ' ') && (end == len(list) || list[end] == ' ') {
			return true
		}
		at = i + 1
	}
}
