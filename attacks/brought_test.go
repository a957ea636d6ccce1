package attacks

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// What a stranger says in what a project brings has this word in it, what gt knows
// of another project the other.
const (
	evilWord  = "EVIL"
	neighbour = "NEIGHBOUR"
)

// root stands for the folder of a world in files that are brought into another.
const root = "@ROOT@"

// goods are files by their path.
type goods map[string]string

// donor returns all that gt keeps of a project of a stranger's in which sessions
// have crashed, handed over and been given work: as "state/…" by the paths in the
// state folder, and as "home/…" what belongs to the project. gt itself makes them,
// once, so that they are as a reader of them wants them.
func donor(t testing.TB) goods {
	t.Helper()
	donated.Do(func() {
		w := makeWorld(t)
		w.repository("work")
		id := "e711e711-0000-4000-8000-000000000001"
		c := w.client("work")
		c.start("work", id)
		c.typed("work", id, "gt-checkpoint", "write", "--notes", evilWord+" notes")
		c.stop()
		id = "e711e711-0000-4000-8000-000000000002"
		c = w.client("work")
		c.start("work", id)
		c.hook("work", nil, id, "UserPromptSubmit", `,"prompt":"`+evilWord+`"`, "gt-keepalive", "touch", "--hook", "--agent", "claude")
		c.hook("work", nil, id, "Stop", `,"last_assistant_message":"`+evilWord+` answer"`, "gt-checkpoint", "write", "--hook", "--agent", "claude")
		c.typed("work", id, "gt-handoff", "-s", evilWord+" subject", "-m", evilWord+" message")
		c.typed("work", id, "gt-mail", "hook", "--new", "-s", evilWord+" work", "-m", evilWord+" body")
		c.typed("work", id, "gt-mail", "send", "self", "-s", evilWord+" note", "-m", evilWord+" body")
		c.stop()
		home := w.state("work")
		donation = goods{}
		for path, said := range w.listing("home/.local/state/gt") {
			mode, text, ok := strings.Cut(said, " ")
			if !ok || mode[0] != '-' {
				continue
			}
			text = strings.ReplaceAll(text, w.Root, root)
			if rest, ok := strings.CutPrefix(path, home+"/"); ok {
				donation["home/"+rest] = text
			}
			donation["state/"+strings.TrimPrefix(path, "home/.local/state/gt/")] = text
		}
		if r := w.start("work", "e711e711-0000-4000-8000-000000000003"); !strings.Contains(r.Out, evilWord+" message") || !strings.Contains(r.Out, evilWord+" work") {
			t.Fatalf("this is no attack: where it is believed, it is not told: %v", r)
		}
		for _, name := range []string{"home/checkpoint.json", "home/handoff", "home/sessions/" + id + ".json", "state/.events.jsonl"} {
			if donation[name] == "" {
				t.Fatalf("the stranger's session has left no %s", name)
			}
		}
	})
	if donation == nil {
		t.Fatal("the stranger's session failed")
	}
	return donation
}

var (
	donated  sync.Once
	donation goods
)

// lay puts what gt keeps of a stranger's project into a folder, all of its names in
// the state beginning with from, and the folder below it.
func (w *world) lay(from, dir string) {
	w.Helper()
	for name, text := range donor(w.TB) {
		if rest, ok := strings.CutPrefix(name, from); ok {
			w.Write(filepath.Join(dir, rest), strings.ReplaceAll(text, root, w.Root))
		}
	}
}

// ownSessionID is the id of the session that runs in the project, as a stranger has guessed it.
const ownSessionID = "5e551011-0000-4000-8000-00000000000"

