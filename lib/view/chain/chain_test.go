package chain

import (
	"fmt"
	"gt/internal/testenv"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"gt/lib/catalog"
	"gt/lib/conversation"
	"gt/lib/log/eventlog"
	"gt/lib/state/session"
)

var noon = time.Date(2026, 1, 17, 12, 0, 0, 0, time.UTC)

// Whatever sessions say of one another, even in circles, each is in one chain once, below
// the one it is linked to, and all formats can be written.
func TestEverySessionIsInOneChain(t *testing.T) {
	for seed := range testenv.Seeds(300) {
		r := rand.New(rand.NewPCG(seed, 7))
		n := 1 + r.IntN(30)
		id := func() session.ID {
			if r.IntN(3) == 0 {
				return ""
			}
			return session.ID(fmt.Sprint("s", r.IntN(n+2)))
		}
		var all []*catalog.Session
		for i := range n {
			s := &catalog.Session{ID: session.ID(fmt.Sprint("s", i)), StartedAt: noon.Add(time.Duration(r.IntN(20)) * time.Minute)}
			s.ParentID = id()
			switch r.IntN(6) {
			case 0:
				s.ForkOf = id()
			case 1:
				s.SubagentOf = id()
			case 2:
				s.ChainID, s.ChildID = id(), id()
			}
			all = append(all, s)
		}
		met := map[session.ID]bool{}
		for _, s := range all {
			if met[s.ID] {
				continue
			}
			found, candidates := Find(all, string(s.ID))
			if len(found) != 1 || candidates != nil {
				t.Fatalf("seed %d: %d chains for %s", seed, len(found), s.ID)
			}
			c := found[0]
			in := map[session.ID]bool{}
			c.Walk(func(n *Node) {
				if met[n.ID] {
					t.Fatalf("seed %d: %s stands twice", seed, n.ID)
				}
				met[n.ID], in[n.ID] = true, true
				if above, link := FindParent(n.Session); n.Link != FirstOfChain && (!in[above] || n.Link != link) {
					t.Fatalf("seed %d: %s does not stand below %s", seed, n.ID, above)
				}
			})
			if !in[s.ID] {
				t.Fatalf("seed %d: %s is not in its own chain", seed, s.ID)
			}
			if got := c.Sessions(); len(got) != len(in) {
				t.Fatalf("seed %d: %d of %d sessions", seed, len(got), len(in))
			}
			for _, text := range []string{c.Text(View{Now: noon, Width: 40}), DOT(found, View{Now: noon}), Mermaid(found, View{Now: noon})} {
				if text == "" {
					t.Fatal("nothing is written")
				}
			}
		}
		if len(met) != n {
			t.Fatalf("seed %d: %d of %d sessions are in a chain", seed, len(met), n)
		}
	}
}

// A chain of ten thousand is a line, and takes linear time.
func TestALongChain(t *testing.T) {
	var all []*catalog.Session
	for i := range 10000 {
		all = append(all, &catalog.Session{
			ID: session.ID(fmt.Sprintf("s%05d", i)), ChainID: "s00000", StartedAt: noon.Add(time.Duration(i) * time.Minute),
			ParentID: session.ID(fmt.Sprintf("s%05d", i-1)),
		})
	}
	found, _ := Find(all, "s00700")
	if len(found) != 1 || len(found[0].Roots) != 1 {
		t.Fatalf("%d chains", len(found))
	}
	text := found[0].Text(View{Now: noon, Width: 80})
	if n := strings.Count(text, "\n"); n != 1+10000+9999 {
		t.Errorf("%d lines", n)
	}
	if strings.Contains(text, "├") {
		t.Error("it branches")
	}
}

