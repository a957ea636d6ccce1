package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"gt/lib/place"
	"gt/lib/relay/dial"
	"gt/lib/relay/feed"
	"gt/lib/relay/hub"
	"gt/lib/relay/seal"
	"gt/lib/relay/streams"
	"gt/lib/state/peer"
)

// process is the hub or a relay in a process of its own. It answers each line with a line.
type process struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
	mu  sync.Mutex
}

// child is what such a process does.
func child(args []string) {
	lines := bufio.NewScanner(os.Stdin)
	fail := func(err error) {
		if err != nil {
			fmt.Fprintln(os.Stderr, "relay: error:", err)
			os.Exit(1)
		}
	}
	if args[0] == "hub" {
		h, err := hub.Start(hub.Options{Store: args[1], Listen: "127.0.0.1:0", MaxStore: 32 << 30, Now: time.Now, Warn: warn})
		fail(err)
		i, err := hub.Invite(args[1], h.Addr(), time.Now())
		fail(err)
		fmt.Println(h.Addr(), i.Fingerprint)
		for lines.Scan() {
			key, name, _ := strings.Cut(lines.Text(), " ")
			fail(h.Admit(key, name))
			fmt.Println("ok")
		}
		h.Close()
		return
	}
	at := dial.Hub{URL: "gt://" + args[3], Fingerprint: args[4]}
	t, err := newHost(args[1], args[2], func(ctx context.Context, keys *seal.Keys) (*nats.Conn, error) {
		return at.Connect(ctx, keys, dial.Program{})
	})
	fail(err)
	fmt.Println("ok")
	for lines.Scan() {
		var s nats.Statistics
		if t.traffic != nil {
			s = t.traffic.Stats()
		}
		fmt.Println(s.OutBytes, s.InBytes)
	}
	t.stop()
}

func begin(args ...string) (*process, string, error) {
	path, err := os.Executable()
	if err != nil {
		return nil, "", err
	}
	p := &process{cmd: exec.Command(path, args...)}
	p.cmd.Stderr = os.Stderr
	in, err := p.cmd.StdinPipe()
	if err != nil {
		return nil, "", err
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, "", err
	}
	p.in, p.out = in, bufio.NewReader(out)
	if err := p.cmd.Start(); err != nil {
		return nil, "", err
	}
	first, err := p.out.ReadString('\n')
	return p, first, err
}

func (p *process) ask(line string) (string, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, err := fmt.Fprintln(p.in, line); err != nil {
		return "", err
	}
	return p.out.ReadString('\n')
}

func (p *process) end() {
	p.in.Close()
	_ = p.cmd.Wait()
}

// memory returns the resident memory of the process in bytes, 0 where the system does not say.
func (p *process) memory() int64 {
	data, _ := os.ReadFile(fmt.Sprintf("/proc/%d/statm", p.cmd.Process.Pid))
	var pages, resident int64
	fmt.Sscan(string(data), &pages, &resident)
	return resident * int64(os.Getpagesize())
}

// cpu returns the processor time that the process has used.
func (p *process) cpu() time.Duration {
	data, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.cmd.Process.Pid))
	fields := strings.Fields(string(data[bytes.LastIndexByte(data, ')')+1:]))
	if len(fields) < 13 {
		return 0
	}
	user, _ := strconv.ParseInt(fields[11], 10, 64)
	system, _ := strconv.ParseInt(fields[12], 10, 64)
	return time.Duration(user+system) * time.Second / 100
}

// traffic returns the bytes that a relay has sent and received over its connection.
func (p *process) traffic() (out, in int64, err error) {
	line, err := p.ask("traffic")
	if err == nil {
		_, err = fmt.Sscan(line, &out, &in)
	}
	return out, in, err
}

// crowd is what the simulated hosts have in common.
type crowd struct {
	at   dial.Hub
	keys []string // of all hosts
}

// beatInterval is how often a host of this crowd beats.
func (c *crowd) beatInterval() time.Duration {
	return min(max(40*time.Second, time.Duration(len(c.keys))*2*time.Second), time.Hour)
}

