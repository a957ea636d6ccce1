package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
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
	keys []string       // of all hosts, sorted
	all  map[string]int // the places of keys in it
	// real are the recipients of the real hosts.
	real map[string]string
}

// every is how often a host of this crowd beats.
func (c *crowd) every() time.Duration {
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

	mu  sync.Mutex
	met []contact // with each host of the crowd
}

// contact is what an actor knows of another host.
type contact struct {
	hello bool      // it has said it
	has   grant     // what it has given
	given time.Time // when it was last given the key of the actor's log
}

// grant names the key that a host has of another one.
type grant struct {
	ID string `json:"id,omitempty"`
	At int64  `json:"at,omitempty"`
}

// beat is the body of beats, and of questions for one.
type beat struct {
	Process string               `json:"process"`
	Heads   map[string]feed.Head `json:"heads,omitempty"`
	Every   int                  `json:"every,omitempty"`
	Holds   *grant               `json:"holds,omitempty"`
}

func (a *actor) subject(kind string, to ...string) string {
	return strings.Join(append([]string{"gt", a.keys.Public(), kind}, to...), ".")
}

func (a *actor) header(kind, to, id string) seal.Header {
	return seal.Header{Kind: kind, To: to, ID: id, At: time.Now().UnixMilli()}
}

// says publishes a beat or a question for one.
func (a *actor) says(kind, to, nonce string) error {
	b, subject := beat{Process: "0123456789abcdef"}, a.subject("beat")
	a.mu.Lock()
	if kind == "chunk" {
		b.Heads, b.Every = a.source.Heads(), int(a.every().Seconds())
	}
	if to != "" {
		has := a.met[a.all[to]].has
		b.Holds, subject = &has, a.subject(kind, to)
	}
	a.mu.Unlock()
	body, err := json.Marshal(b)
	if err != nil {
		return err
	}
	msg := a.unsigned(a.header("beat", to, nonce), body)
	if to == "" || a.real[to] != "" {
		if msg, err = a.keys.Plain(a.header("beat", to, nonce), body); err != nil {
			return err
		}
	}
	return a.nc.Publish(subject, msg)
}

// unsigned is a message as long as a signed one, for a simulated host: it checks nothing, and one
// processor cannot sign for a thousand.
func (a *actor) unsigned(h seal.Header, body []byte) []byte {
	h.From = a.keys.Public()
	header, _ := json.Marshal(h)
	return slices.Concat(header, []byte("\n"+strings.Repeat("A", 86)+"\n"), body)
}

// beat publishes a beat for all.
func (a *actor) beat() error { return a.says("chunk", "", "") }

// ask asks a host for a beat.
func (a *actor) ask(to string) error { return a.says("ask", to, "0123456789abcdef") }

// grant is the name of what a host should have of this one.
func (a *actor) grant(to string) string {
	sum := sha256.Sum256([]byte(a.keys.Feed + a.real[to]))
	return hex.EncodeToString(sum[:8])
}

// give gives the key of this host's log to another one that does not have it.
func (a *actor) give(to string, has *grant) error {
	id := a.grant(to)
	if has == nil || has.ID == id {
		return nil
	}
	a.mu.Lock()
	given := &a.met[a.all[to]].given
	soon := time.Since(*given) < 3*time.Second
	if !soon {
		*given = time.Now()
	}
	a.mu.Unlock()
	if soon {
		return nil
	}
	msg := a.unsigned(a.header("grant", to, id), make([]byte, 464)) // as long as a sealed one
	if box := a.real[to]; box != "" {
		var err error
		if msg, err = a.keys.ForHost(box, a.header("grant", to, id), []byte(a.keys.Feed)); err != nil {
			return err
		}
	}
	return a.nc.Publish(a.subject("chunk", to), msg)
}

// hear takes what comes as a relay does, as far as it is answered.
func (a *actor) hear(m *nats.Msg) {
	parts := strings.Split(m.Subject, ".")
	from := parts[1]
	i, ok := a.all[from]
	if !ok || from == a.keys.Public() {
		return
	}
	switch parts[2] {
	case "hello":
		a.mu.Lock()
		a.met[i].hello = true
		a.mu.Unlock()
		_ = a.ask(from)
		return
	case "beat", "chunk", "ask", "grant":
	default:
		return
	}
	var h seal.Header
	line, rest, _ := bytes.Cut(m.Data, []byte("\n"))
	if json.Unmarshal(line, &h) != nil {
		return
	}
	if h.Kind == "grant" {
		a.mu.Lock()
		a.met[i].has = grant{h.ID, h.At}
		a.mu.Unlock()
		_ = a.ask(from) // how long its log is
		return
	}
	if h.Kind != "beat" {
		return
	}
	var b beat
	_, body, _ := bytes.Cut(rest, []byte("\n"))
	if json.Unmarshal(body, &b) != nil {
		return
	}
	_ = a.give(from, b.Holds)
	if parts[2] == "ask" {
		_ = a.says("chunk", from, h.ID)
	}
}

// hasMet reports whether a host has said hello.
func (a *actor) hasMet(key string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.met[a.all[key]].hello
}

