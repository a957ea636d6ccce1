package search

import (
	"cmp"
	"math"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"sync/atomic"
	"unicode/utf8"

	"gt/lib/conversation"
	"gt/lib/conversation/edits"
	"gt/lib/conversation/summary"
)

// Words is a search for exchanges: what a person asked, with all that was answered, thought
// and done until the next request. An exchange is found if it, with the title of its
// conversation, has all words, in any order.
type Words struct {
	// Clean prepares a text for display, for example by removing secrets. What it removes
	// is not found.
	Clean func(string) string

	terms []term
	// acceptsMost is set if a search for all words found nothing: then isEnough asks for less, or
	// all of them in several exchanges of one conversation.
	acceptsMost bool
}

// NewWords returns a search for words. It is nil if there are none.
func NewWords(typed string) *Words {
	if t := terms(typed); len(t) > 0 {
		return &Words{terms: t}
	}
	return nil
}

// Touched adds the condition that one of the calls in the exchange changes a file. paths
// are the ways to write its path: each also stands for a longer path that ends with it.
func (w *Words) Touched(paths ...string) {
	t := newTerm(filepath.Base(paths[0]))
	for _, path := range paths[1:] {
		more := newTerm(filepath.Base(path)).needles
		if more == nil || t.needles == nil {
			t.needles = nil
			break
		}
		t.needles = append(t.needles, more...)
	}
	t.stem, t.textOf = "", func(e conversation.Entry) string {
		changed := summary.Changes(e)
		for _, edit := range edits.FindEdits(e) {
			changed = append(changed, edit.Path)
		}
		return strings.Join(changed, "\n")
	}
	t.matches = func(text string) bool {
		for path := range strings.Lines(text) {
			if slices.ContainsFunc(paths, func(p string) bool { return samePath(strings.TrimSpace(path), p) }) {
				return true
			}
		}
		return false
	}
	w.terms = append(w.terms, t)
}

// samePath reports whether one of two paths is the end of the other.
func samePath(a, b string) bool {
	a, b = filepath.Clean(a), filepath.Clean(b)
	return a == b || strings.HasSuffix(a, "/"+strings.TrimPrefix(b, "/")) || !filepath.IsAbs(a) && strings.HasSuffix(b, "/"+a)
}

// Ran adds the condition that one of the calls in the exchange ran a command with these
// words side by side.
func (w *Words) Ran(command string) {
	t := newTerm(command)
	t.textOf = summary.ShellCommand
	w.terms = append(w.terms, t)
}

// Found is an exchange that was found.
type Found struct {
	Index int // of its conversation
	Hit       // its text that has most of the words
	Score float64

	Missing []string // the words that the exchange does not have
}

// kindWeights tell how much a word counts in a text of a kind, and the length of a usual
// one in bytes. In a longer one a word counts less.
var kindWeights = map[conversation.Kind]struct{ weight, length float64 }{
	conversation.Title: {3, 60}, conversation.Prompt: {3, 200}, conversation.Reply: {2.5, 100}, conversation.Message: {1.5, 400},
	conversation.Answer: {1.5, 600}, conversation.Summary: {0.8, 3000}, conversation.Thought: {0.8, 500},
	conversation.Call: {1, 200}, conversation.Result: {0.5, 1500},
}

// fewConversations is how many are so few that a word which most of them have says something.
const fewConversations = 4

