package conversation

import (
	"cmp"
	"fmt"
	"hash/maphash"
	"maps"
	"slices"
	"sort"
	"strconv"
	"strings"
	"time"

	"gt/lib/state/session"
)

// UsageTally counts the tokens of conversations. What a fork, a subagent or another file of
// the same session has copied counts only for the conversation that was read first.
type UsageTally struct {
	Since, Until time.Time // count what was used from then on, and before then; zero for no limit

	// Price, if not nil, returns the price of one request, and whether it is known.
	Price func(model string, at time.Time, u Usage) (dollars float64, ok bool)

	seed         maphash.Seed
	seen         map[uint64]struct{}  // hashes, because a year has millions
	sums         map[uint64]time.Time // when a session had an Entry.Sum, by a hash of both
	readSessions map[session.ID]bool  // whose conversations were added

	statedCosts map[session.ID][]tokenRecord // the costs that the clients state
}

// markSeen notes a name and reports whether it was noted before.
func (t *UsageTally) markSeen(name ...string) bool {
	key := t.hash(name)
	_, again := t.seen[key]
	t.seen[key] = struct{}{}
	return again
}

func (t *UsageTally) hasSeen(name ...string) bool {
	_, has := t.seen[t.hash(name)]
	return has
}

// hash returns one hash of several names; the zero byte divides them.
func (t *UsageTally) hash(name []string) uint64 {
	var h maphash.Hash
	h.SetSeed(t.seed)
	for _, part := range name {
		h.WriteString(part)
		h.WriteByte(0)
	}
	return h.Sum64()
}

// tokenRecord is what a tally needs of a TokenUsage. Of a year there are millions, and none may keep
// the record that its names were read from.
type tokenRecord struct {
	client           string
	id, request, sum string // as the entry's
	origin           Origin
	model            string
	usage            Usage
	usedAt           time.Time
}

// Origin is the folder and the git branch in which a request was made, as far as the client
// records them with it.
type Origin struct{ CWD, Branch string }

// BranchOf returns the branch that Claude Code and its forks record, which is HEAD where there is
// none; then it is "".
func BranchOf(recorded string) string {
	if recorded == "HEAD" {
		return ""
	}
	return recorded
}

// Lineage says which session a conversation is of, and with whose it may begin.
type Lineage struct {
	ID        session.ID
	Began     time.Time    // what others did later is not copied; zero if unknown
	Ancestors []session.ID // of which it is a fork or a subagent, and theirs
}

// UsageAt begins the ID of a TokenUsage that has only a time, in milliseconds. Two agents can
// end a request in the same one: a tally counts those with other numbers, too.
const UsageAt = "usage."

// TokenRecords is what a conversation says of the tokens that were used in it.
type TokenRecords []tokenRecord

// ReadTokens reads a conversation. Several may be read at once.
func ReadTokens(r Reader, f File) (TokenRecords, error) {
	spent := TokenRecords{}
	var at time.Time // of the last entry
	var last tokenRecord
	_, err := ReadAll(r, f, Options{TokensOnly: true}, func(e Entry) bool {
		if !e.Time.IsZero() {
			at = e.Time
		}
		if e.Kind != TokenUsage {
			return true
		}
		c := tokenRecord{client: f.Client, request: strings.Clone(e.Request), sum: strings.Clone(e.Sum), usage: e.Usage, usedAt: at}
		if c.id = strings.Clone(e.ID); strings.HasPrefix(c.id, UsageAt) {
			c.id = fmt.Sprint(c.id, c.usage)
		}
		c.model, c.origin = copyUnlessSame(last.model, e.Model), Origin{copyUnlessSame(last.origin.CWD, e.Origin.CWD), copyUnlessSame(last.origin.Branch, e.Origin.Branch)}
		last = c
		spent = append(spent, c)
		return true
	})
	return spent, err
}

// copyUnlessSame returns a copy of now, or before if that is the same, as it mostly is.
func copyUnlessSame(before, now string) string {
	if now == before {
		return before
	}
	return strings.Clone(now)
}

