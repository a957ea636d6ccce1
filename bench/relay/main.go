// Relay measures how fast notes and events go from one host to another, and what many
// hosts cost one hub. Everything runs on this machine: a hub that syncs each message, and
// hosts whose folders are temporary.
//
//	go run ./bench/relay                           notes, events, 200 and 1,000 hosts of which 10 are real
//	go run ./bench/relay -notes 0 -hosts 50        50 hosts alone
//
// Each real host and the hub are a process of their own. The others are simulated: they are
// connected as a relay is, say hello, beat, answer, and send their logs, but they keep nothing of
// what comes.
package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"

	"gt/bench/measure"
	"gt/lib/place"
	"gt/lib/relay"
	"gt/lib/relay/hub"
	"gt/lib/relay/seal"
	"gt/lib/state/peer"
)

func main() {
	hosts := flag.String("hosts", "200,1000", "hosts on one hub; several numbers for several hubs, one after the other")
	real := flag.Int("real", 10, "how many of them are real")
	events := flag.Int("events", 167, "events of each host in an hour: ten agents with 400 a day each")
	notes := flag.Int("notes", 500, "notes of which each is timed")
	flag.Parse()
	if flag.NArg() > 0 {
		child(flag.Args())
		return
	}
	dir, err := os.MkdirTemp("", "bench-relay")
	if err == nil {
		measure.Interrupted(func() { os.RemoveAll(dir) })
		err = run(dir, strings.Split(*hosts, ","), *real, *events, *notes)
		os.RemoveAll(dir)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "relay: error:", err)
		os.Exit(1)
	}
}

func run(dir string, hosts []string, real, events, notes int) error {
	measure.Head("go run ./bench/relay")
	if notes > 0 {
		fmt.Println("| two hosts and a hub on one machine, each message synced | result |\n|---|---|")
		if err := pair(filepath.Join(dir, "pair"), notes); err != nil {
			return err
		}
	}
	head, rule := fmt.Sprintf("| %d hosts on a hub are real, %d events an hour each |", real, events), "|---|"
	var order []string
	lines := map[string]string{}
	for i, number := range hosts {
		n, err := strconv.Atoi(number)
		if err != nil {
			return err
		}
		at := filepath.Join(dir, "many-"+number)
		figures, err := measureManyHosts(at, n, min(real, n), events)
		if err != nil {
			return err
		}
		head += fmt.Sprintf(" of %d |", n)
		rule += "---|"
		for _, f := range figures {
			if i == 0 {
				order = append(order, f.what)
			}
			lines[f.what] += " " + f.value + " |"
		}
		if err := os.RemoveAll(at); err != nil {
			return err
		}
	}
	fmt.Printf("\n%s\n%s\n", head, rule)
	for _, what := range order {
		fmt.Printf("| %s |%s\n", what, lines[what])
	}
	return nil
}

func start(store string) (*hub.Hub, error) {
	return hub.Start(hub.Options{Store: store, MaxStore: 8 << 30, Now: time.Now, Warn: warn})
}

func warn(err error) { fmt.Fprintln(os.Stderr, "relay: warning:", err) }

// host is a host with its relay.
type host struct {
	state   place.State
	came    chan time.Time
	changed chan struct{}
	traffic *nats.Conn
	stop    func()
}