// without returns the hosts whose keys this one does not have.
func (a *actor) without() (keys []string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for i, key := range a.crowd.keys {
		if a.met[i].has.ID == "" && key != a.keys.Public() {
			keys = append(keys, key)
		}
	}
	return keys
}

// simulate connects a host that has the subscriptions and streams of a relay.
func (c *crowd) simulate(ctx context.Context, dir, name string, keys *seal.Keys) (a *actor, err error) {
	a = &actor{crowd: c, keys: keys, name: name, state: place.State(filepath.Join(dir, name, "gt")), ctx: ctx, met: make([]contact, len(c.keys))}
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
	if err := streams.Make(ctx, a.js, key); err != nil {
		return nil, err
	}
	for _, subject := range []string{"gt.*.beat", "gt.*.ask." + key, "gt.*.chunk." + key} {
		if _, err := a.nc.Subscribe(subject, a.hear); err != nil {
			return nil, err
		}
	}
	hello, err := json.Marshal(map[string]any{"name": name, "box": keys.Recipient(), "needs": 1, "knows": 3})
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
	states, err := keys.ForFeed(a.header("states", "", ""), bytes.Repeat([]byte("x"), 3500)) // ten agents
	if err != nil {
		return nil, err
	}
	if _, err := a.js.Publish(ctx, a.subject("states"), states); err != nil {
		return nil, err
	}
	if err := a.beat(); err != nil {
		return nil, err
	}
	if err := errors.Join(a.follow(ctx, streams.Fleet, "gt.*.hello", "gt.*.states"), a.follow(ctx, streams.Fleet, "gt.*.grant."+key)); err != nil {
		return nil, err
	}
	feeds, stop := context.WithCancel(ctx)
	a.stopFeeds = stop
	if err := a.follow(feeds, streams.Feeds); err != nil {
		return nil, err
	}
	if err := a.follow(ctx, streams.In(key)); err != nil {
		return nil, err
	}
	go a.live()
	return a, nil
}

func (a *actor) follow(ctx context.Context, stream string, filter ...string) error {
	place, err := streams.Open(ctx, a.js, stream, 0, nil, filter...)
	if err == nil {
		go streams.Follow(ctx, place, func(m jetstream.Msg) { a.hear(&nats.Msg{Subject: m.Subject(), Data: m.Data()}) })
	}
	return err
}

