package identity

import (
	"path/filepath"
	"strings"
	"testing"

	"gt/internal/testenv"
)

var prefixes = Prefixes{
	"gastown": "gt",
	"beads":   "bd",
	"tools":   "gt-tools", // begins like gastown's
	"central": "hq",       // the town's own
	"my-rig":  "mr",
}

// The table of S1, section 17, in every direction. S1-114 S1-115 S1-116.
func TestNamesLeadToEachOther(t *testing.T) {
	for _, c := range []struct {
		id                          Identity
		address, session, dir, said string
	}{
		{Identity{Role: Mayor}, "mayor", "hq-mayor", "mayor", "mayor"},
		{Identity{Role: Deacon}, "deacon", "hq-deacon", "deacon", "deacon"},
		{Identity{Role: Boot}, "boot", "hq-boot", "deacon/dogs/boot", "boot"},
		{Identity{Role: Overseer}, "overseer", "hq-overseer", "deacon", "overseer"},
		{Identity{Role: Witness, Rig: "gastown"}, "gastown/witness", "gt-witness", "gastown/witness", "witness (rig: gastown)"},
		{Identity{Role: Refinery, Rig: "gastown"}, "gastown/refinery", "gt-refinery", "gastown/refinery/rig", "refinery (rig: gastown)"},
		{Identity{Role: Crew, Rig: "gastown", Name: "max"}, "gastown/crew/max", "gt-crew-max", "gastown/crew/max", "crew max (rig: gastown)"},
		{Identity{Role: Polecat, Rig: "gastown", Name: "Toast"}, "gastown/polecats/Toast", "gt-Toast", "gastown/polecats/Toast", "polecat Toast (rig: gastown)"},
		{Identity{Role: Crew, Rig: "my-rig", Name: "a-b-c"}, "my-rig/crew/a-b-c", "mr-crew-a-b-c", "my-rig/crew/a-b-c", "crew a-b-c (rig: my-rig)"},
		{Identity{Role: Polecat, Rig: "tools", Name: "nux"}, "tools/polecats/nux", "gt-tools-nux", "tools/polecats/nux", "polecat nux (rig: tools)"},
		{Identity{Role: Crew, Rig: "tools", Name: "nux"}, "tools/crew/nux", "gt-tools-crew-nux", "tools/crew/nux", "crew nux (rig: tools)"},
		{Identity{Role: Witness, Rig: "tools"}, "tools/witness", "gt-tools-witness", "tools/witness", "witness (rig: tools)"},
		{Identity{Role: Polecat, Rig: "central", Name: "ace"}, "central/polecats/ace", "hq-ace", "central/polecats/ace", "polecat ace (rig: central)"},
		{Identity{Role: Witness, Rig: "central"}, "central/witness", "hq-witness", "central/witness", "witness (rig: central)"},
		{Identity{Role: Polecat, Rig: "beads", Name: "v1_2"}, "beads/polecats/v1_2", "bd-v1_2", "beads/polecats/v1_2", "polecat v1_2 (rig: beads)"},
	} {
		t.Run(c.address, func(t *testing.T) {
			if got := c.id.Address(); got != c.address {
				t.Errorf("address %q", got)
			}
			if got, err := Parse(c.address); got != c.id || err != nil {
				t.Errorf("Parse: %+v, %v", got, err)
			}
			if got, ok, err := FromEnv(testenv.Getenv("GT_ROLE=" + c.address)); got != c.id || !ok || err != nil {
				t.Errorf("GT_ROLE: %+v, %v, %v", got, ok, err)
			}
			if got, err := c.id.SessionName(prefixes); got != c.session || err != nil {
				t.Errorf("session name %q, %v", got, err)
			}
			if got, err := FromSessionName(c.session, prefixes); got != c.id || err != nil {
				t.Errorf("FromSessionName: %+v, %v", got, err)
			}
			if got := c.id.Dir(); got != c.dir {
				t.Errorf("folder %q", got)
			}
			if c.id.Role != Overseer { // who has the deacon's folder
				for _, dir := range []string{c.dir, c.dir + "/src/deep"} {
					if got, ok := FromDir(dir); got != c.id || !ok {
						t.Errorf("FromDir(%s): %+v", dir, got)
					}
				}
			}
			if got := c.id.String(); got != c.said {
				t.Errorf("called %q", got)
			}
			if strings.Contains(c.id.String(), "/") {
				t.Error("a slash in what a beacon says")
			}
		})
	}
}