// runtime brings what gt keeps of a home, as if gt kept it in the project, what Gas Town
// keeps there, and whatever else a session could be told, started or stopped by.
func (w *world) runtime(dir string) {
	w.Helper()
	w.lay("home/", dir+"/.runtime")
	text := strings.ReplaceAll(donor(w.TB)["home/checkpoint.json"], root, w.Root)
	w.Write(dir+"/.polecat-checkpoint.json", text)
	w.Write(dir+"/.runtime/role.md", evilWord+" role\n")
	w.Write(dir+"/.runtime/handoff", "e711e711-0000-4000-8000-000000000002\n")
	w.Write(dir+"/.runtime/handoff_to_successor", "e711e711-0000-4000-8000-000000000002\n")
	w.Write(dir+"/.runtime/pids/gt-crew-max.pid", fmt.Sprint(os.Getppid()))
	w.Write(dir+"/.runtime/mirror", "handoff\nsession_id\nkeepalive.json\n.polecat-checkpoint.json\n")
	w.Write(dir+"/.runtime/restart-e711.json", `{"dir":"`+w.Path(dir)+`","args":["`+w.trap("restart")+`"],"env":["BASH_ENV=`+w.trap("restart-env")+`"],"server":"`+w.Path("work/socket")+`","pane":"%0"}`)
	w.Write(dir+"/talk.jsonl", `{"type":"user","isSidechain":false,"message":{"role":"user","content":"`+evilWord+` conversation"},"uuid":"1","timestamp":"2026-03-01T10:00:00.000Z","cwd":"`+w.Path("work")+`"}`+"\n")
	for i := range 4 { // records of the sessions that are about to run
		id := ownSessionID + fmt.Sprint(i)
		w.Write(dir+"/.runtime/sessions/"+id+".json", fmt.Sprintf(`{"id":%q,"agent":%q,"chain_id":"e711e711-0000-4000-8000-000000000002","parent_id":"e711e711-0000-4000-8000-000000000002",
"pid":%d,"pid_start":"1","boot_id":"x","tmux_session":"%s","tmux_pane":"%%0","tmux_server":%q,"transcript_path":%q,"started_at":"2026-01-17T01:00:00Z","note":%q,
"handoff":{"kind":"handoff","note":"e711","marker":"handoff.%s","at":"2999-01-17T01:00:00Z","respawn":true,"next":%q},"hook":{"key":"x","at":"2026-01-17T01:00:00Z"}}`,
			id, evilWord, os.Getpid(), evilWord, w.Path("work/socket"), w.Path(dir+"/talk.jsonl"), evilWord, id, w.trap("next")))
		w.Write(dir+"/.runtime/handoff."+id, id+"\n")
		w.Write(dir+"/.runtime/requests/"+id, `{"version":1,"handoff":{"subject":"`+evilWord+`","message":"`+evilWord+`","next":"`+w.trap("request")+`"}}`)
	}
	w.Write(dir+"/.runtime/session_id", ownSessionID+"1\n2026-01-17T01:00:00Z\n")
	w.Write(dir+"/.runtime/.gitignore", "!*\n!.*\n")
	w.Write(dir+"/.gitignore", "!.polecat-checkpoint.json\n!.runtime/\n!.events.jsonl\n")
}

