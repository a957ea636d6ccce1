package hub

import (
	"bufio"
	"context"
	"crypto/rand"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/time/rate"

	"gt/lib/cli"
	"gt/lib/relay/invite"
	"gt/lib/relay/seal"
	"gt/lib/relay/streams"
)

// A gate stands between a host and the server. A request of NATS names where the server writes
// its answer, and no permission bounds that: an answer, or what a consumer pushes, would lie
// among the letters of other hosts. So a gate takes the commands that a relay sends, with replies
// to the host's own inbox alone, and messages of the size that their kind has.

const (
	gateWait     = 5 * time.Second  // for the handshake and the first command
	maxUnproved  = 512              // connections that have not proved a key; see registerGate
	consumerLife = 10 * time.Minute // how long a consumer may lie there unused
	maxConsumers = 512              // that a host may make in that time
	maxQuestions = 8                // that wait at a consumer
	minHeartbeat = 5 * time.Second  // how often the server says at most that it has nothing
	maxLine      = 4096

	lettersRate   = 100 // a second and host
	lettersAtOnce = 1024

	maxRequest     = 64 << 10 // of JetStream
	maxInvited     = 4096
	mostAllowed    = 4096 // hosts that one can tell what it allows them
	maxConnections = 2    // of a host, each with maxPending; one more ends its oldest: a lost network leaves one
	maxPending     = 32 << 20
)

// kindSizes bounds the messages of each kind, in bytes.
var kindSizes = map[string]int{
	"hello": 8 << 10, "allows": 8 << 10, "receipt": 16 << 10, "beat": streams.MaxMessage / 4, "states": streams.MaxMessage * 3 / 4,
	"feed": streams.MaxMessage / 2, "to": streams.MaxLetter, "ask": streams.MaxMessage / 2, "chunk": streams.MaxMessage,
}

// gatedUser begins the user of a connection through a gate, followed by the gate's number. One without
// a user comes from this process, or from its socket, and may do everything.
const gatedUser = "gated "

// gate is the connection of one host.
type gate struct {
	hub       *Hub
	conn      net.Conn
	fromHost  *bufio.Reader // the host
	server    net.Conn
	inbox     string // prefix of its replies
	key       string // "" for one with an invitation
	number    string
	keyProved bool // the server has seen that the key is the host's
}

// registerGate notes a connection. If there are too many of strangers, it ends the oldest of the address
// that has most of them, so that a flood from one address keeps out nobody else.
func (h *Hub) registerGate(g *gate) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.gates = append(h.gates, g)
	unproved := slices.DeleteFunc(slices.Clone(h.gates), func(g *gate) bool { return g.keyProved })
	if len(unproved) <= maxUnproved { // mutant always: TestStrangers
		return
	}
	counts, oldest := map[string]int{}, unproved[0]
	for _, g := range unproved {
		counts[g.address()]++
	}
	for _, g := range unproved {
		if counts[g.address()] > counts[oldest.address()] {
			oldest = g
		}
	}
	h.gates = slices.DeleteFunc(h.gates, func(g *gate) bool { return g == oldest })
	oldest.conn.Close()
}

// markProved notes that the host of a connection has proved its key, and ends its oldest one if it has too
// many: it could take all that the system has for others.
func (h *Hub) markProved(number string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	at := slices.IndexFunc(h.gates, func(g *gate) bool { return g.number == number })
	if at < 0 {
		return
	}
	h.gates[at].keyProved = true
	own := slices.DeleteFunc(slices.Clone(h.gates), func(g *gate) bool { return !g.keyProved || g.key != h.gates[at].key })
	if len(own) > maxConnections { // mutant never: TestManyConnections
		oldest := own[0]
		h.gates = slices.DeleteFunc(h.gates, func(g *gate) bool { return g == oldest })
		cli.Go(func() { // both: a half that waits for the host to read would stay
			oldest.server.Close()
			oldest.conn.Close()
		})
	}
}

// isProved reports whether the server has seen that the key is the host's, or the host has none
// (see key). A relay sends its first message after the server has told it so.
func (g *gate) isProved() bool {
	g.hub.mu.Lock()
	defer g.hub.mu.Unlock()
	return g.keyProved || g.key == ""
}

