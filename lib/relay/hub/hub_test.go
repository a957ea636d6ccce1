package hub

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"gt/internal/testenv"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"gt/lib/place"
	"gt/lib/relay/invite"
	"gt/lib/relay/seal"
	"gt/lib/relay/streams"
)

// world is a hub that listens on loopback.
type world struct {
	*Hub
	t   *testing.T
	now time.Time
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{t: t, now: time.Now()}
	h, err := Start(Options{
		Store: filepath.Join(t.TempDir(), "hub"), Listen: "127.0.0.1:0", MaxStore: 1 << 30,
		Now: func() time.Time { return w.now }, Warn: func(err error) { t.Log(err) },
	})
	testenv.NoError(t, err)
	t.Cleanup(h.Close)
	w.Hub = h
	return w
}

func (w *world) fingerprint() string { return invite.Fingerprint(w.cert.Certificate[0]) }

func keys(t *testing.T) *seal.Keys {
	t.Helper()
	k, err := seal.Load(place.State(t.TempDir()), true)
	testenv.NoError(t, err)
	return k
}

// refusals are the errors that a connection was told of.
type refusals struct {
	mu  sync.Mutex
	all []error
}

func (r *refusals) add(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all = append(r.all, err)
}

// take returns the errors so far, and forgets them.
func (r *refusals) take() []error {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := r.all
	r.all = nil
	return all
}

// host returns a host that was admitted, and its connection.
func (w *world) host(errs *refusals) (*seal.Keys, *nats.Conn) {
	w.t.Helper()
	k := keys(w.t)
	if err := w.Admit(k.Public(), "x"); err != nil {
		w.t.Fatal(err)
	}
	nc, err := w.connect(k, nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { errs.add(err) }))
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(nc.Close)
	return k, nc
}

func (w *world) connect(k *seal.Keys, more ...nats.Option) (*nats.Conn, error) {
	return nats.Connect("tls://"+w.Addr(), append(more, nats.Secure(invite.Pinned(w.fingerprint())), nats.Nkey(k.Public(), k.Sign),
		nats.CustomInboxPrefix(streams.InboxPrefix(k.Public())), nats.NoReconnect())...)
}

// TestWhoMayConnect shows that only an admitted host with its key gets in, and only an
// invitation that is new and unused admits one.
func TestWhoMayConnect(t *testing.T) {
	w := newWorld(t)
	stranger := keys(t)
	if _, err := w.connect(stranger); !errors.Is(err, nats.ErrAuthorization) {
		t.Error("a stranger:", err)
	}
	if _, err := nats.Connect("tls://"+w.Addr(), nats.Secure(invite.Pinned(w.fingerprint()))); !errors.Is(err, nats.ErrAuthorization) {
		t.Error("nobody:", err)
	}
	if _, err := nats.Connect("tls://"+w.Addr(), nats.Secure(&tls.Config{MinVersion: tls.VersionTLS13, ServerName: "gt-hub"})); err == nil {
		t.Error("an unknown certificate was believed")
	}
	k, _ := w.host(new(refusals))
	other := keys(t)
	if _, err := nats.Connect("tls://"+w.Addr(), nats.Secure(invite.Pinned(w.fingerprint())), nats.Nkey(k.Public(), other.Sign)); !errors.Is(err, nats.ErrAuthorization) {
		t.Error("with another host's key:", err)
	}
	i, err := Invite(w.Store, w.Addr(), w.now)
	testenv.NoError(t, err)
	bad := i
	bad.Fingerprint = strings.Repeat("0", 64)
	if err := invite.Accept(bad, stranger, "s"); err == nil || !strings.Contains(err.Error(), "another certificate") {
		t.Error("a hub with another certificate:", err)
	}
	bad = i
	bad.Secret += "x"
	if err := invite.Accept(bad, stranger, "s"); !errors.Is(err, invite.ErrUsed) {
		t.Error("a wrong secret:", err)
	}
	w.now = w.now.Add(InviteFor)
	if err := invite.Accept(i, stranger, "s"); !errors.Is(err, invite.ErrUsed) {
		t.Error("an old invitation:", err)
	}
	w.now = w.now.Add(-InviteFor)
	if err := ask(w, i, invite.Request{Secret: i.Secret, Key: k.Public(), Name: "s", Proof: []byte("none")}); err == nil {
		t.Error("with another host's key")
	}
	if err := invite.Accept(i, stranger, "s"); err != nil {
		t.Error(err)
	}
	if err := invite.Accept(i, other, "o"); !errors.Is(err, invite.ErrUsed) {
		t.Error("a used invitation:", err)
	}
	nc, err := w.connect(stranger)
	testenv.NoError(t, err)
	defer nc.Close()
	testenv.NoError(t, RemoveHost(w.Store, stranger.Public()))
	w.Sweep()
	for end := time.Now().Add(time.Minute); !nc.IsClosed() && time.Now().Before(end); {
		time.Sleep(20 * time.Millisecond)
	}
	if !nc.IsClosed() {
		t.Error("a host that was removed is still connected")
	}
}