func TestFromSessionName(t *testing.T) {
	for name, want := range map[string]string{
		"gt-crew-max":         "gastown/crew/max",
		"gt-crewmax":          "gastown/polecats/crewmax",
		"gt-witnesses":        "gastown/polecats/witnesses",
		"gt-witness-2":        "gastown/polecats/witness-2",
		"gt-tools":            "gastown/polecats/tools",
		"gt-tools-witness":    "tools/witness",
		"gt-toolsmith":        "gastown/polecats/toolsmith",
		"hq-mayor":            "mayor",
		"hq-mayor2":           "central/polecats/mayor2",
		"hq-crew-joe":         "central/crew/joe",
		"bd-refinery":         "beads/refinery",
		"bd-a-very-long-name": "beads/polecats/a-very-long-name",
	} {
		if got, err := FromSessionName(name, prefixes); got.Address() != want || err != nil {
			t.Errorf("%s: %s, %v; want %s", name, got.Address(), err, want)
		}
	}
	for _, name := range []string{
		"", "-", "gt", "gt-", "gt-crew-", "xy-max", "GT-max", "gastown-max", "mayor",
		"gt-../../etc", "gt-a/b", "gt-.git", "gt--x", "gt-a b", "gt-#(id)", "gt-a\nb", "gt-crew-../x", "gt-é",
		"gt-" + strings.Repeat("x", 200),
	} {
		if got, err := FromSessionName(name, prefixes); err == nil {
			t.Errorf("%q is taken for %+v", name, got)
		}
	}
	if got, err := FromSessionName("hq-deacon", nil); got.Role != Deacon || err != nil {
		t.Errorf("without rigs: %+v, %v", got, err)
	}
}

// A name that would be read back as somebody else's is refused.
func TestAmbiguousSessionNames(t *testing.T) {
	for address, why := range map[string]string{
		"gastown/polecats/witness":   "ambiguous",
		"gastown/polecats/refinery":  "ambiguous",
		"gastown/polecats/crew-max":  "ambiguous",
		"gastown/polecats/tools-nux": "ambiguous", // is nux of tools
		"gastown/polecats/crew-":     "does not name an agent",
		"central/polecats/mayor":     "ambiguous", // is the mayor
		"central/polecats/boot":      "ambiguous",
		"gastown/polecats/v1.2":      "tmux replaces",
		"gastown/crew/a.b":           "tmux replaces",
		"nowhere/polecats/x":         "knows no prefix",
		"a-repository":               "no session name",
	} {
		id, err := Parse(address)
		testenv.NoError(t, err)
		if name, err := id.SessionName(prefixes); err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("%s: %q, %v; want '%s'", address, name, err, why)
		}
	}
}

func TestParse(t *testing.T) {
	for address, want := range map[string]Identity{
		"mayor/":            {Role: Mayor}, // as people type it
		"gastown/crew/max/": {Role: Crew, Rig: "gastown", Name: "max"},
		"deacon/boot":       {Role: Boot}, // Gas Town's
		"gt":                {Name: "gt"},
		"my.repo_2":         {Name: "my.repo_2"},
	} {
		if got, err := Parse(address); got != want || err != nil {
			t.Errorf("%q: %+v, %v", address, got, err)
		}
	}
	for _, address := range []string{
		"", "/", "//", "a//b", "/etc", "..", ".", "../mayor", "gastown/../x", "gastown/crew", "gastown/crew/", "gastown/max",
		"gastown/crew/a/b", "gastown/polecats/..", "gastown/polecats/.git", "-rf", "gastown/crew/-x",
		"a b", "a\nb", "a\x00b", "a\x1b[31m", "gastown/crew/é", "\u202e", "a\u200bb", "\u3164", "a:b", "a@b", "$(id)", "`id`", "a;b", "a'b", "%s\\",
		strings.Repeat("x", 101), "mayor/crew", "gastown/witness/x",
	} {
		if got, err := Parse(address); err == nil {
			t.Errorf("%q is taken for %+v", address, got)
		}
	}
}