// address is the host's, without its port.
func (g *gate) address() string {
	host, _, err := net.SplitHostPort(g.conn.RemoteAddr().String())
	if err != nil {
		return g.conn.RemoteAddr().String()
	}
	return host
}

// acceptHosts takes connections of hosts until the listener is closed.
func (h *Hub) acceptHosts(l net.Listener, config *tls.Config) {
	for {
		c, err := l.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		} else if err != nil {
			time.Sleep(100 * time.Millisecond) // too many files
			continue
		}
		cli.Go(func() {
			defer c.Close()
			_ = h.passThrough(c, config) // a host that says nonsense
		})
	}
}

// passThrough joins a host's connection to the server in this process: with TLS, and after a check
// of each command of the host. It returns when one of the two ends.
func (h *Hub) passThrough(c net.Conn, config *tls.Config) error {
	server, err := h.server.InProcessConn()
	if err != nil {
		return err
	}
	defer server.Close()
	g := &gate{hub: h, conn: c, server: server, number: rand.Text()}
	h.registerGate(g)
	defer func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.gates = slices.DeleteFunc(h.gates, func(other *gate) bool { return other == g })
	}()
	says := bufio.NewReader(server)
	line, err := says.ReadString('\n')
	text, ok := strings.CutPrefix(line, "INFO ")
	var info map[string]any
	if err != nil || !ok || json.Unmarshal([]byte(text), &info) != nil {
		return errors.Join(err, errors.New("the server does not answer"))
	}
	info["tls_required"] = true
	data, err := json.Marshal(info)
	if err != nil {
		return err
	}
	_ = c.SetDeadline(time.Now().Add(gateWait))
	if _, err := fmt.Fprintf(c, "INFO %s\r\n", data); err != nil {
		return err
	}
	secure := tls.Server(c, config)
	if err := secure.HandshakeContext(context.Background()); err != nil {
		return err
	}
	g.fromHost = bufio.NewReaderSize(secure, maxLine)
	if err := g.forwardConnect(); err != nil {
		return err
	}
	_ = c.SetDeadline(time.Time{})
	copied := make(chan struct{})
	cli.Go(func() {
		defer close(copied)
		_, _ = io.Copy(secure, says)
		secure.Close()
	})
	for err == nil {
		err = g.forwardCommand()
	}
	if errors.Is(err, io.ErrClosedPipe) { // the server has closed it, and said why
		<-copied
	}
	return err
}

// readLine reads one command: its name, in upper case, and the rest of the line.
func (g *gate) readLine() (op, rest string, err error) {
	line, err := g.fromHost.ReadSlice('\n')
	if err != nil {
		return "", "", err
	}
	op, rest, _ = strings.Cut(strings.TrimRight(string(line), "\r\n"), " ")
	if strings.ContainsAny(rest, "\r\x00") {
		return "", "", errors.New("a line with two ends")
	}
	return strings.ToUpper(op), strings.TrimSpace(rest), nil
}

// connectOptions are what a relay says of itself. The server is told these alone, in the gate's own
// words: it reads names as "USER" and "u\u017fer" as user, too.
type connectOptions struct {
	Verbose      bool   `json:"verbose"`
	Pedantic     bool   `json:"pedantic"`
	Echo         bool   `json:"echo"`
	Headers      bool   `json:"headers"`
	NoResponders bool   `json:"no_responders"`
	Protocol     int    `json:"protocol"`
	User         string `json:"user"`
	Pass         string `json:"pass"`
	Nkey         string `json:"nkey"`
	Sig          string `json:"sig"`
}

// forwardConnect passes on the first command, which says who the host is, with the gate's number in
// its user (see markProved). The server checks the key.
func (g *gate) forwardConnect() error {
	op, rest, err := g.readLine()
	if err != nil || op != "CONNECT" {
		return errors.Join(err, errors.New("no CONNECT"))
	}
	var says connectOptions
	if err := json.Unmarshal([]byte(rest), &says); err != nil {
		return err
	}
	if says.User == invite.User {
		g.inbox = "_INBOX."
	} else {
		says.User = gatedUser + g.number
		g.key = says.Nkey
		g.inbox = streams.InboxPrefix(g.key) + "."
	}
	data, err := json.Marshal(says)
	if err == nil {
		_, err = fmt.Fprintf(g.server, "CONNECT %s\r\n", data)
	}
	return err
}

