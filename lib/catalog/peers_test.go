package catalog

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"gt/internal/testenv"
	"gt/lib/conversation"
	"gt/lib/log/eventlog"
	"gt/lib/place"
	"gt/lib/state/session"
	"gt/lib/sys/process"
)

// log writes a log, whose lines begin with their minute.
func logOf(t *testing.T, name string, lines ...string) Catalog {
	t.Helper()
	l := eventlog.Log(filepath.Join(t.TempDir(), name+".jsonl"))
	for _, line := range lines {
		minute, rest, _ := strings.Cut(line, " ")
		m := 0
		fmt.Sscan(minute, &m)
		what, id, _ := strings.Cut(rest, " ")
		id, payload, _ := strings.Cut(id, " ")
		appendTo(t, l, fmt.Sprintf(`{"ts":%q,"type":%q,"actor":"api","payload":{"session_id":%q%s}}`+"\n", minutesAfter(m).Format(time.RFC3339), what, id, payload))
	}
	return read(t, l)
}

const otherHostFields = `,"cwd":"/there","transcript_path":"/there/t.jsonl","tmux_session":"gt-api","host":"lies","agent":"claude"`
const thisHostFields = `,"cwd":"/here","transcript_path":"/here/t.jsonl","tmux_session":"gt-api","agent":"claude"`

// What another host says is its claim: it makes sessions of that host, continues one that
// ended here, and begins one that was resumed here. Nothing else of this host changes.
func TestPeers(t *testing.T) {
	nobody := place.State(t.TempDir())
	own := logOf(t, "own",
		"1 session_start runs "+thisHostFields,
		"2 session_start ended "+thisHostFields, "3 session_end ended ,\"outcome\":\"done\"",
		"4 session_start left "+thisHostFields+`,"chain_id":"left"`, "5 session_end left ,\"outcome\":\"killed\"",
		`20 session_resume came ,"source":"resume"`+thisHostFields,
		"21 session_start first "+thisHostFields, "22 session_end first ,\"outcome\":\"handoff\"",
		"24 session_start again "+thisHostFields, "25 session_end again ,\"outcome\":\"done\"",
	)
	box := logOf(t, "box",
		"1 session_start theirs "+otherHostFields,
		"2 session_start closed "+otherHostFields, "3 session_end closed ,\"outcome\":\"crash\"",
		"4 session_start forged "+otherHostFields, "5 session_end forged ,\"outcome\":\"active\"",
		"6 session_start busy "+otherHostFields, "7 session_end busy ,\"outcome\":\"done\"",
		"9 session_end runs ,\"outcome\":\"crash\",\"reason\":\"a lie\"",
		"2 session_start ended "+otherHostFields+`,"topic":"a lie"`,
		"10 session_resume left "+otherHostFields+`,"source":"resume"`,
		`11 session_start came `+otherHostFields+`,"chain_id":"chain"`, `12 session_end came ,"outcome":"killed"`,
		`23 session_start second ,"parent_id":"first","chain_id":"first"`+otherHostFields,
		"30 session_start talked "+otherHostFields, "31 session_end talked ,\"outcome\":\"done\"",
		"32 session_start alive "+otherHostFields, "33 session_end alive ,\"outcome\":\"done\"",
		`60 session_resume again ,"source":"resume"`+otherHostFields,
	)
	talks := []conversation.Conversation{
		said("talked", "/here/talked.jsonl", 1, conversation.Metadata{Started: minutesAfter(30), Last: minutesAfter(40), CWD: "/mine"}),
		said("alive", "/here/alive.jsonl", 1, conversation.Metadata{Started: minutesAfter(32), Last: minutesAfter(40), CWD: "/mine"}),
	}
	for _, away := range []bool{false, true} {
		p := Peer{Name: "box"}
		if !away {
			p.Runs = map[session.ID]bool{"busy": true}
		}
		c := own.JoinPeer(p, box).Merge(talks, map[session.ID]process.Proc{"alive": {}, "again": {}})
		busy := "busy box active /there"
		if away {
			busy = "busy box done /there"
		}
		for id, want := range map[string]string{
			"runs": "runs - gone /here", "ended": "ended - done /here", "left": "left box unknown /here", "came": "came - gone /here", "first": "first - handoff /here",
			"theirs": "theirs box unknown /there", "closed": "closed box crash /there", "forged": "forged box unknown /there", "busy": busy,
			"second": "second box unknown /there", "talked": "talked box done /mine", "alive": "alive - active /mine", "again": "again - active /here",
		} {
			found := c.Find(id)
			if len(found) != 1 {
				t.Errorf("%s: %d sessions", id, len(found))
				continue
			}
			s := found[0]
			s.ResolveOutcome(nobody)
			where := s.OtherHost()
			if where == "" {
				where = "-"
			}
			if got := fmt.Sprint(s.ID, " ", where, " ", s.Outcome, " ", s.CWD); got != want {
				t.Errorf("away %v: %s, not %s", away, got, want)
			}
			if strings.Contains(s.Transcript, "there") || s.IsForeign() && (s.Transcript+s.TmuxSession != "" || s.PID != 0 || s.Host != "box") || strings.Contains(s.Topic+s.Reason, "lie") {
				t.Errorf("%+v", s)
			}
			if s.IsForeign() != (s.CWD == "/there") {
				t.Errorf("%s is foreign: %v", id, s.IsForeign())
			}
		}
		if came := c.Find("came")[0]; !came.StartedAt.Equal(minutesAfter(11)) || came.ChainID != "chain" {
			t.Errorf("came began at %v, in the chain %s", came.StartedAt, came.ChainID)
		}
		if child := c.Find("first")[0].ChildID; child != "second" {
			t.Errorf("first was followed by %q", child)
		}
		if n := len(c.Linked("first")); n != 2 {
			t.Errorf("%d sessions in the chain", n)
		}
		if chain, err := c.Chain("second"); chain != "first" || err != nil {
			t.Errorf("the chain %s, %v", chain, err)
		}
		if n := len(slices.Collect(c.Sessions())); c.CountSessions() != n || n != 13 {
			t.Errorf("%d sessions, counted as %d", n, c.CountSessions())
		}
		for _, one := range []struct {
			f    Filter
			want int
		}{
			{Filter{Host: "box"}, 7}, {Filter{Host: "laptop", OwnHost: "laptop"}, 6}, {Filter{Host: "lies"}, 0}, {Filter{Here: true}, 8},
			{Filter{Folders: []string{"/there"}}, 5}, {Filter{Outcome: Active}, 3}, {Filter{Chain: "first"}, 2},
		} {
			f, want := one.f, one.want
			if f.Outcome == Active && away {
				want = 2
			}
			f.State = nobody
			if got := c.Select(f, 0); len(got) != want {
				t.Errorf("%+v selects %d, not %d", f, len(got), want)
			}
		}
	}
	// Two other hosts know a session that moved between them.
	desk := logOf(t, "desk", "50 session_resume theirs "+otherHostFields+`,"source":"resume"`)
	for _, c := range []Catalog{own.JoinPeer(Peer{Name: "box"}, box).JoinPeer(Peer{Name: "desk"}, desk), own.JoinPeer(Peer{Name: "desk"}, desk).JoinPeer(Peer{Name: "box"}, box)} {
		if s := c.Find("theirs")[0]; s.Host != "desk" || s.OtherHost() != "desk" || !s.StartedAt.Equal(minutesAfter(1)) || !s.LastAt.Equal(minutesAfter(50)) {
			t.Errorf("%+v", s)
		}
	}
}

