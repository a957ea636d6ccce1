package gt_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"gt/internal/testenv"
)

// TestPrintedConfig shows that a NATS server with what gt-hub --print-config prints, and hosts
// that have only the rights that it names, is a hub: a note and a log come through it.
func TestPrintedConfig(t *testing.T) {
	testenv.Sample(t, 3)
	t.Parallel()
	bin, _, _ := strings.Cut(os.Getenv("PATH"), ":") // see TestMain
	w := &relayWorld{t: t, dir: t.TempDir(), path: bin + ":/usr/bin:/bin", runs: map[string]*exec.Cmd{}}
	t.Cleanup(func() {
		for name := range w.runs {
			w.kill(name)
		}
	})
	if err := os.Mkdir(w.pathOf("hub"), 0o700); err != nil {
		t.Fatal(err)
	}
	printed := w.requireOutput(w.command("hub", "gt-hub", "--print-config").Output())
	rights := func(what, key string) string {
		found := regexp.MustCompile(`(?m)^# +` + what + ` +(.*)$`).FindStringSubmatch(printed)
		if found == nil {
			t.Fatalf("no rights to %s: %s", what, printed)
		}
		return `["` + strings.Join(strings.Fields(strings.ReplaceAll(found[1], "KEY", key)), `", "`) + `"]`
	}

	// A host has a key once it has tried to join.
	users := ""
	for _, name := range []string{"a", "b"} {
		if err := os.Mkdir(w.pathOf(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if out, err := w.command(name, "gt-relay", "join", "--name", name, "nats://127.0.0.1:1").CombinedOutput(); err == nil {
			t.Fatalf("it joined nothing: %s", out)
		}
		var own struct{ Key string }
		if err := json.Unmarshal([]byte(w.requireOutput(w.command(name, "gt-relay", "status", "--json").Output())), &own); err != nil {
			t.Fatal(err)
		}
		users += fmt.Sprintf("{nkey: %s, permissions: {publish: %s, subscribe: %s}}\n", own.Key, rights("publish", own.Key), rights("subscribe", own.Key))
	}
	config := strings.Replace(printed, "/var/lib/nats", w.pathOf("store"), 1) + "authorization { users = [\n" + users + "] }\n"
	if err := os.WriteFile(w.pathOf("nats.conf"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	o, err := server.ProcessConfigFile(w.pathOf("nats.conf"))
	if err != nil {
		t.Fatal(err)
	}
	o.Host, o.Port, o.NoSigs, o.NoLog = "127.0.0.1", server.RANDOM_PORT, true, true
	s, err := server.NewServer(o)
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	t.Cleanup(func() { s.Shutdown(); s.WaitForShutdown() })
	if !s.ReadyForConnections(20 * time.Second) {
		t.Fatal("the server does not start")
	}
	if !o.SyncAlways || o.JetStreamLimits.DefaultMaxConsumers != -1 || o.StoreDir != w.pathOf("store") {
		t.Errorf("the server understands something else: %v, %d, %s", o.SyncAlways, o.JetStreamLimits.DefaultMaxConsumers, o.StoreDir)
	}

	for _, name := range []string{"a", "b"} {
		w.requireOutput(w.command(name, "gt-relay", "join", "--name", name, s.ClientURL()).CombinedOutput())
		w.requireOutput(w.command(name, "git", "init", "-q", "work").CombinedOutput())
	}
	w.requireOutput(w.command("a", "gt-relay", "sync", "--wait", "10m").CombinedOutput()) // it joined before b
	w.requireOutput(w.command("a", "gt-relay", "allow", "b", "records").CombinedOutput())
	w.requireOutput(w.command("b", "sh", "-c", "cd work && gt-mail send self -s 'note 000' -m x").CombinedOutput())
	w.send("note 001")
	w.start("a")
	w.start("b")
	w.check([]string{"note 000", "note 001"})
}