// live beats, and watches the next host, as a relay does.
func (a *actor) live() {
	beat, watch := time.NewTimer(rand.N(a.every())), time.NewTicker(40*time.Second) // not all at once
	defer beat.Stop()
	defer watch.Stop()
	next := a.crowd.keys[(a.all[a.keys.Public()]+1)%len(a.crowd.keys)]
	for {
		select {
		case <-a.ctx.Done():
			a.nc.Close()
			return
		case <-beat.C:
			_ = a.beat()
			beat.Reset(a.every())
		case <-watch.C:
			if a.every() > 40*time.Second {
				_ = a.ask(next)
			}
			for _, key := range a.without() {
				if a.hasMet(key) {
					_ = a.ask(key)
				}
			}
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
	c, ok, err := a.source.Next("events", path, time.Now())
	if err != nil || !ok {
		return errors.Join(err, errors.New("no event"))
	}
	body, err := c.Marshal()
	if err != nil {
		return err
	}
	msg, err := a.keys.ForFeed(a.header("feed", "", ""), body)
	if err != nil {
		return err
	}
	if _, err := a.js.Publish(a.ctx, a.subject("feed"), msg); err != nil {
		return err
	}
	return a.source.Sent(c, path)
}

// each calls do for all, so many at once.
func each[T any](all []T, atOnce int, do func(int, T) error) error {
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

// many measures what many hosts cost one hub, each with the logs of all others.
func many(dir string, n, real, events int) error {
	store := filepath.Join(dir, "hub")
	server, line, err := begin("hub", store)
	if err != nil {
		return err
	}
	defer server.end()
	address, fingerprint, _ := strings.Cut(strings.TrimSpace(line), " ")
	c := &crowd{at: dial.Hub{URL: "gt://" + address, Fingerprint: fingerprint}, all: map[string]int{}, real: map[string]string{}}
	names := make([]string, n)
	keys := make([]*seal.Keys, n)
	for i := range n {
		names[i] = "h" + strconv.Itoa(i)
		state := place.State(filepath.Join(dir, names[i], "gt"))
		if keys[i], err = seal.Load(state, true); err != nil {
			return err
		}
		if err := peer.Of(state).SetOwn(peer.Host{Name: names[i]}); err != nil {
			return err
		}
		c.keys = append(c.keys, keys[i].Public())
		if i < real {
			c.real[keys[i].Public()] = keys[i].Recipient()
		}
		if answer, err := server.ask(keys[i].Public() + " " + names[i]); err != nil || answer != "ok\n" {
			return fmt.Errorf("not admitted: %q, %w", answer, err)
		}
	}
	slices.Sort(c.keys)
	for i, key := range c.keys {
		c.all[key] = i
	}
	fmt.Printf("| a hub that knows %d hosts of which none has connected | %d MB |\n", n, server.memory()>>20)

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
			return err
		}
		defer func() { relays[i].end() }()
	}
	actors := make([]*actor, n-real)
	if err := each(actors, 16, func(i int, _ *actor) (err error) {
		actors[i], err = c.simulate(ctx, dir, names[real+i], keys[real+i])
		return err
	}); err != nil {
		return err
	}
	fmt.Printf("| all %d have connected after | %s |\n", n, time.Since(began).Round(100*time.Millisecond))
	state := func(i int) place.State { return place.State(filepath.Join(dir, names[i], "gt")) }
	if _, err := wait("all hosts know all", time.Second, 40*time.Minute, func() bool {
		for i := range real {
			if !knows(&host{state: state(i)}, n-1) {
				return false
			}
		}
		return true
	}); err != nil {
		return err
	}
	fmt.Printf("| %d hosts, %d of them real: each real one knows all after | %s, %.1f s of the hub's processor |\n", n, real, time.Since(began).Round(100*time.Millisecond), (server.cpu() - used).Seconds())
	if len(actors) == 0 {
		return errors.New("at least one host has to be simulated")
	}
	if _, err := wait("all have the keys of all", time.Second, time.Hour, func() bool {
		for _, a := range actors {
			if len(a.without()) > 0 {
				return false
			}
		}
		for i := range real {
			keys, err := filepath.Glob(peer.Of(state(i)).Path("*", "feed.key"))
			if err != nil || len(keys) < n-1 {
				return false
			}
		}
		return true
	}); err != nil {
		return err
	}
	fleet, err := actors[0].js.Stream(ctx, streams.Fleet)
	if err != nil {
		return err
	}
	fmt.Printf("| all have the keys of all after | %s, %.1f s of the hub's processor; it keeps %d messages of the fleet |\n", time.Since(began).Round(100*time.Millisecond), (server.cpu() - used).Seconds(), fleet.CachedInfo().State.Msgs)
	time.Sleep(30 * time.Second)
	fmt.Printf("| memory of the hub, of a relay | %d MB, %d MB |\n", server.memory()>>20, relays[0].memory()>>20)
	fmt.Printf("| the hub's disk | %d MB |\n", size(store)>>20)

	const minutes = 3
	hubCPU, relayCPU := server.cpu(), relays[0].cpu()
	out, in, err := relays[0].traffic()
	if err != nil {
		return err
	}
	time.Sleep(minutes * time.Minute)
	out2, in2, err := relays[0].traffic()
	if err != nil {
		return err
	}
	fmt.Printf("| all are idle, in a minute | hub %.2f s of a processor, a relay %.2f s; it sends %d bytes, receives %d |\n",
		(server.cpu()-hubCPU).Seconds()/minutes, (relays[0].cpu()-relayCPU).Seconds()/minutes, (out2-out)/minutes, (in2-in)/minutes)

	// An hour of a working day, while one host is away and the simulated ones read no logs.
	relays[0].end()
	for _, a := range actors {
		a.stopFeeds()
	}
	disk, relayCPU := size(store), relays[min(1, real-1)].cpu()
	hubCPU = server.cpu()
	began = time.Now()
	if err := each(actors, 64, func(_ int, a *actor) error {
		for range events {
			if err := a.event(); err != nil {
				return err
			}
		}
		return a.beat()
	}); err != nil {
		return err
	}
	total := events * len(actors)
	fmt.Printf("| an hour of the others, %d events | in %s, hub %.1f s of a processor, %d MB of its disk |\n", total, time.Since(began).Round(time.Second), (server.cpu() - hubCPU).Seconds(), (size(store)-disk)>>20)
	has := func(i int) bool {
		for j := real; j < n; j++ {
			want, err := os.Stat(state(j).Path(".events.jsonl"))
			got, gerr := os.Stat(peer.Of(state(i)).Path(names[j], ".events.jsonl"))
			if err != nil || gerr != nil || got.Size() != want.Size() {
				return false
			}
		}
		return true
	}
	if real > 1 {
		if _, err := wait("a host that was there has all", time.Second, 40*time.Minute, func() bool { return has(1) }); err != nil {
			return err
		}
		fmt.Printf("| a relay that was there has all after | %s, %.1f s of a processor |\n", time.Since(began).Round(time.Second), (relays[1].cpu() - relayCPU).Seconds())
	}
	hubCPU, began = server.cpu(), time.Now()
	if err := start(0); err != nil {
		return err
	}
	if _, err := wait("the host that was away has all", 200*time.Millisecond, 40*time.Minute, func() bool { return has(0) }); err != nil {
		return err
	}
	took := time.Since(began)
	_, in, err = relays[0].traffic()
	if err != nil {
		return err
	}
	fmt.Printf("| the relay that was away has all after | %s, %.1f s of a processor (hub %.1f s); it received %d MB and has %d MB of memory |\n",
		took.Round(100*time.Millisecond), relays[0].cpu().Seconds(), (server.cpu() - hubCPU).Seconds(), in>>20, relays[0].memory()>>20)
	fmt.Printf("| memory of the hub then, its disk | %d MB, %d MB |\n", server.memory()>>20, size(store)>>20)
	return nil
}