// forwardCommand takes one more command.
func (g *gate) forwardCommand() error {
	op, rest, err := g.readLine()
	if err != nil {
		return err
	}
	switch op {
	case "PING", "PONG", "SUB", "UNSUB":
		_, err = fmt.Fprintf(g.server, "%s %s\r\n", op, rest)
	case "PUB": // no relay sends HPUB: headers have the server empty a subject, trace, expire or schedule
		err = g.forwardPublish(rest)
	case "": // an empty line
	default:
		err = fmt.Errorf("unknown command %.20q", op)
	}
	return err
}

// forwardPublish passes on a message, "subject [reply] size", or tells the host why it does not.
func (g *gate) forwardPublish(rest string) error {
	words := strings.Fields(rest)
	if len(words) < 2 || len(words) > 3 {
		return errors.New("a message without a subject")
	}
	subject, reply := words[0], ""
	if len(words) == 3 {
		reply = words[1]
	}
	size, err := strconv.Atoi(words[len(words)-1])
	if err != nil || size < 0 || size > streams.MaxPayload {
		return errors.New("a message without a size")
	}
	if !g.isProved() {
		return errors.New("a message before the key is proved") // whose limits apply is not known
	}
	if why := g.whyRefused(subject, reply, size); why != "" {
		if _, err := io.CopyN(io.Discard, g.fromHost, int64(size)+2); err != nil {
			return err
		}
		return g.sendRefusal(why)
	}
	if !strings.HasPrefix(subject, "$JS.") {
		if strings.Contains(subject, ".to.") { // receipts are as many as what others sent, and cheap
			if err := g.hub.letterLimiter(g.key).Wait(context.Background()); err != nil {
				return err
			}
		}
		if _, err := fmt.Fprintf(g.server, "PUB %s\r\n", strings.Join(words, " ")); err != nil { // as it was read here
			return err
		}
		_, err = io.CopyN(g.server, g.fromHost, int64(size)+2)
		return err
	}
	body := make([]byte, size+2)
	if _, err := io.ReadFull(g.fromHost, body); err != nil {
		return err
	}
	text, why := g.hub.rewriteRequest(g.key, subject, body[:size])
	if why != "" {
		return g.sendRefusal(why)
	}
	words[len(words)-1] = strconv.Itoa(len(text))
	_, err = fmt.Fprintf(g.server, "PUB %s\r\n%s\r\n", strings.Join(words, " "), text)
	return err
}

// letterLimiter returns how fast a host may send letters: the hub syncs each to disk before the next one, and
// those of others wait.
func (h *Hub) letterLimiter(key string) *rate.Limiter {
	h.mu.Lock()
	defer h.mu.Unlock()
	l := h.letterLimiters[key]
	if l == nil {
		l = rate.NewLimiter(lettersRate, lettersAtOnce)
		h.letterLimiters[key] = l
	}
	return l
}

// sendRefusal tells the host that a message was not taken. The server says so, between what else it
// says, because nobody may publish under this subject.
func (g *gate) sendRefusal(why string) error {
	_, err := fmt.Fprintf(g.server, "PUB _refused.%s 0\r\n\r\n", strings.ReplaceAll(why, " ", "-"))
	return err
}

// whyRefused returns why a message is not taken, or "".
func (g *gate) whyRefused(subject, reply string, size int) string {
	if reply != "" && !strings.HasPrefix(reply, g.inbox) { // mutant never: TestWhatAHostMayDo
		return "a reply outside of its inbox"
	}
	// A relay's subjects are gt.KEY.KIND and what follows; an unknown kind may have no byte.
	parts := strings.Split(subject, ".")
	most := maxInvited // of a host that asks to be admitted
	switch {
	case parts[0] == "$JS":
		most = maxRequest
	case len(parts) > 2 && parts[1] == g.key:
		most = kindSizes[parts[2]]
	}
	if size > most { // mutant never: TestWhatAHostMayDo
		return fmt.Sprintf("over %d bytes", most)
	}
	if len(parts) > 3 && parts[2] == "allows" && !g.hub.mayTell(g.key, parts[3]) {
		return "it tells too many hosts"
	}
	return ""
}

