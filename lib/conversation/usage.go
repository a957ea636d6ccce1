package conversation

import (
	"cmp"
	"hash/maphash"
	"slices"
)

// UsageTally sums up the tokens of conversations by model. Usage that a fork copied into
// several conversations counts only in the first.
type UsageTally struct {
	models map[string]*Usage
	seed   maphash.Seed
	seen   map[uint64]struct{} // hashes of the ids, because a year has millions
}

// Add reads a conversation and adds its usage, without what an earlier conversation
// already had. It returns what it added.
func (t *UsageTally) Add(r Reader, f File) ([]ModelUsage, error) {
	if t.seen == nil {
		t.seed, t.seen = maphash.MakeSeed(), map[uint64]struct{}{}
	}
	// The last record of a message counts: a client may write several while it streams.
	type spent struct {
		model string
		usage Usage
	}
	var order []string
	last := map[string]spent{}
	own := map[string]*Usage{}
	_, err := r.Read(f, Options{}, func(e Entry) bool {
		switch {
		case e.Kind != TokenUsage:
		case e.ID == "":
			add(own, e.Model, e.Usage)
		default:
			id := f.Client + " " + e.ID
			if _, again := last[id]; !again {
				order = append(order, id)
			}
			last[id] = spent{e.Model, e.Usage}
		}
		return true
	})
	for _, id := range order {
		key := maphash.String(t.seed, id)
		if _, again := t.seen[key]; !again {
			t.seen[key] = struct{}{}
			add(own, last[id].model, last[id].usage)
		}
	}
	added := sorted(own)
	t.AddAll(added)
	return added, err
}

// AddAll adds what Add of another UsageTally returned.
func (t *UsageTally) AddAll(all []ModelUsage) {
	if t.models == nil {
		t.models = map[string]*Usage{}
	}
	for _, s := range all {
		add(t.models, s.Model, s.Usage)
	}
}

func add(to map[string]*Usage, model string, u Usage) {
	sum := to[model]
	if sum == nil {
		sum = &Usage{}
		to[model] = sum
	}
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