// AddTokens counts the requests of a conversation that no earlier one had, and returns their usage
// by hour and origin. Its ancestors have to be added before, because a fork begins with copies of
// their requests. Of several records with the same id only the last counts.
func (t *UsageTally) AddTokens(spent TokenRecords, lineage Lineage) (added []HourUsage) {
	if t.seen == nil {
		t.seed, t.seen = maphash.MakeSeed(), map[uint64]struct{}{}
		t.sums, t.readSessions, t.statedCosts = map[uint64]time.Time{}, map[session.ID]bool{}, map[session.ID][]tokenRecord{}
	}
	lineage.Ancestors = slices.DeleteFunc(slices.Clone(lineage.Ancestors), func(a session.ID) bool { return a == "" || a == lineage.ID })
	var order []string                            // the ids, as they came first
	lastIndex := make(map[string]int, len(spent)) // the index of a message's last record, of which a client may write several while it streams
	byHour := map[hourOrigin]map[string]*Usage{}  // by model
	// addRecord adds a record to its hour, unless it is not between Since and Until.
	addRecord := func(c tokenRecord) {
		if c.usedAt.Before(t.Since) || !t.Until.IsZero() && !c.usedAt.Before(t.Until) {
			return
		}
		used := c.usage
		if t.Price != nil && used.HasTokens() {
			var known bool
			if used.Priced, known = t.Price(c.model, c.usedAt, used); !known {
				used.Unpriced = used.Tokens()
			}
		}
		key := hourOrigin{hourOf(c.usedAt), c.origin}
		if byHour[key] == nil {
			byHour[key] = map[string]*Usage{}
		}
		addUsage(byHour[key], c.model, used)
	}
	for i, c := range spent {
		if c.id == "" {
			addRecord(c)
			continue
		}
		id := c.id + "\x00" + cmp.Or(c.request, c.sum)
		before, repeated := lastIndex[id]
		if !repeated {
			order = append(order, id)
		}
		lastIndex[id] = i
		// A record that has only a cost gives the total so far. It adds the difference to the record
		// before it, or to the total that a fork began with.
		if !c.usage.onlyCost() || t.hasSeen("id", c.client, c.id) {
			continue
		}
		t.statedCosts[lineage.ID] = append(t.statedCosts[lineage.ID], c)
		costBefore := spent[before].usage.Cost
		if !repeated {
			costBefore = t.inheritedCost(lineage, c.model)
		}
		if costBefore <= c.usage.Cost { // else the client began anew
			c.usage.Cost -= costBefore
		}
		addRecord(c)
	}
	copied := t.copyTest(lineage)
	for _, id := range order {
		if c := spent[lastIndex[id]]; !t.countedBefore(c, lineage, copied) && !c.usage.onlyCost() {
			addRecord(c)
		}
	}
	t.readSessions[lineage.ID] = true
	var times []hourOrigin
	for at := range byHour {
		times = append(times, at)
	}
	sort.Slice(times, func(i, j int) bool { return times[i].compare(times[j]) < 0 })
	for _, at := range times {
		for _, s := range sortModels(byHour[at]) {
			added = append(added, HourUsage{at.hour, at.in, s})
		}
	}
	return added
}

type hourOrigin struct {
	hour time.Time
	in   Origin
}

func (w hourOrigin) compare(o hourOrigin) int {
	return cmp.Or(w.hour.Compare(o.hour), cmp.Compare(w.in.CWD, o.in.CWD), cmp.Compare(w.in.Branch, o.in.Branch))
}

// hourOf returns the beginning of the hour on a clock here, or the zero time for it. Truncate would
// count in UTC, from which a zone can be half an hour off.
func hourOf(at time.Time) time.Time {
	if at.IsZero() {
		return at
	}
	at = at.Local()
	return at.Add(-time.Duration(at.Minute())*time.Minute - time.Duration(at.Second())*time.Second - time.Duration(at.Nanosecond()))
}

// countedBefore reports whether an earlier conversation had what c counts, and notes c for later
// ones. Whether the id came before is enough if c has no request and no sum, or if the earlier
// record had none (unsure). Otherwise the request has to be the same; or the sum, in the same
// session, at the same time or as a copy.
func (t *UsageTally) countedBefore(c tokenRecord, lineage Lineage, copied func(tokenRecord) bool) bool {
	copy := c.sum != "" && copied(c)
	// A record of an older version names neither the request nor the sum.
	unsure := t.hasSeen("unsure", c.client, c.id)
	known := t.markSeen("id", c.client, c.id)
	switch {
	case c.request != "":
		return t.markSeen("request", c.client, c.id, c.request) || unsure
	case c.sum != "":
		same := !c.usedAt.IsZero() && t.markSeen("at", c.client, c.id, c.sum, c.usedAt.String()) // another session can have the record itself
		return t.markSeen("sum", string(lineage.ID), c.client, c.id, c.sum) || unsure || copy || same
	}
	t.markSeen("unsure", c.client, c.id)
	return known
}

