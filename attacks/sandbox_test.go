package attacks

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// sandbox is the world as an agent's commands see it in a sandbox: all of it can be
// read, one folder be written, and no process outside be seen.
func (w *world) sandbox(dir string) *world {
	w.Helper()
	args := []string{"bwrap", "--die-with-parent", "--unshare-pid", "--unshare-ipc", "--cap-drop", "ALL", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--bind", w.Path(dir), w.Path(dir)}
	if out, err := exec.Command(args[0], append(args[1:], "true")...).CombinedOutput(); err != nil {
		w.Skipf("there is no sandbox here: bwrap: %v %s", err, out)
	}
	boxed := w.withEnv()
	boxed.In = args
	if r := boxed.Run(dir, nil, "touch", w.Path("home/outside")); r.Code == 0 {
		w.Fatal("the sandbox lets out")
	}
	return boxed
}

// A plot is what an agent does in its sandbox, and what the project's own settings
// of its client then do to its hooks.
type plot struct {
	name string
	load func(w *world, dir string) // what it writes; made in dir
	do   string                     // what it runs then, by a shell in the project
	env  func(w *world) []string    // what the hooks see besides
	hold func(w *world, box *world) // what goes on running in the sandbox
	cwd  string                     // where the hooks run, "work" where empty
}

var plots = []plot{
	{name: "records, markers and restarts", load: func(w *world, dir string) { w.runtime(dir) }},
	{name: "a link to a neighbour's state", do: "ln -s $NEIGHBOUR .runtime; ln -s $NEIGHBOUR/checkpoint.json .polecat-checkpoint.json"},
	{name: "a town of mode 0600", load: func(w *world, dir string) { w.town(dir) }, do: "chmod -R go= town.toml mayor settings roles mail"},
	{name: "a town above a repository", load: func(w *world, dir string) { w.town(dir); w.runtime(dir) }, do: "mv .git sub; mkdir work; git init -q work/crew"},
	{name: "a tmux server", load: func(w *world, dir string) { w.runtime(dir) }, hold: listens,
		env: func(w *world) []string {
			return []string{"TMUX=" + w.Path("work/socket") + ",1,0", "TMUX_PANE=%0", "TMUX_TMPDIR=" + w.Path("work")}
		}},
	{name: "a repository that names programs", do: `git init -q sub && cd sub && echo x >x && echo '* filter=evil' >.gitattributes && git add x .gitattributes &&
git -c user.name=x -c user.email=x commit -qm x && git config filter.evil.clean $TRAP && git config core.fsmonitor $TRAP && cd .. && git add sub && echo y >sub/x &&
git config filter.evil.clean $TRAP && git config core.fsmonitor $TRAP && git config core.hooksPath $PWD && echo '* filter=evil' >.gitattributes && touch -d 2001-01-01 changed touched`},
	{name: "every lock that it can have", hold: func(w, box *world) {
		held := box.startCompanion("work", true, testProgram(), "hold", w.Path("home"), w.Path("work"))
		var files []string
		if err := json.Unmarshal([]byte(held.ready), &files); err != nil || len(files) == 0 {
			w.Errorf("this is no attack: %v, %v", files, err)
		}
	}},
	{name: "the environment of its hooks", load: func(w *world, dir string) {
		w.town(dir)
		w.runtime(dir)
		w.Write(dir+"/config", w.evil())
		for _, name := range names {
			w.trapAt(dir+"/bin/"+name, name)
		}
	}, hold: listens, env: func(w *world) []string {
		return []string{
			"TZ=" + w.Path("work/none"), "LD_PRELOAD=" + w.Path("work/none.so"), "PI_CODING_AGENT_DIR=" + w.Path("work/cfg"),
			"GT_ROOT=" + w.Path("work"), "GT_TOWN_ROOT=" + w.Path("work"), "GT_HOME=" + w.Path("neighbour"), "GT_SESSION_UUID=4e160000-0000-4000-8000-000000000001",
			"GT_ROLE=work/crew/max", "GT_RIG=" + evilWord, "GT_SESSION=" + evilWord, "GT_AGENT=evil", "GT_HANDOFF_EXEC=" + w.Path("work/.runtime/restart-e711.json"),
			"TMUX=" + w.Path("work/socket") + ",1,0", "TMUX_PANE=%0", "TMUX_TMPDIR=" + w.Path("work"),
			"PATH=" + w.Path("work/bin") + ":/usr/bin:/bin", "GIT_CONFIG_GLOBAL=" + w.Path("work/config"), "GIT_DIR=" + w.Path("work/.git"), "GIT_EXEC_PATH=" + w.Path("work/bin"),
			"XDG_CONFIG_HOME=" + w.Path("work"), "XDG_DATA_HOME=" + w.Path("work"), "XDG_RUNTIME_DIR=" + w.Path("work"), "XDG_CACHE_HOME=" + w.Path("work"),
			"CODEX_HOME=" + w.Path("work/cfg"), "CLAUDE_CONFIG_DIR=" + w.Path("work/cfg"), "GEMINI_CLI_HOME=" + w.Path("work/cfg"), "BEADS_DIR=" + w.Path("work"), "BD_ACTOR=" + evilWord,
			"BASH_ENV=" + w.trap("BASH_ENV"), "ENV=" + w.trap("ENV"),
		}
	}},
	{name: "the state of its hooks", load: func(w *world, dir string) { w.lay("state/", dir+"/gt") }, env: func(w *world) []string { return []string{"XDG_STATE_HOME=" + w.Path("work")} }},
	{name: "programs elsewhere", env: func(w *world) []string {
		for _, name := range names {
			w.trapAt("shared/bin/"+name, name)
		}
		w.Write("shared/state/x", "")
		return []string{"PATH=" + w.Path("shared/bin") + ":/usr/bin:/bin", "XDG_STATE_HOME=" + w.Path("shared/state"), "XDG_CONFIG_HOME=" + w.Path("shared/state"), "TMUX_TMPDIR=" + w.Path("shared")}
	}},
	{name: "another folder", cwd: "neighbour"},
	{name: "a link for its folder", do: "mkdir -p a; ln -s $PWD/../neighbour a/b", cwd: "work/a/b"},
}

// listens has the attacker's tmux server run in the sandbox.
func listens(w, box *world) {
	box.startCompanion("work", true, testProgram(), "listen", w.Path("work/socket"), w.Path("work/connected"))
}

// Whatever an agent writes from its sandbox, its hooks, which run outside of it, do
// what they do without: they run nothing, tell nothing, talk to nobody, write to
// where they always write, and wait for nobody.
func TestSandbox(t *testing.T) {
	donor(t)
	for _, p := range plots {
		t.Run(strings.ReplaceAll(p.name, " ", "-"), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			box := func() *world { w.Write("work/x", ""); return w.sandbox("work") }()
			w.MustRun(".", "rm", "-r", w.Path("work"))
			w.neighbour()
			w.repository("work")
			near := w.state("neighbour")
			c := w.client("work")
			c.start("work", ownSessionID+"1")
			c.hook("work", nil, ownSessionID+"1", "UserPromptSubmit", "", "gt-keepalive", "touch", "--hook")
			c.typed("work", ownSessionID+"1", "gt-checkpoint", "write", "--notes", "OWN-NOTES")

			w.Write("attacker/x", "")
			if p.load != nil {
				p.load(w, "attacker")
			}
			trap := w.trap("sandbox")
			box.MustRun("work", "sh", "-c", "cp -a "+w.Path("attacker")+"/. . && rm x")
			if p.do != "" {
				box.withEnv("NEIGHBOUR="+w.Path(near), "TRAP="+trap).MustRun("work", "sh", "-c", p.do)
			}
			w.marks() // what ran inside
			if p.hold != nil {
				p.hold(w, box)
			}
			var env []string
			if p.env != nil {
				env = p.env(w)
			}
			cwd := p.cwd
			if cwd == "" {
				cwd = "work"
			}
			before, kept := w.listing("work", "neighbour", "shared"), w.listing(near)
			hook := func(id, event, more, name string, args ...string) result {
				return c.hook(cwd, env, ownSessionID+id, event, more, name, args...)
			}
			for _, r := range []func() result{
				func() result {
					return hook("1", "PostToolUse", `,"tool_name":"Bash"`, "gt-keepalive", "touch", "--hook")
				},
				func() result { return hook("1", "UserPromptSubmit", "", "gt-keepalive", "touch", "--hook") },
				func() result {
					return hook("1", "Stop", `,"last_assistant_message":"OWN-ANSWER"`, "gt-checkpoint", "write", "--hook")
				},
				func() result { return hook("1", "Stop", "", "gt-keepalive", "touch", "--hook") },
				func() result { return hook("1", "SessionStart", `,"source":"compact"`, "gt-prime", "--hook") },
				func() result { return hook("1", "PreCompact", `,"trigger":"auto"`, "gt-handoff", "--auto", "--hook") },
				func() result { return hook("1", "SessionStart", `,"source":"resume"`, "gt-prime", "--hook") },
				func() result { return hook("1", "Stop", "", "gt-keepalive", "touch", "--hook") },
			} {
				r := r()
				if r.Code != 0 {
					t.Errorf("a hook ends with %d: %v", r.Code, r)
				}
				if strings.Contains(r.Errs, "busy") || strings.Contains(r.Errs, "holds the lock") {
					t.Errorf("it waited for somebody: %v", r)
				}
				for _, word := range []string{evilWord, neighbour, "e711e711"} {
					if strings.Contains(r.Out+r.Errs, word) {
						t.Errorf("%s is told: %v", word, r)
					}
				}
				if marks := w.marks(); marks != "" {
					t.Errorf("it ran %s: %v", marks, r)
				}
			}
			if changed := changes(before, w.listing("work", "neighbour", "shared")); changed != "" {
				t.Errorf("they wrote to a project, or to the attacker: %s", changed)
			}
			if changed := changes(kept, w.listing(near)); changed != "" {
				t.Errorf("they wrote to the neighbour's state: %s", changed)
			}
			state := w.state("work")
			var saved struct {
				Notes  string `json:"notes"`
				Answer string `json:"last_answer"`
			}
			data, err := os.ReadFile(w.Path(state + "/checkpoint.json"))
			if err == nil {
				err = json.Unmarshal(data, &saved)
			}
			if err != nil || saved.Notes != "OWN-NOTES" || saved.Answer != "OWN-ANSWER" {
				t.Errorf("saved is %+v, %v", saved, err)
			}
			if data, err := os.ReadFile(w.Path(state + "/sessions/" + ownSessionID + "1.json")); err != nil || !strings.Contains(string(data), `"actor": "work"`) || !strings.Contains(string(data), `"source": "resume"`) {
				t.Errorf("its record is %s, %v", data, err)
			}
			c.stop()
			r := w.client("work").start("work", ownSessionID+"4")
			if !strings.Contains(r.Out, "OWN-NOTES") || strings.Contains(r.Out+r.Errs, evilWord) || strings.Contains(r.Out+r.Errs, neighbour) {
				t.Errorf("who follows is told: %v", r)
			}
			if marks := w.marks(); marks != "" {
				t.Errorf("it ran %s: %v", marks, r)
			}
		})
	}
}