// Search returns the exchanges that it finds, the best first (BM25 over kinds of text; equal ones
// in the order of all). If none has all words, it replaces each word that is nowhere by one that
// differs in a letter, and if that does not help, it accepts exchanges with most of the words.
// instead maps each replaced word, as typed, to its replacement. titles has the title of each
// conversation. The error is about what could not be read.
func (w *Words) Search(all []conversation.Conversation, titles []string, idle func(done, total int64)) (found []Found, instead map[string]string, err error) {
	found, counts, err := w.SearchExact(all, titles, idle)
	if len(found) > 0 {
		return found, nil, err
	}
	relaxed := *w
	relaxed.terms = slices.Clone(w.terms)
	instead = map[string]string{}
	for i, n := range counts {
		t := &relaxed.terms[i]
		// Only of one ASCII word does the count say that it is there: of others it counts a part.
		ascii := len(t.parts) == 1 && strings.IndexFunc(t.parts[0], func(r rune) bool { return r >= utf8.RuneSelf }) < 0
		if n > 0 && ascii || t.textOf != nil || t.optional {
			continue
		}
		near, there := correctSpelling(t, all)
		if near != "" {
			instead[t.typed] = near
			relaxed.terms[i] = newTerm(near)
		}
		t.isNowhere = !there && near == ""
	}
	if len(instead) > 0 {
		if found, counts, err = relaxed.SearchExact(all, titles, idle); len(found) > 0 {
			return found, instead, err
		}
	}
	for i, n := range counts {
		t := &relaxed.terms[i]
		// The count says nothing if the needle is only a small part of the word.
		counted := t.needles != nil && 2*len(t.needles[0].word) >= len(t.typed)
		t.isCommon = counted && len(all) > fewConversations && n > len(all)/2
	}
	relaxed.acceptsMost, relaxed.terms = true, splitPairs(relaxed.terms)
	if found, _, err = relaxed.SearchExact(all, titles, idle); len(found) > 0 {
		for typed, near := range instead { // drop a word that Clean removed from all that was found
			if slices.ContainsFunc(found, func(f Found) bool { return !slices.Contains(f.Missing, near) }) {
				continue
			}
			delete(instead, typed)
			for _, f := range found {
				if i := slices.Index(f.Missing, near); i >= 0 {
					f.Missing[i] = typed
				}
			}
		}
	}
	return found, instead, err
}

// SearchExact is Search without another word and without a missing one, which is one pass. counts
// tells how many conversations have each word.
func (w *Words) SearchExact(all []conversation.Conversation, titles []string, idle func(done, total int64)) (found []Found, counts []int, err error) {
	s := newSearch(all)
	in := make([]atomic.Int64, len(w.terms)) // how many conversations have each term
	s.readHits = func(c *opened, each func(Hit) bool) (whole bool, err error) {
		r := &exchangeReader{search: s, Words: w, opened: c, title: titles[c.i], has: make([]bool, len(w.terms))}
		whole, err = r.readExchanges(each)
		for t := range r.has {
			if r.has[t] && c.isOwnTurn {
				in[t].Add(1)
			}
		}
		return whole, err
	}
	err = s.run(func(i int, h Hit) bool {
		found = append(found, Found{Index: i, Hit: h})
		return true
	}, idle)
	rare := make([]float64, len(w.terms))
	counts = make([]int, len(w.terms))
	for i := range in {
		n := float64(in[i].Load())
		counts[i] = int(n)
		// The weight of a rare word in BM25.
		if rare[i] = math.Log(1 + (float64(len(all))-n+0.5)/(n+0.5)); w.terms[i].optional {
			rare[i] = 0.1 // it is everywhere, and not counted in what is not read
		}
	}
	for i := range found {
		f := &found[i]
		for t, weight := range f.weights {
			f.Score += rare[t] * 2.2 * weight / (1.2 + weight) // as BM25 with k1 = 1.2
			if weight == 0 && !w.terms[t].optional {
				f.Missing = append(f.Missing, w.terms[t].typed)
			}
		}
		f.Score *= 1 + f.near/2 // half more if the words are side by side
	}
	sort.SliceStable(found, func(i, j int) bool {
		a, b := &found[i], &found[j]
		return cmp.Or(cmp.Compare(len(a.Missing), len(b.Missing)), cmp.Compare(b.Score, a.Score)) < 0
	})
	return found, counts, err
}

type exchangeReader struct {
	*search
	*Words
	*opened
	title string
	has   []bool // the terms that the conversation has

	turn    int
	first   conversation.Entry // of the exchange
	texts   []conversation.Entry
	size    int
	partial []Hit // exchanges without all terms, if most of them can be enough
	inTitle []float64
}

