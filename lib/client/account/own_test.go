package account

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"gt/internal/testenv"
	"gt/lib/place"
)

// world makes folders and files below a home folder and a folder beside it, and
// returns both, without links.
func world(t *testing.T, paths ...string) (home, beside string) {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	testenv.NoError(t, err)
	for _, path := range append(paths, "home/x", "beside/x") {
		path = filepath.Join(root, path)
		testenv.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		testenv.NoError(t, os.WriteFile(path, []byte("{}\n"), 0o600))
	}
	return filepath.Join(root, "home"), filepath.Join(root, "beside")
}

func getenv(home string, set ...string) func(string) string {
	return func(name string) string {
		if name == "HOME" {
			return home
		}
		for i := 0; i+1 < len(set); i += 2 {
			if set[i] == name {
				return set[i+1]
			}
		}
		return ""
	}
}

func check(t *testing.T, err error) {
	t.Helper()
	testenv.NoError(t, err)
}

// A conversation counts only in a store of the person's, whatever path leads to it.
func TestOwnFile(t *testing.T) {
	home, beside := world(t,
		"home/.claude/projects/p/a.jsonl", "home/.claude/other/a.jsonl", "home/.claude-work/projects/p/a.jsonl",
		"home/.codex/sessions/2026/a.jsonl", "home/.codex/archived_sessions/a.jsonl", "home/.pi/agent/sessions/p/a.jsonl",
		"home/.local/share/opencode/opencode.db", "home/.gemini/tmp/p/chats/a.jsonl", "home/.qwen/projects/p/chats/a.jsonl",
		"home/.copilot/session-state/a/events.jsonl", "home/.kimi-code/sessions/wd_p/a/agents/main/wire.jsonl",
		"home/.cline/data/sessions/a/a.messages.json", "home/.vibe/a.jsonl",
		"beside/synced/a.jsonl", "beside/shared/a.jsonl", "beside/project/.git/x", "beside/project/kept/a.jsonl", "beside/projects/p/a.jsonl", "beside/listed/projects/p/a.jsonl", "beside/elsewhere/a.jsonl",
	)
	check(t, os.Symlink(filepath.Join(home, ".claude", "projects"), filepath.Join(beside, "link")))
	check(t, os.Symlink(filepath.Join(beside, "elsewhere", "a.jsonl"), filepath.Join(home, ".claude", "projects", "p", "out.jsonl")))
	for name, dir := range map[string]string{"synced": "synced", "shared": "shared", "inside": "project/kept"} {
		check(t, os.Symlink(filepath.Join(beside, dir), filepath.Join(home, ".claude", "projects", name)))
	}
	check(t, os.Chmod(filepath.Join(beside, "shared"), 0o777))
	own := StoreGuard{Getenv: getenv(home), Projects: []string{filepath.Join(beside, "project")}, Known: func(client string) TableAccounts {
		if client == "vibe" {
			return TableAccounts{Variable: "VIBE_HOME", Store: ".vibe"}
		}
		return TableAccounts{Accounts: []string{filepath.Join(beside, "listed")}}
	}}
	for _, c := range []struct{ client, path, store string }{
		{"claude", home + "/.claude/projects/p/a.jsonl", ".claude"},
		{"claude", home + "/.claude/projects/p/gone.jsonl", ".claude"},
		{"claude", beside + "/link/p/a.jsonl", ".claude"},
		{"claude", home + "/.claude/projects/synced/a.jsonl", ".claude"},
		{"claude", home + "/.claude-work/projects/p/a.jsonl", ".claude-work"},
		{"claude", beside + "/listed/projects/p/a.jsonl", "../beside/listed"},
		{"codex", home + "/.codex/sessions/2026/a.jsonl", ".codex"},
		{"codex", home + "/.codex/archived_sessions/a.jsonl", ".codex"},
		{"pi", home + "/.pi/agent/sessions/p/a.jsonl", ".pi/agent"},
		{"opencode", home + "/.local/share/opencode/opencode.db", ".local/share/opencode"},
		{"gemini", home + "/.gemini/tmp/p/chats/a.jsonl", ".gemini"},
		{"qwen", home + "/.qwen/projects/p/chats/a.jsonl", ".qwen"},
		{"copilot", home + "/.copilot/session-state/a/events.jsonl", ".copilot"},
		{"kimi", home + "/.kimi-code/sessions/wd_p/a/agents/main/wire.jsonl", ".kimi-code"},
		{"cline", home + "/.cline/data/sessions/a/a.messages.json", ".cline"},
		{"vibe", home + "/.vibe/a.jsonl", ".vibe"},

		{"claude", home + "/.claude/other/a.jsonl", ""},        // not a conversation of the client
		{"claude", home + "/.codex/sessions/2026/a.jsonl", ""}, // another client's
		{"claude", beside + "/projects/p/a.jsonl", ""},         // anywhere
		{"claude", home + "/.claude/projects/p/out.jsonl", ""}, // the link leads elsewhere
		{"claude", beside + "/synced/a.jsonl", ""},             // to which no link of the store led
		{"claude", home + "/.claude/projects/shared/a.jsonl", ""},
		{"claude", home + "/.claude/projects/inside/a.jsonl", ""},
		{"claude", home + "/.claude/projects/../../../beside/elsewhere/a.jsonl", ""},
		{"claude", home + "/.claude/projectsx/p/a.jsonl", ""},
		{"claude", "projects/p/a.jsonl", ""},
		{"claude", "", ""},
		{"nobody", home + "/.claude/other/a.jsonl", ""},
	} {
		store, real, err := own.FindAccount(c.client, c.path)
		want := ""
		if c.store != "" {
			want = filepath.Join(home, c.store)
		}
		if (err == nil) != (want != "") || store != want {
			t.Errorf("%s's %s is of the account %q, %v", c.client, c.path, store, err)
		}
		var foreign *ForeignError
		if err != nil && (!errors.As(err, &foreign) || real != "") {
			t.Errorf("%s: %q, %v", c.path, real, err)
		}
		if err == nil && real != place.Real(c.path) {
			t.Errorf("%s is really %s", c.path, real)
		}
	}
}

