// Relay measures how fast notes and events go from one host to another, and what many
// hosts cost one hub. Everything runs on this machine: a hub that syncs each message, and
// hosts whose folders are temporary.
//
//	go run ./bench/relay              notes, events, 50 hosts
//	go run ./bench/relay -hosts 200   and 200 hosts
//	go run ./bench/relay -hosts 20 -simulated 980   20 hosts among 980 that only say hello, beat and listen
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
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"gt/bench/measure"
	"gt/lib/place"
	"gt/lib/relay"
	"gt/lib/relay/hub"
	"gt/lib/relay/seal"
	"gt/lib/relay/streams"
	"gt/lib/state/peer"
)

func main() {
	hosts := flag.Int("hosts", 50, "hosts on one hub")
	simulated := flag.Int("simulated", 0, "further hosts on that hub, of which only the connection is real")
	notes := flag.Int("notes", 500, "notes of which each is timed")
	flag.Parse()
	dir, err := os.MkdirTemp("", "bench-relay")
	if err == nil {
		measure.Interrupted(func() { os.RemoveAll(dir) })
		err = run(dir, *hosts, *simulated, *notes)
		os.RemoveAll(dir)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "relay: error:", err)
		os.Exit(1)
	}
}

func run(dir string, hosts, simulated, notes int) error {
	if notes > 0 {
		if err := pair(filepath.Join(dir, "pair"), notes); err != nil {
			return err
		}
	}
	return many(filepath.Join(dir, "many"), hosts, simulated)
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

func newHost(dir, name string, h *hub.Hub) (*host, error) {
	t := &host{state: place.State(filepath.Join(dir, name, "gt")), came: make(chan time.Time, 100_000), changed: make(chan struct{}, 1)}
	if _, err := seal.Load(t.state, true); err != nil {
		return nil, err
	}
	if err := peer.Of(t.state).SetOwn(peer.Host{Name: name}); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	r, lock, err := relay.New(relay.Options{
		State: t.state, Now: time.Now, Warn: warn, Changed: t.changed,
		Logs: func() map[string]string { return map[string]string{"events": t.log()} },
		Connect: func(ctx context.Context, keys *seal.Keys) (*nats.Conn, error) {
			nc, err := h.Connect(ctx, keys)
			t.traffic = nc
			return nc, err
		},
		Deliver: map[string]relay.Deliver{peer.Note: func(_ relay.Sender, l peer.Letter, text io.Reader) error {
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
		}},
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
	often  = 2 * time.Millisecond
	seldom = 200 * time.Millisecond
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
	all, _ := peer.Of(t.state).All()
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
	a, err := newHost(dir, "a", h)
	if err != nil {
		return err
	}
	defer a.stop()
	b, err := newHost(dir, "b", h)
	if err != nil {
		return err
	}
	defer b.stop()
	if _, err := wait("they know each other", often, time.Minute, func() bool { return knows(a, 1) && knows(b, 1) }); err != nil {
		return err
	}
	nc, err := h.Connect(context.Background(), nil)
	if err != nil {
		return err
	}
	defer nc.Close()
	other, err := h.Connect(context.Background(), nil)
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
	fmt.Printf("| a note of 500 bytes, from file to file, synced at the sender, the hub and the receiver | p50 %s, p99 %s |\n", ms(at(ours, 50)), ms(at(ours, 99)))
	fmt.Printf("| the same text, asked and answered by NATS alone | p50 %s, p99 %s |\n", ms(at(floor, 50)), ms(at(floor, 99)))
	for range notes {
		if err := a.send("b"); err != nil {
			return err
		}
	}
	took, err := wait("all notes are there", often, 5*time.Minute, func() bool { return len(b.came) >= notes })
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
	took, err = wait("the log is copied", often, 5*time.Minute, func() bool {
		c, err := os.Stat(peer.Of(b.state).Path("a", ".events.jsonl"))
		return err == nil && c.Size() == info.Size()
	})
	if err != nil {
		return err
	}
	fmt.Printf("| a log of %d events, %d MB | %.0f events a second |\n", lines, info.Size()>>20, lines/took.Seconds())
	time.Sleep(5 * time.Second) // until nothing more comes
	before := a.traffic.Stats()
	time.Sleep(time.Minute)
	after := a.traffic.Stats()
	fmt.Printf("| an idle host among two, in a minute | %d bytes sent, %d received |\n", after.OutBytes-before.OutBytes, after.InBytes-before.InBytes)
	return day(a, b, filepath.Join(dir, "hub"))
}

// day measures what an agent's working day sends: each event and note by itself.
func day(a, b *host, store string) error {
	const events, notes = 400, 50
	before, disk, came := a.traffic.Stats(), size(store), len(b.came)
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
	if _, err := wait("the day is there", seldom, time.Minute, func() bool {
		left, err := peer.OutboxOf(a.state).All()
		return err == nil && len(left) == 0 && len(b.came) == came+notes
	}); err != nil {
		return err
	}
	after := a.traffic.Stats()
	fmt.Printf("| an agent's day: %d events and %d notes | %d kB sent, %d kB received, %d kB on the hub's disk |\n", events, notes,
		(after.OutBytes-before.OutBytes)>>10, (after.InBytes-before.InBytes)>>10, (size(store)-disk)>>10)
	return nil
}

// simulate connects a host that says hello, beats as a relay does, and has a relay's
// subscriptions and streams. It drops what it receives, and sends nothing else.
func simulate(dir, name string, h *hub.Hub) (stop func(), err error) {
	keys, err := seal.Load(place.State(filepath.Join(dir, name, "gt")), true)
	if err != nil {
		return nil, err
	}
	nc, err := h.Connect(context.Background(), keys)
	if err != nil {
		return nil, err
	}
	js, err := jetstream.New(nc, jetstream.WithDefaultTimeout(time.Minute))
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	if err := streams.Make(ctx, js, keys.Public()); err != nil {
		cancel()
		return nil, err
	}
	key := keys.Public()
	drop := func(*nats.Msg) {}
	for _, subject := range []string{"gt.*.beat", "gt.*.ask." + key, "gt.*.chunk." + key} {
		if _, err := nc.Subscribe(subject, drop); err != nil {
			cancel()
			return nil, err
		}
	}
	for stream, filter := range map[string][]string{streams.Fleet: {"gt.*.hello", "gt.*.states", "gt.*.grant." + key}, streams.Feeds: nil, streams.In(key): nil} {
		c, err := js.OrderedConsumer(ctx, stream, jetstream.OrderedConsumerConfig{FilterSubjects: filter})
		if err == nil {
			_, err = c.Consume(func(jetstream.Msg) {}, jetstream.PullMaxMessages(64), jetstream.PullExpiry(5*time.Minute), jetstream.PullHeartbeat(30*time.Second))
		}
		if err != nil {
			cancel()
			return nil, err
		}
	}
	says := func(kind string, body string) error {
		msg, err := keys.Plain(seal.Header{Kind: kind, At: time.Now().UnixMilli()}, []byte(body))
		if err != nil {
			return err
		}
		return nc.Publish("gt."+key+"."+kind, msg)
	}
	if err := says("hello", fmt.Sprintf("{\"name\":%q,\"box\":%q}", name, keys.Recipient())); err != nil {
		cancel()
		return nil, err
	}
	go func() {
		for ctx.Err() == nil {
			_ = says("beat", `{"process":"0123456789abcdef","heads":{"events":{"epoch":"0000000000000001-00000000","size":0}}}`)
			select {
			case <-ctx.Done():
			case <-time.After(40 * time.Second):
			}
		}
	}()
	return func() { cancel(); nc.Close() }, nil
}

// many measures what many hosts cost one hub, each with the logs of all others.
func many(dir string, n, simulated int) error {
	h, err := start(filepath.Join(dir, "hub"))
	if err != nil {
		return err
	}
	defer h.Close()
	before := memory()
	began := time.Now()
	var all []*host
	var failed atomic.Int32
	for i := range n {
		t, err := newHost(dir, "h"+strconv.Itoa(i), h)
		if err != nil {
			return err
		}
		defer t.stop()
		all = append(all, t)
	}
	stops, errs := make(chan func(), simulated), make(chan error, simulated)
	next := make(chan int)
	for range 16 {
		go func() {
			for i := range next {
				stop, err := simulate(dir, "s"+strconv.Itoa(i), h)
				if err != nil {
					errs <- err
					continue
				}
				stops <- stop
			}
		}()
	}
	for i := range simulated {
		next <- i
	}
	close(next)
	for range simulated {
		select {
		case stop := <-stops:
			defer stop()
		case err := <-errs:
			return err
		}
	}
	if _, err := wait("all hosts know all", seldom, 20*time.Minute, func() bool {
		return !slices.ContainsFunc(all, func(t *host) bool { return !knows(t, n-1+simulated) })
	}); err != nil {
		return err
	}
	fmt.Printf("| %d hosts on one hub, in one process: all know all after | %s |\n", n, time.Since(began).Round(100*time.Millisecond))
	fmt.Printf("| memory of the hub and its %d hosts together | %d MB |\n", n+simulated, (memory()-before)>>20)
	if simulated > 0 {
		time.Sleep(20 * time.Second)
		used, sent := cpu(), all[0].traffic.Stats()
		time.Sleep(time.Minute)
		now := all[0].traffic.Stats()
		fmt.Printf("| a minute of %d idle hosts and their hub, %d of the hosts simulated | %.1f s of one core |\n", n+simulated, simulated, (cpu() - used).Seconds())
		fmt.Printf("| one of them in that minute | %d kB sent, %d kB received |\n", (now.OutBytes-sent.OutBytes)>>10, (now.InBytes-sent.InBytes)>>10)
	}
	for _, t := range all {
		if err := t.events(10); err != nil {
			return err
		}
	}
	want, err := os.Stat(all[0].log())
	if err != nil {
		return err
	}
	took, err := wait("every host has the logs of all", seldom, 20*time.Minute, func() bool {
		for i, t := range all {
			for j := range all {
				if i == j {
					continue
				}
				c, err := os.Stat(peer.Of(t.state).Path("h"+strconv.Itoa(j), ".events.jsonl"))
				if err != nil || c.Size() != want.Size() {
					return false
				}
			}
		}
		return true
	})
	if err != nil {
		return err
	}
	fmt.Printf("| ten events of each, until each of them has the logs of all others | %s |\n", took.Round(100*time.Millisecond))
	fmt.Printf("| the hub's disk then | %d kB |\n", size(filepath.Join(dir, "hub"))>>10)
	if failed.Load() > 0 {
		return fmt.Errorf("%d hosts failed", failed.Load())
	}
	return nil
}

// memory returns this process's resident memory in bytes, after a collection.
func memory() int64 {
	runtime.GC()
	data, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.Sys)
	}
	var pages, resident int64
	fmt.Sscan(string(data), &pages, &resident)
	return resident * int64(os.Getpagesize())
}

// cpu returns the processor time that this process used.
func cpu() time.Duration {
	var r syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &r)
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
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

func at(all []time.Duration, percent int) time.Duration {
	s := slices.Sorted(slices.Values(all))
	return s[min(len(s)*percent/100, len(s)-1)]
}

func ms(d time.Duration) string { return fmt.Sprintf("%.1f ms", float64(d.Microseconds())/1000) }