func newHost(dir, name string, connect func(context.Context, *seal.Keys) (*nats.Conn, error)) (*host, error) {
	t := &host{state: place.State(filepath.Join(dir, name, "gt")), came: make(chan time.Time, 100_000), changed: make(chan struct{}, 1)}
	if _, err := seal.Load(t.state, true); err != nil {
		return nil, err
	}
	if err := peer.NewHosts(t.state).SetOwn(peer.Host{Name: name}); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	r, lock, err := relay.New(relay.Options{
		State: t.state, Now: time.Now, Warn: warn, Changed: t.changed,
		Hub: func() string { return "" }, Started: func() {}, TakeBack: func(peer.Letter) error { return nil },
		Logs: func() map[string]string { return map[string]string{"events": t.log()} },
		Connect: func(ctx context.Context, keys *seal.Keys) (*nats.Conn, error) {
			nc, err := connect(ctx, keys)
			t.traffic = nc
			return nc, err
		},
		Kinds: map[string]relay.Kind{peer.Note: {Deliver: func(_ relay.Sender, l peer.Letter, text io.Reader) error {
			data, err := io.ReadAll(text)
			if err != nil {
				return err
			}
			path := t.state.Path("box", l.ID) // what a Maildir does, synced
			if err := t.state.Prepare(filepath.Dir(path)); err != nil {
				return err
			}
			f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
			if err != nil {
				return err
			}
			defer f.Close()
			if _, err := f.Write(data); err != nil {
				return err
			}
			if err := f.Sync(); err != nil {
				return err
			}
			t.came <- time.Now()
			return nil
		}}},
	})
	if err != nil {
		cancel()
		return nil, err
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = r.Run(ctx)
	}()
	t.stop = func() {
		cancel()
		<-done
		lock.Unlock()
	}
	return t, nil
}

func (t *host) log() string { return t.state.Path(".events.jsonl") }

func (t *host) send(to string) error {
	_, err := peer.OutboxOf(t.state).Put(to, peer.Note, bytes.Repeat([]byte("x"), 500), time.Now())
	t.poke()
	return err
}

// poke has the relay look for what is new, as a watched folder does.
func (t *host) poke() {
	select {
	case t.changed <- struct{}{}:
	default:
	}
}