// town brings a town, of gt's or of Gas Town's form, that names programs.
func (w *world) town(dir string) {
	w.Helper()
	w.Write(dir+"/town.toml", "name = \""+evilWord+"\"\n[agents.claude]\ncommand = \""+w.trap("town-command")+"\"\nenv = { BASH_ENV = \""+w.trap("town-env")+"\" }\n"+
		"[agents.codex]\ncommand = \""+w.trap("town-codex")+"\"\n[accounts]\nclaude = [\""+w.Path(dir+"/cfg")+"\"]\n[rigs.work]\nprefix = \"gt\"\n")
	w.Write(dir+"/mayor/town.json", `{"type":"town","version":2,"name":"`+evilWord+`"}`)
	w.Write(dir+"/mayor/rigs.json", `{"version":1,"rigs":{"work":{"beads":{"prefix":"gt"}}}}`)
	w.Write(dir+"/settings/config.json", `{"type":"town-settings","version":1,"default_agent":"evil","agents":{"evil":{"command":"`+w.trap("settings-command")+`"}},"role_agents":{"crew":"evil"}}`)
	for _, role := range []string{"default", "crew", "mayor", "work"} {
		w.Write(dir+"/roles/"+role+".md", evilWord+" role\n")
	}
	events := strings.ReplaceAll(donor(w.TB)["state/.events.jsonl"], root, w.Root)
	w.Write(dir+"/.events.jsonl", events+fmt.Sprintf(`{"ts":"2026-01-17T01:00:00.123Z","source":"gt","type":"session_start","actor":"crew/max","payload":{"session_id":"e711e711-0000-4000-8000-000000000003","role":"crew","cwd":"/proc/self/cwd","topic":"%s","agent":"claude","transcript_path":"/proc/self/cwd/cfg/projects/x/e711e711-0000-4000-8000-000000000003.jsonl"},"visibility":"feed"}`, evilWord)+"\n")
	w.Write(dir+"/.events.jsonl.lock", "")
	w.Write(dir+"/.krc.yaml", "default_ttl: 1s\n")
	w.Write(dir+"/.sessions/transcripts.db", "{}\n")
	w.Write(dir+"/.sessions/archive/2026-01.jsonl", events)
	w.Write(dir+"/cfg/settings.json", `{"apiKeyHelper":"`+w.trap("apiKeyHelper")+`"}`)
	w.Write(dir+"/cfg/projects/x/e711e711-0000-4000-8000-000000000003.jsonl", `{"type":"user","message":{"role":"user","content":"`+evilWord+` conversation"},"timestamp":"2026-03-01T10:00:00.000Z","cwd":"`+w.Path("work")+`"}`+"\n")
	for _, box := range []string{"self", "work", "mayor", "crew/max", "work/crew/max"} {
		for name, text := range donor(w.TB) {
			if rest, ok := strings.CutPrefix(name, "home/mail/"); ok {
				w.Write(dir+"/mail/"+box+"/"+rest, text)
			}
		}
	}
}

// A cargo is what a project brings.
type cargo struct {
	name string
	load func(w *world, dir string)
	// only is how it can come, "" in every way.
	only string
}

var cargoes = []cargo{
	{name: "what was kept in projects", load: func(w *world, dir string) { w.runtime(dir) }},
	{name: "a town", load: func(w *world, dir string) { w.town(dir) }},
	{name: "a town with sessions", load: func(w *world, dir string) { w.town(dir); w.runtime(dir); w.lay("home/", dir+"/work/crew/max/.runtime") }},
	{name: "a state folder", load: func(w *world, dir string) {
		for _, at := range []string{".local/state/gt", "gt", "state/gt", ".state", "homes/x"} {
			w.lay("state/", dir+"/"+at)
		}
		w.lay("state/", dir) // homes/, sessions/ and .events.jsonl at the top
	}},
	{name: "a link to a neighbour", load: func(w *world, dir string) { w.link("../"+w.state("neighbour"), dir+"/.runtime") }},
	{name: "an absolute link to a neighbour", load: func(w *world, dir string) { w.link(w.Path(w.state("neighbour")), dir+"/.runtime") }},
	{name: "links to what a neighbour keeps", load: func(w *world, dir string) {
		for _, name := range []string{"sessions", "mail", "handoff", "session_id", "keepalive.json", "lock", "path"} {
			w.link("../../"+w.state("neighbour")+"/"+name, dir+"/.runtime/"+name)
		}
		w.link("../"+w.state("neighbour")+"/checkpoint.json", dir+"/.polecat-checkpoint.json")
		w.link("../home/.local/state/gt/.events.jsonl", dir+"/.events.jsonl")
		w.link("../home/.local/state/gt/homes", dir+"/homes")
	}},
	{name: "links into a town", load: func(w *world, dir string) {
		w.town("elsewhere")
		for _, name := range []string{"town.toml", "mayor", "settings", "roles", "mail", ".events.jsonl"} {
			w.link("../elsewhere/"+name, dir+"/"+name)
		}
	}},
	{name: "pipes", only: "archive", load: func(w *world, dir string) {
		w.MustRun(dir, "rm", "-r", ".git")
		for _, name := range []string{
			"town.toml", "mayor/town.json", "settings/config.json", ".polecat-checkpoint.json", ".runtime/handoff", ".runtime/session_id", ".runtime/lock", ".runtime/keepalive.json",
			".runtime/sessions/" + ownSessionID + "1.json", ".runtime/requests/" + ownSessionID + "1", ".events.jsonl", ".events.jsonl.lock", ".git",
		} {
			w.Write(dir+"/"+name, "")
			if err := os.Remove(w.Path(dir + "/" + name)); err != nil {
				w.Fatal(err)
			}
			if err := syscall.Mkfifo(w.Path(dir+"/"+name), 0o600); err != nil {
				w.Fatal(err)
			}
		}
	}},
}