// A live agent in another PID namespace is nobody's dead predecessor, and its task
// is given to no other; one that has died is.
func TestAgentInContainer(t *testing.T) {
	for name, in := range map[string]func(w *world) *world{
		"inside":  func(w *world) *world { return w.inBubblewrap("--unshare-pid", "--proc", "/proc", "--die-with-parent") },
		"outside": func(w *world) *world { return w },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.repository("work")
			its, other := in(w), w
			if name == "outside" {
				other = w.inBubblewrap("--unshare-pid", "--proc", "/proc", "--die-with-parent")
			}
			c := its.client("work")
			c.start("work", ownSessionID+"1")
			c.typed("work", ownSessionID+"1", "gt-checkpoint", "write", "--notes", "ITS-NOTES")
			o := other.client("work")
			if r := o.start("work", ownSessionID+"2"); strings.Contains(r.Out, "ITS-NOTES") || strings.Contains(strings.ToLower(r.Out), "crash") {
				t.Errorf("a live agent's task is given away: %v", r)
			}
			if r := other.Run("work", nil, "gt-seance", "list", "--json"); !strings.Contains(r.Out, ownSessionID+"1") || strings.Contains(r.Out, `"outcome":"crash","session_id":"`+ownSessionID+"1") {
				t.Errorf("%v", r)
			}
			c.stop()
			if r := its.start("work", ownSessionID+"3"); name == "outside" && !strings.Contains(r.Out, "ITS-NOTES") {
				t.Errorf("its own next is not told: %v", r)
			}
			o.stop()
		})
	}
}

