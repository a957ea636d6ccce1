package timeline

import (
	"cmp"
	"encoding/xml"
	"errors"
	"fmt"
	"gt/internal/testenv"
	"io"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"gt/lib/catalog"
	"gt/lib/state/session"
	"gt/lib/text/term"
	"gt/lib/view/palette"
)

var testTime = time.Date(2026, 3, 29, 12, 0, 0, 0, time.UTC)

func options(by LaneKind, zone *time.Location) Options {
	return Options{
		By: by, Now: testTime.In(zone), About: (*catalog.Session).Headline,
		Short: func(id session.ID) string { return string(id)[:min(len(id), 8)] },
	}
}

// hostile are titles with markup, escapes and other dangerous content.
var hostile = []string{
	"", "</script><script>alert(1)</script>", `"><img src=x onerror=alert(1)>`, "</title></style></svg>", "]]>&amp;&#0;<!--",
	"\x1b[31mred\x00\x07", "\ufffe\uffff\xff\xfe", "a\nb\r\nc\td\u2028", "\u202eevil", strings.Repeat("wide 你好 ", 400), "{{.}}%s%d",
}

// randomSessions returns random sessions, with contents that no log should have.
func randomSessions(r *rand.Rand, n int) []*catalog.Session {
	var all []*catalog.Session
	for i := range n {
		start := testTime.Add(-time.Duration(r.Int64N(int64(400 * 24 * time.Hour))))
		switch r.IntN(20) {
		case 0:
			start = time.Date(1700+r.IntN(500), 1, 1, 0, 0, 0, 0, time.UTC)
		case 1:
			start = testTime
		}
		s := &catalog.Session{
			ID: session.ID(fmt.Sprintf("%08x-%d", r.Uint32(), i)), StartedAt: start,
			Outcome: []session.Outcome{"handoff", "done", "crash", "killed", "active", "gone", "str<ange"}[r.IntN(7)],
			Actor:   []string{"", "demo/crew/max", "demo/witness", `"><b>`, "你好"}[r.IntN(5)], Agent: []string{"", "claude", "codex"}[r.IntN(3)],
			CWD: []string{"", "/src/x", "/src/<y>"}[r.IntN(3)], Title: hostile[r.IntN(len(hostile))], Reason: hostile[r.IntN(len(hostile))],
			LastAt: start.Add(time.Duration(r.IntN(100)) * time.Minute),
		}
		if s.Outcome != "active" && s.Outcome != "gone" {
			s.EndedAt = start.Add(time.Duration(r.IntN(300)-20) * time.Minute)
		}
		if i > 0 {
			other := all[r.IntN(i)]
			switch r.IntN(6) {
			case 0:
				s.ParentID, s.ChainID = other.ID, cmp.Or(other.ChainID, other.ID)
			case 1:
				s.ForkOf = other.ID
			case 2:
				s.SubagentOf, other.ParentID = other.ID, s.ID // a circle
			case 3:
				s.ParentID = s.ID
			}
		}
		all = append(all, s)
	}
	return all
}

func drawn(t *testing.T, draw func(io.Writer) error) string {
	t.Helper()
	var b strings.Builder
	testenv.NoError(t, draw(&b))
	return b.String()
}

var barOf = regexp.MustCompile(`<rect class="b [a-z]"[^>]*><title>`)

