package attacks

import (
	"os"
	"runtime"
	"strings"
	"testing"
)

// What a project says of HOME, to its client's hooks or in a .env that its client
// takes for its own when it runs itself anew, names neither the state nor the settings
// that count. The honest twin is a launcher of the person's with another HOME.
func TestProjectNamesHome(t *testing.T) {
	for name, c := range map[string]struct {
		client, as string
		hooks      bool // the variables are given to the hooks, and not by .env
		wrapped    bool // the person has a script of their own call gt
		counts     bool // they are a launcher's
	}{
		"settings of claude": {client: "claude", as: "client", hooks: true},
		"settings of a node": {client: "node", as: "client", hooks: true},
		"settings of 2.1.9":  {client: "2.1.9", as: "client", hooks: true},
		"a wrapped hook":     {client: "claude", as: "client", hooks: true, wrapped: true},
		"a .env":             {client: "node", as: "relaunch"},
		"a launcher":         {client: "launcher", as: "client", hooks: true, counts: true},
	} {
		t.Run(strings.ReplaceAll(name, " ", "-"), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.repository("work")
			w.Write("elsewhere/x", "")
			w.Write("work/cfg/gt/roles/default.md", evilWord)
			evil := []string{"XDG_STATE_HOME=" + w.Path("elsewhere/state"), "XDG_CONFIG_HOME=/proc/self/cwd/cfg", "GT_ROLE=rig/crew/" + evilWord}
			if c.hooks {
				evil = append(evil, "HOME="+w.Path("elsewhere"))
			} else {
				w.Write("work/.env", strings.Join(evil, "\n"))
			}
			client := w.startCompanion("work", false, w.named(c.client), c.as)
			program := "gt-prime"
			if c.wrapped {
				program = w.Path("home/bin/wrapped")
				w.Write("home/bin/wrapped", "#!/bin/sh\ngt-prime \"$@\"\nexit 0\n")
				w.MustRun(".", "chmod", "u+x", program)
			}
			r := client.hook("work", evil, ownSessionID+"1", "SessionStart", `,"source":"startup"`, program, "--hook", "--agent", "claude")
			_, err := os.Stat(w.Path("elsewhere/state"))
			told := strings.Contains(r.Out, evilWord)
			if r.Code != 0 || told != c.counts || (err == nil) != c.counts {
				t.Errorf("told: %v, kept elsewhere: %v: %v", told, err == nil, r)
			}
			if c.counts {
				return
			}
			w.state("work")
		})
	}
}

// What a project says to the commands that its agent runs names no other state, and no
// other home, whichever variables of clients it adds: what the agent writes is kept of
// the project, and none of a neighbour's notes is read. The honest twin is a person's
// shell, which runs in no agent.
func TestProjectNamesHomeOfCommands(t *testing.T) {
	for name, c := range map[string]struct {
		client string
		env    []string
		counts bool
	}{
		"claude":               {"claude", []string{"CLAUDE_CODE_SESSION_ID=" + ownSessionID + "1"}, false},
		"claude and another":   {"claude", []string{"CLAUDE_CODE_SESSION_ID=" + ownSessionID + "1", "CODEX_SESSION_ID=" + ownSessionID + "2"}, false},
		"gemini":               {"node", []string{"GEMINI_SESSION_ID=" + ownSessionID + "1"}, false},
		"gemini and another":   {"node", []string{"GEMINI_SESSION_ID=" + ownSessionID + "1", "CLAUDE_CODE_SESSION_ID=" + ownSessionID + "2"}, false},
		"one without variable": {"opencode", []string{"GT_SESSION_UUID=" + ownSessionID + "1"}, false},
		"a person":             {"node", nil, true},
	} {
		t.Run(strings.ReplaceAll(name, " ", "-"), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.repository("work")
			w.repository("neighbour")
			w.Write("elsewhere/x", "")
			w.start("neighbour", ownSessionID+"8")
			w.Run("neighbour", strings.NewReader(evilWord), "gt-mail", "send", "self", "-s", evilWord)
			client := w.startCompanion("work", false, w.named(c.client), "client")
			client.hook("work", nil, ownSessionID+"1", "SessionStart", `,"source":"startup"`, "gt-prime", "--hook", "--agent", "claude")
			env := append(c.env, "GT_ROLE=rig/crew/"+evilWord)
			if len(c.env) > 1 || c.client == "node" {
				env = append(env, "GT_HOME="+w.Path("neighbour")) // which gt tells to Claude Code's
				if r := client.run("work", env, "", "gt-mail"); !c.counts && strings.Contains(r.Out, evilWord) {
					t.Errorf("a neighbour's notes are read: %v", r)
				}
			}
			env = append(env, "XDG_STATE_HOME="+w.Path("elsewhere"))
			for _, r := range []result{
				client.run("work", env, "", "gt-mail", "send", "self", "-s", "OWN-SUBJECT", "-m", "x"),
				client.run("work", env, "", "gt-checkpoint", "write", "--notes", "OWN-NOTES"),
				client.run("work", env, "", "gt-seance", "list"),
			} {
				if r.Code != 0 && !strings.HasPrefix(r.Line, "gt-seance") {
					t.Errorf("%v", r)
				}
			}
			if _, err := os.Stat(w.Path("elsewhere/gt")); (err == nil) != c.counts {
				t.Errorf("it is kept where the project says: %v", err == nil)
			}
			if c.counts {
				return
			}
			if r := client.run("work", c.env[:1], "", "gt-mail"); !strings.Contains(r.Out, "OWN-SUBJECT") {
				t.Errorf("the agent's note is lost: %v", r)
			}
			if data, err := os.ReadFile(w.Path(w.state("work") + "/checkpoint.json")); err != nil || !strings.Contains(string(data), "OWN-NOTES") {
				t.Errorf("the agent's checkpoint is lost: %v", err)
			}
		})
	}
}

