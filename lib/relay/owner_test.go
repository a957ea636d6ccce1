package relay_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"gt/internal/testenv"
	"gt/lib/relay"
	"gt/lib/relay/seal"
	"gt/lib/state/peer"
)

// TestHubsOwner shows what the owner of the hub can have written under the subjects of others: nothing.
// A message is taken only as its host has signed it, for whom it was, and not longer than any is.
func TestHubsOwner(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		f := newFleet(t)
		a, b, l := f.host("a").startRelay(), f.host("b").startRelay(), f.liar() // the liar joined: its keys are the owner's
		meet(t, a, b)
		l.meets(b, "liar")
		a.setAgents(`{"name":"api"}` + "\n")
		eventually(t, "b knows the agents", func() bool { return b.statesOf(a, "a") })
		keys, err := seal.Load(b.state, false)
		testenv.NoError(t, err)
		message := func(k *seal.Keys, h seal.Header, body string) []byte {
			if h.At == 0 {
				h.At = time.Now().UnixMilli()
			}
			msg, err := k.Plain(h, []byte(body))
			testenv.NoError(t, err)
			return msg
		}
		forged := message(l.keys, seal.Header{Kind: "states"}, `{"name":"forged"}`+"\n")
		inAsName := bytes.ReplaceAll(forged, []byte(l.keys.Public()), []byte(a.key()))
		header := seal.Header{To: l.keys.Public(), Kind: "note", ID: letterID(1), At: time.Now().UnixMilli()}
		forAnother, err := l.keys.ForHost(keys.Recipient(), header, []byte("{}\n"))
		testenv.NoError(t, err)
		for _, c := range []struct {
			subject string
			msg     []byte
			refused string
		}{
			{"gt." + a.key() + ".states", forged, "a message under another host's subject"},
			{"gt." + a.key() + ".states", inAsName, "a message with a wrong signature"},
			{"gt." + a.key() + ".states", []byte(`{"name":"forged"}` + "\n"), "not a message of gt-relay"},
			{"gt." + a.key() + ".beat", inAsName, "a message with a wrong signature"},
			{"gt." + a.key() + ".hello", inAsName, "a message with a wrong signature"},
			{"gt." + l.keys.Public() + ".to." + b.key(), forAnother, "a message for another host"},
			{"gt." + l.keys.Public() + ".to." + b.key(), message(l.keys, seal.Header{To: b.key(), Kind: "note", ID: letterID(2)}, "{}\n"), "a letter that cannot be opened"},
			{"gt." + l.keys.Public() + ".states", forged[:len(forged)-1], "a message with a wrong signature"},
			{"gt." + l.keys.Public() + ".states", append(bytes.Clone(forged), '\n'), "a message with a wrong signature"},
		} {
			before := b.refused(c.refused)
			testenv.NoError(t, l.nc.Publish(c.subject, c.msg))
			eventually(t, c.subject+" is refused: "+c.refused, func() bool { return b.refused(c.refused) > before })
		}
		if !b.statesOf(a, "a") || len(b.notes()) > 0 {
			t.Errorf("b has other agents of a, or notes %q", b.notes())
		}
	})
}

// TestLongMessage shows that nothing is taken of a message that no hub of gt would take.
func TestLongMessage(t *testing.T) {
	f := &fleet{t: t, root: t.TempDir()}
	s := f.serve(server.Options{ServerName: "s", JetStream: true, StoreDir: filepath.Join(f.root, "s"), MaxPayload: 8 << 20})
	a, b := f.host("a"), f.host("b").connectTo(s)
	keys, err := seal.Load(a.state, false)
	testenv.NoError(t, err)
	nc, err := nats.Connect(s.ClientURL())
	testenv.NoError(t, err)
	defer nc.Close()
	msg, err := keys.Plain(seal.Header{Kind: "beat", At: time.Now().UnixMilli()}, make([]byte, 2<<20))
	testenv.NoError(t, err)
	eventually(t, "it is refused", func() bool {
		testenv.NoError(t, nc.Publish("gt."+a.key()+".beat", msg))
		return b.refused("a message that is too long") > 0
	})
}

// TestNamesTaken shows that two hosts cannot take both names under which a third one would be known.
func TestNamesTaken(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		f := newFleet(t)
		a, b := f.host("a"), f.host("b").startRelay()
		key := strings.ToLower(a.key())
		f.liar().meets(b, "a")
		f.liar().meets(b, "a-"+key[len(key)-6:])
		a.startRelay()
		eventually(t, "b knows a", func() bool {
			h, err := peer.NewHosts(b.state).Get("host-" + key)
			return err == nil && h.Key == a.key() && h.Clash != ""
		})
	})
}

// TestFailedParcel shows that a long letter that cannot be delivered is not tried again all the time: that
// would keep the machine busy, and its sender may mean it to.
func TestFailedParcel(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		f := newFleet(t)
		a, b := f.host("a").startRelay(), f.host("b")
		var tried atomic.Int64
		o := b.options()
		o.Kinds["slow"] = relay.Kind{Deliver: func(relay.Sender, peer.Letter, io.Reader) error {
			return &relay.SlowDelivery{Do: func(context.Context) error { tried.Add(1); return errors.New("the disk is full") }}
		}}
		o.Kinds["quick"] = relay.Kind{Deliver: func(relay.Sender, peer.Letter, io.Reader) error { tried.Add(1); return errors.New("the disk is full") }}
		b.upWith(o)
		meet(t, a, b)
		for _, kind := range []string{"slow", "quick"} {
			if _, err := peer.OutboxOf(a.state).Put("b", kind, []byte(strings.Repeat("long ", 400_000)), time.Now()); err != nil {
				t.Fatal(err)
			}
		}
		eventually(t, "both were tried", func() bool { return tried.Load() >= 2 })
		time.Sleep(10 * time.Minute)
		if n := tried.Load(); n < 10 || n > 30 {
			t.Errorf("they were tried %d times in ten minutes", n)
		}
	})
}

