// Package codex reads the rollouts of Codex 0.20, 0.44, 0.94, 0.124 and 0.169:
//
//	<store>/sessions/YYYY/MM/DD/rollout-<time>-<id>.jsonl
//	<store>/sessions/rollout-<time>-<id>.jsonl             of older versions
//	<store>/archived_sessions/rollout-<time>-<id>.jsonl
//	<store>/session_index.jsonl                            the names that people gave
//
// All versions write the items that went to the model and came from it (response_item),
// and most of them again as events for the screen. This package reads the items, because
// all versions have them and they include tool calls. Of the events it reads only those
// about tokens.
//
// A fork of an older version begins with a copy of all records, with new times. In newer
// versions it begins with a reference to the rest (history_base).
//
// Codex compresses old rollouts to .jsonl.zst if a person enables that. The package does not
// read Codex's databases.
package codex

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/tidwall/gjson"

	"gt/lib/conversation"
	"gt/lib/state/session"
	"gt/lib/sys/atomicfile"
)

type Reader struct {
	mu    sync.Mutex
	names map[string]*storeNames // by store
}

// storeNames are the names that people gave to the conversations of a store.
type storeNames struct {
	size    int64
	changed time.Time
	names   map[session.ID]nameGiven
}

type nameGiven struct {
	name string
	at   time.Time // when the person gave it
}

func (*Reader) Client() string { return "codex" }

// PlainText returns true: serde_json escapes only what it must. JSON within the JSON,
// such as a call's arguments, still has the words.
func (*Reader) PlainText(f conversation.File) bool {
	return !strings.HasSuffix(f.Path, conversation.PackedSuffix)
}

// Find lists the sessions and the archive. A store can lack one of the two folders, but not both.
func (c *Reader) Find(store string, each func(conversation.File)) error {
	var lost conversation.ReadErrors
	names, _ := c.readGivenNames(store) // Metadata returns the error
	there, err := false, error(nil)
	for i, folder := range []string{"sessions", "archived_sessions"} {
		dir := filepath.Join(store, folder)
		entries, failed := os.ReadDir(dir)
		if there = there || failed == nil; failed != nil {
			err = atomicfile.Error("read", dir, failed)
			lost.Add(err)
		}
		depth := 3 * (1 - i) // the archive has no subfolders
		c.findRollouts(store, dir, entries, depth, names, &lost, each)
	}
	if lost := lost.Err(); lost != nil || there {
		return lost
	}
	return err // neither folder exists
}

// findRollouts lists the rollouts in a folder, and in its subfolders down to depth levels.
func (c *Reader) findRollouts(store, dir string, entries []os.DirEntry, depth int, names map[session.ID]nameGiven, lost *conversation.ReadErrors, each func(conversation.File)) {
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		name := e.Name()
		if conversation.Unpack != nil {
			name = strings.TrimSuffix(name, conversation.PackedSuffix)
		}
		name, ok := strings.CutSuffix(name, ".jsonl")
		if !ok || !strings.HasPrefix(name, "rollout-") {
			if depth > 0 && !e.Type().IsRegular() {
				c.findRollouts(store, path, lost.List(path), depth-1, names, lost, each)
			}
			continue
		}
		f := conversation.File{Client: "codex", Store: store, Path: path}
		if !lost.SetStat(&f) {
			continue
		}
		f.ID, f.IsSyncCopy = threadOf(name)
		// The rollout does not show that its conversation was renamed.
		if n, ok := names[f.ID]; ok && !n.at.IsZero() {
			f.Changed = max(f.Changed, n.at.UnixNano())
		}
		each(f)
	}
}

const idLength = 36

// threadOf returns the id of a rollout's thread from the file's name without its ending:
// rollout-<time>-<thread> or rollout-<time>-<thread>_<segment>.
func threadOf(name string) (id session.ID, isCopy bool) {
	for name != "" {
		if _, name, _ = strings.Cut(name, "-"); len(name) < idLength || !session.IsUUID(name[:idLength]) {
			continue
		}
		// Without the segment's id, IDOfName sees what a sync tool has put behind it.
		if _, segment, ok := strings.Cut(name, "_"); ok && len(segment) >= idLength {
			name = name[:idLength] + segment[idLength:]
		}
		return conversation.IDOfName(name)
	}
	return "", false
}

// Segment is conversation.Segmenter's: a thread that was resumed or taken back goes on in
// a file that names the one before.
func (c *Reader) Segment(f conversation.File) (own, of string, at int64) {
	name := strings.TrimSuffix(strings.TrimSuffix(filepath.Base(f.Path), conversation.PackedSuffix), ".jsonl")
	own = name[max(0, len(name)-idLength):]
	_ = conversation.Ends(f.Path, func(line []byte, whole bool) bool {
		base := conversation.ParseRecord(line).Get("payload.history_base")
		of, at = strings.Clone(base.Get("thread_id").Str), base.Get("end_byte_offset").Int()
		return false
	}, nil)
	return own, of, at
}