// From its sandbox an agent can write to the trusted town that it works in: what it
// leaves there is a claim. Nothing is written through a link of its, no work is
// taken from it, and no word of it stands as the town's.
func TestSandboxInTown(t *testing.T) {
	donor(t)
	const crew = "town/demo/crew/max"
	for name, do := range map[string]string{
		"links in its home":   `mkdir -p .runtime; rm -rf .runtime .polecat-checkpoint.json; ln -s $OUT .runtime; ln -s $OUT/file .polecat-checkpoint.json`,
		"links to files":      `mkdir -p .runtime; rm -f .runtime/*; for f in handoff session_id keepalive.json; do ln -s $OUT/file .runtime/$f; done; ln -sf $OUT/file .polecat-checkpoint.json`,
		"a second name":       `cd $TOWN; mkdir -p $CREW/.runtime; for f in handoff session_id keepalive.json; do ln -f role $CREW/.runtime/$f; done; ln -f role $CREW/.polecat-checkpoint.json`,
		"pipes":               `cd $TOWN; rm -rf .events.jsonl* mail $CREW/.runtime $CREW/.polecat*; mkdir $CREW/.runtime; mkfifo .events.jsonl.lock mail $CREW/.polecat-checkpoint.json; for f in handoff session_id keepalive.json; do mkfifo $CREW/.runtime/$f; done`,
		"the town's by links": `cd $TOWN; rm -rf .events.jsonl mail .sessions; ln -s $OUT/file .events.jsonl; ln -s $OUT mail; ln -s $OUT .sessions`,
		"roles and programs":  `cd $TOWN; echo EVIL >roles/crew.md; printf '[agents.claude]\nenv = { BASH_ENV = "%s" }\n' $TRAP >>town.toml; mkdir settings; echo '{"default_agent":"EVIL"}' >settings/config.json`,
		"work":                `cd $TOWN; for b in mail/demo/crew/max mail/self; do mkdir -p $b/new $b/tmp; cp -a $GOODS/mail/cur $b/; done`,
		"records":             `cp -a $GOODS .runtime; cp $GOODS/checkpoint.json .polecat-checkpoint.json; cp -a $GOODS/mail $GOODS/sessions $TOWN/; mkdir -p $TOWN/.runtime; cp -a $GOODS/sessions $TOWN/.runtime/`,
	} {
		t.Run(strings.ReplaceAll(name, " ", "-"), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.Write("town/town.toml", "[rigs.demo]\nprefix = \"gt\"\n")
			w.Write("town/roles/crew.md", "TOWN-ROLE\n")
			w.Write("town/role", "a second name\n")
			w.Write("out/file", "not yours\n")
			w.repository(crew)
			w.Write(crew+"/.git/info/exclude", ".runtime\n.polecat-checkpoint.json\n")
			w.MustRun("town", "gt-hooks", "trust", "--yes")
			w.lay("home/", "goods")
			box := w.sandbox("town")
			c := w.client(crew)
			if r := c.start(crew, ownSessionID+"1"); !strings.Contains(r.Out, "TOWN-ROLE") {
				t.Errorf("%v", r)
			}
			c.typed(crew, ownSessionID+"1", "gt-checkpoint", "write", "--notes", "OWN-NOTES")
			box.withEnv("OUT="+w.Path("out"), "TOWN="+w.Path("town"), "CREW="+w.Path(crew), "GOODS="+w.Path("goods"), "TRAP="+w.trap("town")).MustRun(crew, "sh", "-c", do)
			before := w.listing("out", "goods", "town/role")
			for i := range 2 { // the same process, and the next one
				id := ownSessionID + fmt.Sprint(1+i)
				for _, r := range []result{
					c.hook(crew, nil, id, "PostToolUse", `,"tool_name":"Bash"`, "gt-keepalive", "touch", "--hook"),
					c.hook(crew, nil, id, "UserPromptSubmit", "", "gt-keepalive", "touch", "--hook"),
					c.hook(crew, nil, id, "Stop", "", "gt-checkpoint", "write", "--hook"),
					c.hook(crew, nil, id, "PreCompact", `,"trigger":"auto"`, "gt-handoff", "--auto", "--hook"),
					c.hook(crew, nil, id, "SessionStart", `,"source":"compact"`, "gt-prime", "--hook"),
					c.hook(crew, nil, id, "Stop", "", "gt-keepalive", "touch", "--hook"),
					c.hook(crew, nil, id, "SessionStart", `,"source":"startup"`, "gt-prime", "--hook"),
				} {
					if r.Code != 0 {
						t.Errorf("a hook ends with %d: %v", r.Code, r)
					}
					if strings.Contains(r.Out, evilWord+" role") || strings.Contains(r.Out, evilWord+" body") || strings.Contains(r.Out, "start on it now") || strings.Contains(r.Out, "Work is hooked to you") {
						t.Errorf("a claim is told as the town's word: %v", r)
					}
					if marks := w.marks(); marks != "" {
						t.Errorf("it ran %s: %v", marks, r)
					}
				}
				c.stop()
				c = w.client(crew)
				if r := c.start(crew, ownSessionID+fmt.Sprint(2+i)); !strings.Contains(r.Out, "OWN-NOTES") && i == 0 {
					t.Errorf("who follows is not told: %v", r)
				}
			}
			if changed := changes(before, w.listing("out", "goods", "town/role")); changed != "" {
				t.Errorf("they wrote through it: %s", changed)
			}
			if _, err := os.Stat(filepath.Join(w.Path(w.state(crew)), "sessions", ownSessionID+"2.json")); err != nil {
				t.Error(err)
			}
			w.MustRun("town", "sh", "-c", "[ -f .events.jsonl ] && [ ! -L .events.jsonl ] || rm -f .events.jsonl")
			if out := w.MustRun(crew, "gt-seance", "list", "--json"); !strings.Contains(out, ownSessionID+"2") {
				t.Errorf("a session is in no log:\n%s", out)
			}
		})
	}
}

