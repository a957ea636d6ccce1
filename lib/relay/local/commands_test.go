package local

import (
	"errors"
	"fmt"
	"gt/internal/testenv"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gt/lib/cli"
	"gt/lib/place"
	"gt/lib/relay"
	"gt/lib/state/peer"
	"gt/lib/sys/process"
)

// world has a gt-session on PATH that writes down how it is called.
func world(t *testing.T) (letterHandler, func() string) {
	t.Helper()
	dir := t.TempDir()
	calls := filepath.Join(dir, "calls")
	script := fmt.Sprintf("#!/bin/sh\n{ printf '[%%s]' \"$@\"; echo; cat; } >>%s\necho done\n", calls)
	testenv.NoError(t, os.WriteFile(filepath.Join(dir, "gt-session"), []byte(script), 0o700))
	env := &cli.Env{Environ: []string{"HOME=" + dir, "PATH=" + dir + ":/usr/bin:/bin"}, Now: time.Now, Stderr: os.Stderr, Stdout: os.Stdout}
	warn := func(err error) {
		if err != nil {
			t.Error(err)
		}
	}
	c := letterHandler{env, place.State(filepath.Join(dir, "gt")), warn, &runCounts{byHost: map[string]int{}}}
	t.Cleanup(func() { awaitIdle(t, c) }) // whoever has answered still has to forget the command
	return c, func() string {
		data, _ := os.ReadFile(calls)
		return string(data)
	}
}

// awaitIdle waits until no command runs.
func awaitIdle(t *testing.T, c letterHandler) {
	t.Helper()
	idle := func() bool {
		c.runs.mu.Lock()
		defer c.runs.mu.Unlock()
		return len(c.runs.byHost) == 0
	}
	for end := time.Now().Add(testenv.Patience); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if idle() {
			return
		}
	}
	t.Errorf("%+v run still", c.runs.byHost)
}

const id = "1795712515.M155504Rd6ddd189.host"

func newSender(allowed ...string) relay.Sender {
	return relay.Sender{Host: peer.Host{Name: "lap"}, Trust: peer.Trust{Allowed: allowed}, Sent: time.Now()}
}

func letter(kind string) peer.Letter { return peer.Letter{Host: "lap", ID: id, Kind: kind} }

// answered waits for the answer to the command.
func answered(t *testing.T, c letterHandler) string {
	t.Helper()
	for end := time.Now().Add(testenv.Patience); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		all, err := peer.OutboxOf(c.state).ReadLetters()
		testenv.NoError(t, err)
		if len(all) > 0 {
			text, err := peer.OutboxOf(c.state).Read(all[0])
			testenv.NoError(t, err)
			return string(text)
		}
	}
	t.Fatal("no answer")
	return ""
}

// TestNotAllowed shows that a host runs only what it was allowed.
func TestNotAllowed(t *testing.T) {
	for _, command := range peer.Commands {
		c, calls := world(t)
		for _, sender := range []relay.Sender{newSender(), newSender("work"), newSender("Peek", "sendx", "")} {
			err := c.deliverCommand(sender, letter(peer.Command), strings.NewReader(fmt.Sprintf(`{"command":%q,"name":"api","text":"x"}`, command)))
			if refused := new(relay.Refused); !errors.As(err, &refused) || !strings.Contains(refused.Reason, "gt-relay allow lap "+command) {
				t.Errorf("%s: %v", command, err)
			}
		}
		if got := calls(); got != "" {
			t.Errorf("%s ran: %s", command, got)
		}
	}
	c, _ := world(t)
	kinds := Options(t.Context(), c.env, c.state, c.warn).Kinds
	for kind, needs := range map[string]string{peer.Session: peer.Move, peer.Work: peer.Work, peer.Offer: peer.Work, peer.Note: "", peer.Command: ""} {
		takes := kinds[kind].Takes
		if needs == "" {
			if takes != nil {
				t.Errorf("%s needs something", kind)
			}
			continue
		}
		if ok, reason := takes(newSender("peek", "send")); ok || !strings.HasSuffix(reason, "gt-relay allow lap "+needs) {
			t.Errorf("%s is taken: %q", kind, reason)
		}
		if ok, _ := takes(newSender(needs)); !ok {
			t.Errorf("%s is not taken", kind)
		}
	}
	if ok, reason := kinds[peer.Result].Takes(newSender(peer.Allowable...)); ok || reason != "" {
		t.Errorf("an answer that nobody waits for is taken: %q", reason)
	}
}