func TestFromEnv(t *testing.T) {
	for name, c := range map[string]struct {
		vars []string
		want string
		bad  bool
	}{
		"nothing":                         {vars: nil},
		"no role":                         {vars: []string{"GT_RIG=gastown", "GT_POLECAT=Toast"}},
		"an address":                      {vars: []string{"GT_ROLE=gastown/crew/max"}, want: "gastown/crew/max"},
		"an address and others' leavings": {vars: []string{"GT_ROLE=gastown/crew/max", "GT_RIG=beads", "GT_CREW=joe", "GT_POLECAT=x"}, want: "gastown/crew/max"},
		"bare crew":                       {vars: []string{"GT_ROLE=crew", "GT_RIG=gastown", "GT_CREW=max"}, want: "gastown/crew/max"},
		"bare polecat":                    {vars: []string{"GT_ROLE=polecat", "GT_RIG=gastown", "GT_POLECAT=Toast"}, want: "gastown/polecats/Toast"},
		"bare witness":                    {vars: []string{"GT_ROLE=witness", "GT_RIG=gastown", "GT_POLECAT=stale"}, want: "gastown/witness"},
		"bare refinery":                   {vars: []string{"GT_ROLE=refinery", "GT_RIG=gastown"}, want: "gastown/refinery"},
		"the mayor of a rig's pane":       {vars: []string{"GT_ROLE=mayor", "GT_RIG=gastown", "GT_POLECAT=stale"}, want: "mayor"},
		"boot as Gas Town starts it":      {vars: []string{"GT_ROLE=deacon/boot"}, want: "boot"},
		"a repository":                    {vars: []string{"GT_ROLE=gt"}, want: "gt"},
		"crew without a name":             {vars: []string{"GT_ROLE=crew", "GT_RIG=gastown"}, bad: true},
		"polecat without a name":          {vars: []string{"GT_ROLE=polecat", "GT_RIG=gastown", "GT_CREW=max"}, bad: true},
		"crew without a rig":              {vars: []string{"GT_ROLE=crew", "GT_CREW=max"}, bad: true},
		"polecat without a rig":           {vars: []string{"GT_ROLE=polecat", "GT_POLECAT=Toast"}, bad: true},
		"witness without a rig":           {vars: []string{"GT_ROLE=witness"}, bad: true},
		"a rig that is a path":            {vars: []string{"GT_ROLE=crew", "GT_RIG=../..", "GT_CREW=max"}, bad: true},
		"nonsense":                        {vars: []string{"GT_ROLE=a/b/c/d"}, bad: true},
		"a path":                          {vars: []string{"GT_ROLE=../../etc"}, bad: true},
		"control characters":              {vars: []string{"GT_ROLE=\x1b]0;x\x07"}, bad: true},
	} {
		t.Run(name, func(t *testing.T) {
			id, ok, err := FromEnv(testenv.Getenv(c.vars...))
			if ok != (c.want != "") || (err != nil) != c.bad || id.Address() != c.want {
				t.Errorf("%q, %v, %v", id.Address(), ok, err)
			}
		})
	}
}

func TestFromDirIsNobody(t *testing.T) {
	for _, rel := range []string{
		".", "", "..", "../witness", "../../x/crew/max", "gastown", "gastown/crew", "gastown/polecats", "gastown/src/crew/x",
		".git/witness", ".runtime/crew/x", "gastown/crew/.git", "gastown/crew/..", "gastown/mayor/rig", "roles", "mail/mayor",
		"a b/witness", "\x1b/crew/x",
	} {
		if id, ok := FromDir(rel); ok {
			t.Errorf("%q is taken for %+v", rel, id)
		}
	}
}