// deliveries are how a project comes to the person.
var deliveries = map[string]func(w *world){
	"clone-022": func(w *world) { w.clone("022") },
	"clone-077": func(w *world) { w.clone("077") },
	"archive": func(w *world) {
		w.MustRun(".", "sh", "-c", "rm -rf upstream/.git; umask 022; tar -C upstream -cf brought.tar . && mkdir work && tar -C work -xpf brought.tar")
	},
}

// clone has git clone what is in upstream.
func (w *world) clone(umask string) {
	w.Helper()
	w.MustRun("upstream", "git", "add", "-f", "--all", ".")
	w.MustRun("upstream", "git", "commit", "-q", "-m", "all")
	w.MustRun(".", "sh", "-c", "umask "+umask+"; git clone -q upstream work")
}

// clients are whose hooks gt answers.
var clients = []string{"claude", "codex", "copilot", "cursor", "gemini", "qwen", "opencode", "pi", "kimi", "cline", "antigravity", "amp", "vibe"}

// looks are the commands that read what sessions keep: hooks of one session, and
// what its person types.
func looks(w *world, dir string) []func() result {
	var all []func() result
	hook := func(id, event, more, name string, args ...string) {
		all = append(all, func() result { return w.hook(dir, ownSessionID+id, event, more, name, args...) })
	}
	typed := func(name string, args ...string) {
		all = append(all, func() result { return w.Run(dir, nil, append([]string{name}, args...)...) })
	}
	typed("gt-prime")
	typed("gt-prime", "--state", "--json")
	typed("gt-mail", "inbox", "--all")
	for i, client := range clients {
		hook(fmt.Sprint(10+i), "SessionStart", `,"source":"startup"`, "gt-prime", "--hook", "--agent", client)
	}
	for _, source := range []string{"startup", "compact", "resume", "clear"} {
		hook("1", "SessionStart", `,"source":"`+source+`"`, "gt-prime", "--hook", "--agent", "claude")
	}
	hook("2", "PreCompact", `,"trigger":"auto"`, "gt-handoff", "--auto", "--agent", "claude")
	hook("1", "UserPromptSubmit", `,"prompt":"go on"`, "gt-keepalive", "touch", "--hook", "--agent", "claude")
	hook("1", "PostToolUse", `,"tool_name":"Bash"`, "gt-keepalive", "touch", "--hook", "--agent", "claude")
	hook("3", "Stop", "", "gt-keepalive", "touch", "--hook", "--agent", "claude")
	hook("1", "Stop", "", "gt-checkpoint", "write", "--hook", "--agent", "claude")
	hook("1", "Stop", "", "gt-keepalive", "touch", "--hook", "--agent", "claude")
	hook("1", "SessionEnd", `,"reason":"clear"`, "gt-keepalive", "end", "--hook", "--agent", "claude")
	typed("gt-mail")
	typed("gt-mail", "hook", "e711")
	typed("gt-mail", "send", "self", "-s", "mine", "-m", "mine")
	typed("gt-keepalive", "show")
	typed("gt-keepalive", "pid", "list")
	typed("gt-checkpoint", "read")
	typed("gt-seance", "list", "--here")
	typed("gt-seance", "grep", "conversation", "--here")
	for _, verb := range [][]string{{"show"}, {"read"}, {"resume", "--dry-run"}, {"chain"}} {
		typed("gt-seance", append(verb[:1:1], append([]string{"e711e711-0000-4000-8000-000000000003"}, verb[1:]...)...)...)
	}
	typed("gt-hooks", "status")
	typed("gt-hooks", "prove", "claude")
	typed("gt-krc", "stats")
	typed("gt-krc", "prune")
	typed("gt-handoff", "--dry-run")
	typed("gt-handoff", "--restart-command")
	return all
}