// actor is a simulated host.
type actor struct {
	*crowd
	keys      *seal.Keys
	name      string
	nc        *nats.Conn
	js        jetstream.JetStream
	source    *feed.Source
	state     place.State
	stopFeeds func()
	ctx       context.Context

	mu sync.Mutex
}

// beat is the body of beats.
type beat struct {
	Process string               `json:"process"`
	Heads   map[string]feed.Head `json:"heads,omitempty"`
	Every   int                  `json:"every,omitempty"`
}

func (a *actor) subject(kind string, to ...string) string {
	return strings.Join(append([]string{"gt", a.keys.Public(), kind}, to...), ".")
}

func (a *actor) header(kind, to, id string) seal.Header {
	return seal.Header{Kind: kind, To: to, ID: id, At: time.Now().UnixMilli()}
}

// beat publishes a beat, for a host that has asked or for all.
func (a *actor) beat(to, nonce string) error {
	a.mu.Lock()
	b := beat{"0123456789abcdef", a.source.Heads(), int(a.beatInterval().Seconds())}
	a.mu.Unlock()
	body, err := json.Marshal(b)
	if err != nil {
		return err
	}
	msg, err := a.keys.Plain(a.header("beat", to, nonce), body)
	if err != nil {
		return err
	}
	if to == "" {
		return a.nc.Publish(a.subject("beat"), msg)
	}
	return a.nc.Publish(a.subject("chunk", to), msg)
}

// hear takes what comes as a relay does, as far as it is answered.
func (a *actor) hear(m *nats.Msg) {
	if parts := strings.Split(m.Subject, "."); parts[2] == "ask" {
		if q, err := seal.Parse(m.Data); err == nil && q.Kind == "beat" {
			_ = a.beat(q.From, q.ID)
		}
	}
}

// simulate connects a host that has the subscriptions and streams of a relay.
func (c *crowd) simulate(ctx context.Context, dir, name string, keys *seal.Keys) (a *actor, err error) {
	a = &actor{crowd: c, keys: keys, name: name, state: place.State(filepath.Join(dir, name, "gt")), ctx: ctx}
	for range 20 { // a hub that is busy lets a host in after several attempts
		if a.nc, err = c.at.Connect(ctx, keys, dial.Program{}); err == nil {
			break
		}
		time.Sleep(3 * time.Second)
	}
	if err != nil {
		return nil, err
	}
	if a.js, err = jetstream.New(a.nc, jetstream.WithDefaultTimeout(5*time.Minute)); err != nil {
		return nil, err
	}
	if a.source, err = feed.NewSource(a.state); err != nil {
		return nil, err
	}
	key := keys.Public()
	if err := streams.MakeStreams(ctx, a.js, key); err != nil {
		return nil, err
	}
	for _, subject := range streams.LiveSubjects(key) {
		if _, err := a.nc.Subscribe(subject, a.hear); err != nil {
			return nil, err
		}
	}
	hello, err := json.Marshal(map[string]any{"name": name, "box": keys.Recipient()})
	if err != nil {
		return nil, err
	}
	msg, err := keys.Plain(a.header("hello", "", ""), hello)
	if err != nil {
		return nil, err
	}
	if _, err := a.js.Publish(ctx, a.subject("hello"), msg); err != nil {
		return nil, err
	}
	states, err := keys.Plain(a.header("states", "", ""), bytes.Repeat([]byte("x"), 3500)) // ten agents
	if err != nil {
		return nil, err
	}
	if _, err := a.js.Publish(ctx, a.subject("states"), states); err != nil {
		return nil, err
	}
	if err := a.beat("", ""); err != nil {
		return nil, err
	}
	if err := a.follow(ctx, streams.Fleet, "gt.*.hello", "gt.*.states", "gt.*.allows."+key); err != nil {
		return nil, err
	}
	feeds, stop := context.WithCancel(ctx)
	a.stopFeeds = stop
	if err := a.follow(feeds, streams.Feeds); err != nil {
		return nil, err
	}
	if err := a.follow(ctx, streams.InboxStream(key)); err != nil {
		return nil, err
	}
	go a.live()
	return a, nil
}

