package local

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"gt/lib/cli"
	"gt/lib/place"
	"gt/lib/reconcile/config"
	"gt/lib/relay"
	"gt/lib/state/instance"
	"gt/lib/state/mail"
	"gt/lib/state/peer"
	"gt/lib/state/post"
	"gt/lib/sys/atomicfile"
	"gt/lib/sys/bounded"
	"gt/lib/sys/process"
	"gt/lib/text/lazyregexp"
	"gt/lib/text/plain"
)

// maxAsk bounds a command letter, in bytes.
const maxAsk = 2 << 20

// letterHandler does what the letters of other hosts ask for: it carries out commands, and puts notes and
// work where this host's programs look.
type letterHandler struct {
	env   *cli.Env
	state place.State
	warn  func(error)
	runs  *runCounts
}

// runCounts counts the commands that run for other hosts.
type runCounts struct {
	mu     sync.Mutex
	byHost map[string]int // how many run, by host
}

// beginRun reports whether one more may run for a host. The caller then calls endRun.
func (r *runCounts) beginRun(host string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := 0
	for _, n := range r.byHost {
		all += n
	}
	if r.byHost[host] >= relay.MostOfHost || all >= relay.MostOfAll { // mutant never: TestBusy
		return false
	}
	r.byHost[host]++
	return true
}

func (r *runCounts) endRun(host string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.byHost[host]--; r.byHost[host] == 0 {
		delete(r.byHost, host)
	}
}

// commandPath is where a command is noted before it is carried out. A kill in between leaves it
// there: it is then answered as interrupted, and never carried out again.
func (c letterHandler) commandPath(host, id string) string {
	return c.state.Path("relay", "commands", host, id)
}

// deliverCommand carries out a command, once. The answer is a letter of its own.
func (c letterHandler) deliverCommand(from relay.Sender, l peer.Letter, text io.Reader) error {
	data, err := io.ReadAll(io.LimitReader(text, maxAsk))
	if err != nil {
		return err
	}
	var ask peer.Ask
	if err := json.Unmarshal(data, &ask); err != nil {
		return &relay.Refused{Reason: "a command that cannot be read"}
	}
	args, err := sessionArgs(ask, from.Name)
	if err != nil {
		return &relay.Refused{Reason: err.Error()}
	}
	if ok, reason := relay.TakesIfAllowed(ask.Command, "this host may not "+ask.Command+" there")(from); !ok {
		return &relay.Refused{Reason: reason}
	}
	if err := checkTimely(from, c.env.Now()); err != nil {
		return err
	}
	path := c.commandPath(from.Name, l.ID)
	if atomicfile.Exists(path) {
		return nil
	}
	if !c.runs.beginRun(from.Name) {
		return &relay.Refused{Reason: "it is busy with other commands; nothing was done"}
	}
	if err := c.state.Write(path, data, atomicfile.Synced); err != nil {
		c.runs.endRun(from.Name)
		return err
	}
	notice := ""
	if text := plain.Text(ask.Text); ask.Command != peer.Move { // it is typed for a client
		if ask.Text = fileMention().ReplaceAllString(text, "@ $1"); ask.Text != text {
			notice = "a blank was put behind each @ that would name a file\n"
		}
	}
	cli.Go(func() {
		defer c.runs.endRun(from.Name)
		c.runCommand(from.Name, l.ID, args, ask.Text, notice)
	})
	return nil
}

// allowedSlashes are the commands of clients that a host may type with send and start. Each says or
// shortens what a conversation has. Others permit something, run programs, install plugins or
// write files.
var allowedSlashes = []string{"/clear", "/compact", "/compress", "/context", "/cost", "/new", "/stats", "/status", "/usage"}

// sessionArgs returns the arguments of gt-session for a command of a host. Nothing in it can become
// a flag. The text of send and start is gt-session's standard input ("-").
func sessionArgs(ask peer.Ask, from string) ([]string, error) {
	if err := instance.CheckName(ask.Name); err != nil || strings.HasPrefix(ask.Name, "-") {
		return nil, errors.New("invalid name of an agent")
	}
	// A start's text that begins with a path, /home/me, is no slash command.
	word, _, _ := strings.Cut(strings.TrimSpace(plain.Text(ask.Text)), " ")
	isSlash := ask.Command == "send" && ask.Slash || ask.Command == "start" && strings.HasPrefix(word, "/") && len(word) > 1 && !strings.Contains(word[1:], "/")
	if isSlash && !slices.Contains(allowedSlashes, word) { // mutant never: TestSlashes
		return nil, fmt.Errorf("another host may not type '%.40s' there, only %s", word, strings.Join(allowedSlashes, ", "))
	}
	var flags, rest []string
	switch {
	case ask.Command == peer.Move:
		return []string{"unpack", "--ask", "--from", from}, nil
	case !slices.Contains(peer.Commands, ask.Command):
		return nil, fmt.Errorf("this version does not know the command '%.40s'", ask.Command)
	case ask.Command == "send":
		if rest = []string{"-"}; ask.Slash {
			flags = []string{"--command"}
		}
	case ask.Command == "answer" && ask.N != 0:
		if rest = []string{strconv.Itoa(ask.N)}; ask.Question != "" {
			flags = []string{"--question=" + ask.Question}
		}
	case ask.Command == "answer" && ask.JSON:
		flags = []string{"--json"}
	case ask.Command == "start" && ask.Text != "":
		flags = []string{"--message", "-"}
	case ask.Command == "stop" && ask.Now:
		flags = []string{"--now"}
	}
	return slices.Concat([]string{ask.Command}, flags, []string{"--", ask.Name}, rest), nil
}