// mayTell reports whether a host may tell another one what it allows: the hub keeps the last word
// to each.
func (h *Hub) mayTell(from, to string) bool {
	if seal.CheckKey(to) != nil {
		return false
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	all := h.allowances[from]
	if all == nil {
		all = map[string]bool{}
		h.allowances[from] = all
	}
	if len(all) < mostAllowed {
		all[to] = true
	}
	return all[to]
}

// rewriteRequest returns what the server is told of a request, in the gate's own words: the server may
// read the host's otherwise, such as a "config" and a second one that is null. Or it returns why
// the request is not taken.
func (h *Hub) rewriteRequest(key, subject string, text []byte) (says []byte, why string) {
	switch {
	case strings.HasPrefix(subject, "$JS.API.CONSUMER.CREATE."):
		return h.rewriteConsumer(key, text)
	case strings.HasPrefix(subject, "$JS.API.CONSUMER.MSG.NEXT."):
		return rewriteQuestion(text)
	}
	return nil, "" // no relay says more
}

// consumerSettings are the settings of a consumer that a relay makes. With others the server would write to
// any subject, or keep it for ever.
var consumerSettings = []string{
	"name", "deliver_policy", "opt_start_seq", "opt_start_time", "ack_policy", "filter_subject", "filter_subjects", "replay_policy",
	"num_replicas", "mem_storage", "inactive_threshold",
}

// rewriteConsumer returns how a host asks for a consumer, or why it may not have it.
func (h *Hub) rewriteConsumer(key string, text []byte) (says []byte, why string) {
	var asks struct {
		Stream string         `json:"stream_name"`
		Config map[string]any `json:"config"`
		Action string         `json:"action"`
	}
	if json.Unmarshal(text, &asks) != nil {
		return nil, "no consumer"
	}
	if asks.Config == nil {
		asks.Config = map[string]any{}
	}
	for name, value := range asks.Config {
		if !slices.Contains(consumerSettings, name) {
			return nil, "a consumer with " + name
		}
		if n, ok := value.(float64); name == "inactive_threshold" && (!ok || n <= 0 || n > float64(consumerLife)) {
			return nil, "a consumer that stays"
		}
	}
	asks.Config["max_waiting"] = maxQuestions
	asks.Action = "create" // it changes none
	h.mu.Lock()
	defer h.mu.Unlock()
	m := h.consumersMade[key]
	if now := h.Now(); now.Sub(m.since).Abs() > consumerLife {
		m = consumerCount{since: now}
	}
	if m.n++; m.n > maxConsumers {
		return nil, "too many consumers"
	}
	h.consumersMade[key] = m
	says, err := json.Marshal(asks)
	if err != nil {
		return nil, "no consumer"
	}
	return says, ""
}

// rewriteQuestion returns how a host asks for messages, or why it may not ask. While there are none, the
// server says so as often as it was asked to.
func rewriteQuestion(text []byte) (says []byte, why string) {
	var asks struct {
		Expires   time.Duration `json:"expires,omitempty"`
		Batch     int           `json:"batch,omitempty"`
		MaxBytes  int           `json:"max_bytes,omitempty"`
		NoWait    bool          `json:"no_wait,omitempty"`
		Heartbeat time.Duration `json:"idle_heartbeat,omitempty"`
	}
	if json.Unmarshal(text, &asks) != nil {
		return nil, "no question"
	}
	if asks.Heartbeat != 0 && asks.Heartbeat < minHeartbeat { // mutant never: TestWhatAHostMayDo
		return nil, "heartbeats too often"
	}
	says, err := json.Marshal(asks)
	if err != nil {
		return nil, "no question"
	}
	return says, ""
}

// consumerCount counts the consumers that a host has made since a time.
type consumerCount struct {
	since time.Time
	n     int
}