// readGivenNames returns the names that people gave to a store's conversations. The last name
// counts.
func (c *Reader) readGivenNames(store string) (map[session.ID]nameGiven, error) {
	path := filepath.Join(store, "session_index.jsonl")
	info, err := os.Stat(path)
	if err != nil {
		return nil, conversation.UnreadableError(path, err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if known := c.names[store]; known != nil && known.size == info.Size() && known.changed.Equal(info.ModTime()) {
		return known.names, nil
	}
	fresh := &storeNames{info.Size(), info.ModTime(), map[session.ID]nameGiven{}}
	_, err = conversation.Lines(path, 0, func(line []byte, _ int64) bool {
		rec := gjson.ParseBytes(line)
		id := conversation.IDOf(rec.Get("id"))
		if name := rec.Get("thread_name").Str; id != "" && name != "" {
			fresh.names[id] = nameGiven{conversation.Excerpt(name), conversation.ParseTime(rec.Get("updated_at").Str)}
		}
		return true
	})
	if err != nil {
		return nil, conversation.UnreadableError(path, err)
	}
	if c.names == nil {
		c.names = map[string]*storeNames{}
	}
	c.names[store] = fresh
	return fresh.names, nil
}

type record struct {
	kind    string // session_meta, response_item, event_msg, turn_context, compacted, …
	time    string
	ordinal bool // in a file whose items all have permanent ids of their own
	payload gjson.Result
}

// parseRecord parses a line in one pass. In the oldest rollouts the lines are the items
// themselves, and the first line is the session's metadata.
func parseRecord(line []byte) (rec record) {
	whole := conversation.ParseRecord(line)
	whole.ForEach(func(key, v gjson.Result) bool {
		switch key.Str {
		case "timestamp":
			rec.time = v.Str
		case "ordinal":
			rec.ordinal = true
		case "type":
			rec.kind = v.Str
		case "payload":
			rec.payload = v
		}
		return true
	})
	if !rec.payload.Exists() {
		switch {
		case rec.kind != "":
			rec.kind, rec.payload = "response_item", whole
		case rec.time != "" && whole.Get("id").Exists():
			rec.kind, rec.payload = "session_meta", whole
		}
	}
	return rec
}

// Metadata takes the fixed values from the first records, and those that change, such as the title
// and the model, from the last. It reads the file's two ends (see conversation.Ends), and the whole
// front again if its first line is longer than that.
func (c *Reader) Metadata(f conversation.File) (conversation.Metadata, error) {
	facts := conversation.Metadata{ID: f.ID}
	begin := state{file: f, Giver: conversation.Giver{Each: func(e conversation.Entry) bool {
		if e.Kind != conversation.TokenUsage {
			conversation.SetIfEmpty(&facts.FirstID, e.ID)
		}
		if e.Kind == conversation.Prompt {
			conversation.SetIfEmpty(&facts.Prompt, conversation.PromptExcerpt(e.Text))
		}
		return true
	}}}
	frontState := begin // begin stays as it is, for a second reading of the front
	var meta bool
	takeFront := func(line []byte) {
		rec := parseRecord(line)
		conversation.SetTimeIfZero(&facts.Started, conversation.ParseTime(rec.time))
		if rec.kind == "session_meta" && !meta { // later ones are a fork's copies
			meta = true
			c.addMeta(&facts, rec.payload)
		}
		frontState.readRecord(rec, 0)
	}
	frontTooLong := false // the first line is longer than what Ends reads
	var cwd string
	isNaming := func(line []byte) bool { return bytes.Contains(line, []byte(`"thread_name_updated"`)) }
	takeBack := func(line []byte) bool { // takes a line from the back of the file
		if cwd != "" && facts.Model != "" && !facts.Last.IsZero() && !isNaming(line) {
			return facts.Title == "" // go on for a title
		}
		rec := parseRecord(line)
		conversation.SetTimeIfZero(&facts.Last, conversation.ParseTime(rec.time))
		switch p := rec.payload; {
		case rec.kind == "turn_context":
			conversation.SetIfEmpty(&cwd, p.Get("cwd").Str)
			conversation.SetIfEmpty(&facts.Model, p.Get("model").Str)
		case rec.kind == "event_msg" && p.Get("type").Str == "thread_settings_applied":
			conversation.SetIfEmpty(&cwd, p.Get("thread_settings.cwd").Str)
			conversation.SetIfEmpty(&facts.Model, p.Get("thread_settings.model").Str)
		case rec.kind == "event_msg" && p.Get("type").Str == "thread_name_updated":
			if id := p.Get("thread_id").Str; id == "" || id == string(f.ID) { // else a fork's copy
				conversation.SetIfEmpty(&facts.Title, conversation.Excerpt(p.Get("thread_name").Str))
			}
		}
		return true
	}
	inMiddle := f.Size > conversation.EndSize || !c.PlainText(f) // takeBack may not see the front
	var namings [][]byte                                         // lines of the front with a title
	err := conversation.Ends(f.Path, func(line []byte, whole bool) bool {
		if !whole {
			frontTooLong = true
			return false
		}
		if inMiddle && isNaming(line) {
			namings = append(namings, bytes.Clone(line))
		}
		if facts.Prompt != "" && frontState.Model != "" {
			return inMiddle
		}
		takeFront(line)
		return inMiddle || facts.Prompt == "" || frontState.Model == ""
	}, takeBack)
	if err != nil {
		return conversation.Metadata{}, err
	}
	for i := len(namings) - 1; i >= 0 && facts.Title == ""; i-- {
		takeBack(namings[i])
	}
	// Ends did not read as far as the prompt: read the front again.
	if frontTooLong || facts.Prompt == "" && f.Size > conversation.EndSize {
		frontState, meta = begin, false
		facts.FirstID, facts.Started = "", time.Time{}
		_, err = conversation.Lines(f.Path, 0, func(line []byte, at int64) bool {
			takeFront(line)
			return facts.Prompt == "" && at < conversation.MaxFront
		})
		if err != nil {
			return conversation.Metadata{}, err
		}
	}
	for _, e := range frontState.pending {
		conversation.SetIfEmpty(&facts.FirstID, e.ID)
	}
	if cwd != "" {
		facts.CWD = cwd
	}
	conversation.SetIfEmpty(&facts.Model, frontState.Model)
	names, err := c.readGivenNames(f.Store)
	if n, ok := names[facts.ID]; ok {
		facts.Title = n.name
	}
	return facts, err
}

// addMeta takes what a session_meta says of the whole conversation.
func (*Reader) addMeta(facts *conversation.Metadata, p gjson.Result) {
	facts.ID = cmp.Or(conversation.IDOf(p.Get("id")), facts.ID)
	facts.ForkOf = conversation.IDOf(p.Get("forked_from_id"))
	source := p.Get("source")
	facts.Parent = cmp.Or(conversation.IDOf(p.Get("parent_thread_id")), conversation.IDOf(source.Get("subagent.thread_spawn.parent_thread_id")))
	// A review's or a compaction's agent names no parent.
	facts.Headless = source.Str == "exec" || source.Str == "mcp" || p.Get("originator").Str == "codex_exec" ||
		facts.Parent == "" && source.Get("subagent").Exists()
	conversation.SetIfEmpty(&facts.CWD, p.Get("cwd").Str)
	conversation.SetIfEmpty(&facts.Branch, p.Get("git.branch").Str)
	conversation.SetIfEmpty(&facts.Version, p.Get("cli_version").Str)
	if at := conversation.ParseTime(p.Get("timestamp").Str); !at.IsZero() {
		facts.Started = at
	}
}

// state is what a record's meaning depends on in the records before it.
type state struct {
	file conversation.File
	keptState
	pending      []conversation.Entry // an answer that may still turn out to be a summary, and what follows it
	firstUngiven int64                // the offset of the first record that was read but not given
	promptGiven  bool                 // a prompt was given
	review       string               // the outcome of the last /review

	forSummary bool // see conversation.Options
	conversation.Giver
}

// keptState is the part of a state that is kept between two reads.
type keptState struct {
	At          int64    `json:"at"`               // the offset behind the last record
	Origin      string   `json:"origin,omitempty"` // the conversation in which the records were first written
	Started     bool     `json:"said,omitempty"`   // a record after session_meta was read
	Items       int      `json:"items,omitempty"`  // the number of items so far
	Turn        string   `json:"turn,omitempty"`   // "" in older versions' turns, too
	Begun       bool     `json:"begun,omitempty"`  // a turn has begun
	Model       string   `json:"model,omitempty"`
	CWD         string   `json:"cwd,omitempty"`
	Branch      string   `json:"branch,omitempty"`
	Total       tokens   `json:"total"`            // the conversation's last total
	LastRequest tokens   `json:"told"`             // the last token_usage_record's
	Anew        bool     `json:"anew,omitempty"`   // the client told no counts, and may begin at zero
	Asking      []string `json:"asking,omitempty"` // the calls that ask the person
}

// tokens are numbers of tokens: the whole input, its cached part, and the output.
type tokens [3]int64

// String returns the form that is part of an entry's id.
func (t tokens) String() string { return fmt.Sprintf("{%d %d %d}", t[0], t[1], t[2]) }

// Read gives the entries from o.From on. Without o.State it reads the records before as well.
func (c *Reader) Read(f conversation.File, o conversation.Options, each func(conversation.Entry) bool) (int64, error) {
	s := state{file: f, forSummary: o.ForSummary}
	switch {
	case o.From > 0 && o.State != nil:
		s.resume(*o.State, o.From)
	case o.From > 0:
		if err := s.catchUp(o.From); err != nil {
			return o.From, err
		}
	}
	gone, err := takenBackTurns(f, o)
	if err != nil {
		return o.From, err
	}
	s.Each = o.SkipTakenBack(gone.Contains, each)
	next, err := conversation.Lines(f.Path, o.From, func(line []byte, at int64) bool {
		if o.Skip != nil && s.canSkip(line) && o.Skip(line) {
			s.skipLine(line)
			return true
		}
		return s.readRecord(parseRecord(line), at)
	})
	s.givePending(next)
	if s.firstUngiven > 0 {
		next = s.firstUngiven
	}
	if o.State != nil {
		if *o.State = ""; !s.Stopped && err == nil {
			*o.State = s.savedState(next)
		}
	}
	return next, err
}

// takenBackTurns returns the turns that the person took back, as spans of the file. The client says
// how many of the last ones they are, and a turn begins with a prompt.
func takenBackTurns(f conversation.File, o conversation.Options) (gone conversation.TakenBackSpans, err error) {
	turnsTakenBack := func(line []byte) int {
		if !bytes.Contains(line, []byte(`"thread_rolled_back"`)) {
			return 0
		}
		p := parseRecord(line).payload
		if p.Get("type").Str != "thread_rolled_back" {
			return 0
		}
		return int(conversation.TokenCount(p.Get("num_turns")))
	}
	anyRollback := false
	if o.TooLongToSearch(f.Path) {
		return nil, nil
	}
	_, err = conversation.Lines(f.Path, o.From, func(line []byte, _ int64) bool {
		anyRollback = turnsTakenBack(line) > 0
		return !anyRollback
	})
	if err != nil || !anyRollback {
		return nil, err
	}
	var prompts []int64
	s := state{file: f, Giver: conversation.Giver{Each: func(e conversation.Entry) bool {
		if e.Kind == conversation.Prompt {
			prompts = append(prompts, e.Offset)
		}
		return true
	}}}
	_, err = conversation.Lines(f.Path, 0, func(line []byte, at int64) bool {
		if n := min(turnsTakenBack(line), len(prompts)); n > 0 {
			gone = append(gone, [2]int64{prompts[len(prompts)-n], at})
			prompts = prompts[:len(prompts)-n]
			return true
		}
		if !conversation.HasPair(line, "role", "user") {
			return true
		}
		if rec := parseRecord(line); rec.kind != "compacted" {
			s.readRecord(rec, at)
		}
		return true
	})
	gone.ReportEarlier(o)
	return gone, err
}

// savedState returns the state after the record that ends at an offset, as Options.State.
func (s *state) savedState(at int64) string {
	s.At = at
	slices.Sort(s.Asking)
	data, err := json.Marshal(s.keptState)
	if err != nil { // they are texts and numbers
		panic(err)
	}
	return string(data)
}

// resume restores the state at an offset. If it was not kept, the state only knows that
// the conversation has begun.
func (s *state) resume(kept string, from int64) {
	s.Started, s.promptGiven = true, true
	var k keptState
	if json.Unmarshal([]byte(kept), &k) == nil && k.At == from {
		s.keptState = k
		s.Begun = k.Begun || k.Turn != "" // an earlier gt kept only the turn
	}
}

// catchUp reads the records before an offset to get the state there.
func (s *state) catchUp(from int64) error {
	s.Each = func(conversation.Entry) bool { return true }
	_, err := conversation.Lines(s.file.Path, 0, func(line []byte, at int64) bool {
		if at < from && s.canSkip(line) {
			s.skipLine(line)
		} else if at < from {
			s.readRecord(parseRecord(line), at)
		}
		return at < from
	})
	s.pending = nil
	return err
}

// canSkip reports whether the state needs only to know that a record exists. Codex
// writes a record's type at its beginning.
func (s *state) canSkip(line []byte) bool {
	if !isItem(line) {
		front := line[:min(len(line), 200)]
		return bytes.Contains(front, []byte(`"type":"world_state"`)) || bytes.Contains(front, []byte(`"type":"item_completed"`))
	}
	return s.Started && !conversation.HasPair(line, "role", "user") && !bytes.Contains(line, []byte(`request_user_input`))
}

// skipLine counts an item that is not parsed: the ids of later entries depend on the number of items.
func (s *state) skipLine(line []byte) {
	if isItem(line) && line[len(line)-1] == '}' { // a torn one is none
		s.Items++
	}
}

func isItem(line []byte) bool {
	return bytes.Contains(line[:min(len(line), 200)], []byte(`"type":"response_item"`))
}

// readRecord updates the state by a record at an offset, gives the record's entries, and reports
// whether more are wanted.
func (s *state) readRecord(rec record, at int64) bool {
	e := conversation.Entry{Time: conversation.ParseTime(rec.time), Offset: at}
	p := rec.payload
	if rec.kind == "session_meta" {
		if !s.Started {
			s.Origin = strings.Clone(p.Get("id").Str)
			s.CWD, s.Branch = strings.Clone(p.Get("cwd").Str), strings.Clone(p.Get("git.branch").Str)
		}
		return true
	}
	if rec.kind != "" {
		s.Started = true
	}
	switch rec.kind {
	case "turn_context":
		s.Begun, s.Turn, s.Model = true, strings.Clone(p.Get("turn_id").Str), strings.Clone(p.Get("model").Str)
		s.CWD = cmp.Or(strings.Clone(p.Get("cwd").Str), s.CWD)
	case "token_usage_record":
		usage := p.Get("usage")
		s.LastRequest = tokensOf(usage)
		e.Sum, e.Request = sumOf(s.Total.addTokens(s.LastRequest), s.LastRequest), strings.Clone(p.Get("response_id").Str)
		s.giveUsage(e, s.LastRequest, cacheWritten(usage), e.Request)
	case "event_msg":
		switch p.Get("type").Str {
		case "task_started":
			s.Begun, s.Turn = true, strings.Clone(p.Get("turn_id").Str)
		case "token_count":
			info := p.Get("info")
			s.readTokenCount(e, info)
			s.giveWindow(e, info)
		case "task_complete":
			s.givePending(at)
		}
	case "compacted":
		if !s.promptGiven {
			s.giveHistory(e, p.Get("replacement_history"))
		}
		text := p.Get("message").Str
		if _, after, ok := strings.Cut(text, "\n"); ok && strings.HasPrefix(text, summaryStart) {
			text = after
		}
		if len(s.pending) > 0 && s.pending[0].Text == text { // the answer was the summary
			s.pending = s.pending[1:]
		}
		if s.givePending(at); text != "" || s.forSummary { // else only the server can read it
			e.Kind, e.Text, e.ID = conversation.Summary, text, s.entryID("compacted", text)
			s.Give(e)
		}
	case "response_item":
		s.Items++
		if len(s.pending) > 0 && p.Get("role").Str == "assistant" && slices.Equal(strings.Fields(s.pending[0].Text), strings.Fields(s.review)) && slices.Equal(strings.Fields(textOf(p.Get("content"))), strings.Fields(s.review)) {
			s.pending = s.pending[1:] // newer versions record a review as an answer as well
		}
		s.givePending(at)
		s.giveItem(e, rec)
	}
	return !s.Stopped
}

// summaryStart begins the text that the client puts in place of what it compacted.
const summaryStart = "Another language model started to solve this problem"

// giveHistory gives the person's words in the history that a compaction left. Codex Desktop can
// write a rollout anew at a compaction, which then begins with it: they are nowhere else.
func (s *state) giveHistory(e conversation.Entry, history gjson.Result) {
	for _, item := range history.Array() {
		if item.Get("role").Str != "user" || strings.HasPrefix(item.Get("content.0.text").Str, summaryStart) {
			continue
		}
		if text := personText(item); text != "" {
			s.promptGiven = true
			e.Kind, e.Text, e.ID = conversation.Prompt, text, s.entryID(string(conversation.Prompt), text)
			s.Give(e)
		}
	}
}

// givePending gives the entries that were held back before the record at an offset.
func (s *state) givePending(at int64) {
	held := s.pending
	s.pending = nil
	for i := 0; i < len(held) && !s.Stopped; i++ {
		if s.Give(held[i]); s.Stopped {
			s.firstUngiven = at
			if i+1 < len(held) {
				s.firstUngiven = held[i+1].Offset
			}
		}
	}
}

// entryID makes an id for an entry that has none, or none that a fork's copy keeps.
func (s *state) entryID(kind, text string) string {
	h := fnv.New64a()
	fmt.Fprint(h, kind, "\x00", s.Turn, "\x00", text)
	return fmt.Sprintf("%s.%d.%016x", cmp.Or(s.Origin, string(s.file.ID)), s.Items, h.Sum64())
}

// readTokenCount reads a token_count event. Codex repeats it when only the rate limits have
// changed: the total is then the same. Older versions count from zero when a conversation
// is resumed; newer ones report the previous request.
func (s *state) readTokenCount(e conversation.Entry, info gjson.Result) {
	total, last := info.Get("total_token_usage"), info.Get("last_token_usage")
	if !total.IsObject() {
		s.Anew = s.Anew || info.Type == gjson.Null
		return
	}
	totalTokens, lastTokens := tokensOf(total), tokensOf(last)
	if !last.IsObject() { // another program wrote it
		lastTokens = totalTokens.countSince(s.Total)
		if !s.Begun { // what a fork begins with
			lastTokens = tokens{}
		}
	}
	if totalTokens == s.Total && !(s.Anew && totalTokens == lastTokens) {
		return
	}
	s.Total, s.Anew = totalTokens, false
	if lastTokens == s.LastRequest { // its token_usage_record has given it
		s.LastRequest = tokens{}
		return
	}
	e.Sum = sumOf(totalTokens, lastTokens)
	s.giveUsage(e, lastTokens, cacheWritten(last), s.entryID("spent", fmt.Sprint(totalTokens)))
}

// sumOf returns the Sum of a request, which is the same in the token_count events that a fork
// or a spawned agent copies, whatever else of the records it leaves out.
func sumOf(total, last tokens) string {
	return fmt.Sprintf("%d.%d.%d/%d.%d.%d", total[0], total[1], total[2], last[0], last[1], last[2])
}

func (t tokens) addTokens(more tokens) tokens {
	return tokens{t[0] + more[0], t[1] + more[1], t[2] + more[2]}
}

// countSince returns what was added to an earlier total, or t if it was counted anew.
func (t tokens) countSince(before tokens) tokens {
	if t[0] < before[0] || t[1] < before[1] || t[2] < before[2] {
		return t
	}
	return tokens{t[0] - before[0], t[1] - before[1], t[2] - before[2]}
}

// giveWindow gives the size of the context window, if a summary is read.
func (s *state) giveWindow(e conversation.Entry, info gjson.Result) {
	if size := conversation.TokenCount(info.Get("model_context_window")); s.forSummary && size > 0 {
		e.Kind, e.Size = conversation.Window, size
		s.Give(e)
	}
}

func cacheWritten(usage gjson.Result) int64 {
	return conversation.TokenCount(usage.Get("cache_write_input_tokens"))
}

// giveUsage gives a request's tokens; written are those that went into the cache.
func (s *state) giveUsage(e conversation.Entry, t tokens, written int64, id string) {
	if t == (tokens{}) {
		return
	}
	e.Kind, e.Model, e.Origin = conversation.TokenUsage, s.Model, conversation.Origin{CWD: s.CWD, Branch: s.Branch}
	e.ID = strings.Clone(cmp.Or(id, s.entryID("spent", fmt.Sprint(t))))
	e.Usage = conversation.Usage{
		// Codex counts the cached tokens as input, too.
		Input: max(0, t[0]-t[1]-written), CacheRead: t[1], CacheWrite: written, Output: t[2],
	}
	if len(s.pending) > 0 {
		s.pending = append(s.pending, e)
		return
	}
	s.Give(e)
}

func tokensOf(v gjson.Result) tokens {
	return tokens{conversation.TokenCount(v.Get("input_tokens")), conversation.TokenCount(v.Get("cached_input_tokens")), conversation.TokenCount(v.Get("output_tokens"))}
}

// giveItem gives the entries of a response_item, the model's input or output. It holds answers back in
// pending: one can turn out to be a compaction's summary.
func (s *state) giveItem(e conversation.Entry, rec record) {
	p := rec.payload
	kind := p.Get("type").Str
	if kind == "" && p.Get("role").Exists() { // another program wrote it
		kind = "message"
	}
	set := func(k conversation.Kind, text string) {
		e.Kind, e.Text = k, text
		// The items of older versions have no ids. A newer version that copies them for a
		// fork gives them new ids.
		if e.ID = strings.Clone(p.Get("id").Str); e.ID == "" || !rec.ordinal {
			e.ID = s.entryID(string(k), text)
		}
	}
	give := func(k conversation.Kind, text string) {
		set(k, text)
		s.Give(e)
	}
	switch kind {
	case "message":
		switch p.Get("role").Str {
		case "user":
			if command, output, ok := personCommand(p); ok {
				e.Tool, e.Target, e.CallID = "shell", command, s.entryID("shell", command)
				give(conversation.Call, command)
				e.Target = ""
				give(conversation.Result, output)
			} else if text := reviewOutcome(p); text != "" {
				s.review = text
				set(conversation.Answer, text)
				s.pending = append(s.pending, e)
			} else if text := personText(p); text != "" {
				s.promptGiven = true
				give(conversation.Prompt, text)
			}
		case "assistant":
			e.Model = s.Model
			if text := textOf(p.Get("content")); text != "" {
				set(conversation.Answer, text)
				s.pending = append(s.pending, e)
			}
		}
	case "reasoning":
		if text := cmp.Or(textOf(p.Get("summary")), textOf(p.Get("content"))); text != "" {
			give(conversation.Thought, text)
		}
	case "function_call", "custom_tool_call", "local_shell_call", "web_search_call", "tool_search_call", "image_generation_call":
		var text string
		e.Tool, text = parseCall(kind, p)
		// The output of request_user_input is the person's answer, and not a tool's result.
		if e.Tool == "request_user_input" {
			if call := p.Get("call_id").Str; !slices.Contains(s.Asking, call) {
				s.Asking = append(s.Asking, strings.Clone(call))
			}
		}
		give(conversation.Call, text)
	case "function_call_output", "custom_tool_call_output":
		text := outputText(p.Get("output"))
		if i := slices.Index(s.Asking, p.Get("call_id").Str); i >= 0 {
			s.Asking = slices.Delete(s.Asking, i, i+1)
			give(conversation.Reply, replyText(text))
			break
		}
		e.Failed = conversation.TokenCount(gjson.Get(p.Get("output").Str, "metadata.exit_code")) > 0 // in older versions
		give(conversation.Result, text)
	}
}

// personText returns the person's text in a user message. The client writes a lot into such
// messages itself: newer versions name the kind of each part; see isInjected for others.
func personText(p gjson.Result) string {
	kinds := p.Get("internal_chat_message_metadata_passthrough.content_item_kinds").Array()
	var parts []string
	for i, item := range p.Get("content").Array() {
		text := item.Get("text").Str
		var kind string
		if i < len(kinds) {
			kind = kinds[i].Str
		}
		switch {
		case item.Get("type").Str == "input_image":
			parts = append(parts, "[image]")
		case text == "" || strings.HasPrefix(text, "<image") || text == "</image>":
		case strings.HasPrefix(kind, "user."), (kind == "" || kind == "unknown") && !isInjected(text):
			parts = append(parts, editorRequest(text))
		}
	}
	return strings.Join(parts, "\n")
}

// reviewOutcome returns the outcome of a /review, which the client gives the model in a user message.
func reviewOutcome(p gjson.Result) string {
	text := strings.TrimSpace(p.Get("content.0.text").Str)
	if !strings.HasPrefix(text, "<user_action>\n") || !strings.HasSuffix(text, "</user_action>") || !strings.Contains(text, "<action>review</action>") {
		return ""
	}
	_, text, _ = strings.Cut(text, "<results>")
	at := strings.LastIndex(text, "</results>")
	if text = strings.TrimSpace(text[:max(0, at)]); text == "None." { // it was interrupted
		return ""
	}
	return text
}

func personCommand(p gjson.Result) (command, output string, ok bool) {
	text := strings.TrimSpace(p.Get("content.0.text").Str)
	text, begins := strings.CutPrefix(text, "<user_shell_command>\n<command>\n")
	text, ends := strings.CutSuffix(text, "\n</result>\n</user_shell_command>")
	command, output, ok = strings.Cut(text, "\n</command>\n<result>\n")
	return command, output, begins && ends && ok
}

// editorRequest returns the person's part of a message that an editor sent.
func editorRequest(text string) string {
	if _, own, ok := strings.Cut(text, "## My request for Codex:"); ok && strings.HasPrefix(text, "# ") {
		return strings.TrimSpace(own)
	}
	return text
}

// isInjected reports whether the client wrote a text in the person's name: one element
// whose name is not a markup's, a project's instructions, or a warning to the model.
func isInjected(text string) bool {
	text = strings.TrimSpace(text)
	for _, begin := range [...]string{
		"# AGENTS.md instructions", "Warning: apply_patch was requested via ", "Warning: The maximum number of unified exec processes you can keep open is ",
		"Warning: Your account was flagged for potentially high-risk cyber activity",
	} {
		if strings.HasPrefix(text, begin) && (text[0] == '#' || !strings.Contains(text, "\n")) {
			return true
		}
	}
	name, _, ok := strings.Cut(strings.TrimPrefix(text, "<"), ">")
	if !ok || len(name) > 60 || !strings.HasPrefix(text, "<") {
		return false
	}
	name, _, _ = strings.Cut(name, " ")
	if !strings.Contains(name, "_") && !slices.Contains([]string{"skill", "subagents", "skills", "instructions"}, strings.ToLower(name)) {
		return false
	}
	end := "</" + name + ">"
	return len(text) >= len(end) && strings.EqualFold(text[len(text)-len(end):], end)
}

func textOf(content gjson.Result) string {
	if content.Type == gjson.String {
		return content.Str
	}
	var parts []string
	for _, item := range content.Array() {
		if text := item.Get("text").Str; text != "" {
			parts = append(parts, text)
		}
	}
	return strings.Join(parts, "\n")
}

// parseCall returns the tool of a call and its arguments as text, of a shell only the command line.
func parseCall(kind string, p gjson.Result) (tool, args string) {
	switch kind {
	case "local_shell_call":
		return "shell", commandLine(p.Get("action.command"))
	case "web_search_call":
		return "web_search", conversation.Arguments(p.Get("action"))
	case "tool_search_call":
		return "tool_search", conversation.Arguments(p.Get("arguments"))
	case "image_generation_call":
		return "image_generation", p.Get("revised_prompt").Str
	}
	tool = strings.Clone(p.Get("name").Str)
	if space := p.Get("namespace").Str; space != "" {
		tool = space + "." + tool
	}
	if kind == "custom_tool_call" {
		return tool, p.Get("input").Str
	}
	input := gjson.Parse(p.Get("arguments").Str)
	if !input.IsObject() {
		return tool, p.Get("arguments").Str
	}
	for _, key := range []string{"cmd", "command"} { // of a shell only the command is of interest
		if c := input.Get(key); c.Exists() {
			return tool, commandLine(c)
		}
	}
	return tool, conversation.Arguments(input)
}

// commandLine returns a command as a person would type it.
func commandLine(c gjson.Result) string {
	words := c.Array()
	if c.Type == gjson.String || len(words) == 0 {
		return c.String()
	}
	if len(words) == 3 && (words[1].Str == "-lc" || words[1].Str == "-c") {
		return words[2].String()
	}
	var all []string
	for _, w := range words {
		all = append(all, w.String())
	}
	return strings.Join(all, " ")
}

// outputText returns the text of a call's output. Older versions wrap it in JSON with the exit code.
func outputText(output gjson.Result) string {
	if output.IsObject() {
		output = output.Get("content")
	}
	text := textOf(output)
	if strings.HasPrefix(text, `{"output":`) {
		if inner := gjson.Get(text, "output"); inner.Type == gjson.String {
			return inner.Str
		}
	}
	return text
}

// replyText returns the person's answers in the output of request_user_input, each on a line.
func replyText(text string) string {
	answers := gjson.Get(text, "answers")
	if !answers.IsObject() {
		return text
	}
	var parts []string
	answers.ForEach(func(_, v gjson.Result) bool {
		if v.IsObject() {
			v = v.Get("answers")
		}
		for _, a := range v.Array() {
			parts = append(parts, a.String())
		}
		return true
	})
	return strings.Join(parts, "\n")
}

// kinds are the types of lines that Codex 0.20 to 0.171 can write, and of the items of the
// model. The events are for the screen, and change with any version.
const kinds = `
	compacted dynamic_tools_updated event_msg inter_agent_communication
	inter_agent_communication_metadata realtime_item record_type response_item.additional_tools
	response_item.agent_message response_item.compaction response_item.compaction_summary
	response_item.compaction_trigger response_item.configuration_update
	response_item.context_compaction response_item.custom_tool_call
	response_item.custom_tool_call_output response_item.function_call
	response_item.function_call_output response_item.ghost_snapshot
	response_item.image_generation_call response_item.local_shell_call response_item.message
	response_item.other response_item.reasoning response_item.tool_search_call
	response_item.tool_search_output response_item.web_search_call security_risk_score
	session_meta token_usage_record turn_context world_state
`

func (*Reader) Unknown(f conversation.File, each func(kind string)) error {
	return conversation.UnknownLines(f.Path, strings.Fields(kinds), lineKind, each)
}

// lineKind returns which of kinds a line is. An item of the model has its own type after a dot, as
// in response_item.message.
func lineKind(line []byte) string {
	if bytes.HasPrefix(line, []byte(`{"record_type":`)) { // older versions wrote it; it has no type
		return "record_type"
	}
	rec := parseRecord(line)
	if rec.kind == "response_item" {
		return rec.kind + "." + rec.payload.Get("type").Str
	}
	return rec.kind
}