// readExchanges gives the exchanges of a conversation that have enough of the words. The title is
// a hit of its own if it has enough of them. whole is false if each wanted no more, or if the
// conversation was not parsed because its bytes lack too many words.
func (r *exchangeReader) readExchanges(each func(Hit) bool) (whole bool, err error) {
	// The title counts for each exchange, and can be found by itself.
	title := conversation.Entry{Kind: conversation.Title, Text: r.title, Time: r.Conversation.Metadata.Started}
	titled, ok := r.matchTexts([]conversation.Entry{title}, nil)
	r.inTitle = titled.weights
	for t := range r.terms {
		r.has[t] = r.inTitle[t] > 0
	}
	if ok {
		titled.Turn, titled.key.id = 1, "" // shown for each fork that has it
		if !each(titled) {
			return false, nil
		}
	}
	var options conversation.Options
	// A conversation whose bytes lack too many terms is not parsed.
	if quiet := quietIn(r.Reader, r.File, true); quiet != nil {
		for _, part := range r.File.Files() {
			if _, err := conversation.Lines(part.Path, 0, func(record []byte, at int64) bool {
				r.noteRead(at)
				return r.noteTerms(record, quiet) && !r.halted()
			}); err != nil {
				return false, err
			}
		}
		if !r.isEnough(func(t int) bool { return r.has[t] }) {
			return false, nil
		}
		if needles := r.needles(); needles != nil {
			options.Skip = func(record []byte) bool {
				return quiet(record) || !slices.ContainsFunc(needles, func(n needle) bool { return n.index(record) >= 0 })
			}
		}
	}
	more := true
	// give ends an exchange. If most terms can be enough, one without all is kept for the end.
	give := func() bool {
		h, ok := r.matchTexts(r.texts, r.inTitle)
		switch {
		case ok && len(r.texts) > 0:
			h.Turn, h.key = r.turn, r.keyOf(r.first)
			more = each(h)
		case r.acceptsMost && len(h.Lines) > 0:
			h.Turn, h.key = r.turn, r.keyOf(r.first)
			r.partial = append(r.partial, h)
		}
		r.texts, r.size = r.texts[:0], 0
		return more
	}
	_, err = conversation.ReadAll(r.Reader, r.File, options, func(e conversation.Entry) bool {
		if e.Kind == conversation.Prompt {
			if !give() {
				return false
			}
			r.turn++
			r.first = e
			r.first.ID, r.first.Text = strings.Clone(e.ID), strings.Clone(e.Text)
		}
		r.keepMatch(e)
		return !r.halted()
	})
	if more && !r.halted() && give() {
		r.giveScattered(each)
	}
	return more, err
}

// noteTerms notes the terms whose needles a record has. It reports whether any is still to be found.
func (r *exchangeReader) noteTerms(record []byte, quiet func([]byte) bool) (more bool) {
	var isQuiet *bool // of the record; asked at most once
	for t := range r.terms {
		if r.has[t] || r.terms[t].optional {
			continue
		}
		n := r.terms[t].needles
		// A term without needles can be in any record that has a text.
		if n == nil || firstNeedle(n, record) >= 0 {
			if isQuiet == nil {
				q := quiet(record)
				isQuiet = &q
			}
			r.has[t] = !*isQuiet
		}
		more = more || !r.has[t]
	}
	return more
}

// isEnough reports whether something has all terms. If no conversation has all, two thirds of the
// words are enough, or half of those that are not common.
func (r *exchangeReader) isEnough(has func(t int) bool) bool {
	words, missing := r.countMissing(has, true)
	if !r.acceptsMost {
		return missing == 0
	}
	rare, missingRare := r.countMissing(has, false)
	return missing <= words/3 || rare > 0 && missingRare <= rare/2
}