// TestOddConnect shows that the hub and the server behind it read the same in how a connection says
// who it is: JSON has more than one way to write a name, and a text can have one twice.
func TestOddConnect(t *testing.T) {
	w := newWorld(t)
	a, _ := w.host(new(refusals))
	b, _ := w.host(new(refusals))
	// connect has the server answer CONNECT and more lines. %[1]s is a's key, %[2]s its signature, %[3]s b's key.
	connect := func(says string, more ...string) string {
		t.Helper()
		c, err := net.Dial("tcp", w.Addr())
		testenv.NoError(t, err)
		defer c.Close()
		line, err := bufio.NewReader(c).ReadString('\n')
		testenv.NoError(t, err)
		var info struct{ Nonce string }
		testenv.NoError(t, json.Unmarshal([]byte(strings.TrimPrefix(line, "INFO ")), &info))
		sig, err := a.Sign([]byte(info.Nonce))
		testenv.NoError(t, err)
		secure := tls.Client(c, invite.Pinned(w.fingerprint()))
		says = strings.NewReplacer("{a}", a.Public(), "{sig}", base64.RawURLEncoding.EncodeToString(sig), "{b}", b.Public()).Replace(says)
		_, err = fmt.Fprintf(secure, "CONNECT %s\r\n%sPING\r\n", says, strings.Join(append(more, ""), "\r\n"))
		testenv.NoError(t, err)
		var answers strings.Builder
		for lines := bufio.NewScanner(secure); lines.Scan(); {
			switch line := lines.Text(); {
			case line == "PONG":
				return answers.String()
			case line != "+OK" && !strings.HasPrefix(line, "INFO "):
				fmt.Fprintln(&answers, line)
			}
		}
		return "-ERR: it is closed"
	}
	const honest = `"protocol":1,"nkey":"{a}","sig":"{sig}"`
	if got := connect(`{` + honest + `}`); got != "" {
		t.Fatalf("an honest host is told %s", got)
	}
	for _, says := range []string{`{"USER":""}`, `{"uſer":""}`, `{"u\u017fer":""}`, `{"uſer":null}`, `{"uſer":"x"}`, `{"user":"gt-invite","uſer":""}`, `{"user":["x"]}`, `{}`, `null`, `[]`, ``, `x`} {
		if got := connect(says, "SUB > 1"); !strings.HasPrefix(got, "-ERR") {
			t.Errorf("a stranger who says %s is told %q", says, got)
		}
	}
	reply := "PUB gt." + a.Public() + ".feed " + streams.InboxPrefix(b.Public()) + ".x 1\r\nx"
	for _, says := range []string{`{` + honest + `}`, `{"nkey":"{b}","nKey":"{a}","sig":"{sig}"}`, `{"nKEY":"{a}","nkey":"{b}","sig":"{sig}"}`, `{"nkey":"{b}","nkey":"{a}","sig":"{sig}"}`} {
		if got := connect(says, reply); !strings.HasPrefix(got, "-ERR") {
			t.Errorf("a host that says %s can have an answer written to another: %q", says, got)
		}
	}
}