// Of two successors, the one that the session names continues the line, or else the first.
func TestWhoFollowed(t *testing.T) {
	all := []*catalog.Session{
		{ID: "one", Outcome: "crash", Reason: "gone"}, {ID: "two", ParentID: "one", StartedAt: noon},
		{ID: "three", ParentID: "one", StartedAt: noon.Add(time.Hour)},
	}
	next := func() session.ID {
		found, _ := Find(all, "one")
		if n := found[0].Roots[0]; len(n.Branches) == 1 && n.Branches[0].Link == Follows {
			return n.Next.ID
		}
		return ""
	}
	if got := next(); got != "two" {
		t.Error(got)
	}
	all[0].ChildID = "three"
	if got := next(); got != "three" {
		t.Error(got)
	}
}

// Nested branches stay within the width, and subagents beyond a number are only counted.
func TestBranches(t *testing.T) {
	var all []*catalog.Session
	for i := range 200 {
		all = append(all, &catalog.Session{ID: session.ID(fmt.Sprintf("fork-%03d", i)), ForkOf: session.ID(fmt.Sprintf("fork-%03d", i-1))})
	}
	found, _ := Find(all, "fork-000")
	for _, line := range strings.Split(found[0].Text(View{Now: noon, Width: 60}), "\n") {
		if n := len([]rune(line)); n > 60 {
			t.Fatalf("%d columns: %s", n, line)
		}
	}
	all = []*catalog.Session{{ID: "main"}}
	for i := range 40 {
		all = append(all, &catalog.Session{ID: session.ID(fmt.Sprintf("sub-%03d", i)), SubagentOf: "main"})
	}
	found, _ = Find(all, "sub-012")
	text := found[0].Text(View{Now: noon})
	if !strings.Contains(text, "\n└─ and 35 more subagents\n") || strings.Count(text, "\n") != 1+1+5+1 {
		t.Error(text)
	}
}

// The sessions that a catalog links with a name are all that a chain needs.
func TestLinked(t *testing.T) {
	for seed := range testenv.Seeds(30) {
		r := rand.New(rand.NewPCG(seed, 3))
		id := func() string { return fmt.Sprintf("s%d", r.IntN(30)) }
		var log strings.Builder
		for i := range 40 {
			fmt.Fprintf(&log, `{"ts":"2026-01-17T01:%02d:00Z","type":"session_start","actor":"a","payload":{"session_id":%q,"parent_id":%q,"chain_id":%q,"work_unit":"w%d"}}`+"\n",
				i, id(), []string{"", "", id()}[r.IntN(3)], []string{"", id(), fmt.Sprintf("c%d", r.IntN(9))}[r.IntN(3)], r.IntN(9))
		}
		path := eventlog.Log(filepath.Join(t.TempDir(), ".events.jsonl"))
		testenv.NoError(t, os.WriteFile(string(path), []byte(log.String()), 0o600))
		read, err := catalog.Read(path, nil)
		testenv.NoError(t, err)
		var talks []conversation.Conversation
		for i := range 20 {
			m := conversation.Metadata{ID: session.ID(id()), Started: time.Unix(int64(1e9+i), 0), FirstID: fmt.Sprint("f", r.IntN(12))}
			switch r.IntN(4) {
			case 0:
				m.Parent = session.ID(id())
			case 1:
				m.ForkOf = session.ID(id())
			}
			talks = append(talks, conversation.Conversation{File: conversation.File{Client: "claude", Path: fmt.Sprint("/", i)}, Metadata: m})
		}
		all := read.Merge(talks, nil)
		tell := func(of []*catalog.Session, word string) string {
			found, candidates := Find(of, word)
			text := fmt.Sprint(len(candidates), " ")
			for _, c := range found {
				for _, s := range c.Sessions() {
					text += string(s.ID) + " "
				}
				text += "/ "
			}
			return text
		}
		for _, word := range []string{"s1", "s2", "s11", "c3", "c", "w4", "x", "s29"} {
			want := tell(slices.Collect(all.Sessions()), word)
			if got := tell(all.Linked(word), word); got != want {
				t.Errorf("seed %d, %s: %s, not %s", seed, word, got, want)
			}
		}
	}
}