// Whatever other hosts say, each session is listed once, in order, and what runs here, or
// has not ended here, stays as it is.
func TestPeersSayAnything(t *testing.T) {
	for seed := range testenv.Seeds(200) {
		rnd := rand.New(rand.NewPCG(seed, 2))
		var lines [3][]string
		for m := range 60 {
			id := fmt.Sprintf("s%d", rnd.IntN(8))
			what := [...]string{
				fmt.Sprintf("session_start %s ,%q:%q", id, "parent_id", fmt.Sprintf("s%d", rnd.IntN(8))), "session_resume " + id + ` ,"source":"resume"`,
				"session_end " + id + ` ,"outcome":"done"`, "handoff " + id + ` ,"to_session":"x","kind":"k"`,
			}[rnd.IntN(4)]
			host := rnd.IntN(3)
			dir := otherHostFields
			if host == 0 {
				dir = thisHostFields
			}
			lines[host] = append(lines[host], fmt.Sprintf("%d %s%s", m, what, dir))
		}
		own := logOf(t, "own", lines[0]...)
		talks := []conversation.Conversation{said("s7", "/here/7", 1, conversation.Metadata{Started: minutesAfter(3), Last: minutesAfter(50), CWD: "/here"})}
		alone := own.Merge(talks, nil)
		var records []conversation.Conversation
		for i := range 12 {
			if rnd.IntN(2) == 0 {
				started := rnd.IntN(60)
				records = append(records, recordOf(session.ID(fmt.Sprintf("s%d", i)), fmt.Sprintf("/copies/%d", i), started, started+rnd.IntN(60), ""))
			}
		}
		all := own.JoinPeer(Peer{Name: "box"}, logOf(t, "box", lines[1]...), records...).JoinPeer(Peer{Name: "desk"}, logOf(t, "desk", lines[2]...)).Merge(talks, nil)
		for _, o := range []order{byStart, byLast} {
			listed := slices.Collect(all.iterSessions(o))
			ids := map[session.ID]bool{}
			for _, s := range listed {
				ids[s.ID] = true
			}
			if len(ids) != len(listed) || len(listed) != all.CountSessions() || !slices.IsSortedFunc(listed, o.compare) {
				t.Fatalf("seed %d: %d sessions of %d, counted as %d", seed, len(ids), len(listed), all.CountSessions())
			}
		}
		for s := range all.Sessions() {
			before := alone.Find(string(s.ID))
			if len(before) != 1 || before[0].ID != s.ID {
				if !s.IsForeign() || s.Transcript != s.File.Path || s.TmuxSession != "" {
					t.Fatalf("seed %d: %+v", seed, s)
				}
				continue
			}
			was := before[0]
			if s.IsForeign() || s.CWD != was.CWD || s.File != was.File || s.Transcript != was.Transcript || s.Agent != was.Agent {
				t.Fatalf("seed %d: %+v\nwas %+v", seed, s, was)
			}
			if was.Outcome == "" && was.Logged() && (s.Outcome != "" || s.OtherHost() != "" || !s.LastAt.Equal(was.LastAt) || s.TmuxSession != was.TmuxSession) {
				t.Fatalf("seed %d: %+v\nwas %+v", seed, s, was)
			}
		}
	}
}