// TestInvited shows that whoever has an invitation can join, and hears and sends nothing else.
func TestInvited(t *testing.T) {
	w := newWorld(t)
	i, err := Invite(w.Store, w.Addr(), w.now)
	testenv.NoError(t, err)
	var errs refusals
	nc, err := nats.Connect("tls://"+w.Addr(), nats.UserInfo(invite.User, i.Secret), nats.Secure(invite.Pinned(w.fingerprint())), nats.NoReconnect(),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { errs.add(err) }))
	testenv.NoError(t, err)
	defer nc.Close()
	all, err := nc.SubscribeSync("_INBOX.>")
	testenv.NoError(t, err)
	testenv.NoError(t, nc.FlushTimeout(time.Minute))
	k, _ := w.host(new(refusals))         // the hub makes its stream
	own, err := w.Connect(t.Context(), k) // a relay in the hub's process
	testenv.NoError(t, err)
	defer own.Close()
	_, err = own.Request("$JS.API.INFO", nil, time.Minute)
	testenv.NoError(t, err)
	testenv.NoError(t, nc.FlushTimeout(time.Minute))
	if n, _, _ := all.Pending(); n > 0 {
		m, _ := all.NextMsg(time.Second)
		t.Errorf("it hears %d messages: %s: %.100s", n, m.Subject, m.Data)
	}
	tries := []func() error{
		func() error { return nc.Publish("gt."+k.Public()+".beat", nil) },
		func() error { return nc.Publish("$JS.API.INFO", nil) },
		func() error { return nc.Publish("_INBOX.x", nil) },
		func() error { return nc.PublishRequest(invite.Subject, "gt."+k.Public()+".beat", nil) },
		func() error { return nc.Publish(invite.Subject, make([]byte, maxInvited+1)) },
		func() error { _, err := nc.SubscribeSync("gt.>"); return err },
	}
	for _, try := range tries {
		testenv.NoError(t, try())
	}
	testenv.NoError(t, nc.FlushTimeout(time.Minute))
	var refused []error
	for end := time.Now().Add(time.Minute); len(refused) < len(tries) && time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		refused = append(refused, errs.take()...)
	}
	if len(refused) != len(tries) {
		t.Errorf("%d of %d tries were refused: %q", len(refused), len(tries), refused)
	}
}

// TestManyConnections shows that a host that connects without end ends its own connections, and no
// other host's, nor by saying that it has another host's key.
func TestManyConnections(t *testing.T) {
	w := newWorld(t)
	a, first := w.host(new(refusals))
	_, other := w.host(new(refusals))
	for range maxConnections - 1 {
		nc, err := w.connect(a)
		testenv.NoError(t, err)
		defer nc.Close()
	}
	for range maxConnections {
		if _, err := nats.Connect("tls://"+w.Addr(), nats.Secure(invite.Pinned(w.fingerprint())), nats.Nkey(a.Public(), keys(t).Sign)); !errors.Is(err, nats.ErrAuthorization) {
			t.Fatal(err)
		}
	}
	testenv.NoError(t, first.FlushTimeout(time.Minute))
	last, err := w.connect(a)
	testenv.NoError(t, err)
	defer last.Close()
	for end := time.Now().Add(time.Minute); !first.IsClosed() && time.Now().Before(end); {
		time.Sleep(20 * time.Millisecond)
	}
	if !first.IsClosed() {
		t.Error("its first connection goes on")
	}
	testenv.NoError(t, errors.Join(other.FlushTimeout(time.Minute), last.FlushTimeout(time.Minute)))
}

// unread returns a connection of a host that listens to a subject and reads nothing.
func (w *world) unread(k *seal.Keys, subject string) net.Conn {
	w.t.Helper()
	c, err := net.Dial("tcp", w.Addr())
	testenv.NoError(w.t, err)
	w.t.Cleanup(func() { c.Close() })
	line, err := bufio.NewReader(c).ReadString('\n')
	testenv.NoError(w.t, err)
	var info struct{ Nonce string }
	testenv.NoError(w.t, json.Unmarshal([]byte(strings.TrimPrefix(line, "INFO ")), &info))
	sig, err := k.Sign([]byte(info.Nonce))
	testenv.NoError(w.t, err)
	secure := tls.Client(c, invite.Pinned(w.fingerprint()))
	_, err = fmt.Fprintf(secure, "CONNECT {\"protocol\":1,\"nkey\":%q,\"sig\":%q}\r\nSUB %s 1\r\nPING\r\n", k.Public(), base64.RawURLEncoding.EncodeToString(sig), subject)
	testenv.NoError(w.t, err)
	for lines := bufio.NewReaderSize(secure, 16); line != "PONG\r\n"; {
		line, err = lines.ReadString('\n')
		testenv.NoError(w.t, err)
	}
	return c
}