// fileMention finds what clients take for the name of a file that they are to read: @FILE. Claude Code
// reads any file so, also one for which its agent would have to ask. An address has none.
var fileMention = lazyregexp.New(`\B@|@([./~"'\\])`)

// commandWithin is how long a command may take.
const commandWithin = 2 * time.Minute

// runCommand runs a command of a host and answers it. notice comes first in what the person there reads.
func (c letterHandler) runCommand(host, id string, args []string, text, notice string) {
	r, err := runSession(context.Background(), c.env, bounded.Program{Args: args, Input: []byte(text), Within: commandWithin, Most: 1 << 20})
	a := answerOf(id, "", r, err)
	a.Stderr = notice + a.Stderr
	c.sendAnswer(host, a)
}

// runSession runs gt-session.
func runSession(ctx context.Context, env *cli.Env, p bounded.Program) (r bounded.Result, err error) {
	p.Dir, p.Env = "/", env.ChildEnviron()
	if p.Path, err = process.LookPath(process.SiblingBinary("gt-session"), "", p.Env); err != nil {
		return r, err
	}
	return p.Run(ctx)
}

// answerOf returns the answer to the letter id, for which gt-session was run: before with its
// output, or err if it could not run.
func answerOf(id, before string, r bounded.Result, err error) peer.Answer {
	if err != nil && !errors.As(err, new(*bounded.Failed)) {
		r.Code, r.Stderr = cli.IO, err.Error()
	}
	return peer.Answer{To: id, Code: r.Code, Stdout: before + string(r.Out), Stderr: r.Stderr}
}

// sendAnswer sends an answer, and forgets the command.
func (c letterHandler) sendAnswer(host string, a peer.Answer) {
	data, err := json.Marshal(a.Cut())
	if err == nil {
		_, err = peer.OutboxOf(c.state).Put(host, peer.Result, data, c.env.Now())
	}
	if err == nil {
		err = atomicfile.Remove(c.commandPath(host, a.To))
	}
	c.warn(err)
}

// answerInterrupted answers the commands that a relay before this one did not finish.
func (c letterHandler) answerInterrupted() {
	hosts, err := atomicfile.Folders(c.state.Path("relay", "commands"))
	c.warn(err)
	for _, h := range hosts {
		ids, _ := atomicfile.Files(c.state.Path("relay", "commands", h))
		for _, id := range ids {
			if peer.CheckName(h) == nil && peer.CheckID(id) == nil {
				c.sendAnswer(h, peer.Answer{To: id, Code: cli.Bug, Stderr: "gt-relay there ended in the middle; what was done is unknown"})
			}
		}
	}
}

// awaitsAnswer reports whether this host waits for an answer of another one.
func (c letterHandler) awaitsAnswer(from relay.Sender) (bool, string) {
	return peer.ResultsOf(c.state).Open(from.Name), ""
}

// keepResult keeps the answer to a command of this host. One that nobody waits for is dropped.
func (c letterHandler) keepResult(from relay.Sender, _ peer.Letter, text io.Reader) error {
	var a peer.Answer
	if err := json.NewDecoder(io.LimitReader(text, maxAsk)).Decode(&a); err != nil || peer.CheckID(a.To) != nil {
		return &relay.Refused{Reason: "an answer that cannot be read"}
	}
	return peer.ResultsOf(c.state).Put(from.Name, a)
}

// unpackWithin is how long unpacking a session may take: its repository may be cloned.
const unpackWithin = 30 * time.Minute

// deliverSession unpacks a session that moves here, beside the relay, and starts its agent. Unpacking
// the same one again does nothing, so a kill in between is harmless.
func (c letterHandler) deliverSession(from relay.Sender, l peer.Letter, text io.Reader) error {
	return &relay.SlowDelivery{Do: func(ctx context.Context) error { return c.unpackSession(ctx, from, l, text) }}
}