// What another client's hook is told of CLAUDE_ENV_FILE, which only Claude Code gives
// its own, names no file that is written. The honest twin is Claude Code.
func TestProjectNamesEnvFile(t *testing.T) {
	for _, agent := range []string{"qwen", "gemini", "codex", "copilot", "cursor", "claude"} {
		t.Run(agent, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.repository("work")
			w.Write("home/.profile", "umask 022\n")
			c := w.client("work")
			r := c.hook("work", []string{"CLAUDE_ENV_FILE=/proc/self/cwd/../home/.profile"}, ownSessionID+"1", "SessionStart", `,"source":"startup"`, "gt-prime", "--hook", "--agent", agent)
			data, err := os.ReadFile(w.Path("home/.profile"))
			if err != nil || r.Code != 0 || strings.Contains(string(data), "GT_HOME") != (agent == "claude") {
				t.Errorf("it has %q, %v: %v", data, err, r)
			}
		})
	}
}

// A file that git reads to its end, and that has none, ends git at the bound of its memory
// (lib/place/git TestStatusMemory) or of its time, whichever it reaches first, and the
// person is told.
func TestRepositoryNamesEndlessFiles(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("nobody bounds another process here")
	}
	for _, path := range []string{"info/attributes", "objects/info/alternates"} {
		t.Run(strings.ReplaceAll(path, "/", "-"), func(t *testing.T) {
			w := newWorld(t)
			w.repository("work")
			w.add("work/.gitattributes", "* text\n")
			c := w.client("work")
			c.start("work", ownSessionID+"1")
			w.MustRun(".", "rm", "-f", w.Path("work/.git/"+path))
			w.link("/dev/zero", "work/.git/"+path)
			r := c.hook("work", nil, ownSessionID+"1", "Stop", "", "gt-checkpoint", "write", "--hook")
			if r.Code != 0 || !strings.Contains(r.Errs, "Out of memory") && !strings.Contains(r.Errs, "git took too long") {
				t.Errorf("git was not bounded: %v", r)
			}
		})
	}
}

// A project's settings that are a link, or lie behind one, choose no file of the
// person's that is wired. The honest twin is a link within the project.
func TestProjectLinksItsSettings(t *testing.T) {
	for name, c := range map[string]struct {
		link, to string
		agent    string
		stays    bool
	}{
		"a file":            {"work/.claude/settings.json", "../../home/other.json", "claude", false},
		"by the kernel":     {"work/.claude/settings.json", "/proc/self/cwd/../home/other.json", "claude", false},
		"what is not there": {"work/.claude/settings.json", "../../home/new.json", "claude", false},
		"a folder":          {"work/.claude", "../home/folder", "claude", false},
		"a plugin's folder": {"work/.opencode", "../home/folder", "opencode", false},
		"within":            {"work/.claude/settings.json", "../shared.json", "claude", true},
	} {
		t.Run(strings.ReplaceAll(name, " ", "-"), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.repository("work")
			w.Write("home/other.json", "{\"mine\":1}\n")
			w.Write("home/folder/settings.json", "{}\n")
			w.Write("work/shared.json", "{}\n")
			w.link(c.to, c.link)
			before := w.listing("home")
			for _, command := range []string{"install", "uninstall"} {
				r := w.Run("work", nil, "gt-hooks", command, c.agent, "--scope", "project")
				if (r.Code == 0) != c.stays {
					t.Errorf("%v", r)
				}
				if data, err := os.ReadFile(w.Path("work/shared.json")); command == "install" && c.stays != strings.Contains(string(data), "gt-prime") {
					t.Errorf("%s, %v", data, err)
				}
			}
			for _, path := range []string{"home/new.json", "home/folder/plugins", "home/folder/plugin"} {
				if _, err := os.Lstat(w.Path(path)); err == nil {
					t.Errorf("%s was made", path)
				}
			}
			if changed := changes(before, w.listing("home")); strings.Contains(changed, "json") {
				t.Errorf("they changed what is the person's: %s", changed)
			}
		})
	}
}