// Whatever the sessions are, each is drawn once, image and page are well-formed, the text
// fits the terminal, and the same sessions in any order give the same bytes.
func TestAnySessionsCanBeDrawn(t *testing.T) {
	zones := []*time.Location{time.UTC, time.FixedZone("odd", 3*3600+1234)}
	if z, err := time.LoadLocation("Europe/Berlin"); err == nil {
		zones = append(zones, z)
	}
	for seed := range testenv.Seeds(60) {
		r := rand.New(rand.NewPCG(seed, 3))
		all := randomSessions(r, r.IntN(60))
		by := []LaneKind{"", Actor, Folder, Agent, Session}[r.IntN(5)]
		o := options(by, zones[r.IntN(len(zones))])
		if r.IntN(3) == 0 {
			o.Since = testTime.Add(-100 * 24 * time.Hour)
		}
		p := Layout(slices.Values(all), o)
		page, image := drawn(t, p.HTML), drawn(t, p.SVG)
		if n := len(barOf.FindAllString(page, -1)); n != len(all) {
			t.Fatalf("seed %d: %d bars of %d sessions in the page", seed, n, len(all))
		}
		if n := len(barOf.FindAllString(image, -1)); n != len(all) {
			t.Fatalf("seed %d: %d bars of %d sessions in the image", seed, n, len(all))
		}
		for d := xml.NewDecoder(strings.NewReader(image)); ; {
			_, err := d.Token()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatalf("seed %d: the image is no XML: %v", seed, err)
			}
		}
		for _, tag := range []string{"<script", "</script", "<style", "</style"} {
			if n := strings.Count(strings.ToLower(page), tag); n != 1 {
				t.Fatalf("seed %d: %d times %s", seed, n, tag)
			}
		}
		if bad := regexp.MustCompile(`<img|<b>|<!--|\x1b|\x00|"NaN|%!|[\x{202e}\x{2028}]`).FindString(page + image); bad != "" {
			t.Fatalf("seed %d: %q", seed, bad)
		}
		for _, width := range []int{20, 40, 80, 213} {
			for _, style := range []palette.Style{{}, {ASCII: true}} {
				text := p.Text(style, width)
				for _, line := range strings.Split(text, "\n") {
					if n := term.Columns(line); n > width {
						t.Fatalf("seed %d: %d of %d columns: %s", seed, n, width, line)
					}
				}
			}
		}
		r.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		if again := Layout(slices.Values(all), o); drawn(t, again.HTML) != page || drawn(t, again.SVG) != image {
			t.Fatalf("seed %d: not the same again", seed)
		}
	}
}

// The axis is monotonic and within 0 to 1.
func TestTheAxisGoesOneWay(t *testing.T) {
	for seed := range testenv.Seeds(50) {
		r := rand.New(rand.NewPCG(seed, 5))
		p := Layout(slices.Values(randomSessions(r, 1+r.IntN(40))), options(Actor, time.UTC))
		last := -1.0
		for _, b := range p.bars {
			from, to := p.scale.position(b.from), p.scale.position(b.to)
			if from < last || to < from || from < 0 || to > 1 {
				t.Fatalf("seed %d: %v to %v after %v", seed, from, to, last)
			}
			last = from
		}
		for _, zoom := range []int{1, 4, 64} {
			below, above := p.scale.ticks(12*zoom, 0.04/float64(zoom), 0.09/float64(zoom), 2026)
			for _, marks := range [][]tick{below, above} {
				last = -1
				for _, m := range marks {
					if m.position <= last || m.position > 1 {
						t.Fatalf("seed %d: a mark at %v after %v", seed, m.position, last)
					}
					last = m.position
				}
			}
		}
	}
}

// The marks are at full hours of the wall clock, also when it changes.
func TestTicksWhereTheClockIsSet(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Skip(err)
	}
	for day, want := range map[string]string{
		"2026-03-28": "20:00 22:00 00:00 04:00 06:00 08:00", // 02:00 is 03:00
		"2026-10-24": "20:00 22:00 00:00 02:00 04:00 06:00", // 02:00 is there twice
	} {
		start, _ := time.ParseInLocation(time.DateOnly, day, berlin)
		s := &catalog.Session{ID: "s", StartedAt: start.Add(20 * time.Hour), EndedAt: start.Add(20*time.Hour + 12*time.Hour), Outcome: "done"}
		p := Layout(slices.Values([]*catalog.Session{s}), options(Actor, berlin))
		below, _ := p.scale.ticks(8, 0.01, 0.01, 2026)
		var got []string
		for _, m := range below {
			got = append(got, m.text)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: %v", day, got)
		}
	}
}

// A line has the whole short id, however long it must be to be unique, because a person
// types it next.
func TestIDsStandWhole(t *testing.T) {
	o := options(Session, time.UTC)
	o.Short = func(id session.ID) string { return string(id) }
	var all []*catalog.Session
	for i, id := range []session.ID{"01a1fd9d-2c23", "01a1fd9d-2c37", "4f2c"} {
		start := testTime.Add(time.Duration(i-10) * time.Minute)
		all = append(all, &catalog.Session{ID: id, StartedAt: start, LastAt: start, Outcome: "gone", Actor: "demo/crew/max"})
	}
	text := Layout(slices.Values(all), o).Text(palette.Style{}, 80)
	for _, line := range []string{"01a1fd9d-2c23 demo/crew/max ", "01a1fd9d-2c37 demo/crew/max ", "4f2c          demo/crew/max "} {
		if !strings.Contains(text, "\n"+line) {
			t.Errorf("no %q in\n%s", line, text)
		}
	}
}