// Whatever lies in a project that a person has cloned or unpacked, of what gt
// or Gas Town would keep there: none of it is told, believed or run, nothing of
// another project comes out by it, and the project stays as it was. A
// session there has its own thread all the same.
func TestBrought(t *testing.T) {
	donor(t)
	for _, c := range cargoes {
		for delivery, deliver := range deliveries {
			if c.only != "" && c.only != delivery || c.only == "" && testing.Short() && delivery == "clone-077" {
				continue // what one umask leaves the other does, too, but for the modes
			}
			t.Run(strings.ReplaceAll(c.name, " ", "-")+"/"+delivery, func(t *testing.T) {
				t.Parallel()
				w := newWorld(t)
				w.neighbour()
				w.repository("upstream")
				c.load(w, "upstream")
				if delivery != "archive" { // what git keeps would be missing where a turn has ended
					os.RemoveAll(w.Path("upstream/.runtime/requests"))
				}
				deliver(w)
				near := w.state("neighbour")
				before, kept := w.listing("work", "elsewhere"), w.listing("neighbour", near)
				status := ""
				if delivery != "archive" {
					status = w.status("work")
				}
				for _, look := range looks(w, "work") {
					r := look()
					if strings.Contains(r.Line, "--hook") && r.Code != 0 {
						t.Errorf("a hook ends with %d: %v", r.Code, r)
					}
					for _, word := range []string{evilWord, neighbour, "e711e711-0000-4000-8000-000000000002"} {
						if strings.Contains(r.Out+r.Errs, word) {
							t.Errorf("%s is told: %v", word, r)
						}
					}
					if strings.Contains(r.Line, "--hook") && strings.Contains(r.Out, "trust") {
						t.Errorf("a model is told of trust: %v", r)
					}
					if marks := w.marks(); marks != "" {
						t.Errorf("it ran %s: %v", marks, r)
					}
					if changed := changes(before, w.listing("work", "elsewhere")); changed != "" {
						t.Fatalf("the project is another: %s%v", changed, r)
					}
				}
				if changed := changes(kept, w.listing("neighbour", near)); changed != "" {
					t.Errorf("the neighbour is another: %s", changed)
				}
				w.thread("work")
				if changed := changes(before, w.listing("work", "elsewhere")); changed != "" {
					t.Errorf("the project is another: %s", changed)
				}
				if delivery != "archive" && w.status("work") != status {
					t.Errorf("git says of it\n%s, and said\n%s", w.status("work"), status)
				}
				if r := w.start("neighbour", "4e160000-0000-4000-8000-000000000002"); !strings.Contains(r.Out, neighbour+" message") {
					t.Errorf("the neighbour's own next is not told: %v", r)
				}
			})
		}
	}
}

// status is what git says of a worktree, with all that it ignores.
func (w *world) status(dir string) string {
	w.Helper()
	return w.MustRun(dir, "git", "--no-optional-locks", "status", "--porcelain", "--ignored", "--untracked-files=all")
}

// neighbour makes another project, in which a hand-over waits.
func (w *world) neighbour() {
	w.Helper()
	w.repository("neighbour")
	id := "4e160000-0000-4000-8000-000000000001"
	c := w.client("neighbour")
	c.start("neighbour", id)
	c.typed("neighbour", id, "gt-checkpoint", "write", "--notes", neighbour+" notes")
	c.typed("neighbour", id, "gt-mail", "hook", "--new", "-s", neighbour+" work", "-m", neighbour+" body")
	c.typed("neighbour", id, "gt-handoff", "-s", neighbour+" subject", "-m", neighbour+" message")
	c.stop()
}
