package conversation

import (
	"maps"
	"slices"
	"testing"
)

// What a person took back is beside the path from the last record to the first, in whatever
// order the client wrote the records.
func TestGone(t *testing.T) {
	ask := func(at int64, id, parent uint64) Link {
		return Link{Offset: at, ID: id, Parent: parent, Retractable: true}
	}
	link := func(at int64, id, parent uint64) Link { return Link{Offset: at, ID: id, Parent: parent} }
	for name, c := range map[string]struct {
		links Branch
		gone  []int64
	}{
		"straight":                     {Branch{link(1, 1, 0), ask(2, 2, 1), link(3, 3, 2), ask(4, 4, 3), link(5, 5, 4)}, nil},
		"the second prompt":            {Branch{ask(1, 1, 0), link(2, 2, 1), ask(3, 3, 2), link(4, 4, 3), ask(5, 5, 2), link(6, 6, 5)}, []int64{3, 4}},
		"the first prompt":             {Branch{ask(1, 1, 0), link(2, 2, 1), ask(3, 3, 0), link(4, 4, 3)}, []int64{1, 2}},
		"the end of a turn is first":   {Branch{link(1, 5, 4), link(2, 6, 5), link(3, 1, 0), ask(4, 2, 1), link(5, 4, 2), ask(6, 7, 6), link(7, 8, 7)}, nil},
		"a circle":                     {Branch{link(1, 1, 2), link(2, 2, 1), ask(3, 3, 2)}, nil},
		"a record that follows itself": {Branch{ask(1, 1, 1), link(2, 2, 1)}, nil},
		"a circle beside a rewind":     {Branch{ask(1, 1, 0), link(2, 2, 1), link(3, 3, 4), link(4, 4, 3), ask(5, 5, 2), ask(6, 6, 2)}, []int64{5}},
		"results beside the path":      {Branch{ask(1, 1, 0), link(2, 2, 1), link(3, 3, 2), link(4, 4, 2), link(5, 5, 4), ask(6, 6, 5)}, nil},
	} {
		if got := slices.Sorted(maps.Keys(c.links.TakenBackOffsets())); !slices.Equal(got, c.gone) {
			t.Errorf("%s: %v, want %v", name, got, c.gone)
		}
	}
}

// A turn of many records that was taken back is walked once: a walk from each of them would
// take half an hour.
func TestGoneOfALongTurn(t *testing.T) {
	const n = 1 << 20
	links := Branch{{Offset: 1, ID: 1, Retractable: true}, {Offset: 2, ID: 2, Parent: 1, Retractable: true}}
	for i := uint64(3); i < n; i++ {
		links = append(links, Link{Offset: int64(i), ID: i, Parent: i - 1})
	}
	links = append(links, Link{Offset: n, ID: n, Parent: 1, Retractable: true})
	if got := len(links.TakenBackOffsets()); got != n-2 {
		t.Errorf("%d are gone, want %d", got, n-2)
	}
}
