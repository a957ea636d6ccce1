package watchcmd

import (
	"context"
	"errors"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/fsnotify/fsnotify"

	"gt/lib/cli"
	"gt/lib/live/fleet"
	"gt/lib/live/status"
	"gt/lib/place/git"
	"gt/lib/state/session"
	"gt/lib/sys/atomicfile"
	"gt/lib/view/roster"
)

// row is what the screen shows of an agent of this host (Member is set) or of another one.
type row struct {
	roster.Hosted
	key   string // tells it from all others
	title string // "" for none

	archived bool

	context, branch, today string // how full its context is, its folder's branch with what is changed there, what it used
}

func (r *row) address() string {
	if r.Member == nil {
		return r.Name + "@" + r.Host
	}
	return r.Name
}

func (r *row) asksPerson() bool { return r.Status == status.Waiting && r.Reason.Asks() }

// headingText returns the heading above the row, from its host or town and its group; "" for none.
func (r *row) headingText() string {
	var parts []string
	if r.Member == nil {
		parts = append(parts, r.Host)
	} else if name := r.Scope.Name(); name != "" {
		parts = append(parts, name)
	}
	if r.Group != "" {
		parts = append(parts, r.Group)
	}
	return strings.Join(parts, " · ")
}

type snapshot struct {
	rows   []row
	silent map[string]string // when hosts that do not answer were last seen
	warned string            // the last warning
	took   time.Duration
	err    error
}

// reader reads what gt-session list --hosts prints.
type reader struct {
	env        *cli.Env
	profile    string
	everywhere bool
	changes    *changeWatcher
	lines      map[string]string // texts that were cleaned
	every      time.Duration     // the least time between two reads

	inspected   time.Time       // when an inspection began last
	inspections chan inspection // those that have ended
	found       inspection      // the last one

	// ctx ends with the screen, and ends a process of gt-seance. Until then that holds running.
	ctx     context.Context
	stop    context.CancelFunc
	running sync.RWMutex
}

func newReader(env *cli.Env) *reader {
	r := &reader{env: env, changes: newChanges(), every: pollAfterChange, inspections: make(chan inspection, 1)}
	r.ctx, r.stop = context.WithCancel(context.Background())
	return r
}

// close ends what runs beside the screen, and waits until its processes are gone.
func (r *reader) close() {
	r.stop()
	r.running.Lock()
	r.changes.close()
}

type inspection struct {
	changes map[string]*roster.Changes // by folder
	usage   roster.Usage
	took    time.Duration
}

// Bounds of an inspection: of so many folders, each part for so long, and that seldom.
const (
	maxFolders   = 50
	inspectFor   = 10 * time.Second
	inspectEvery = 30 * time.Second
	inspectShare = 100 // an inspection takes at most one in so many parts of the time
)

// readProgress sets the branch of each row's folder, the changes in it and what its agent used today.
// Changes and usage take long: a goroutine collects them, and a later read shows them.
func (r *reader) readProgress(rows []row) {
	branches := map[string]string{}
	for i := range rows {
		if m := rows[i].Member; m != nil && !rows[i].archived && len(branches) <= maxFolders {
			at := m.WorksIn()
			if _, known := branches[at]; !known {
				branches[at] = r.cleanLine(git.BranchOrCommit(git.Top(at)))
			}
		}
	}
	select {
	case r.found = <-r.inspections:
	default:
	}
	if begin := time.Now(); begin.Sub(r.inspected) > max(inspectEvery, inspectShare*r.found.took) {
		r.inspected = begin
		folders := slices.Sorted(maps.Keys(branches))
		cli.Go(func() {
			result := inspection{changes: roster.ReadChanges(folders, inspectFor)}
			r.running.RLock()
			result.usage, _ = roster.ReadUsage(r.ctx, r.env, inspectFor) // without it nothing is said
			r.running.RUnlock()
			result.took = time.Since(begin)
			r.inspections <- result
			wakeReader(r.changes.noticed)
		})
	}
	current := map[session.ID]bool{}
	for i := range rows {
		if m := rows[i].Member; m != nil {
			current[m.CurrentID] = true
		}
	}
	for i := range rows {
		m := rows[i].Member
		if m == nil {
			continue
		}
		at := m.WorksIn()
		if rows[i].branch = branches[at]; rows[i].branch != "" && r.found.changes[at] != nil {
			rows[i].branch = strings.TrimSpace(rows[i].branch + " " + r.found.changes[at].String())
		}
		if today := roster.UsageText(r.found.usage.UsedToday(m, current)); today != "" {
			rows[i].today = today + " today"
		}
	}
}