// TestUnread shows how much of the hub's memory a host has at most that reads nothing of what it has sent
// to itself.
func TestUnread(t *testing.T) {
	w := newWorld(t)
	a, _ := w.host(new(refusals))
	b, bc := w.host(new(refusals))
	subject := "gt." + b.Public() + ".chunk." + a.Public()
	heap := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapAlloc >> 20
	}
	before, most := heap(), 0
	var after uint64
	text := make([]byte, streams.MaxMessage)
	for n := range 80 {
		if n%20 == 0 && n < 60 { // also once the hub waits for those before
			for range 4 {
				w.unread(a, subject)
			}
		}
		testenv.NoError(t, errors.Join(bc.Publish(subject, text), bc.FlushTimeout(time.Minute)))
		conns, err := w.server.Connz(&server.ConnzOptions{Username: true})
		testenv.NoError(t, err)
		total := 0
		for _, c := range conns.Conns {
			if c.AuthorizedUser == a.Public() {
				total += c.Pending
			}
		}
		if most = max(most, total); n%8 == 7 {
			after = max(after, heap())
		}
	}
	t.Logf("%d MiB wait at most; the heap has %d MiB more", most>>20, after-before)
	if most < 1<<20 || most > 66<<20 {
		t.Errorf("%d bytes wait", most)
	}
}

// TestStrangers shows that whoever connects without a key, however often, keeps no host out and has few
// connections at a time.
func TestStrangers(t *testing.T) {
	w := newWorld(t)
	_, first := w.host(new(refusals))
	for range maxUnproved + 100 {
		c, err := net.Dial("tcp", w.Addr())
		testenv.NoError(t, err)
		defer c.Close()
		_, err = bufio.NewReader(c).ReadString('\n') // it is registered
		testenv.NoError(t, err)
	}
	w.mu.Lock()
	n := len(w.gates)
	w.mu.Unlock()
	if n > maxUnproved+1 {
		t.Errorf("%d connections", n)
	}
	w.host(new(refusals))
	testenv.NoError(t, first.FlushTimeout(time.Minute))
}

// farConn is a connection of a host with this address.
type farConn struct {
	net.Conn
	address string
	closed  bool
}

func (c *farConn) RemoteAddr() net.Addr { return &net.TCPAddr{IP: net.ParseIP(c.address), Port: 1} }
func (c *farConn) Close() error         { c.closed = true; return nil }

// TestStrangersOfOneAddress shows that a flood from one address ends connections of that address only.
func TestStrangersOfOneAddress(t *testing.T) {
	h := new(Hub)
	calm := &farConn{address: "10.0.0.1"}
	h.registerGate(&gate{conn: calm})
	var flood []*farConn
	for range maxUnproved + 10 {
		c := &farConn{address: "10.0.0.2"}
		flood = append(flood, c)
		h.registerGate(&gate{conn: c})
	}
	if calm.closed || !flood[0].closed || flood[len(flood)-1].closed || len(h.gates) != maxUnproved {
		t.Errorf("calm %v, first %v, last %v, %d connections", calm.closed, flood[0].closed, flood[len(flood)-1].closed, len(h.gates))
	}
}

// ask makes a request with an invitation.
func ask(w *world, i invite.Invitation, q invite.Request) error {
	nc, err := nats.Connect("tls://"+w.Addr(), nats.UserInfo(invite.User, i.Secret), nats.Secure(invite.Pinned(w.fingerprint())))
	if err != nil {
		return err
	}
	defer nc.Close()
	data, err := json.Marshal(q)
	if err != nil {
		return err
	}
	m, err := nc.Request(invite.Subject, data, time.Minute)
	if err == nil && string(m.Data) != "ok" {
		err = errors.New(string(m.Data))
	}
	return err
}