// What an agent exchanges in a trusted town while gt looks at it, gt writes through
// no link, and waits for no pipe.
func TestSandboxExchanges(t *testing.T) {
	const crew = "town/demo/crew/max"
	for name, paths := range map[string][]string{
		"links": {"town/mail", crew + "/.runtime", "town/.runtime"},
		"deep":  {"town/mail/demo/crew/max/new", "town/mail/demo"},
		"pipes": {"town/mail", crew + "/.runtime", "town/mail/demo/crew/max/new"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.Write("town/town.toml", "[rigs.demo]\nprefix = \"gt\"\n")
			for _, path := range []string{"demo/crew/max/new/x", "demo/crew/max/cur/x", "demo/crew/max/tmp/x", "crew/max/new/x", "pids/x", "new/x", "cur/x", "tmp/x"} {
				w.Write("out/"+path, "not yours\n") // whatever is meant, it would be there
			}
			w.MustRun(".", "chmod", "-R", "go=", "out")
			w.repository(crew)
			w.Write(crew+"/.git/info/exclude", ".runtime\n.polecat-checkpoint.json\n")
			w.MustRun("town", "gt-hooks", "trust", "--yes")
			c := w.client(crew)
			c.start(crew, ownSessionID+"1")
			c.typed(crew, ownSessionID+"1", "gt-mail", "send", "self", "-s", "first", "-m", "x")
			w.MustRun(crew, "gt-keepalive", "pid", "track", "gt-max", fmt.Sprint(os.Getpid()))
			before := w.listing("out")
			bait := w.Path("out")
			if name == "pipes" {
				bait = ""
			}
			ended := w.exchanged("town", bait, paths...)
			for range 8 {
				w.Run(crew, nil, "gt-mail", "send", "self", "-s", "more", "-m", "x")
				w.Run(crew, nil, "gt-mail")
				w.Run(crew, nil, "gt-keepalive", "pid", "track", "gt-max", fmt.Sprint(os.Getpid()))
				for _, r := range []result{
					c.hook(crew, nil, ownSessionID+"1", "UserPromptSubmit", "", "gt-keepalive", "touch", "--hook"),
					c.hook(crew, nil, ownSessionID+"1", "Stop", "", "gt-checkpoint", "write", "--hook"),
					c.hook(crew, nil, ownSessionID+"1", "Stop", "", "gt-keepalive", "touch", "--hook"),
					c.hook(crew, nil, ownSessionID+"1", "PreCompact", `,"trigger":"auto"`, "gt-handoff", "--auto", "--hook"),
					c.hook(crew, nil, ownSessionID+"1", "SessionStart", `,"source":"compact"`, "gt-prime", "--hook"),
				} {
					if r.Code != 0 || strings.Contains(r.Out, "not yours") {
						t.Errorf("%v", r)
					}
				}
			}
			ended()
			if changed := changes(before, w.listing("out")); changed != "" {
				t.Errorf("they wrote through it: %s", changed)
			}
		})
	}
}