// countMissing returns how many words there are, with those that are common or without, and how many of
// them something does not have. A condition that it does not meet counts more than all words.
func (r *exchangeReader) countMissing(has func(t int) bool, common bool) (words, missing int) {
	for t := range r.terms {
		switch term := &r.terms[t]; {
		case term.textOf != nil:
			if !has(t) {
				missing += len(r.terms)
			}
		case !term.optional && (common || !term.isCommon):
			words++
			if !has(t) {
				missing++
			}
		}
	}
	return words, missing
}

// needles returns one of each term, or nil if a term has none.
func (r *exchangeReader) needles() (all []needle) {
	for _, t := range r.terms {
		switch {
		case t.optional:
		case t.needles == nil:
			return nil
		default:
			all = append(all, t.needles...)
		}
	}
	return all
}

// maxExchange is the number of bytes of texts that are kept of an exchange.
const maxExchange = 4 << 20

// keepMatch keeps an entry that has a term, and notes the terms.
func (r *exchangeReader) keepMatch(e conversation.Entry) {
	if _, searched := kindWeights[e.Kind]; !searched || e.Kind == conversation.Title || r.size > maxExchange {
		return
	}
	text, found := foldText(e.Text), false
	for t := range r.terms {
		if (!found || !r.has[t]) && r.terms[t].countIn(e, text) > 0 {
			found, r.has[t] = true, true
		}
	}
	if found {
		e.Text, e.Tool, e.ID, e.Target = strings.Clone(e.Text), strings.Clone(e.Tool), strings.Clone(e.ID), strings.Clone(e.Target)
		r.texts = append(r.texts, e)
		r.size += len(e.Text)
	}
}

// countIn returns how often a term is in an entry, whose folded text is given; parts of words
// count less.
func (t *term) countIn(e conversation.Entry, text string) (often float64) {
	if t.textOf != nil {
		if e.Kind != conversation.Call {
			return 0
		}
		unfolded := t.textOf(e)
		if t.matches != nil {
			if t.matches(unfolded) {
				return 1
			}
			return 0
		}
		text = foldText(unfolded)
	}
	t.find(text, func(_, _ int, quality float64) bool {
		often += quality
		return often < 8
	})
	return often
}

// matchTexts returns what an exchange's texts have of the terms after cleaning, and whether they,
// with the title, have all. The hit is the text to show: it has most terms, near to each other.
func (r *exchangeReader) matchTexts(texts []conversation.Entry, inTitle []float64) (best Hit, ok bool) {
	hit := Hit{weights: make([]float64, len(r.terms))}
	if !r.hasEnoughTerms(texts, inTitle) {
		return hit, false
	}
	most := -1.0
	for _, e := range texts {
		if r.Clean != nil {
			e.Text, e.Target = r.Clean(e.Text), r.Clean(e.Target)
		}
		text := foldText(e.Text)
		kind := kindWeights[e.Kind]
		own, sum := 0, 0.0
		for t := range r.terms {
			often := r.terms[t].countIn(e, text)
			if often == 0 {
				continue
			}
			// As BM25 with b = 0.6: in a long text a word counts less.
			weight := kind.weight * often / (0.4 + 0.6*float64(len(text))/kind.length)
			hit.weights[t] += weight
			if sum += min(weight, 3); !r.terms[t].optional {
				own++
			}
		}
		if own == 0 {
			continue
		}
		near, line := r.nearest(text, e.Text)
		hit.near = max(hit.near, near)
		// How many terms the text has, how strongly it has them, and how near they are.
		if rank := float64(own)*10 + sum + 15*near; rank > most {
			most = rank
			hit.Entry, hit.Lines = e, []Line{line}
		}
	}
	hit.Text = ""
	ok = len(hit.Lines) > 0
	for t := range r.terms {
		if inTitle != nil {
			hit.weights[t] += inTitle[t]
		}
		ok = ok && (hit.weights[t] > 0 || r.terms[t].optional)
	}
	return hit, ok
}