// An account that a variable or a name gives is the person's only if nobody else could
// have created or changed it.
func TestOwnAccount(t *testing.T) {
	for _, c := range []struct {
		name    string
		account string // from CLAUDE_CONFIG_DIR if it is beside HOME
		change  func(t *testing.T, account, beside string)
		project string
		want    error
	}{
		{name: "a variable's", account: "beside/acct"},
		{name: "a name's", account: "home/.claude-b"},
		{name: "of the group that is the person's own", account: "beside/acct", change: mode(0o775)},
		{name: "open to write", account: "beside/acct", change: mode(0o777), want: errWritable},
		{name: "open to write with a sticky bit", account: "beside/acct", change: mode(0o777 | os.ModeSticky), want: errWritable},
		{name: "a name's, open to write", account: "home/.claude-b", change: mode(0o777), want: errWritable},
		{name: "below what is open to write", account: "beside/acct", change: setParentMode(0o777), want: errWritable},
		{name: "below a sticky folder", account: "beside/acct", change: setParentMode(0o777 | os.ModeSticky)},
		{name: "another's", account: "beside/acct", change: owned(4711, -1), want: errOwner},
		{name: "another group's to write", account: "beside/acct", change: func(t *testing.T, account, beside string) {
			owned(0, 4711)(t, account, beside)
			mode(0o775)(t, account, beside)
		}, want: errNotRoots},
		{name: "in the project", account: "beside/acct", project: "beside", want: errProject},
		{name: "the project", account: "beside/acct", project: "beside/acct", want: errProject},
		{name: "a name's, which is the project", account: "home/.claude-b", project: "home/.claude-b", want: errProject},
		{name: "beside the project", account: "beside/acct", project: "beside/ac"},
		{name: "where the home folder is the project", account: "home/.claude-b", project: "home"},
		{name: "where all is the project", account: "home/.claude-b", project: "."},
		{name: "a clone with a name", account: "home/.claude-b", change: func(t *testing.T, account, _ string) {
			check(t, os.Mkdir(filepath.Join(account, ".git"), 0o755))
		}, want: errRepository},
		{name: "a variable's, kept in git", account: "beside/acct", change: func(t *testing.T, account, _ string) {
			check(t, os.Mkdir(filepath.Join(account, ".git"), 0o755))
		}},
		{name: "the usual one, whatever its mode", account: "home/.claude", change: mode(0o777), project: "home/.claude"},
	} {
		t.Run(c.name, func(t *testing.T) {
			want := c.want
			if c.want == errNotRoots { // root's groups are root's choice
				if want = errWritable; os.Geteuid() == 0 {
					want = nil
				}
			}
			home, beside := world(t, c.account+"/projects/p/a.jsonl")
			root := filepath.Dir(home)
			account := filepath.Join(root, c.account)
			own := StoreGuard{Getenv: getenv(home)}
			if filepath.Dir(account) == beside {
				own.Getenv = getenv(home, "CLAUDE_CONFIG_DIR", account)
			}
			if c.project != "" {
				own.Projects = []string{filepath.Join(root, c.project)}
			}
			if c.change != nil {
				c.change(t, account, beside)
			}
			if err := own.CheckAccount("claude", account); !errors.Is(err, want) {
				t.Errorf("the account: %v, and not %v", err, want)
			}
			path := filepath.Join(account, "projects", "p", "a.jsonl")
			if _, _, err := own.FindAccount("claude", path); !errors.Is(err, want) {
				t.Errorf("the conversation: %v, and not %v", err, want)
			}
			if err := own.CheckAccount("claude", filepath.Join(account, "projects")); !errors.Is(err, errElsewhere) {
				t.Errorf("a folder in it: %v", err)
			}
		})
	}
}

