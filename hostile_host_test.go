package gt_test

import (
	"archive/tar"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/nats-io/nats.go"

	"gt/internal/testenv"
	"gt/lib/relay/dial"
	"gt/lib/relay/seal"
	"gt/lib/state/peer"
)

// oddJSON are values that a field can have instead of its own.
var oddJSON = []string{
	`null`, `-1`, `1e300`, `true`, `""`, `"../../x"`, `"-x"`, `"--force"`, `"$(touch ran)"`, `"a\u0000b"`, `"\u001b]52;c;eA==\u0007\u202e\n\u009b31m"`, `"\ud800"`, `[]`, `{}`,
	`"0000-01-01T00:00:00+14:00"`, `"9999-12-31T23:59:59-14:00"`, `18446744073709551616`, `"` + strings.Repeat("x", 3000) + `"`,
}

// odd returns texts of JSON in which a field of a good one is odd, missing or there twice.
func odd(good string) (all []string) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal([]byte(good), &fields); err != nil {
		panic(err)
	}
	for name := range fields {
		for _, value := range oddJSON {
			all = append(all, strings.Replace(good, fmt.Sprintf("%q:%s", name, fields[name]), fmt.Sprintf("%q:%s", name, value), 1))
		}
		all = append(all, strings.Replace(good, "{", fmt.Sprintf("{%q:[1],", name), 1), strings.Replace(good, fmt.Sprintf("%q:", name), `"other":`, 1), good+good)
	}
	return append(all, "", "null", "[]", "x", "\x00\xff", strings.Repeat("[", 20_000))
}

// unprintable returns what a terminal would not show as it is, or "".
func unprintable(text string) string {
	at := strings.IndexFunc(text, func(r rune) bool {
		return r != '\n' && r != '\t' && (unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r))
	})
	if at < 0 {
		return ""
	}
	return text[max(at-40, 0):min(at+40, len(text))]
}