// TestCommand shows how a command runs, once, and what its answer is.
func TestCommand(t *testing.T) {
	c, calls := world(t)
	text := strings.NewReader(`{"command":"send","name":"api","text":"--now; rm -rf /"}`)
	testenv.NoError(t, c.deliverCommand(newSender("send"), letter(peer.Command), text))
	if got := answered(t, c); !strings.Contains(got, `"to":"`+id+`","code":0,"stdout":"done\n"`) {
		t.Error(got)
	}
	if got := calls(); got != "[send][--][api][-]\n--now; rm -rf /" {
		t.Errorf("%q", got)
	}
}

// TestInterrupted shows that a command that a killed relay had begun is not begun again, and
// is answered.
func TestInterrupted(t *testing.T) {
	c, calls := world(t)
	path := c.commandPath("lap", id)
	testenv.NoError(t, c.state.Prepare(filepath.Dir(path)))
	testenv.NoError(t, os.WriteFile(path, []byte("{}"), 0o600))
	testenv.NoError(t, c.deliverCommand(newSender("stop"), letter(peer.Command), strings.NewReader(`{"command":"stop","name":"api"}`)))
	c.answerInterrupted()
	if got := answered(t, c); !strings.Contains(got, "ended in the middle") || calls() != "" {
		t.Error(got, calls())
	}
	if _, err := os.Stat(path); err == nil {
		t.Error("it is still noted")
	}
}

// TestHostileAsks shows that nothing in a command becomes a flag, a path or a program, and
// that a late one does nothing.
func TestHostileAsks(t *testing.T) {
	c, calls := world(t)
	for _, ask := range []string{
		`{"command":"send","name":"--all","text":"x"}`, `{"command":"send","name":"-A"}`, `{"command":"stop","name":"../x"}`, `{"command":"stop","name":""}`,
		`{"command":"rm","name":"api"}`, `{"command":"new","name":"api"}`, `{"command":"send; id","name":"api"}`, `{"command":"","name":"api"}`,
		`[]`, ``, `{"command":["send"],"name":"api"}`,
	} {
		if err := c.deliverCommand(newSender(append(peer.Allowable, "rm", "new", "")...), letter(peer.Command), strings.NewReader(ask)); err == nil {
			t.Errorf("%s was taken", ask)
		}
	}
	late := newSender("stop")
	late.Sent = time.Now().Add(-peer.CommandFor - time.Second)
	if err := c.deliverCommand(late, letter(peer.Command), strings.NewReader(`{"command":"stop","name":"api"}`)); err == nil {
		t.Error("a late command was taken")
	}
	late.Sent = time.Now().Add(peer.CommandFor + time.Minute)
	if err := c.deliverCommand(late, letter(peer.Command), strings.NewReader(`{"command":"stop","name":"api"}`)); err == nil {
		t.Error("a command of a time to come was taken")
	}
	if got := calls(); got != "" {
		t.Errorf("something ran: %s", got)
	}
	if err := c.keepResult(newSender(), letter(peer.Result), strings.NewReader(`{"to":"../../x","code":0}`)); err == nil {
		t.Error("an answer to a path was taken")
	}
}

// TestSlashes shows that a host that may send types no command of a client that would run a program
// (!ls), permit something or install anything.
func TestSlashes(t *testing.T) {
	for text, ok := range map[string]bool{
		"/compact": true, " /compact keep the plan": true, "/new": true, "/clear": true,
		"!touch x": false, " !touch x": false, "\x1b!touch x": false, "\u200b!touch x": false, "\ufeff/plugin install x@y": false, "! x": false, "$ x": false, "": false,
		"/plugin marketplace add x/y": false, "/permissions": false, "/approval-mode yolo": false, "/yolo": false, "/mcp": false, "/hooks": false,
		"/add-dir /": false, "/export /home/me/.bashrc": false, "/review $(x)": false, "/compact\n!touch x": false, "/compact\t!x": false, "/COMPACT": false, "/compact/x": false, "x": false,
	} {
		_, err := sessionArgs(peer.Ask{Command: "send", Name: "api", Text: text, Slash: true}, "lap")
		if (err == nil) != ok {
			t.Errorf("%q: %v", text, err)
		}
	}
	for text, ok := range map[string]bool{"/compact": true, "/add-dir /": false, " \u200b/yolo": false, "/etc/hosts is it": true, "port it": true, "!ls": true, "/": true} {
		if _, err := sessionArgs(peer.Ask{Command: "start", Name: "api", Text: text}, "lap"); (err == nil) != ok {
			t.Errorf("start %q: %v", text, err)
		}
	}
}