// read reads all agents. It follows their files from then on.
func (r *reader) read() (s snapshot) {
	began := time.Now()
	warned := new(lastWrite)
	env := &cli.Env{
		Name: r.env.Name, Stdin: strings.NewReader(""), Stdout: io.Discard, Stderr: warned,
		Environ: r.env.Environ, Dir: r.env.Dir, DirDeleted: r.env.DirDeleted, Now: r.env.Now, Started: r.env.Started,
	}
	s.err = r.readInto(env, &s)
	s.warned = strings.TrimPrefix(strings.TrimSpace(warned.text), env.Name+": ")
	s.took = time.Since(began)
	return s
}

// lastWrite keeps what was written last: a message is one write.
type lastWrite struct {
	mu   sync.Mutex
	text string
}

func (w *lastWrite) Write(data []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.text = string(data)
	return len(data), nil
}

// readInto reads the agents into a snapshot. The error reports what could not be read.
func (r *reader) readInto(env *cli.Env, s *snapshot) error {
	scopes, unread := roster.ChosenScopes(env, r.profile, r.everywhere)
	if scopes == nil || unread != nil && !r.everywhere {
		return unread
	}
	found, err := roster.ReadWithStrangers(env, r.profile, scopes)
	unread = errors.Join(unread, err)
	own, err := roster.OwnHost(env)
	unread = errors.Join(unread, err)
	var folders []string
	for _, at := range found {
		folders = append(folders, at.Store.State.Path(at.Store.Dir))
		groups, err := at.Store.Groups()
		unread = errors.Join(unread, err)
		for _, one := range append(roster.Flatten(groups, at.Agents, anyMember), roster.Flatten(groups, at.Archived, anyMember)...) {
			key := at.Store.Dir + "\t" + string(one.ID)
			if roster.IsStranger(*one.Member) {
				key += one.Pane.ID
			}
			one.Scope = at.Scope
			doing := one.Activity()
			s.rows = append(s.rows, row{
				Hosted: roster.HostedRow(env, own, one), key: key, context: roster.ContextText(doing.Tokens, doing.Window),
				title: r.cleanLine(one.Topic()), archived: roster.IsArchived(*one.Member),
			})
			if folder := one.StateFolder(); folder != "" && one.Pane.ID != "" {
				folders = append(folders, folder)
			}
		}
	}
	peers := roster.Peers(env)
	folders = append(folders, peers.Path("")) // where new hosts come
	hosts, err := peers.ReadHosts()
	unread = errors.Join(unread, err)
	for _, h := range hosts {
		folders = append(folders, peers.Path(h.Name))
		if h.IsAway(env.Now()) {
			if s.silent == nil {
				s.silent = map[string]string{}
			}
			s.silent[h.Name] = h.Seen(env.Now())
		}
		agents, err := peers.Agents(h, env.Now())
		unread = errors.Join(unread, err)
		for _, a := range agents {
			s.rows = append(s.rows, row{
				Hosted: roster.HostedAgent(a), key: strings.Join([]string{a.Host, a.Profile, a.Town, a.ID, a.Name}, "\t"), title: r.cleanLine(a.Title),
			})
		}
	}
	r.readProgress(s.rows)
	for i := range s.rows {
		h := &s.rows[i].Hosted
		for _, text := range []*string{&h.Name, &h.StatusText, &h.Agent, &h.Group, &h.Folder} {
			*text = r.cleanLine(*text)
		}
	}
	r.changes.followFolders(folders)
	return unread
}