// copyTest returns a function that reports whether a record is a copy of an ancestor's: whether an
// ancestor had its Entry.Sum before the conversation began. The copies are at the beginning, so it
// returns false after the first record that is none. It notes each sum for later conversations.
func (t *UsageTally) copyTest(lineage Lineage) func(tokenRecord) bool {
	diverged := false
	return func(c tokenRecord) bool {
		copied := false
		name := func(id session.ID) uint64 {
			return maphash.String(t.seed, c.client+"\x00"+string(id)+"\x00"+c.sum)
		}
		for _, a := range lineage.Ancestors {
			at, has := t.sums[name(a)]
			copied = copied || has && !diverged && (lineage.Began.IsZero() || !at.After(lineage.Began))
			if !has && !t.readSessions[a] { // it is gone, and others may have copied the same
				t.sums[name(a)] = lineage.Began
			}
		}
		if _, has := t.sums[name(lineage.ID)]; !has {
			t.sums[name(lineage.ID)] = c.usedAt
		}
		diverged = diverged || !copied
		return copied
	}
}

// inheritedCost returns the cost of a model with which a fork begins: the last that its nearest
// ancestor stated before the fork; 0 if none did.
func (t *UsageTally) inheritedCost(lineage Lineage, model string) (cost float64) {
	for _, a := range lineage.Ancestors {
		for _, c := range t.statedCosts[a] {
			if c.model == model && !c.usedAt.After(lineage.Began) {
				cost = c.usage.Cost
			}
		}
		if cost > 0 {
			break
		}
	}
	return cost
}

// HasTokens reports whether a usage states tokens, and not only a cost.
func (u Usage) HasTokens() bool { return u.Tokens() != 0 }

// Tokens returns the sum of all tokens.
func (u Usage) Tokens() int64 { return u.Input + u.CacheRead + u.CacheWrite + u.Output }

func (u Usage) onlyCost() bool { return u.Cost > 0 && !u.HasTokens() }

func addUsage(to map[string]*Usage, model string, u Usage) {
	if to[model] == nil {
		to[model] = &Usage{}
	}
	to[model].Add(u)
}

// Add adds another usage.
func (sum *Usage) Add(u Usage) {
	sum.Input += u.Input
	sum.CacheRead += u.CacheRead
	sum.CacheWrite += u.CacheWrite
	sum.CacheWrite1h += u.CacheWrite1h
	sum.Output += u.Output
	sum.Cost += u.Cost
	sum.Priced += u.Priced
	sum.Unpriced += u.Unpriced
}

type ModelUsage struct {
	Model string `json:"model"`
	Usage
}

// HourUsage is the usage of an hour on a clock here; the zero time if it is unknown.
type HourUsage struct {
	Hour time.Time
	Origin
	ModelUsage
}

// SumByModel adds up usages, the model with the most output first.
func SumByModel(hours []HourUsage) []ModelUsage {
	models := map[string]*Usage{}
	for _, d := range hours {
		addUsage(models, d.Model, d.Usage)
	}
	return sortModels(models)
}

func sortModels(models map[string]*Usage) []ModelUsage {
	var all []ModelUsage
	for _, model := range slices.SortedFunc(maps.Keys(models), func(a, b string) int {
		return cmp.Or(cmp.Compare(models[b].Output, models[a].Output), cmp.Compare(a, b))
	}) {
		all = append(all, ModelUsage{model, *models[model]})
	}
	return all
}

const (
	window200k = 200_000
	window1M   = 1_000_000
)

// WindowOf returns the context window of a model in tokens, as far as its name tells, or
// 0 if the model is unknown. If in doubt it returns the larger value, because callers
// warn by it.
func WindowOf(model string) int64 {
	name := strings.ToLower(model)
	if strings.HasPrefix(name, "gemini-") {
		return 1 << 20
	}
	_, rest, ok := strings.Cut(name, "claude-")
	if !ok {
		return 0
	}
	if strings.Contains(name, "[1m]") || strings.HasSuffix(name, "-1m") {
		return window1M
	}
	// claude-3-5-sonnet-20241022, claude-opus-4-20250514, anthropic/claude-sonnet-4.5
	version := []int{}
	for word := range strings.FieldsFuncSeq(rest, func(r rune) bool { return !('a' <= r && r <= 'z' || '0' <= r && r <= '9') }) {
		if n, err := strconv.Atoi(word); err == nil && n < 100 {
			version = append(version, n)
		}
	}
	version = append(version, 0, 0)
	switch major, minor := version[0], version[1]; {
	case major == 0: // the name has no version
		return 0
	case major > 4, major == 4 && minor > 6: // these have the large window without the mark [1m]
		return window1M
	}
	return window200k
}
