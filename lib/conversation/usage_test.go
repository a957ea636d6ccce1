package conversation

import (
	"testing"
	"time"

	"gt/lib/state/session"
)

// told is a Reader whose files are entries, by path.
type told map[string][]Entry

func (told) Client() string                        { return "told" }
func (told) Find(string, func(File)) error         { return nil }
func (told) Metadata(File) (m Metadata, err error) { return m, nil }
func (t told) Read(f File, _ Options, each func(Entry) bool) (int64, error) {
	for _, e := range t[f.Path] {
		e.Kind = TokenUsage
		each(e)
	}
	return 0, nil
}

// Whatever a fork or a subagent has copied, and however the client names it, counts once; and
// all that was used does.
func TestUsageTally(t *testing.T) {
	at := func(hour int) time.Time { return time.Date(2026, 11, 20, hour, 0, 0, 0, time.UTC) }
	out := func(hour int, id, request, sum string, tokens int64) Entry {
		return Entry{Time: at(hour), ID: id, Request: request, Sum: sum, Usage: Usage{Output: tokens}}
	}
	cost := func(hour int, id string, dollars float64) Entry {
		return Entry{Time: at(hour), ID: id, Usage: Usage{Cost: dollars}}
	}
	parent := []session.ID{"parent"}
	for name, c := range map[string]struct {
		files told
		order []Lineage
		want  []Usage // of each
	}{
		"parts of a message":     {told{"one": {out(1, "m", "r", "", 1), out(1, "m", "r", "", 5)}}, []Lineage{{ID: "one"}}, []Usage{{Output: 5}}},
		"an id for two requests": {told{"one": {out(1, "m", "r", "", 1), out(1, "m", "q", "", 5)}}, []Lineage{{ID: "one"}}, []Usage{{Output: 6}}},
		"an id in two sessions": {told{"one": {out(1, "m", "", "m.5", 1)}, "two": {out(2, "m", "", "m.5", 1)}},
			[]Lineage{{ID: "one"}, {ID: "two"}}, []Usage{{Output: 1}, {Output: 1}}},
		"a record in two sessions": {told{"one": {out(1, "m", "", "m.5", 1)}, "two": {out(1, "m", "", "m.5", 1)}},
			[]Lineage{{ID: "one"}, {ID: "two"}}, []Usage{{Output: 1}, {}}},
		"a copy": {told{"parent": {out(1, "m", "r", "", 1)}, "fork": {out(1, "m", "r", "", 1), out(3, "n", "s", "", 2)}},
			[]Lineage{{ID: "parent"}, {ID: "fork", Began: at(2), Ancestors: parent}}, []Usage{{Output: 1}, {Output: 2}}},
		"a copy with other ids and times": {told{"parent": {out(1, "a", "", "1", 1), out(1, "b", "", "2", 1)}, "fork": {out(2, "x", "", "2", 1), out(3, "y", "", "3", 4)}},
			[]Lineage{{ID: "parent"}, {ID: "fork", Began: at(2), Ancestors: parent}}, []Usage{{Output: 2}, {Output: 4}}},
		"two forks that did the same": {told{"parent": {out(1, "a", "", "1", 1)}, "fork": {out(2, "x", "", "1", 1), out(3, "y", "", "3", 4)}, "other": {out(2, "x", "", "1", 1), out(3, "z", "", "3", 4)}},
			[]Lineage{{ID: "parent"}, {ID: "fork", Began: at(2), Ancestors: parent}, {ID: "other", Began: at(2), Ancestors: parent}}, []Usage{{Output: 1}, {Output: 4}, {Output: 4}}},
		"what its origin did later": {told{"parent": {out(1, "a", "", "1", 1), out(5, "b", "", "2", 1)}, "fork": {out(2, "x", "", "1", 1), out(3, "y", "", "2", 1)}},
			[]Lineage{{ID: "parent"}, {ID: "fork", Began: at(2), Ancestors: parent}}, []Usage{{Output: 2}, {Output: 1}}},
		"a number that comes again": {told{"parent": {out(1, "a", "", "1", 1), out(1, "b", "", "2", 1)}, "fork": {out(3, "y", "", "9", 4), out(3, "z", "", "2", 1)}},
			[]Lineage{{ID: "parent"}, {ID: "fork", Began: at(2), Ancestors: parent}}, []Usage{{Output: 2}, {Output: 5}}},
		"two forks of one that is gone": {told{"fork": {out(2, "x", "", "1", 1), out(3, "y", "", "3", 4)}, "other": {out(2, "z", "", "1", 1), out(3, "w", "", "5", 2)}},
			[]Lineage{{ID: "fork", Began: at(2), Ancestors: parent}, {ID: "other", Began: at(2), Ancestors: parent}}, []Usage{{Output: 5}, {Output: 2}}},
		"a record of an older version": {told{"parent": {out(1, "m", "", "", 1)}, "fork": {out(1, "m", "r", "", 1), out(3, "n", "s", "", 2)}},
			[]Lineage{{ID: "parent"}, {ID: "fork", Began: at(2), Ancestors: parent}}, []Usage{{Output: 1}, {Output: 2}}},
		"a cost so far":          {told{"one": {cost(1, "c", 1), cost(2, "c", 3), cost(3, "c", 0.5)}}, []Lineage{{ID: "one"}}, []Usage{{Cost: 3.5}}},
		"a cost of another file": {told{"one": {cost(1, "c", 1)}, "two": {cost(1, "c", 1)}}, []Lineage{{ID: "one"}, {ID: "two"}}, []Usage{{Cost: 1}, {}}},
		"a cost that a fork begins with": {told{"parent": {cost(1, "c", 1), cost(4, "c", 8)}, "fork": {cost(3, "d", 3)}},
			[]Lineage{{ID: "parent"}, {ID: "fork", Began: at(2), Ancestors: parent}}, []Usage{{Cost: 8}, {Cost: 2}}},
	} {
		t.Run(name, func(t *testing.T) {
			var tally UsageTally
			for i, of := range c.order {
				spent, err := ReadTokens(c.files, File{Client: "told", Path: string(of.ID)})
				added := tally.AddTokens(spent, of)
				var sum Usage
				for _, d := range added {
					sum.Add(d.Usage)
				}
				if err != nil || sum != c.want[i] {
					t.Errorf("%s used %+v, %v, want %+v", of.ID, sum, err, c.want[i])
				}
			}
		})
	}
	some := UsageTally{Since: at(2), Until: at(4)}
	spent, _ := ReadTokens(told{"one": {out(1, "a", "", "", 1), out(2, "b", "", "", 2), out(3, "", "", "", 4), out(4, "d", "", "", 8), cost(1, "c", 1), cost(3, "c", 3)}}, File{Path: "one"})
	added := some.AddTokens(spent, Lineage{ID: "one"})
	if len(added) != 2 || added[0].Usage != (Usage{Output: 2}) || added[1].Usage != (Usage{Output: 4, Cost: 2}) || added[1].Hour.Sub(added[0].Hour) != time.Hour {
		t.Errorf("of some hours: %+v", added)
	}
}