func anyMember(*fleet.Member) bool { return true }

// cleanLine returns a text for the screen. Most texts are the same the next time.
func (r *reader) cleanLine(s string) string {
	line, ok := r.lines[s]
	if !ok {
		if r.lines == nil || len(r.lines) > maxLines {
			r.lines = map[string]string{}
		}
		line = r.env.Line(s, maxTitle)
		r.lines[s] = line
	}
	return line
}

const maxLines = 100_000 // bounds the texts that are kept

const maxTitle = 400 // bounds what is shown of a name, in characters

// How often the agents are read: soon after a change, less often while one follows the
// other, and without one for what no file tells, such as a pane that is gone. Reading takes at
// most one in waitFactor parts of the time, unless the wait would be longer than maxPollWait.
const (
	pollAfterChange   = 250 * time.Millisecond
	pollWhileBusy     = time.Second
	pollWithoutChange = 5 * time.Second
	waitFactor        = 20
	maxPollWait       = 10 * time.Second
)

// scheduleRead waits until the agents should be read again, and reads them. took is how long that
// took last.
func (r *reader) scheduleRead(took time.Duration) tea.Cmd {
	return func() tea.Msg {
		select {
		case <-r.changes.urgent:
			return r.read()
		case <-time.After(max(r.every, min(waitFactor*took, maxPollWait))):
		}
		if r.every = pollAfterChange; len(r.changes.noticed) > 0 { // since the last read
			r.every = pollWhileBusy
		}
		select {
		case <-r.changes.urgent:
		case <-r.changes.noticed:
		case <-time.After(pollWithoutChange):
		}
		return r.read()
	}
}

type changeWatcher struct {
	noticed  chan struct{}
	urgent   chan struct{}     // the person waits for it
	watcher  *fsnotify.Watcher // nil if the system has none
	followed map[string]bool
}

// newChanges returns a changeWatcher that follows no folder yet. A burst of events counts once.
func newChanges() *changeWatcher {
	c := &changeWatcher{noticed: make(chan struct{}, 1), urgent: make(chan struct{}, 1), followed: map[string]bool{}}
	var err error
	if c.watcher, err = fsnotify.NewBufferedWatcher(eventBuffer); err != nil {
		return c // the agents are read every few seconds
	}
	cli.Go(func() {
		for range c.watcher.Events {
			wakeReader(c.noticed)
			time.Sleep(pollAfterChange)
			for range len(c.watcher.Events) { // a burst is one change
				<-c.watcher.Events
			}
		}
	})
	cli.Go(func() {
		for range c.watcher.Errors { // such as a full queue
			wakeReader(c.noticed)
		}
	})
	return c
}

// wakeReader has the agents read.
func wakeReader(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// eventBuffer is the number of changes that are kept until somebody looks. The system keeps more.
const eventBuffer = 128

const maxFollowed = 1000 // bounds the folders that are followed

// followFolders follows these folders and no others. Of one that is not there yet, it follows the
// one in which it will be made.
func (c *changeWatcher) followFolders(folders []string) {
	if c.watcher == nil {
		return
	}
	wanted := map[string]bool{}
	for _, folder := range folders[:min(len(folders), maxFollowed)] {
		for folder = filepath.Clean(folder); !atomicfile.Exists(folder) && folder != "/"; {
			folder = filepath.Dir(folder)
		}
		wanted[folder] = true
	}
	for folder := range c.followed {
		if !wanted[folder] {
			_ = c.watcher.Remove(folder)
			delete(c.followed, folder)
		}
	}
	for folder := range wanted {
		if !c.followed[folder] && c.watcher.Add(folder) == nil {
			c.followed[folder] = true
			wakeReader(c.noticed) // it may have changed after it was read
		}
	}
}

func (c *changeWatcher) close() {
	if c.watcher != nil {
		c.watcher.Close()
	}
}