// TestMentions shows that no text of another host makes a client read a file by its name.
func TestMentions(t *testing.T) {
	for text, want := range map[string]string{
		"look @/etc/passwd": "look @ /etc/passwd", "@~/.ssh/id": "@ ~/.ssh/id", "(@a.go": "(@ a.go", `x @"a b"`: `x @ "a b"`, "@\u200b/etc": "@ /etc", "a\u200b @x": "a @ x",
		"me@/etc/x": "me@ /etc/x", "a@../x": "a@ ../x", "x\n@y": "x\n@ y", "@@z": "@ @ z", "mail me@box.org": "mail me@box.org", "npm i a@1.2": "npm i a@1.2", "@": "@ ",
	} {
		c, calls := world(t)
		testenv.NoError(t, c.deliverCommand(newSender("send"), letter(peer.Command), strings.NewReader(fmt.Sprintf(`{"command":"send","name":"api","text":%q}`, text))))
		answered(t, c)
		if got := calls(); got != "[send][--][api][-]\n"+want {
			t.Errorf("%q: %q", text, got)
		}
	}
}

// TestWaits shows that a session that a person has to accept is not started, and that its sender
// is told; and how one is asked about.
func TestWaits(t *testing.T) {
	c, calls := world(t)
	bin, err := process.LookPath("gt-session", "", c.env.ChildEnviron())
	testenv.NoError(t, err)
	script, err := os.ReadFile(bin)
	testenv.NoError(t, err)
	testenv.NoError(t, os.WriteFile(bin, []byte(strings.Replace(string(script), "echo done", `echo '{"name":"api","waits":[{"path":".mcp.json"}]}'`, 1)), 0o700))
	later := new(relay.SlowDelivery)
	if err := c.deliverSession(newSender(peer.Move), letter(peer.Session), strings.NewReader("parcel")); !errors.As(err, &later) {
		t.Fatal(err)
	}
	testenv.NoError(t, later.Do(t.Context()))
	if got := answered(t, c); !strings.Contains(got, `"code":75`) {
		t.Error(got)
	}
	if got := calls(); got != "[unpack][--json][--from][lap]\nparcel" {
		t.Errorf("%q", got)
	}
	if args, err := sessionArgs(peer.Ask{Command: peer.Move, Name: "api", Text: "{}"}, "lap"); err != nil || fmt.Sprint(args) != "[unpack --ask --from lap]" {
		t.Errorf("%v, %v", args, err)
	}
}

// TestBusy shows that a host cannot run commands without end at once, and that another one can.
func TestBusy(t *testing.T) {
	c, _ := world(t)
	release := filepath.Join(t.TempDir(), "release")
	bin, err := process.LookPath("gt-session", "", c.env.ChildEnviron())
	testenv.NoError(t, err)
	testenv.NoError(t, os.WriteFile(bin, []byte("#!/bin/sh\nuntil test -e "+release+"; do sleep 0.05; done\n"), 0o700))
	ask := func(host string, n int) error {
		sender := newSender("peek")
		sender.Name = host
		l := peer.Letter{Host: host, ID: strings.Replace(id, "d6ddd189", fmt.Sprintf("%08x", n), 1), Kind: peer.Command}
		return c.deliverCommand(sender, l, strings.NewReader(`{"command":"peek","name":"api"}`))
	}
	for n := range relay.MostOfHost {
		testenv.NoError(t, ask("lap", n))
	}
	if err := ask("lap", 100); !errors.As(err, new(*relay.Refused)) || !strings.Contains(err.Error(), "it is busy") {
		t.Errorf("one too many: %v", err)
	}
	if err := ask("desk", 101); err != nil {
		t.Errorf("another host: %v", err)
	}
	testenv.NoError(t, os.WriteFile(release, nil, 0o600))
}

// TestLostAfter shows that each relay of this host, however it is started, takes the setting.
func TestLostAfter(t *testing.T) {
	c, _ := world(t)
	config := filepath.Join(c.env.Getenv("HOME"), ".config", "gt")
	err := os.MkdirAll(config, 0o700)
	if err == nil {
		err = os.WriteFile(filepath.Join(config, "config.toml"), []byte("[relay]\nlost_after = \"25m\"\n"), 0o600)
	}
	testenv.NoError(t, err)
	if o := Options(t.Context(), c.env, c.state, c.warn); o.LostAfter != 25*time.Minute {
		t.Errorf("%v", o.LostAfter)
	}
}