// errNotRoots is errWritable unless the test runs as root.
var errNotRoots = errors.New("")

func mode(m os.FileMode) func(*testing.T, string, string) {
	return func(t *testing.T, account, _ string) { t.Helper(); check(t, os.Chmod(account, m)) }
}

func setParentMode(m os.FileMode) func(*testing.T, string, string) {
	return func(t *testing.T, _, beside string) { t.Helper(); check(t, os.Chmod(beside, m)) }
}

func owned(uid, gid int) func(*testing.T, string, string) {
	return func(t *testing.T, account, _ string) {
		t.Helper()
		if os.Geteuid() != 0 {
			t.Skip("only root can give a folder away")
		}
		check(t, os.Chown(account, uid, gid))
	}
}

// A working folder must be one of the person's, and the same for every process.
func TestOwnFolder(t *testing.T) {
	home, beside := world(t, "beside/mine/x", "beside/others/x")
	check(t, os.Symlink(filepath.Join(beside, "mine"), filepath.Join(beside, "link")))
	own := StoreGuard{Getenv: getenv(home)}
	for _, dir := range []string{"mine", "link"} {
		if real, err := own.CheckWorkFolder(filepath.Join(beside, dir)); err != nil || real != filepath.Join(beside, "mine") {
			t.Errorf("%s is %s, %v", dir, real, err)
		}
	}
	for _, dir := range []string{"gone", "mine/x"} {
		var foreign *ForeignError
		if _, err := own.CheckWorkFolder(filepath.Join(beside, dir)); err == nil || errors.As(err, &foreign) {
			t.Errorf("%s: %v", dir, err)
		}
	}
	if _, err := os.Stat("/proc/self/cwd"); err == nil {
		for _, dir := range []string{"/proc/self/cwd", "/proc/" + strconv.Itoa(os.Getpid()) + "/cwd", "/proc", "/sys"} {
			var foreign *ForeignError
			if _, err := own.CheckWorkFolder(dir); !errors.As(err, &foreign) || !foreign.IsKernelPath() {
				t.Errorf("%s: %v", dir, err)
			}
		}
	}
	if os.Geteuid() == 0 {
		check(t, os.Chown(filepath.Join(beside, "others"), 4711, -1))
		if _, err := own.CheckWorkFolder(filepath.Join(beside, "others")); !errors.Is(err, errOwner) {
			t.Errorf("another's: %v", err)
		}
		// Root runs gt for the owner of the home folder.
		check(t, os.Chown(home, 4711, -1))
		if _, err := own.CheckWorkFolder(filepath.Join(beside, "others")); err != nil {
			t.Errorf("that one's: %v", err)
		}
	}
}
