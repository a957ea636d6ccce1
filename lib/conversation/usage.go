package conversation

import (
	"cmp"
	"hash/maphash"
	"maps"
	"slices"
	"time"
)

// UsageTally sums up the tokens of conversations by model. Usage that a fork copied into
// several conversations counts only in the first.
type UsageTally struct {
	models map[string]*Usage
	seed   maphash.Seed
	seen   map[uint64]struct{} // hashes of the ids, because a year has millions
}

// Add reads a conversation and adds its usage, without what an earlier conversation
// already had. It returns what it added, by day.
func (t *UsageTally) Add(r Reader, f File) (added []DayUsage, err error) {
	if t.seen == nil {
		t.seed, t.seen = maphash.MakeSeed(), map[uint64]struct{}{}
	}
	// The last record of a message counts: a client may write several while it streams.
	type spent struct {
		day, model string
		usage      Usage
	}
	var order []string
	last := map[string]spent{}
	own := map[string]map[string]*Usage{} // by day and model
	count := func(s spent) {
		if own[s.day] == nil {
			own[s.day] = map[string]*Usage{}
		}
		add(own[s.day], s.model, s.usage)
	}
	_, err = ReadAll(r, f, Options{}, func(e Entry) bool {
		now := spent{"", e.Model, e.Usage}
		if !e.Time.IsZero() {
			now.day = e.Time.Local().Format(time.DateOnly)
		}
		switch {
		case e.Kind != TokenUsage:
		case e.ID == "":
			count(now)
		default:
			id := f.Client + " " + e.ID
			if _, again := last[id]; !again {
				order = append(order, id)
			}
			last[id] = now
		}
		return true
	})
	for _, id := range order {
		key := maphash.String(t.seed, id)
		if _, again := t.seen[key]; !again {
			t.seen[key] = struct{}{}
			count(last[id])
		}
	}
	if t.models == nil {
		t.models = map[string]*Usage{}
	}
	for _, day := range slices.Sorted(maps.Keys(own)) {
		for _, s := range sorted(own[day]) {
			add(t.models, s.Model, s.Usage)
			added = append(added, DayUsage{day, s})
		}
	}
	return added, err
}

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
	sum.Output += u.Output
	sum.Cost += u.Cost
}

type ModelUsage struct {
	Model string `json:"model"`
	Usage
}

// DayUsage is the usage of a local day (2026-01-17); "" if the time is unknown.
type DayUsage struct {
	Day string
	ModelUsage
}

// Sum returns the usage of all conversations, the model with the most output first.
func (t *UsageTally) Sum() []ModelUsage { return sorted(t.models) }

func sorted(models map[string]*Usage) []ModelUsage {
	var all []ModelUsage
	for model, u := range models {
		all = append(all, ModelUsage{model, *u})
	}
	slices.SortFunc(all, func(a, b ModelUsage) int {
		return cmp.Or(cmp.Compare(b.Output, a.Output), cmp.Compare(a.Model, b.Model))
	})
	return all
}