// recordOf returns a conversation as the copy of a record has it.
func recordOf(id session.ID, path string, started, last int, parent session.ID) conversation.Conversation {
	c := said(string(id), path, 1, conversation.Metadata{Started: minutesAfter(started), Last: minutesAfter(last), CWD: "/there", Agent: "claude", Parent: parent, Title: "theirs"})
	c.File.Client = "gt-record"
	return c
}

// The records of another host give conversations to its sessions, and to none of this host:
// not by an id of one, nor as its subagents.
func TestPeersRecords(t *testing.T) {
	own := logOf(t, "own", "1 session_start logged "+thisHostFields, "2 session_end logged ,\"outcome\":\"done\"")
	box := logOf(t, "box", "3 session_start theirs "+otherHostFields, "4 session_end theirs ,\"outcome\":\"done\"", "6 session_start logged "+otherHostFields)
	talks := []conversation.Conversation{said("talked", "/here/talked", 1, conversation.Metadata{Started: minutesAfter(5), Last: minutesAfter(6), CWD: "/here"})}
	c := own.JoinPeer(Peer{Name: "box"}, box,
		recordOf("theirs", "/copies/theirs", 3, 9, ""), recordOf("below", "/copies/below", 3, 4, "theirs"),
		recordOf("logged", "/copies/logged", 1, 90, ""), recordOf("talked", "/copies/talked", 1, 90, ""),
		recordOf("forged", "/copies/forged", 1, 2, "logged"), recordOf("older", "/copies/older", 1, 2, ""),
		recordOf("../x", "/copies/x", 1, 2, ""), recordOf("odd", "/copies/odd", 1, 2, "../x"),
	).Merge(talks, nil)
	for id, want := range map[session.ID]string{
		"theirs": "box /copies/theirs claude", "below": "box /copies/below claude", "older": "box /copies/older claude", "odd": "box /copies/odd claude",
		"logged": "-  claude", "talked": "- /here/talked claude",
	} {
		found := c.Find(string(id))
		if len(found) != 1 {
			t.Errorf("%s: %d sessions", id, len(found))
			continue
		}
		s := found[0]
		host, _ := s.Copied()
		if host == "" {
			host = "-"
		}
		if got := fmt.Sprint(host, " ", s.File.Path, " ", s.Agent); got != want || s.IsForeign() != (host == "box") || s.Store != "" && s.IsForeign() {
			t.Errorf("%s: %s, not %s", id, got, want)
		}
	}
	if s := c.Find("theirs")[0]; !s.LastAt.Equal(minutesAfter(9)) || s.Title != "theirs" || s.CWD != "/there" || s.Outcome != session.Done {
		t.Errorf("%+v", s)
	}
	if s := c.Find("talked")[0]; s.OtherHost() != "" || !s.LastAt.Equal(minutesAfter(6)) {
		t.Errorf("%+v", s)
	}
	older := c.Find("older")[0]
	if older.ResolveOutcome(place.State(t.TempDir())); older.Outcome != Unknown {
		t.Errorf("%+v", older)
	}
	if below := c.Subagents("theirs"); len(below) != 1 || below[0].ID != "below" {
		t.Errorf("%v", below)
	}
	if below := c.Subagents("logged"); len(below) != 0 {
		t.Errorf("%v", below)
	}
	if n := len(slices.Collect(c.Sessions())); n != 7 || c.CountSessions() != 5 { // two subagents
		t.Errorf("%d sessions, counted as %d", n, c.CountSessions())
	}
	// Of two hosts, the one where it went on has its conversation.
	desk := logOf(t, "desk", "50 session_resume theirs "+otherHostFields+`,"source":"resume"`)
	c = c.JoinPeer(Peer{Name: "desk"}, desk, recordOf("theirs", "/copies/desk", 3, 60, ""))
	if host, _ := c.Find("theirs")[0].Copied(); host != "desk" {
		t.Errorf("it is read from %s", host)
	}
}