// lyingHub is a server that answers each request with what it likes.
type lyingHub struct {
	answer func(subject string) (data string, reply string)
	asked  atomic.Int64
}

// Dial makes it a dialer.
func (h *lyingHub) Dial(string, string) (net.Conn, error) {
	ours, theirs := net.Pipe()
	go h.serve(theirs)
	return ours, nil
}

func (h *lyingHub) serve(c net.Conn) {
	defer c.Close()
	out := make(chan string, 1<<12)
	defer close(out)
	go func() {
		for text := range out {
			if _, err := io.WriteString(c, text); err != nil {
				c.Close()
			}
		}
	}()
	out <- `INFO {"server_id":"x","proto":1,"version":"2.12.0","headers":true,"max_payload":1114112,"jetstream":true}` + "\r\n"
	inbox := "1"
	lines := bufio.NewReader(c)
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			return
		}
		words := strings.Fields(line)
		switch words[0] {
		case "PING":
			out <- "PONG\r\n"
		case "SUB":
			if strings.HasPrefix(words[1], "_INBOX") {
				inbox = words[len(words)-1]
			}
		case "PUB", "HPUB":
			size, _ := strconv.Atoi(words[len(words)-1])
			if _, err := lines.Discard(size + 2); err != nil {
				return
			}
			if len(words) == 3 {
				continue
			}
			h.asked.Add(1)
			data, reply := h.answer(words[1])
			out <- fmt.Sprintf("MSG %s %s %s %d\r\n%s\r\n", words[2], inbox, reply, len(data), data)
		}
	}
}

// TestLyingHub shows that no answer of a hub ends a relay, or comes to a terminal as it is. Each hub is
// asked for the streams, for a place in one, or for what is there.
func TestLyingHub(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		testenv.Sample(t, 3)
		f := &fleet{t: t, root: t.TempDir()}
		const stream = `{"type":"io.nats.jetstream.api.v1.stream_info_response","config":{"name":"GT_HERE"},"state":{}}`
		consumer := func(more string) string {
			return `{"type":"io.nats.jetstream.api.v1.consumer_create_response","stream_name":"GT_FLEET","name":"c",` + more + `"config":{"ack_policy":"none"}}`
		}
		odd := []string{
			``, `null`, `{}`, `[]`, `"x"`, `{"error":null}`, `{"error":{}}`, `{"config":null,"state":null}`, `{"error":{"code":-1,"err_code":99999,"description":"\u001b[31m\u009b\u202e` + strings.Repeat("x", 5000) + `"}}`,
			`{"num_pending":18446744073709551615}`, `{"num_pending":-1}`, `{"ts":"9999-12-31T23:59:59Z","num_pending":1}`, strings.Repeat(`{"config":`, 5000), "\x00\xff", `{"stream":"","seq":18446744073709551615}`,
		}
		acks := []string{
			"", "x", "$JS.ACK.", "$JS.ACK.GT_FLEET.c.1.18446744073709551615.0.9223372036854775807.0", "$JS.ACK.GT_FLEET.c.-1.-1.-1.-1.-1", "$JS.ACK._._.GT_FLEET.c.1.1.1.1.0.x", "$JS.ACK.a.b.c.d.e.f.g",
		}
		n := 0
		try := func(what string, answer func(subject string) (string, string)) {
			t.Helper()
			n++
			hub := &lyingHub{answer: answer}
			a := f.host("a")
			a.upWith(a.optionsWithDialer(hub))
			defer a.stopRelay()
			eventually(t, what+" is seen", func() bool { return hub.asked.Load() > 3 })
			data, err := os.ReadFile(a.state.Path("relay", "status.json"))
			if err == nil && bytes.ContainsAny(data, "\x1b\u009b\u202e") && !bytes.Contains(data, []byte(`\u001b`)) {
				t.Errorf("%s: the status has %q", what, data)
			}
			if entries, err := os.ReadDir(a.state.Path("peers")); err == nil && len(entries) > 0 {
				t.Errorf("%s: it knows %v", what, entries)
			}
		}
		for i, data := range odd {
			try(fmt.Sprintf("stream %d", i), func(string) (string, string) { return data, "" })
			try(fmt.Sprintf("place %d", i), func(subject string) (string, string) {
				if strings.Contains(subject, "STREAM") {
					return stream, ""
				}
				return data, ""
			})
			try(fmt.Sprintf("messages %d", i), func(subject string) (string, string) {
				switch {
				case strings.Contains(subject, "STREAM"):
					return stream, ""
				case strings.Contains(subject, "CONSUMER.CREATE"):
					return consumer([]string{"", `"num_pending":3,"ts":"0001-01-01T00:00:00Z",`, `"num_pending":18446744073709551615,"ts":"9999-12-31T23:59:59Z",`}[i%3]), ""
				}
				return data, acks[i%len(acks)]
			})
		}
		t.Logf("%d hubs", n)
	})
}