// TestWhatAHostMayDo has a host that was taken over try what would harm others: forge a
// sender, read what is for another host, delete, change streams, listen to answers.
func TestWhatAHostMayDo(t *testing.T) {
	w := newWorld(t)
	var errs refusals
	a, ac := w.host(&errs)
	b, bc := w.host(new(refusals))
	js, err := jetstream.New(bc)
	testenv.NoError(t, err)
	ctx, done := context.WithTimeout(context.Background(), time.Minute)
	defer done()
	if _, err := js.Publish(ctx, "gt."+b.Public()+".to."+a.Public(), []byte("hello")); err != nil {
		t.Fatal("a host cannot write to another:", err)
	}
	in := streams.InboxStream(b.Public())
	refused := func(what string, try func() error) {
		t.Helper()
		errs.take()
		if try() != nil {
			return
		}
		for end := time.Now().Add(time.Minute); len(errs.take()) == 0; time.Sleep(10 * time.Millisecond) {
			_ = ac.FlushTimeout(time.Minute)
			if time.Now().After(end) {
				t.Fatalf("a host can %s", what)
			}
		}
	}
	publish := func(subject string) func() error {
		return func() error { return ac.Publish(subject, []byte("x")) }
	}
	request := func(subject string, v any) func() error {
		return func() error {
			data, _ := json.Marshal(v)
			m, err := ac.Request(subject, data, 300*time.Millisecond)
			switch {
			case errors.Is(err, nats.ErrTimeout): // whoever refuses it says so elsewhere
				return nil
			case err == nil && bytes.Contains(m.Data, []byte(`"error"`)):
				return errors.New("refused")
			}
			return err
		}
	}
	refused("send as another host", publish("gt."+b.Public()+".to."+a.Public()))
	refused("beat as another host", publish("gt."+b.Public()+".beat"))
	refused("publish a reply to another host", publish(streams.InboxPrefix(b.Public())+".x"))
	refused("publish anywhere", publish("x"))
	stolen := "gt." + b.Public() + ".to." + b.Public()
	replyTo := func(subject string, body string) func() error {
		return func() error { return ac.PublishRequest(subject, stolen, []byte(body)) }
	}
	refused("have an acknowledgement written to another host", replyTo("gt."+a.Public()+".feed", "x"))
	refused("have an answer written to another host", replyTo("$JS.API.STREAM.INFO."+streams.Feeds, ""))
	refused("have messages written to another host", replyTo("$JS.API.CONSUMER.MSG.NEXT."+streams.Feeds+".c", `{"batch":100}`))
	refused("have an answer written to another host's inbox", func() error { return ac.PublishRequest("$JS.API.INFO", streams.InboxPrefix(b.Public())+".x", nil) })
	create := func(config string) func() error {
		body := fmt.Sprintf(`{"stream_name":%q,"config":{"name":"p","ack_policy":"none",%s}}`, streams.Feeds, config)
		return request("$JS.API.CONSUMER.CREATE."+streams.Feeds+".p", json.RawMessage(body))
	}
	if err := create(`"inactive_threshold":60000000000`)(); err != nil {
		t.Fatal("a host cannot make a consumer:", err)
	}
	for _, config := range []string{
		`"deliver_subject":"` + stolen + `"`, `"Deliver_Subject":"` + stolen + `"`, `"deliver_group":"x"`, `"durable_name":"p"`,
		`"inactive_threshold":9000000000000000`, `"inactive_threshold":0`, `"inactive_threshold":"x"`, `"name":"p"},"Config":{"deliver_subject":"` + stolen + `"`,
	} {
		refused("make a consumer with "+config, create(config))
	}
	// The server keeps a config that a null follows, where the gate sees none.
	pushes := fmt.Sprintf(`{"stream_name":%q,"config":{"name":"q","ack_policy":"none","deliver_subject":%q},"config":null}`, streams.Feeds, stolen)
	if _, err := ac.Request("$JS.API.CONSUMER.CREATE."+streams.Feeds+".q", []byte(pushes), time.Minute); err != nil {
		t.Error(err)
	}
	if pushing, err := w.js.PushConsumer(ctx, streams.Feeds, "q"); err == nil {
		t.Errorf("a host can have messages written to %s", pushing.CachedInfo().Config.DeliverSubject)
	}
	for _, question := range []string{`{"expires":60000000000,"idle_heartbeat":1}`, `{"idle_heartbeat":90000000000,"IDLE_HEARTBEAT":1,"expires":200000000000}`, `x`, ``} {
		refused("ask with "+question, func() error {
			return ac.PublishRequest("$JS.API.CONSUMER.MSG.NEXT."+streams.Feeds+".p", streams.InboxPrefix(a.Public())+".x", []byte(question))
		})
	}
	made, err := w.js.Consumer(ctx, streams.Feeds, "p")
	testenv.NoError(t, err)
	if n := made.CachedInfo().Config.MaxWaiting; n != maxQuestions {
		t.Errorf("%d questions of a host may wait", n)
	}
	m, err := ac.Request("$JS.API.STREAM.INFO."+streams.InboxStream(a.Public()), []byte(`{"subjects_filter":">","deleted_details":true}`), time.Minute)
	testenv.NoError(t, err)
	if bytes.Contains(m.Data, []byte(`"subjects":{`)) {
		t.Errorf("a host has a stream's subjects counted: %s", m.Data)
	}
	for kind, size := range map[string]int{"hello": 9 << 10, "beat": 300 << 10, "to." + b.Public(): 100 << 10, "allows." + b.Public(): 9 << 10, "odd": 1} {
		refused("publish much "+kind, func() error { return ac.Publish("gt."+a.Public()+"."+kind, make([]byte, size)) })
	}
	refused("tell no host what it allows", publish("gt."+a.Public()+".allows.x"))
	if s, err := w.js.Stream(ctx, in); err != nil || s.CachedInfo().State.Msgs != 0 {
		t.Errorf("another host's letters: %v, %v", s, err)
	}
	refused("join hosts", request("gt.join", invite.Request{}))
	refused("delete a message", request("$JS.API.STREAM.MSG.DELETE."+streams.Feeds, map[string]any{"seq": 1}))
	refused("purge a stream", request("$JS.API.STREAM.PURGE."+streams.Feeds, map[string]any{}))
	refused("delete a stream", request("$JS.API.STREAM.DELETE."+in, nil))
	refused("change a stream", request("$JS.API.STREAM.UPDATE."+streams.Feeds, map[string]any{"name": streams.Feeds, "subjects": []string{"x"}}))
	refused("make a stream", request("$JS.API.STREAM.CREATE.X", map[string]any{"name": "X", "subjects": []string{"x"}}))
	refused("read a message of another host's stream", request("$JS.API.STREAM.MSG.GET."+in, map[string]any{"seq": 1}))
	refused("read directly", request("$JS.API.DIRECT.GET."+in, map[string]any{"seq": 1}))
	refused("read another host's stream", request("$JS.API.CONSUMER.CREATE."+in+".c", map[string]any{"stream_name": in, "config": map[string]any{"name": "c", "ack_policy": "none"}}))
	refused("have another host's messages pushed to itself", request("$JS.API.CONSUMER.CREATE."+in+".d", map[string]any{"stream_name": in, "config": map[string]any{"name": "d", "deliver_subject": streams.InboxPrefix(a.Public()) + ".x"}}))
	refused("empty a bucket", request("$JS.API.STREAM.PURGE."+streams.PresenceStream, map[string]any{}))
	if _, err := js.Publish(ctx, "gt."+b.Public()+".beat", []byte("b")); err != nil {
		t.Fatal(err)
	}
	here, err := w.js.Stream(ctx, streams.PresenceStream)
	testenv.NoError(t, err)
	for _, subject := range []string{">", "gt.>", "_INBOX.>", "_INBOX_*.>", streams.InboxPrefix(b.Public()) + ".>", "gt.*.ask." + b.Public(), "gt.*.to." + b.Public(), "$JS.>", "$SYS.>"} {
		refused("subscribe to "+subject, func() error { _, err := ac.SubscribeSync(subject); return err })
	}
	for name, value := range map[string]string{"Nats-Rollup": "all", "Nats-Trace-Dest": "gt." + a.Public() + ".to." + b.Public(), "Nats-TTL": "1s", "Nats-Msg-Id": "x", "Nats-Schedule": "@at 2020-01-01T00:00:00Z", "X": "x"} {
		nc, err := w.connect(a)
		testenv.NoError(t, err)
		m := &nats.Msg{Subject: "gt." + a.Public() + ".beat", Header: nats.Header{name: {value}}, Data: []byte("x")}
		if got, err := nc.RequestMsg(m, time.Minute); err == nil {
			t.Errorf("a host can send a header %s: %s", name, got.Data)
		}
		nc.Close()
	}
	if m, err := here.GetLastMsgForSubject(ctx, "gt."+b.Public()+".beat"); err != nil || string(m.Data) != "b" {
		t.Errorf("another host's key: %v", err)
	}
}