// TestHostileHost has a host that was taken over, and is allowed everything, send letters, logs, agents and
// beats of each kind in which a field is odd. The relay of the other one goes on: it takes what follows, nothing
// of them ran or lies outside of its own folders, and what the programs there print is printable.
func TestHostileHost(t *testing.T) {
	testenv.Sample(t, 3)
	t.Parallel()
	w := newRelayFleet(t, func(string) {}, "b", "evil")
	w.requireOutput(w.command("b", "git", "init", "-q", "work").CombinedOutput())
	w.requireOutput(w.command("b", "sh", "-c", "cd work && gt-mail send self -s 'note 000' -m x").CombinedOutput())
	w.requireOutput(w.command("b", "gt-relay", "sync", "--wait", "10m").CombinedOutput())
	w.requireOutput(w.command("b", "gt-relay", "allow", "evil", "all").CombinedOutput())
	w.start("b")
	state := w.state("evil")
	keys, err := seal.Load(state, false)
	testenv.NoError(t, err)
	at, err := dial.Load(state)
	testenv.NoError(t, err)
	b, err := peer.NewHosts(w.state("b")).LocalHost()
	testenv.NoError(t, err)
	ctx, done := context.WithCancel(t.Context())
	defer done()
	var nc *nats.Conn
	connect := func() {
		if nc, err = at.Connect(ctx, keys, dial.Program{}); err != nil {
			t.Fatal(err)
		}
	}
	connect()
	defer func() { nc.Close() }()
	sent := 0
	publish := func(subject string, msg []byte, err error) {
		t.Helper()
		testenv.NoError(t, err)
		if sent++; sent%50 == 0 {
			if nc.IsClosed() {
				connect()
			}
			testenv.NoError(t, nc.FlushTimeout(time.Minute))
		}
		if err := nc.Publish("gt."+keys.Public()+"."+subject, msg); err != nil {
			connect()
		}
	}
	now := time.Now().UnixMilli()
	plain := func(kind string, body string) {
		now++
		msg, err := keys.Plain(seal.Header{Kind: kind, At: now}, []byte(body))
		publish(kind, msg, err)
	}
	sealed := func(subject string, h seal.Header, body string) {
		if h.To = b.Key; h.At == 0 {
			now++
			h.At = now
		}
		msg, err := keys.ForHost(b.Box, h, []byte(body))
		publish(subject+"."+b.Key, msg, err)
	}
	n := 0
	id := func() string { n++; return fmt.Sprintf("%d.M1R%08x.x", time.Now().Unix(), n) }
	letter := func(kind, text string) {
		e := fmt.Sprintf(`{"size":%d,"sha256":"%064d","yours":%d}`+"\n", len(text), 0, time.Now().UnixMilli())
		sealed("to", seal.Header{Kind: kind, ID: id()}, e+text)
	}

	hello := fmt.Sprintf(`{"name":"evil","box":%q,"version":"v1"}`, keys.Recipient())
	for _, text := range odd(hello) {
		plain("hello", text)
	}
	plain("hello", hello)
	for _, text := range odd(`{"process":"x","heads":{"events":{"size":5,"check":"x"}},"every":40}`) {
		plain("beat", text)
	}
	agent := `{"id":"0b1c2d3e-0000-4000-8000-000000000001","name":"api","title":"t","path":"/x","group":"g","agent":"claude","desired":"running","status":"running","reason":"r","since":"2026-01-17T01:00:00Z","session_id":"s","chain_id":"s","profile":"p","town":"t","template":"t","state":"s","routable":true,"departures":[]}`
	plain("states", `{"templates":["\u001b[31m","t"]}`+"\n"+strings.Join(odd(agent), "\n")+"\n"+agent+"\n")
	for i, text := range odd(`{"ts":"2026-01-17T01:00:00Z","source":"gt","type":"session_start","actor":"a","payload":{"session_id":"s","agent":"claude","cwd":"/x"}}`) {
		line := text + "\n"
		plain("feed", fmt.Sprintf(`{"name":"town.x-%d","for":0,"at":0,"size":%d}`+"\n%s", i%9, len(line), line))
	}
	for _, text := range odd(`{"name":"events","for":0,"at":0,"size":3}`) {
		plain("feed", text+"\n{}\n")
	}
	for _, words := range []string{"", "peek \x1b[31m \u202e x", strings.Repeat("x", 2000), "\x00", "all"} {
		now++
		sealed("allows", seal.Header{Kind: "allows"}, words)
	}
	for _, text := range odd(`{"name":"log/events","from":0,"check":"x"}`) {
		sealed("ask", seal.Header{Kind: "file", ID: "1"}, text)
		sealed("chunk", seal.Header{Kind: "file", ID: "1"}, text+"\n")
	}
	for _, text := range odd(`{"letter":"1795712515.M1R00000001.x","template":"t","recall":true,"late":true}`) {
		sealed("ask", seal.Header{Kind: "leases"}, "["+text+"]")
	}
	for _, text := range odd(`{"letter":"1795712515.M1R00000001.x","state":"open","host":"b","key":"U","at":"2026-01-17T01:00:00Z","session":"s","reason":"r","again":1}`) {
		sealed("chunk", seal.Header{Kind: "leases"}, "["+text+"]")
	}
	for _, text := range odd(`{"size":5,"check":"x","off":false}`) {
		sealed("chunk", seal.Header{Kind: "records"}, text)
	}
	note := "From: x\nTo: " + w.pathOf("b/work") + "@b\nSubject: s\nDate: Sat, 17 Jan 2026 01:00:00 +0000\nX-Gt-Type: note\nX-Gt-Chain: s\nX-Gt-Host: b\n\ntext\n"
	for _, field := range []string{"From", "To", "Subject", "Date", "X-Gt-Type", "X-Gt-Chain", "X-Gt-Host", "Message-Id", "Content-Type", "In-Reply-To"} {
		for _, value := range []string{"", "../../x", "\x1b]52;c;eA==\a", "=?utf-8?q?=1b[31m=e2=80=ae?=", "Fri, 31 Dec 9999 23:59:59 -1400", "Sat, 01 Jan 0000 00:00:00 +1400", strings.Repeat("x", 50_000), "multipart/mixed; boundary=x", "handoff", "work"} {
			kind := peer.Note
			if n%3 == 0 {
				kind = peer.Work
			}
			letter(kind, field+": "+value+"\n"+note)
		}
	}
	for _, command := range slices.Concat(peer.Commands, []string{"new", "rm", "unpack"}) {
		for i, text := range odd(fmt.Sprintf(`{"command":%q,"name":"api","text":"x","n":1,"question":"q","json":true,"slash":true,"now":true}`, command)) {
			if i%7 == 0 { // four run at once
				letter(peer.Command, text)
			}
		}
	}
	for _, text := range odd(`{"to":"1795712515.M1R00000001.x","code":0,"stdout":"x","stderr":"x"}`) {
		letter(peer.Result, text)
	}
	var parcel bytes.Buffer
	archive := tar.NewWriter(&parcel)
	testenv.NoError(t, archive.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: "manifest.json", Size: 2}))
	_, err = archive.Write([]byte("{}"))
	testenv.NoError(t, err)
	for _, text := range []string{"", "x", parcel.String(), strings.Repeat("\x00", 2048)} {
		letter(peer.Session, text)
	}
	for _, envelope := range odd(`{"size":4,"sha256":"x","yours":1}`) {
		sealed("to", seal.Header{Kind: peer.Note, ID: id()}, envelope+"\ntext")
	}
	for _, h := range []seal.Header{
		{Kind: "", ID: id()}, {Kind: "NOTE", ID: id()}, {Kind: "../x", ID: id()}, {Kind: strings.Repeat("x", 3000), ID: id()}, {Kind: peer.Note, ID: "../../x"},
		{Kind: peer.Note, ID: ""}, {Kind: peer.Note, ID: "1.M1R00000001." + strings.Repeat("x", 65)}, {Kind: peer.Note, ID: "\x1b[31m"}, {Kind: peer.Note, ID: id(), At: -1}, {Kind: peer.Note, ID: id(), At: 253402300799999},
		{Kind: "receipt", ID: id()}, {Kind: "hello", ID: id()}, {Kind: peer.Note, ID: "999999999999.M999999R00000001.x"}, {Kind: "reason", ID: id()},
	} {
		sealed("to", h, "{\"size\":4}\ntext")
		sealed("receipt", h, "\x1b[31m")
	}
	letter(peer.Note, strings.Replace(note, "Subject: s", "Subject: the last one", 1))
	testenv.NoError(t, nc.FlushTimeout(time.Minute))
	came := func() bool { // others are moved meanwhile
		boxes, _ := filepath.Glob(w.state("b").Path("homes", "work-*", "mail/new/*"))
		return slices.ContainsFunc(boxes, func(path string) bool {
			data, err := os.ReadFile(path)
			return err == nil && bytes.Contains(data, []byte("Subject: the last one\n"))
		})
	}
	for end := time.Now().Add(10 * time.Minute); !came(); time.Sleep(100 * time.Millisecond) {
		if time.Now().After(end) {
			status := w.requireOutput(w.command("b", "gt-relay").CombinedOutput())
			t.Fatalf("b does not go on: %s", status)
		}
	}
	for _, line := range []string{
		"gt-relay", "gt-relay --json", "gt-session list --hosts", "gt-session list --hosts --json", "gt-session list", "gt-seance list --host evil", "gt-seance list --host evil --json",
		"gt-seance timeline", "gt-mail outbox", "gt-session status api@evil", "gt-krc stats",
	} {
		out, err := w.command("b", strings.Fields(line)...).CombinedOutput()
		if bad := unprintable(string(out)); bad != "" || bytes.Contains(out, []byte("goroutine ")) {
			t.Errorf("%s prints %q, %v", line, bad, err)
		}
	}
	inbox := w.command("b", "gt-mail")
	inbox.Dir = w.pathOf("b/work")
	if out, _ := inbox.CombinedOutput(); unprintable(string(out)) != "" {
		t.Errorf("gt-mail prints %q", unprintable(string(out)))
	}
	err = filepath.WalkDir(w.pathOf("b"), func(path string, e os.DirEntry, err error) error {
		name, _ := filepath.Rel(w.pathOf("b"), path)
		if e.IsDir() && slices.Contains([]string{".local/state/gt", "work/.git"}, name) {
			return filepath.SkipDir
		}
		if !e.IsDir() {
			t.Errorf("there is %s", name)
		}
		return err
	})
	testenv.NoError(t, err)
	peers, err := os.ReadDir(w.pathOf("b/.local/state/gt/peers"))
	if err != nil || len(peers) != 1 {
		t.Errorf("%v, %v", peers, err)
	}
	t.Logf("%d messages", sent)
}