// unpackSession has gt-session unpack the session. Its sender gets an answer once the agent was started,
// or at once (Busy) if a person here has to accept something first.
func (c letterHandler) unpackSession(ctx context.Context, from relay.Sender, l peer.Letter, text io.Reader) error {
	r, err := runSession(ctx, c.env, bounded.Program{Args: []string{"unpack", "--json", "--from", from.Name}, Stdin: text, Within: unpackWithin, Most: 1 << 20})
	// A no of the command is final. After another error, the relay delivers the letter again.
	if failed := new(bounded.Failed); errors.As(err, &failed) && (failed.Code == cli.AnswerNo || failed.Code == cli.Usage) {
		reason := strings.TrimSpace(failed.Stderr)
		return &relay.Refused{Reason: strings.TrimPrefix(reason, "gt-session: error: ")}
	}
	if err != nil {
		return err
	}
	var unpacked struct {
		Name  string `json:"name"`
		Path  string `json:"path"`
		Waits []any  `json:"waits"` // what a person here has to accept first
	}
	if err := json.Unmarshal(r.Out, &unpacked); err != nil {
		return err
	}
	if unpacked.Waits != nil { // mutant never: TestWaits
		c.sendAnswer(from.Name, peer.Answer{To: l.ID, Code: cli.Busy})
		return nil
	}
	cli.Go(func() {
		started, err := runSession(context.Background(), c.env, bounded.Program{Args: []string{"start", "--", unpacked.Name}, Within: commandWithin, Most: 64 << 10})
		c.sendAnswer(from.Name, answerOf(l.ID, fmt.Sprintf("%s is in %s\n", unpacked.Name, unpacked.Path), started, err))
	})
	return nil
}

// TakeBack takes a session back that another host does not take. Other letters have nothing that
// comes back.
func TakeBack(env *cli.Env, state place.State, l peer.Letter) error {
	if l.Kind != peer.Session {
		return nil
	}
	name, parcel, err := peer.OutboxOf(state).FindMove(l.ID)
	if errors.Is(err, fs.ErrNotExist) { // it was put in the outbox by no move
		return nil
	}
	if err == nil {
		_, err = runSession(context.Background(), env, bounded.Program{Args: []string{"pack", "--cancel", "--force", "--parcel", parcel, "--", name}, Within: commandWithin})
	}
	if failed := new(bounded.Failed); errors.As(err, &failed) && failed.Code == cli.AnswerNo { // the command did it
		err = nil
	}
	return err
}

// deliverNote puts a note of another host where this host's programs look.
func (c letterHandler) deliverNote(from relay.Sender, l peer.Letter, text io.Reader) error {
	return readLetter(text, func(data []byte) error { return post.Deliver(c.state, from.Host, l, data) })
}

// deliverWork stores work that another host gives, for any session of its template. An offer
// that comes too late is refused, because its sender no longer counts on it.
func (c letterHandler) deliverWork(from relay.Sender, l peer.Letter, text io.Reader) error {
	checkOffer := func() error {
		if l.Kind != peer.Offer {
			return nil
		}
		return checkTimely(from, c.env.Now())
	}
	return readLetter(text, func(data []byte) error { return post.Give(c.state, from.Host, l, data, c.templateStores, checkOffer) })
}

func (c letterHandler) templateStores(template string) ([]instance.Store, error) {
	return config.StoresWith(place.ScopeIn(c.state, c.env.Getenv), template)
}

func (c letterHandler) findWork(from peer.Host, l peer.Lease) (peer.Try, error) {
	return post.Held(from, l, c.templateStores)
}

// checkTimely returns an error for a letter that came too late to be acted on: its sender does not
// count on it any more.
func checkTimely(from relay.Sender, now time.Time) error {
	if from.Sent.IsZero() {
		return &relay.Refused{Reason: "it does not say how old it is: update gt where it was sent"}
	}
	if age := now.Sub(from.Sent); age.Abs() > peer.CommandFor { // one of a time to come has a wrong age
		return &relay.Refused{Reason: "it came too late; nothing was done"}
	}
	return nil
}

// readLetter reads a letter and passes it to do. The sender learns of a permanent refusal.
func readLetter(text io.Reader, do func([]byte) error) error {
	data, err := io.ReadAll(io.LimitReader(text, mail.MaxMessage+1)) // what is longer is refused
	if err != nil {
		return err
	}
	err = do(data)
	if refused := new(post.Refusal); errors.As(err, &refused) {
		return &relay.Refused{Reason: refused.Error()}
	}
	return err
}