// apiVerbs are the requests of JetStream, for a stream and a consumer, and of the server.
var apiVerbs = []string{
	"STREAM.CREATE.*", "STREAM.UPDATE.*", "STREAM.NAMES", "STREAM.LIST", "STREAM.INFO.*", "STREAM.DELETE.*", "STREAM.PURGE.*",
	"STREAM.SNAPSHOT.*", "STREAM.RESTORE.*", "STREAM.MSG.DELETE.*", "STREAM.MSG.GET.*", "DIRECT.GET.*", "DIRECT.GET.*.gt.x.beat",
	"CONSUMER.CREATE.*", "CONSUMER.CREATE.*.c", "CONSUMER.CREATE.*.c.gt.x.beat", "CONSUMER.DURABLE.CREATE.*.c", "CONSUMER.NAMES.*",
	"CONSUMER.LIST.*", "CONSUMER.INFO.*.c", "CONSUMER.DELETE.*.c", "CONSUMER.PAUSE.*.c", "CONSUMER.MSG.NEXT.*.c", "CONSUMER.RESET.*.c",
	"CONSUMER.UNPIN.*.c", "STREAM.PEER.REMOVE.*", "STREAM.PEER.EVACUATE.*", "STREAM.CANCEL_MOVE.*", "STREAM.LEADER.STEPDOWN.*",
	"CONSUMER.LEADER.STEPDOWN.*.c", "CONSUMER.PEER.REMOVE.*.c", "CONSUMER.PEER.EVACUATE.*.c", "META.LEADER.STEPDOWN", "META.RESCUE",
	"SERVER.REMOVE", "SERVER.EVACUATE", "ACCOUNT.PURGE.$G", "ACCOUNT.STREAM.MOVE.$G.*", "ACCOUNT.STREAM.CANCEL_MOVE.$G.*", "INFO",
}

