package history

import (
	"cmp"
	"errors"
	"hash/maphash"
	"slices"
)

// Bill is what conversations spent, by model. Add sums up; what stands in several
// conversations, because a fork copied it, is counted in the first.
type Bill struct {
	models map[string]*Usage
	seen   map[uint64]struct{} // their ids, hashed: a year has millions
}

var seed = maphash.MakeSeed()

// Add adds what a conversation and its forks' common past spent, where no
// conversation before had it. It returns what the conversation added.
func (b *Bill) Add(f File) ([]Spending, error) {
	r := Of(f.Client)
	if r == nil {
		return nil, errors.New("the conversations of " + f.Client + " cannot be read")
	}
	if b.seen == nil {
		b.seen = map[uint64]struct{}{}
	}
	// The last word counts: a client may write of a message while it comes in.
	type spent struct {
		model string
		usage Usage
	}
	var order []string
	last := map[string]spent{}
	own := map[string]*Usage{}
	_, err := r.Read(f, Options{}, func(e Entry) bool {
		switch {
		case e.Kind != Spent:
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
		key := maphash.String(seed, id)
		if _, again := b.seen[key]; !again {
			b.seen[key] = struct{}{}
			add(own, last[id].model, last[id].usage)
		}
	}
	added := sorted(own)
	b.Put(added)
	return added, err
}

// Put adds what Add of another Bill returned.
func (b *Bill) Put(all []Spending) {
	if b.models == nil {
		b.models = map[string]*Usage{}
	}
	for _, s := range all {
		add(b.models, s.Model, s.Usage)
	}
}

func add(to map[string]*Usage, model string, u Usage) {
	t := to[model]
	if t == nil {
		t = &Usage{}
		to[model] = t
	}
	t.Input += u.Input
	t.CacheRead += u.CacheRead
	t.CacheWrite += u.CacheWrite
	t.Output += u.Output
	t.Cost += u.Cost
}

// Spending is what was spent on one model.
type Spending struct {
	Model string `json:"model"`
	Usage
}

// Sum is what all conversations spent so far, the model with the most output
// first.
func (b *Bill) Sum() []Spending { return sorted(b.models) }

func sorted(models map[string]*Usage) []Spending {
	var all []Spending
	for model, u := range models {
		all = append(all, Spending{model, *u})
	}
	slices.SortFunc(all, func(a, b Spending) int {
		return cmp.Or(cmp.Compare(b.Output, a.Output), cmp.Compare(a.Model, b.Model))
	})
	return all
}