func (a *actor) follow(ctx context.Context, stream string, filter ...string) error {
	place, err := streams.OpenConsumer(ctx, a.js, stream, 0, nil, filter...)
	if err == nil {
		go streams.Follow(ctx, place, func(m jetstream.Msg, _ bool) { a.hear(&nats.Msg{Subject: m.Subject(), Data: m.Data()}) })
	}
	return err
}

// live beats as a relay does.
func (a *actor) live() {
	beat := time.NewTimer(rand.N(a.beatInterval())) // not all at once
	defer beat.Stop()
	for {
		select {
		case <-a.ctx.Done():
			a.nc.Close()
			return
		case <-beat.C:
			_ = a.beat("", "")
			beat.Reset(a.beatInterval())
		}
	}
}

// event appends an event to the host's log and sends it.
func (a *actor) event() error {
	if err := (&host{state: a.state}).events(1); err != nil {
		return err
	}
	path := a.state.Path(".events.jsonl")
	a.mu.Lock()
	defer a.mu.Unlock()
	c, ok, err := a.source.NextChunk("events", path)
	if err != nil || !ok {
		return errors.Join(err, errors.New("no event"))
	}
	body, err := c.Marshal()
	if err != nil {
		return err
	}
	msg, err := a.keys.Plain(a.header("feed", "", ""), body)
	if err != nil {
		return err
	}
	if _, err := a.js.Publish(a.ctx, a.subject("feed"), msg); err != nil {
		return err
	}
	return a.source.RecordSent(c, path)
}

// forEachParallel calls do for all, so many at once.
func forEachParallel[T any](all []T, atOnce int, do func(int, T) error) error {
	var wait sync.WaitGroup
	var failed atomic.Pointer[error]
	next := make(chan int)
	for range atOnce {
		wait.Go(func() {
			for i := range next {
				if err := do(i, all[i]); err != nil {
					failed.Store(&err)
				}
			}
		})
	}
	for i := range all {
		next <- i
	}
	close(next)
	wait.Wait()
	if err := failed.Load(); err != nil {
		return *err
	}
	return nil
}

// figure is a line of the table of many hosts.
type figure struct{ what, value string }