// TestEveryVerb has a host try every request of JetStream, on its own stream, on one of all hosts
// and on another host's: only those that its relay makes are taken.
func TestEveryVerb(t *testing.T) {
	w := newWorld(t)
	var errs refusals
	a, ac := w.host(&errs)
	b, _ := w.host(new(refusals))
	taken := []string{"STREAM.INFO.*", "CONSUMER.CREATE.*.c", "CONSUMER.CREATE.*.c.gt.x.beat", "CONSUMER.INFO.*.c", "CONSUMER.DELETE.*.c", "CONSUMER.MSG.NEXT.*.c"}
	var want, subjects []string
	for _, s := range []struct {
		name string
		may  bool
	}{{streams.InboxStream(a.Public()), true}, {streams.Feeds, true}, {streams.InboxStream(b.Public()), false}, {"$G", false}} {
		for _, verb := range apiVerbs {
			subject := "$JS.API." + strings.ReplaceAll(verb, "*", s.name)
			subjects = append(subjects, subject)
			if verb != "INFO" && !(s.may && slices.Contains(taken, verb)) {
				want = append(want, subject)
			}
		}
	}
	for _, other := range []string{"$JS.ACK.S.c.1.1.1.1.0", "$JS.FC.S.c.x", "$JS.EVENT.ADVISORY.API", "$SYS.REQ.SERVER.PING", "$SYS.REQ.ACCOUNT.PING.CONNZ", "$SRV.PING", "$KV.S.x", "$O.S.M.x", "$NRG.x", "gt.*.feed", "gt." + a.Public()} {
		subjects, want = append(subjects, other), append(want, other)
	}
	for _, subject := range subjects {
		testenv.NoError(t, ac.PublishRequest(subject, streams.InboxPrefix(a.Public())+".x", []byte("{}")))
	}
	testenv.NoError(t, ac.FlushTimeout(time.Minute))
	var refused []string
	for deadline := time.Now().Add(time.Minute); len(refused) < len(want) && time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		for _, err := range errs.take() {
			refused = append(refused, err.Error())
		}
	}
	for _, subject := range want {
		if !slices.ContainsFunc(refused, func(err string) bool { return strings.Contains(err, `"`+subject+`"`) }) {
			t.Errorf("a host can ask for %s", subject)
		}
	}
	if len(refused) != len(want) {
		t.Errorf("%d were refused of %d: %q", len(refused), len(want), refused)
	}
}

// TestRestartedHub shows that a hub that starts again has the streams that hosts need and may not
// make, also on what an older version left.
func TestRestartedHub(t *testing.T) {
	w, k := newWorld(t), keys(t)
	testenv.NoError(t, w.Admit(k.Public(), "x"))
	testenv.NoError(t, w.js.DeleteStream(t.Context(), streams.PresenceStream))
	_, err := w.js.UpdateStream(t.Context(), jetstream.StreamConfig{Name: streams.Fleet, Subjects: []string{"gt.*.hello"}, MaxMsgsPerSubject: 1})
	testenv.NoError(t, err)
	_, err = w.js.CreatePushConsumer(t.Context(), streams.Feeds, jetstream.ConsumerConfig{Durable: "d", DeliverSubject: "gt.x.to." + k.Public()})
	testenv.NoError(t, err)
	w.Close()
	w.Hub, err = Start(w.Options)
	testenv.NoError(t, err)
	t.Cleanup(w.Hub.Close)
	if _, err := w.js.PushConsumer(t.Context(), streams.Feeds, "d"); !errors.Is(err, jetstream.ErrConsumerNotFound) {
		t.Errorf("what a host made at an older version still writes to others: %v", err)
	}
	nc, err := w.connect(k)
	testenv.NoError(t, err)
	defer nc.Close()
	js, err := jetstream.New(nc)
	testenv.NoError(t, err)
	ctx, done := context.WithTimeout(t.Context(), time.Minute)
	defer done()
	testenv.NoError(t, streams.MakeStreams(ctx, js, k.Public()))
	for _, kind := range []string{"beat", "hello", "states", "allows." + k.Public(), "feed"} {
		if _, err := js.Publish(ctx, "gt."+k.Public()+"."+kind, []byte("x")); err != nil {
			t.Errorf("%s: %v", kind, err)
		}
	}
}