// exchanged has an agent in its sandbox exchange paths for links to a folder, or for
// pipes, until it is told to end. Less than a hundred times is no attack.
func (w *world) exchanged(dir, bait string, paths ...string) (ended func()) {
	w.Helper()
	args := []string{testProgram(), "exchange", bait}
	for _, path := range paths {
		args = append(args, w.Path(path))
	}
	c := w.sandbox(dir).startCompanion(dir, true, args...)
	return func() {
		w.Helper()
		c.input.Close()
		line, _ := c.said.ReadString('\n')
		if n, err := strconv.Atoi(strings.TrimSpace(line)); n < 100 {
			w.Errorf("this is no attack: it exchanged %d, %v", n, err)
		}
		w.Logf("exchanged %s times", strings.TrimSpace(line))
		c.stop()
	}
}

// What gt keeps in a trusted town beside the log, an index and an archive, it neither
// writes nor removes through a link.
func TestSandboxExchangesArchive(t *testing.T) {
	w := newWorld(t)
	w.Write("town/town.toml", "[rigs.demo]\nprefix = \"gt\"\n")
	for _, name := range []string{"index.db", "sessions.jsonl", "archive/sessions.jsonl", "events-000001-20260101T000000Z.jsonl"} {
		w.Write("out/"+name, "not yours\n")
	}
	w.MustRun(".", "chmod", "-R", "go=", "out")
	w.MustRun("town", "gt-hooks", "trust", "--yes")
	var log strings.Builder
	for i := range 3000 {
		fmt.Fprintf(&log, `{"ts":"2025-01-17T01:00:00Z","source":"gt","type":"session_start","actor":"demo/crew/max","payload":{"session_id":"s%d","role":"demo/crew/max"},"visibility":"feed"}`+"\n", i)
	}
	w.Write("lines", log.String())
	before := w.listing("out")
	w.MustRun("town", "gt-seance", "list")
	w.MustRun("town", "mkdir", "-p", ".sessions/archive")
	ended := w.exchanged("town", w.Path("out"), "town/.sessions/archive", "town/.sessions")
	for i := range 10 {
		w.MustRun("town", "sh", "-c", "cat ../lines >>.events.jsonl")
		w.Run("town", nil, "gt-seance", "list")
		w.Run("town", nil, "gt-krc", []string{"prune", "rotate"}[i%2])
	}
	ended()
	if changed := changes(before, w.listing("out")); changed != "" {
		t.Errorf("they wrote through it: %s", changed)
	}
}
