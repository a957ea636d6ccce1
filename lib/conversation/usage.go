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

	seed maphash.Seed
	seen map[uint64]struct{}  // hashes, because a year has millions
	sums map[uint64]time.Time // when a session had an Entry.Sum, by a hash of both
	read map[session.ID]bool  // whose conversations were added

	stated map[session.ID][]counted // the costs that the clients state
}

// mark notes a name and reports whether it was noted before.
func (t *UsageTally) mark(name ...string) bool {
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

// counted is what a tally needs of a TokenUsage. Of a year there are millions, and none may keep
// the record that its names were read from.
type counted struct {
	client           string
	id, request, sum string // as the entry's
	in               Origin
	model            string
	usage            Usage
	at               time.Time
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

// Spent is what a conversation says of the tokens that were used in it.
type Spent []counted

// ReadSpent reads a conversation. Several may be read at once.
func ReadSpent(r Reader, f File) (Spent, error) {
	spent := Spent{}
	var at time.Time // of the last entry
	var last counted
	_, err := ReadAll(r, f, Options{TokensOnly: true}, func(e Entry) bool {
		if !e.Time.IsZero() {
			at = e.Time
		}
		if e.Kind != TokenUsage {
			return true
		}
		c := counted{client: f.Client, request: strings.Clone(e.Request), sum: strings.Clone(e.Sum), usage: e.Usage, at: at}
		if c.id = strings.Clone(e.ID); strings.HasPrefix(c.id, UsageAt) {
			c.id = fmt.Sprint(c.id, c.usage)
		}
		c.model, c.in = keepSame(last.model, e.Model), Origin{keepSame(last.in.CWD, e.Origin.CWD), keepSame(last.in.Branch, e.Origin.Branch)}
		last = c
		spent = append(spent, c)
		return true
	})
	return spent, err
}

// keepSame returns a copy of now, or before if that is the same, as it mostly is.
func keepSame(before, now string) string {
	if now == before {
		return before
	}
	return strings.Clone(now)
}

// AddSpent counts the requests of a conversation that no earlier one had, and returns their usage
// by hour and origin. Its ancestors have to be added before, because a fork begins with copies of
// their requests. Of several records with the same id only the last counts.
func (t *UsageTally) AddSpent(spent Spent, of Lineage) (added []HourUsage) {
	if t.seen == nil {
		t.seed, t.seen = maphash.MakeSeed(), map[uint64]struct{}{}
		t.sums, t.read, t.stated = map[uint64]time.Time{}, map[session.ID]bool{}, map[session.ID][]counted{}
	}
	of.Ancestors = slices.DeleteFunc(slices.Clone(of.Ancestors), func(a session.ID) bool { return a == "" || a == of.ID })
	var order []string                           // the ids, as they came first
	last := make(map[string]int, len(spent))     // the index of a message's last record, of which a client may write several while it streams
	byHour := map[hourOrigin]map[string]*Usage{} // by model
	// count adds a record to its hour, unless that is outside of the time.
	count := func(c counted) {
		if c.at.Before(t.Since) || !t.Until.IsZero() && !c.at.Before(t.Until) {
			return
		}
		used := c.usage
		if t.Price != nil && used.HasTokens() {
			var known bool
			if used.Priced, known = t.Price(c.model, c.at, used); !known {
				used.Unpriced = used.Tokens()
			}
		}
		key := hourOrigin{hourOf(c.at), c.in}
		if byHour[key] == nil {
			byHour[key] = map[string]*Usage{}
		}
		add(byHour[key], c.model, used)
	}
	for i, c := range spent {
		if c.id == "" {
			count(c)
			continue
		}
		id := c.id + "\x00" + cmp.Or(c.request, c.sum)
		before, repeated := last[id]
		if !repeated {
			order = append(order, id)
		}
		last[id] = i
		// A record that has only a cost gives the total so far. It adds the difference to the record
		// before it, or to the total that a fork began with.
		if !c.usage.onlyCost() || t.hasSeen("id", c.client, c.id) {
			continue
		}
		t.stated[of.ID] = append(t.stated[of.ID], c)
		costBefore := spent[before].usage.Cost
		if !repeated {
			costBefore = t.inherited(of, c.model)
		}
		if costBefore <= c.usage.Cost { // else the client began anew
			c.usage.Cost -= costBefore
		}
		count(c)
	}
	copied := t.copies(of)
	for _, id := range order {
		if c := spent[last[id]]; !t.countedBefore(c, of, copied) && !c.usage.onlyCost() {
			count(c)
		}
	}
	t.read[of.ID] = true
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

// hourOf returns the beginning of the hour on a clock here, or the zero time for it.
func hourOf(at time.Time) time.Time {
	if at.IsZero() {
		return at
	}
	at = at.Local()
	return at.Add(-time.Duration(at.Minute())*time.Minute - time.Duration(at.Second())*time.Second - time.Duration(at.Nanosecond()))
}

// countedBefore reports whether an earlier conversation had what c counts.
func (t *UsageTally) countedBefore(c counted, of Lineage, copied func(counted) bool) bool {
	copy := c.sum != "" && copied(c)
	// A record of an older version names neither the request nor the sum.
	unsure := t.hasSeen("unsure", c.client, c.id)
	known := t.mark("id", c.client, c.id)
	switch {
	case c.request != "":
		return t.mark("request", c.client, c.id, c.request) || unsure
	case c.sum != "":
		same := !c.at.IsZero() && t.mark("at", c.client, c.id, c.sum, c.at.String()) // another session can have the record itself
		return t.mark("sum", string(of.ID), c.client, c.id, c.sum) || unsure || copy || same
	}
	t.mark("unsure", c.client, c.id)
	return known
}

// copies returns a function that reports whether an Entry.Sum is one that an ancestor had
// before. A copy is at the beginning, so the first sum that is of none ends it.
func (t *UsageTally) copies(of Lineage) func(counted) bool {
	diverged := false
	return func(c counted) bool {
		copied := false
		name := func(id session.ID) uint64 {
			return maphash.String(t.seed, c.client+"\x00"+string(id)+"\x00"+c.sum)
		}
		for _, a := range of.Ancestors {
			at, has := t.sums[name(a)]
			copied = copied || has && !diverged && (of.Began.IsZero() || !at.After(of.Began))
			if !has && !t.read[a] { // it is gone, and others may have copied the same
				t.sums[name(a)] = of.Began
			}
		}
		if _, has := t.sums[name(of.ID)]; !has {
			t.sums[name(of.ID)] = c.at
		}
		diverged = diverged || !copied
		return copied
	}
}

// inherited returns the cost with which a fork begins: its origin's at the time of the fork.
func (t *UsageTally) inherited(of Lineage, model string) (cost float64) {
	for _, a := range of.Ancestors {
		for _, c := range t.stated[a] {
			if c.model == model && !c.at.After(of.Began) {
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

func add(to map[string]*Usage, model string, u Usage) {
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
		add(models, d.Model, d.Usage)
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
	case major == 0:
		return 0
	case major > 4, major == 4 && minor > 6:
		return window1M
	}
	return window200k
}