// TestAGreedyHost shows that a host that writes without end takes no other one's room: who is
// there, what hosts do and their letters are still taken, and the store stays within its bounds.
// What it has left goes when it is removed.
func TestAGreedyHost(t *testing.T) {
	const most = 64 << 20
	h, err := Start(Options{Store: filepath.Join(t.TempDir(), "hub"), MaxStore: most, Now: time.Now, Warn: func(err error) { t.Log(err) }})
	testenv.NoError(t, err)
	defer h.Close()
	greedy, other := keys(t).Public(), keys(t).Public()
	testenv.NoError(t, errors.Join(h.Admit(greedy, "greedy"), h.Admit(other, "other")))
	ctx := t.Context()
	publish := func(from, kind string, size int) error {
		_, err := h.js.Publish(ctx, "gt."+from+"."+kind, make([]byte, size))
		return err
	}
	testenv.NoError(t, publish(other, "to."+greedy, 1000))
	for range 100 {
		testenv.NoError(t, errors.Join(publish(greedy, "feed", 500_000), publish(greedy, "to."+other, 90_000)))
	}
	testenv.NoError(t, errors.Join(publish(other, "hello", 1000), publish(other, "beat", 1000), publish(other, "states", 500_000), publish(greedy, "to."+other, 1000)))
	info, err := h.js.AccountInfo(ctx)
	testenv.NoError(t, err)
	if info.Store > most {
		t.Errorf("the store has %d bytes", info.Store)
	}
	testenv.NoError(t, RemoveHost(h.Store, greedy))
	h.Sweep()
	for name := range h.js.StreamNames(ctx).Name() {
		s, err := h.js.Stream(ctx, name)
		testenv.NoError(t, err)
		info, err := s.Info(ctx, jetstream.WithSubjectFilter("gt."+greedy+".>"))
		if err != nil || len(info.State.Subjects) > 0 || name == streams.InboxStream(greedy) {
			t.Errorf("%s has %v of it, %v", name, info.State.Subjects, err)
		}
	}
	testenv.NoError(t, h.Admit(greedy, "back"))
	for range 64 { // the room is divided again for more than it was for
		testenv.NoError(t, h.Admit(keys(t).Public(), "x"))
	}
}

// TestFlood shows that a host that sends letters without end is slowed, and no other.
func TestFlood(t *testing.T) {
	w := newWorld(t)
	a, ac := w.host(new(refusals))
	b, _ := w.host(new(refusals))
	for range lettersAtOnce {
		testenv.NoError(t, ac.Publish("gt."+a.Public()+".to."+b.Public(), []byte("x")))
	}
	testenv.NoError(t, ac.FlushTimeout(time.Minute))
	stranger, inner := net.Pipe()
	defer stranger.Close()
	g := &gate{hub: w.Hub, key: b.Public(), inbox: "_INBOX.", server: inner, fromHost: bufio.NewReader(strings.NewReader("x\r\n"))}
	if err := g.forwardPublish("gt." + b.Public() + ".to." + a.Public() + " 1"); err == nil {
		t.Error("who has not proved a key sends in its name")
	}
	if mine, others := w.letterLimiter(a.Public()).Tokens(), w.letterLimiter(b.Public()).Tokens(); mine >= others {
		t.Errorf("it may send %v more, another one %v", mine, others)
	}
}

// TestOpenStore shows that a store is used only if nobody else can write to it.
func TestOpenStore(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "hub")
	testenv.NoError(t, os.Mkdir(dir, 0o700))
	testenv.NoError(t, os.Chmod(dir, 0o777))
	if _, err := Start(Options{Store: dir, MaxStore: 1 << 30, Now: time.Now, Warn: func(error) {}}); err == nil || !strings.Contains(err.Error(), "other users can write to it") {
		t.Error(err)
	}
}