func (t *host) events(n int) error {
	f, err := os.OpenFile(t.log(), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	line := `{"ts":"2026-01-17T01:00:00.123Z","source":"gt","type":"session_start","actor":"a","payload":{"session_id":"` + strings.Repeat("0", 36) + `","cwd":"/home/me/src/api","agent":"claude"},"visibility":"feed"}` + "\n"
	_, err = f.WriteString(strings.Repeat(line, n))
	return err
}

// How often wait looks. To look at all files of many hosts takes as long as what it waits for.
const (
	shortPoll = 2 * time.Millisecond
	longPoll  = 200 * time.Millisecond
)

func wait(what string, every, within time.Duration, ok func() bool) (time.Duration, error) {
	began := time.Now()
	for !ok() {
		if time.Since(began) > within {
			return 0, fmt.Errorf("after %v not: %s", within, what)
		}
		time.Sleep(every)
	}
	return time.Since(began), nil
}

func knows(t *host, n int) bool {
	all, _ := peer.NewHosts(t.state).ReadHosts()
	met := 0
	for _, h := range all {
		if h.Box != "" {
			met++
		}
	}
	return met >= n
}

// pair measures one note, many notes and a log between two hosts.
func pair(dir string, notes int) error {
	h, err := start(filepath.Join(dir, "hub"))
	if err != nil {
		return err
	}
	defer h.Close()
	a, err := newHost(dir, "a", h.Connect)
	if err != nil {
		return err
	}
	defer a.stop()
	b, err := newHost(dir, "b", h.Connect)
	if err != nil {
		return err
	}
	defer b.stop()
	if _, err := wait("they know each other", shortPoll, time.Minute, func() bool { return knows(a, 1) && knows(b, 1) }); err != nil {
		return err
	}
	nc, err := h.Connect(context.Background(), new(seal.Keys))
	if err != nil {
		return err
	}
	defer nc.Close()
	other, err := h.Connect(context.Background(), new(seal.Keys))
	if err != nil {
		return err
	}
	defer other.Close()
	if _, err := other.Subscribe("floor", func(m *nats.Msg) { _ = m.Respond(m.Data) }); err != nil {
		return err
	}
	if err := other.Flush(); err != nil {
		return err
	}
	var floor, ours []time.Duration
	for range notes {
		began := time.Now()
		if _, err := nc.Request("floor", bytes.Repeat([]byte("x"), 500), 5*time.Second); err != nil {
			return err
		}
		floor = append(floor, time.Since(began))
		began = time.Now()
		if err := a.send("b"); err != nil {
			return err
		}
		ours = append(ours, (<-b.came).Sub(began))
	}
	fmt.Printf("| a note of 500 bytes, file to file | p50 %s, p99 %s |\n", ms(percentile(ours, 50)), ms(percentile(ours, 99)))
	fmt.Printf("| the same by NATS alone | p50 %s, p99 %s |\n", ms(percentile(floor, 50)), ms(percentile(floor, 99)))
	for range notes {
		if err := a.send("b"); err != nil {
			return err
		}
	}
	took, err := wait("all notes are there", shortPoll, 5*time.Minute, func() bool { return len(b.came) >= notes })
	if err != nil {
		return err
	}
	fmt.Printf("| %d notes at once | %.0f a second |\n", notes, float64(notes)/took.Seconds())
	const lines = 100_000
	if err := a.events(lines); err != nil {
		return err
	}
	info, err := os.Stat(a.log())
	if err != nil {
		return err
	}
	took, err = wait("the log is copied", shortPoll, 5*time.Minute, func() bool {
		c, err := os.Stat(peer.NewHosts(b.state).Path("a", ".events.jsonl"))
		return err == nil && c.Size() == info.Size()
	})
	if err != nil {
		return err
	}
	fmt.Printf("| a log of %d events, %d MB | %.0f events a second |\n", lines, info.Size()>>20, lines/took.Seconds())
	time.Sleep(5 * time.Second) // until nothing more comes
	before := a.traffic.Stats()
	const idle = 10
	time.Sleep(idle * time.Minute)
	after := a.traffic.Stats()
	fmt.Printf("| an idle host, in a minute | %d bytes sent, %d received |\n", (after.OutBytes-before.OutBytes)/idle, (after.InBytes-before.InBytes)/idle)
	return day(a, b, filepath.Join(dir, "hub"))
}

// day measures what an agent's working day sends: each event and note by itself.
func day(a, b *host, store string) error {
	const events, notes = 400, 50
	before, disk, came := a.traffic.Stats(), size(store), len(b.came)
	there := b.traffic.Stats()
	for i := range events {
		if err := a.events(1); err != nil {
			return err
		}
		if i < notes {
			if err := a.send("b"); err != nil {
				return err
			}
		} else {
			a.poke()
		}
		time.Sleep(20 * time.Millisecond)
	}
	if _, err := wait("the day is there", longPoll, time.Minute, func() bool {
		left, err := peer.OutboxOf(a.state).ReadLetters()
		return err == nil && len(left) == 0 && len(b.came) == came+notes
	}); err != nil {
		return err
	}
	after := a.traffic.Stats()
	fmt.Printf("| an agent's day: %d events and %d notes | %d kB sent, %d kB received, %d kB on the hub's disk |\n", events, notes,
		(after.OutBytes-before.OutBytes)>>10, (after.InBytes-before.InBytes)>>10, (size(store)-disk)>>10)
	here := b.traffic.Stats()
	fmt.Printf("| the other host in it | %d kB sent, %d kB received |\n", (here.OutBytes-there.OutBytes)>>10, (here.InBytes-there.InBytes)>>10)
	return nil
}

func size(dir string) (n int64) {
	_ = filepath.WalkDir(dir, func(_ string, e fs.DirEntry, err error) error {
		if err == nil && e.Type().IsRegular() {
			if info, err := e.Info(); err == nil {
				n += info.Size()
			}
		}
		return nil
	})
	return n
}

func percentile(all []time.Duration, percent int) time.Duration {
	s := slices.Sorted(slices.Values(all))
	return s[min(len(s)*percent/100, len(s)-1)]
}

func ms(d time.Duration) string { return fmt.Sprintf("%.1f ms", float64(d.Microseconds())/1000) }