func TestNamed(t *testing.T) {
	for dir, want := range map[string]string{
		"/src/my-repo":                   "my-repo",
		"/src/My Repo (2)":               "My-Repo--2-",
		"/src/mayor":                     "mayor-repo",
		"/src/boot":                      "boot-repo",
		"/src/.dotfiles":                 "dotfiles",
		"/src/日本":                        "日本",
		"/src/größe":                     "größe",
		"/src/gro\u0308\u00dfe":          "gro\u0308\u00dfe",
		"/src/a\u202eb\u200bc\ufeff":     "a-b-c-",
		"/src/\u3164":                    "home",
		"/src/a\xffb":                    "a-b",
		"/x/" + strings.Repeat("ö", 250): strings.Repeat("ö", 50),
		"/":                              "home",
		"/src/a\x1b[31m":                 "a--31m",
		"/src/-rf":                       "rf",
		"/x/" + strings.Repeat("y", 250): strings.Repeat("y", 100),
	} {
		id := NameByBase(dir)
		if id.Address() != want {
			t.Errorf("%q: %q, not %q", dir, id.Address(), want)
		}
		if back, err := Parse(id.Address()); back != id || err != nil {
			t.Errorf("%q: %+v, %v", dir, back, err)
		}
		if id.Dir() != "" {
			t.Errorf("%q has the folder %q in a town", dir, id.Dir())
		}
	}
}

// The shortest end of the path that nobody else has.
func TestAmong(t *testing.T) {
	for _, c := range []struct {
		dir, want string
		taken     []string
	}{
		{"/src/one/api", "api", nil},
		{"/src/one/api", "one-api", []string{"api"}},
		{"/src/one/api", "src-one-api", []string{"api", "one-api"}},
		{"/api", "api", []string{"api"}}, // there is no more of it
		{"/src/größe", "src-größe", []string{"größe"}},
		{"/mayor", "mayor-repo", nil},
	} {
		got := NameFolder(c.dir, func([]string) map[string]bool {
			taken := map[string]bool{}
			for _, name := range c.taken {
				taken[name] = true
			}
			return taken
		})
		if got.Address() != c.want {
			t.Errorf("%s beside %q: %q, not %q", c.dir, c.taken, got.Address(), c.want)
		}
		if back, err := Parse(got.Address()); back != got || err != nil {
			t.Errorf("%q: %+v, %v", c.dir, back, err)
		}
	}
}

func TestWorks(t *testing.T) {
	for role, want := range map[Role]bool{
		"": true, Crew: true, Polecat: true, Mayor: false, Deacon: false, Boot: false, Overseer: false, Witness: false, Refinery: false,
	} {
		if role.HasOwnWork() != want {
			t.Errorf("%q", role)
		}
	}
}

// Whatever is taken for an address leads back to itself and stays within the
// town.
func FuzzParse(f *testing.F) {
	for _, s := range []string{"mayor", "gastown/crew/max", "a/../b", "deacon/boot", "x/polecats/y/", "a/witness", "\x00", "é/crew/x"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		id, err := Parse(s)
		if err != nil {
			if id != (Identity{}) {
				t.Fatalf("%q: an error and %+v", s, id)
			}
			return
		}
		if back, err := Parse(id.Address()); back != id || err != nil {
			t.Fatalf("%q: %+v, %v", s, back, err)
		}
		if !filepath.IsLocal(id.Address()) || id.Dir() != "" && !filepath.IsLocal(id.Dir()) {
			t.Fatalf("%q leads to %q", s, id.Dir())
		}
	})
}

// Whatever is taken for a session's name leads back to that name.
func FuzzFromSessionName(f *testing.F) {
	for _, s := range []string{"hq-mayor", "gt-crew-max", "gt-tools-x", "gt-witness", "hq-x", "gt-", "gt-a/b", "mr-a-b"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		id, err := FromSessionName(s, prefixes)
		if err != nil {
			return
		}
		if back, err := Parse(id.Address()); back != id || err != nil {
			t.Fatalf("%q: %+v, %v", s, back, err)
		}
		if name, err := id.SessionName(prefixes); err == nil && name != s {
			t.Fatalf("%q became %q", s, name)
		} else if err != nil && !strings.ContainsAny(s, ".:") {
			t.Fatalf("%q: %v", s, err)
		}
	})
}