// hasEnoughTerms reports whether each required term is in the title or in texts as they were read.
// It is cheap, so most exchanges need not be redacted. It is true for the title itself, without
// inTitle, and where less is enough (acceptsMost).
func (r *exchangeReader) hasEnoughTerms(texts []conversation.Entry, inTitle []float64) bool {
	if r.acceptsMost || inTitle == nil {
		return true
	}
	missing := 0
	for t := range r.terms {
		if r.terms[t].optional || inTitle[t] > 0 {
			continue
		}
		if !slices.ContainsFunc(texts, func(e conversation.Entry) bool { return r.terms[t].countIn(e, foldText(e.Text)) > 0 }) {
			missing++
		}
	}
	return missing == 0
}

// nearest returns how near to each other the terms are in a folded text, from 0 to 1, and the
// lines there. original is the text before it was folded.
func (r *exchangeReader) nearest(text, original string) (near float64, line Line) {
	const most = 64 // places of a term that are looked at, and places from each of them on
	type place struct{ at, end, term int }
	var places []place
	wanted := 0
	for t := range r.terms {
		if r.terms[t].matches != nil {
			continue
		}
		wanted++
		n := 0
		r.terms[t].find(text, func(at, end int, _ float64) bool {
			places = append(places, place{at, end, t})
			n++
			return n < most
		})
	}
	sort.Slice(places, func(i, j int) bool { return places[i].at < places[j].at })
	from := 0
	for i, p := range places {
		seen, end := map[int]bool{}, p.at
		for _, q := range places[i:min(i+most, len(places))] {
			if !seen[q.term] {
				seen[q.term], end = true, max(end, q.end)
				letters := 0
				for t := range seen {
					letters += len(r.terms[t].typed) + 1
				}
				apart := max(end-p.at-letters, 0) // bytes between the terms; 60 halve the score
				score := float64(len(seen)*len(seen)) / float64(wanted*wanted) / (1 + float64(apart)/60)
				if score > near && strings.Contains(text[p.at:end], "\n") { // one line is shown
					score *= 0.9
				}
				if score > near {
					near, from = score, p.at
				}
			}
		}
	}
	if len(text) != len(original) {
		from = min(from, len(original)) // folding has moved it a little
	}
	begin := strings.LastIndexByte(original[:from], '\n') + 1
	number := strings.Count(original[:begin], "\n") + 1
	end := len(original)
	if i := strings.IndexByte(original[from:], '\n'); i >= 0 {
		end = from + i
	}
	return near, Line{Number: number, Text: strings.Clone(strings.ToValidUTF8(strings.TrimSuffix(original[begin:end], "\r"), "")), Match: true}
}

// giveScattered gives the exchanges that have most of the terms, or the best one of a conversation
// that has nearly all of them in several exchanges.
func (r *exchangeReader) giveScattered(each func(Hit) bool) {
	union := make([]bool, len(r.terms))
	inUnion := func(t int) bool { return union[t] }
	best, fewest := -1, len(r.terms)
	for i, h := range r.partial {
		for t, weight := range h.weights {
			union[t] = union[t] || weight > 0
		}
		if _, missing := r.countMissing(h.hasTerm, true); missing < fewest {
			best, fewest = i, missing
		}
	}
	_, missing := r.countMissing(inUnion, true)
	rare, missingRare := r.countMissing(inUnion, false)
	together := missing == 0 || rare > 0 && missingRare <= (rare/2+1)/2 // half of what isEnough allows
	for i, h := range r.partial {
		if r.isEnough(h.hasTerm) || together && i == best {
			if !each(h) {
				return
			}
		}
	}
}

func (h *Hit) hasTerm(t int) bool { return h.weights[t] > 0 }

// Places returns where the words are in a line that was found, as regexp's FindAllStringIndex does.
func (w *Words) Places(line string) (spans [][]int) {
	text := foldText(line)
	if len(text) != len(line) {
		return nil
	}
	for t := range w.terms {
		if w.terms[t].matches == nil {
			w.terms[t].find(text, func(at, end int, _ float64) bool {
				spans = append(spans, []int{at, end})
				return len(spans) < 100
			})
		}
	}
	sort.Slice(spans, func(i, j int) bool { return spans[i][0] < spans[j][0] })
	return spans
}