// measureManyHosts measures what many hosts cost one hub, each with the logs of all others. It
// prints each figure on standard error as soon as it is known.
func measureManyHosts(dir string, n, real, events int) (figures []figure, err error) {
	add := func(what, format string, args ...any) {
		f := figure{what, fmt.Sprintf(format, args...)}
		figures = append(figures, f)
		fmt.Fprintf(os.Stderr, "%d hosts: %s: %s\n", n, f.what, f.value)
	}
	store := filepath.Join(dir, "hub")
	server, line, err := begin("hub", store)
	if err != nil {
		return nil, err
	}
	defer server.end()
	address, fingerprint, _ := strings.Cut(strings.TrimSpace(line), " ")
	c := &crowd{at: dial.Hub{URL: "gt://" + address, Fingerprint: fingerprint}}
	names := make([]string, n)
	keys := make([]*seal.Keys, n)
	for i := range n {
		names[i] = "h" + strconv.Itoa(i)
		state := place.State(filepath.Join(dir, names[i], "gt"))
		if keys[i], err = seal.Load(state, true); err != nil {
			return nil, err
		}
		if err := peer.NewHosts(state).SetOwn(peer.Host{Name: names[i]}); err != nil {
			return nil, err
		}
		c.keys = append(c.keys, keys[i].Public())
		if answer, err := server.ask(keys[i].Public() + " " + names[i]); err != nil || answer != "ok\n" {
			return nil, fmt.Errorf("not admitted: %q, %w", answer, err)
		}
	}
	add("memory of the hub at first", "%d MB", server.memory()>>20)

	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	began, used := time.Now(), server.cpu()
	relays := make([]*process, real)
	start := func(i int) error {
		relays[i], _, err = begin("relay", dir, names[i], address, fingerprint)
		return err
	}
	for i := range real {
		if err := start(i); err != nil {
			return nil, err
		}
		defer func() { relays[i].end() }()
	}
	actors := make([]*actor, n-real)
	if err := forEachParallel(actors, 16, func(i int, _ *actor) (err error) {
		actors[i], err = c.simulate(ctx, dir, names[real+i], keys[real+i])
		return err
	}); err != nil {
		return nil, err
	}
	add("all are connected after", "%s", time.Since(began).Round(100*time.Millisecond))
	state := func(i int) place.State { return place.State(filepath.Join(dir, names[i], "gt")) }
	if _, err := wait("all hosts know all", time.Second, 40*time.Minute, func() bool {
		for i := range real {
			if !knows(&host{state: state(i)}, n-1) {
				return false
			}
		}
		return true
	}); err != nil {
		return nil, err
	}
	add("each knows all after", "%s, hub %.1f s", time.Since(began).Round(100*time.Millisecond), (server.cpu() - used).Seconds())
	if len(actors) == 0 {
		return nil, errors.New("at least one host has to be simulated")
	}
	fleet, err := actors[0].js.Stream(ctx, streams.Fleet)
	if err != nil {
		return nil, err
	}
	add("the hub keeps", "%d messages", fleet.CachedInfo().State.Msgs)
	time.Sleep(30 * time.Second)
	add("memory of hub, relay", "%d MB, %d MB", server.memory()>>20, relays[0].memory()>>20)
	add("the hub's disk", "%d MB", size(store)>>20)

	const minutes = 3
	hubCPU, relayCPU := server.cpu(), relays[0].cpu()
	out, in, err := relays[0].traffic()
	if err != nil {
		return nil, err
	}
	time.Sleep(minutes * time.Minute)
	out2, in2, err := relays[0].traffic()
	if err != nil {
		return nil, err
	}
	add("all are idle, in a minute", "hub %.2f s, relay %.2f s; it sends %d bytes, receives %d", (server.cpu()-hubCPU).Seconds()/minutes, (relays[0].cpu()-relayCPU).Seconds()/minutes, (out2-out)/minutes, (in2-in)/minutes)

	// An hour of a working day, while one host is away and the simulated ones read no logs.
	relays[0].end()
	for _, a := range actors {
		a.stopFeeds()
	}
	disk, relayCPU := size(store), relays[min(1, real-1)].cpu()
	hubCPU = server.cpu()
	began = time.Now()
	if err := forEachParallel(actors, 64, func(_ int, a *actor) error {
		for range events {
			if err := a.event(); err != nil {
				return err
			}
		}
		return a.beat("", "")
	}); err != nil {
		return nil, err
	}
	total := events * len(actors)
	add("an hour of the others", "%d events in %s, hub %.1f s, %d MB of disk", total, time.Since(began).Round(time.Second), (server.cpu() - hubCPU).Seconds(), (size(store)-disk)>>20)
	has := func(i int) bool {
		for j := real; j < n; j++ {
			want, err := os.Stat(state(j).Path(".events.jsonl"))
			got, gerr := os.Stat(peer.NewHosts(state(i)).Path(names[j], ".events.jsonl"))
			if err != nil || gerr != nil || got.Size() != want.Size() {
				return false
			}
		}
		return true
	}
	if real > 1 {
		if _, err := wait("a host that was there has all", time.Second, 40*time.Minute, func() bool { return has(1) }); err != nil {
			return nil, err
		}
		add("a relay has all after", "%s, %.1f s", time.Since(began).Round(time.Second), (relays[1].cpu() - relayCPU).Seconds())
	}
	hubCPU, began = server.cpu(), time.Now()
	if err := start(0); err != nil {
		return nil, err
	}
	if _, err := wait("the host that was away has all", 200*time.Millisecond, 40*time.Minute, func() bool { return has(0) }); err != nil {
		return nil, err
	}
	took := time.Since(began)
	_, in, err = relays[0].traffic()
	if err != nil {
		return nil, err
	}
	add("one that was away has all after", "%s, %.1f s, hub %.1f s; %d MB received, %d MB of memory", took.Round(100*time.Millisecond), relays[0].cpu().Seconds(), (server.cpu() - hubCPU).Seconds(), in>>20, relays[0].memory()>>20)
	add("memory, disk of the hub then", "%d MB, %d MB", server.memory()>>20, size(store)>>20)
	return figures, nil
}
