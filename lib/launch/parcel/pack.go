package parcel

import (
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"gt/lib/cli"
	"gt/lib/client/account"
	"gt/lib/client/agent"
	"gt/lib/client/readers"
	"gt/lib/client/readers/files"
	"gt/lib/client/writers"
	"gt/lib/conversation"
	"gt/lib/launch"
	"gt/lib/live/fleet"
	"gt/lib/live/status"
	"gt/lib/place"
	"gt/lib/place/git"
	"gt/lib/place/home"
	"gt/lib/record/secretfile"
	"gt/lib/state/checkpoint"
	"gt/lib/state/instance"
	"gt/lib/state/mail"
	"gt/lib/state/peer"
	"gt/lib/state/session"
	"gt/lib/state/thread"
	"gt/lib/sys/atomicfile"
	"gt/lib/text/count"
	"gt/lib/text/openjson"
)

const (
	gitWait  = 10 * time.Minute // for each run of git on a large repository
	lockWait = 30 * time.Second // for another command that is at the instance

	movedReason = "gt-session pack"   // the end reason in the record of a session that moved
	takenReason = "gt-session unpack" // and of one that was unpacked and not resumed yet
)

var (
	// ErrMoved reports that an instance was packed before.
	ErrMoved   = errors.New("it was packed before")
	errChanged = errors.New("it changed meanwhile") // a file, while it was packed
)

// Packer packs instances of a store.
type Packer struct {
	Env   *cli.Env
	Store instance.Store
	Table *agent.Table

	To, Key string        // the host that it moves to, for a list, and that host's key; "" if unknown
	Now     bool          // do not wait for the end of the agent's turn
	Timeout time.Duration // of that wait; 0 for none
	Again   bool          // pack it although it was packed before
	// Resume packs it again, under the same id, if it was packed for To before and no host has
	// it: a kill can come before the parcel leaves. Where it was unpacked all the same, it is
	// not unpacked again.
	Resume bool

	quiet bool // say nothing of what stays
}

// Pack stops an instance's agent after its turn and writes the instance to a parcel, and
// returns the parcel's id. From its first byte on, the agent does not start here without a
// person's --force. If Pack fails, the instance stays: it did not move, unless the failure
// came after the parcel was complete. If its worktree has what no parcel can hold, Pack
// fails before it stops the agent.
func (p Packer) Pack(id instance.ID, out io.Writer) (parcel string, err error) {
	in, err := p.markMoving(id)
	if err != nil {
		return "", err
	}
	parcel = in.Moved.Parcel
	err = p.awaitTurn(in)
	if err == nil {
		_, err = launch.Stopper{Env: p.Env, Store: p.Store, Table: p.Table, Now: p.Now}.Stop(id)
	}
	if err == nil {
		err = p.writeParcel(id, parcel, out)
	}
	if err != nil {
		err = errors.Join(err, p.unmarkMoving(id, parcel))
	}
	return parcel, err
}

// markMoving marks the instance as moving, and, for a move, whether its agent runs (Ran). The mark
// that a killed Pack has left keeps its parcel's id, and so does that of a complete parcel, unless
// the person asks for another one.
func (p Packer) markMoving(id instance.ID) (*instance.Instance, error) {
	held, err := p.Store.Hold(id, lockWait)
	if err != nil {
		return nil, err
	}
	defer held.Release()
	if err := p.Movable(held.Instance); err != nil {
		return nil, err
	}
	if err := git.CheckPortable(held.Path, gitWait); err != nil {
		return nil, cannotPack(held.Instance, err)
	}
	if held.Moved != nil && held.Moved.Complete && !p.Again {
		return held.Instance, nil
	}
	m := &instance.Moved{Parcel: string(session.NewID()), To: p.To, Key: p.Key, At: p.Env.Now().UTC()}
	if old := held.Moved; old != nil && !old.Complete {
		m.Parcel, m.Ran = old.Parcel, old.Ran
	}
	m.Ran = m.Ran || p.Resume && p.memberOf(held.Instance).Pane.ID != ""
	held.Moved = m
	return held.Instance, held.Put(p.Env.Now())
}

// Movable returns an error for an instance that cannot be packed. It also sets in.Moved if another
// host has the instance (markMoved).
func (p Packer) Movable(in *instance.Instance) error {
	claims := p.markMoved(in)
	again := "--force packs it again; where the earlier parcel was unpacked, it then runs in two places"
	if p.Resume { // gt-session move, which has no --force
		again = cmp.Or(peer.NewHosts(p.Store.State).WayOn(in), "gt-session list --hosts shows where it is")
	}
	switch m := in.Managed; {
	case m != nil:
		return cli.Fail(cli.AnswerNo, fmt.Errorf("%s was made from the template %s: gt-reconcile keeps its sessions on this host", in.Name, m.Template),
			fmt.Sprintf("gt-mail work give %s@HOST gives work to the sessions of that template on HOST", m.Template))
	case in.Role != "" || strings.HasPrefix(p.Store.Dir, "towns/"):
		return cli.Fail(cli.AnswerNo, fmt.Errorf("%s is a town's: its role, its mail and its folder are part of the town", in.Name),
			"gt-handoff --print prints what a session elsewhere can go on with")
	case in.Moved != nil && in.Moved.Complete && !p.Again && !p.resumesMove(in, claims):
		return cli.Fail(cli.AnswerNo, fmt.Errorf("%s %s: %w, at %s", in.Name, in.Moved, ErrMoved, in.Moved.At.Local().Format(time.DateTime)),
			again)
	}
	return nil
}

// resumesMove reports whether Pack makes the parcel again that in was packed into.
func (p Packer) resumesMove(in *instance.Instance, claims map[instance.ID]peer.Claim) bool {
	there := claims[in.ID].Moves > in.Generation // an earlier move proves nothing of this one
	m := in.Moved
	return p.Resume && m != nil && m.Complete && m.Parcel != "" && m.To == p.To && !there
}

// markMoved sets in.Moved, in memory only, if another host claims a later move of the instance,
// as launch.Starter does, and returns the claims of all hosts.
func (p Packer) markMoved(in *instance.Instance) map[instance.ID]peer.Claim {
	claims, err := peer.NewHosts(p.Store.State).Claims()
	p.Env.WarnError(err)
	peer.MarkMoved(in, claims)
	return claims
}

// unmarkMoving takes the mark of an incomplete parcel away. A complete one keeps it, with a hint.
func (p Packer) unmarkMoving(id instance.ID, parcel string) error {
	held, err := p.Store.Hold(id, lockWait)
	if errors.Is(err, instance.ErrNone) {
		return nil
	} else if err != nil {
		return err
	}
	defer held.Release()
	switch m := held.Moved; {
	case m == nil || m.Parcel != parcel:
		return nil
	case m.Complete:
		p.Env.Hint("the parcel of %s may be complete: if it cannot be unpacked, gt-session pack --cancel --force %s takes it back", held.Name, held.Name)
		return nil
	}
	held.Moved = nil
	return held.Put(p.Env.Now())
}

// Cancel takes a packed instance back: it can be started here again. A complete parcel may
// have been unpacked, which force says that it was not. Unless parcel is "", only that one is
// taken back, and no later one. ran reports that its agent was stopped for the move.
func Cancel(store instance.Store, id instance.ID, parcel string, force bool, now time.Time) (ran bool, err error) {
	held, err := store.Hold(id, lockWait)
	if err != nil {
		return false, err
	}
	defer held.Release()
	switch m := held.Moved; {
	case m == nil, parcel != "" && m.Parcel != parcel:
		return false, cli.Failf(cli.AnswerNo, "%s has not moved", held.Name)
	case m.Complete && !force:
		return false, cli.Fail(cli.AnswerNo, fmt.Errorf("%s %s, and gt cannot know whether its parcel was unpacked", held.Name, m),
			"--force takes it back; where it was unpacked, it then runs in two places")
	}
	ran = held.Moved.Ran
	held.Moved = nil
	return ran, held.Put(now)
}

// Question returns a manifest without members, with which Unpacker.Ask on another host finds out
// whether it could be unpacked there.
func (p Packer) Question(in *instance.Instance) ([]byte, error) {
	m := &Manifest{
		Format: format, ID: string(session.NewID()), At: p.Env.Now().UTC(), Generation: in.Generation + 1,
		Instance: Instance{ID: in.ID, Name: in.Name, Agent: in.Agent, Launcher: in.Launcher},
	}
	if of := p.memberOf(in); of.CurrentID != "" && !of.CurrentID.Invented() {
		m.Session = sessionOf(of)
	}
	roots, err := git.RootCommits(in.Path, gitWait)
	if err == nil {
		m.Git = &Git{Roots: roots}
	} else if !errors.Is(err, git.ErrNotRepository) {
		return nil, cannotPack(in, err)
	}
	return openjson.File(m)
}

// sessionOf returns the session of a member, by its record.
func sessionOf(m fleet.Member) *Session {
	s := &Session{ID: m.CurrentID, Agent: m.Agent, Chain: cmp.Or(m.ChainID, m.CurrentID), Started: m.StartedAt}
	if r := m.Record; r != nil {
		s.Agent, s.Chain, s.Parent, s.Started, s.Commits, s.Note, s.Delivered = cmp.Or(r.Agent, m.Agent), r.Chain(), r.ParentID, r.StartedAt, r.Commits, r.Note, r.DeliveredNotes
	}
	return s
}

func (p Packer) memberOf(in *instance.Instance) fleet.Member {
	return fleet.Members(p.Env.Getenv, p.Store, p.Table, []*instance.Instance{in}, p.Env.Now())[0]
}

// awaitTurn waits until the agent's turn ends or asks the person something, at most for Timeout.
func (p Packer) awaitTurn(in *instance.Instance) error {
	begin, hinted := time.Now(), false
	for pause := 100 * time.Millisecond; !p.Now; pause = min(pause*5/4, time.Second) {
		m := p.memberOf(in)
		asks := m.Reason == status.Permission || m.Reason == status.Question
		if m.Pane.ID == "" || m.Status != status.Running && m.Status != status.Starting && !asks {
			return nil
		}
		if !hinted {
			p.Env.Hint("%s is packed after its turn; --now does not wait", in.Name)
			hinted = true
		}
		if p.Timeout > 0 && time.Since(begin) > p.Timeout {
			return cli.Failf(cli.AnswerNo, "%s is still %s", in.Name, m.Status)
		}
		time.Sleep(pause)
	}
	return nil
}

// writeParcel writes the parcel of an instance whose agent was stopped.
func (p Packer) writeParcel(id instance.ID, parcel string, out io.Writer) error {
	held, err := p.Store.Hold(id, lockWait)
	if err != nil {
		return err
	}
	defer held.Release()
	if held.Moved == nil || held.Moved.Parcel != parcel {
		return cli.Failf(cli.AnswerNo, "%s was taken back meanwhile", held.Name)
	}
	m := p.memberOf(held.Instance)
	if err := launch.CheckReachable(m); err != nil {
		return err
	}
	if m.Pane.ID != "" {
		return cli.Failf(cli.AnswerNo, "%s was started meanwhile", held.Name)
	}
	scratch := p.Store.State.Path("parcels", string(held.ID)+".out") // one of a killed Pack goes
	if err := errors.Join(os.RemoveAll(scratch), p.Store.State.Prepare(scratch)); err != nil {
		return err
	}
	defer os.RemoveAll(scratch)
	host, _ := os.Hostname() // only told
	w := &writer{manifest: &Manifest{
		Format: format, ID: parcel, At: held.Moved.At, Host: host, Generation: held.Generation + 1,
		Instance: Instance{
			ID: held.ID, Name: held.Name, Title: held.Title, Group: held.Group, Agent: held.Agent, Args: p.safeArgs(held.Instance),
			Launcher: held.Launcher, Remain: held.Remain, Respawn: held.Respawn, Archived: held.IsArchived(),
		},
	}}
	if w.manifest.Instance.Departures, err = peer.NewHosts(p.Store.State).Depart(held.Instance, held.Generation+1); err != nil {
		return err
	}
	if w.manifest.Session, err = p.addSession(w, m, scratch); err != nil {
		return err
	}
	root, state, err := p.addRepository(w, held.Path, scratch)
	if err != nil {
		return cannotPack(held.Instance, err)
	}
	if root != nil {
		defer root.Close()
	}
	return w.writeParcel(out, func() error {
		// Before the last member completes the parcel, the session here ends for good: nobody follows it.
		if err := p.recordMoved(m); err != nil {
			return err
		}
		held.Moved.Complete, held.Moved.State = true, state
		return held.Put(p.Env.Now())
	})
}

func cannotPack(in *instance.Instance, err error) error {
	return fmt.Errorf("cannot pack %s: %w", in.Name, err)
}

// safeArgs returns the instance's arguments, or none at all if one of them looks like a secret.
func (p Packer) safeArgs(in *instance.Instance) (args []string) {
	for _, arg := range in.Args {
		if p.Env.Redact(arg) != arg {
			p.Env.Warn("an argument of %s looks like a secret, so none goes along", in.Name)
			return nil // the one before may be its flag
		}
	}
	return in.Args
}

// recordMoved notes in the session's record that it ended by a move, so that no session here
// follows it.
func (p Packer) recordMoved(m fleet.Member) error {
	if m.Record == nil {
		return nil
	}
	h, ok, err := home.OfSession(p.Store.State, string(m.Record.ID))
	if !ok {
		return err
	}
	lock, err := h.Lock()
	if err != nil {
		return err
	}
	defer lock.Unlock()
	s := session.Store{Home: h, Warn: p.Env.WarnError}
	r, err := s.Get(m.Record.ID)
	if err != nil || r == nil || !r.Ended() {
		return err
	}
	r.Outcome, r.Reason = session.Done, movedReason
	return s.Put(r, atomicfile.Synced)
}

// addSession adds the session's conversation, thread, checkpoint and notes; nil without a session.
func (p Packer) addSession(w *writer, m fleet.Member, scratch string) (*Session, error) {
	if m.CurrentID == "" || m.CurrentID.Invented() {
		if m.CurrentID != "" {
			p.Env.Warn("%s has no conversation that gt can find: none goes along", m.Name)
		}
		return nil, nil
	}
	h := home.FindOtherHome(place.ScopeOf(p.Env.Getenv), m.Path)
	s := sessionOf(m)
	transcript := ""
	if r := m.Record; r != nil {
		if of, ok, err := home.OfSession(p.Store.State, string(r.ID)); err != nil {
			return nil, err
		} else if ok {
			h = of
		}
		if o := cmp.Or(r.Promised(), r.Handoff); o != nil {
			s.Handoff = &Handoff{Kind: o.Kind, Note: o.Note, Reason: o.Reason, At: o.At, Marker: o.Marker != ""}
		}
		transcript = r.Transcript
	}
	err := runInOrder(
		func() error { return p.addConversation(w, s, transcript, m.Path, scratch) },
		func() error { return p.addThread(w, s) },
		func() error { return p.addCheckpoint(w, s, h) },
		func() error { return p.addNotes(w, s, h) },
	)
	if err != nil {
		return nil, cannotPack(m.Instance, err)
	}
	return s, nil
}

// addConversation adds the client's own files if they can be moved, else what a reader makes
// of the conversation.
func (p Packer) addConversation(w *writer, s *Session, transcript, cwd, scratch string) error {
	if mover, ok := writers.FindWriter(s.Agent).(conversation.Mover); ok {
		if transcript == "" {
			transcript = files.Path(s.Agent, p.Env.Getenv, cwd, string(s.ID))
		}
		if !atomicfile.Exists(transcript) {
			p.Env.Warn("%s has no conversation %s: none goes along", s.Agent, s.ID)
			return nil
		}
		all, err := mover.MovedFiles(transcript, s.ID)
		if err != nil {
			return err
		}
		for _, f := range all {
			name, err := w.addMember(content{path: f.Path})
			if err != nil {
				return err
			}
			s.Conversation = append(s.Conversation, Named{Name: f.Name, Member: name})
		}
		return nil
	}
	r := readers.FindReader(s.Agent)
	if r == nil {
		p.Env.Warn("gt does not read the conversations of %s: none goes along", s.Agent)
		return nil
	}
	f, found := p.findConversation(r, s.ID, transcript)
	if !found {
		p.Env.Warn("%s has no conversation %s: none goes along", s.Agent, s.ID)
		return nil
	}
	path := filepath.Join(scratch, "entries")
	err := atomicfile.Stream(path, func(out io.Writer) error {
		enc := json.NewEncoder(out)
		var failed error
		_, err := r.Read(f, conversation.Options{}, func(e conversation.Entry) bool {
			failed = enc.Encode(e)
			return failed == nil
		})
		return errors.Join(err, failed)
	})
	if err == nil {
		s.Entries, err = w.addMember(content{path: path})
	}
	return err
}

// findConversation returns the conversation of a session in the client's stores.
func (p Packer) findConversation(r conversation.Reader, id session.ID, transcript string) (f conversation.File, found bool) {
	for _, store := range account.Stores(r.Client(), p.Env.Getenv) {
		_ = r.Find(store, func(one conversation.File) { // what cannot be read is not this one
			if found || one.ID != id && (one.Path != transcript || one.ID != "") {
				return
			}
			f, found = one, true
		})
	}
	return f, found
}

// addThread adds the thread of the session's chain, if there is one.
func (p Packer) addThread(w *writer, s *Session) error {
	t, err := thread.Read(p.Store.State, s.Chain, p.Env.WarnError)
	if errors.Is(err, thread.ErrNone) {
		return nil
	} else if err == nil {
		s.Thread, err = w.addJSON(t)
	}
	return err
}

// addCheckpoint adds the session's newest checkpoint but for Claimed ones, which others can write.
func (p Packer) addCheckpoint(w *writer, s *Session, h home.Home) error {
	all, err := checkpoint.List(h)
	p.Env.WarnError(err)
	for _, c := range all {
		if c.SessionID == s.ID && !c.Claimed {
			s.Checkpoint, err = w.addJSON(c)
			return err
		}
	}
	return nil
}

// addNotes adds the unread and hooked notes, and those of hand-overs to and from the session.
func (p Packer) addNotes(w *writer, s *Session, h home.Home) error {
	also := append(slices.Clone(s.Delivered), s.Note)
	if s.Handoff != nil {
		also = append(also, s.Handoff.Note)
	}
	all, err := mail.NewBox(h, h.Identity.Address()).Outgoing(also)
	if err != nil {
		return err
	}
	for _, l := range all {
		name, err := w.addMember(content{data: l.Text})
		if err != nil {
			return err
		}
		s.Notes = append(s.Notes, Named{Name: l.Name, Fresh: l.Fresh, Member: name})
	}
	return nil
}

// addRepository adds the state of the worktree around a folder. root is the worktree's top, open
// until the parcel is written, and nil without a repository. state is a digest of what was added.
// If the instance comes back and the digest is still that, it gets this worktree again, reset to
// its new state. That would lose a tracked file that stays here: if there is one, state is "".
func (p Packer) addRepository(w *writer, dir, scratch string) (root *os.Root, state string, err error) {
	bundle := filepath.Join(scratch, "bundle")
	carried, err := git.Carry(dir, bundle, secretfile.IsSecret, gitWait)
	if errors.Is(err, git.ErrNotRepository) {
		if !p.quiet {
			p.Env.Warn("the folder '%s' is in no git repository: no file of it goes along", dir)
		}
		return nil, "", nil
	} else if err != nil {
		return nil, "", err
	}
	top := place.Real(git.Top(dir))
	g := &Git{Roots: carried.Roots, Head: carried.Head, Branch: carried.Branch, Index: carried.Index, Remotes: carried.Remotes}
	if within, err := filepath.Rel(top, place.Real(dir)); err == nil && within != "." {
		g.Within = within
	}
	if g.Bundle, err = w.addMember(content{path: bundle}); err != nil {
		return nil, "", err
	}
	if root, err = os.OpenRoot(top); err != nil {
		return nil, "", err
	}
	leftByReason := map[string][]string{} // the files that stay, by why
	trackedLeft := len(carried.Held)      // how many of the files that stay git tracks
	for i, path := range slices.Concat(carried.Changed, carried.Untracked) {
		why, err := p.addFile(w, g, root, path)
		if err != nil {
			root.Close()
			return nil, "", err
		}
		if why == "" {
			continue
		}
		if leftByReason[why] = append(leftByReason[why], path); i < len(carried.Changed) {
			trackedLeft++
		}
	}
	for _, path := range carried.Deleted {
		if checkPath(path) == nil {
			g.Deleted = append(g.Deleted, path)
		} else {
			leftByReason["its name"] = append(leftByReason["its name"], path)
			trackedLeft++
		}
	}
	for _, path := range carried.Intended {
		if slices.ContainsFunc(g.Files, func(f File) bool { return f.Path == path }) {
			g.Intended = append(g.Intended, path)
		}
	}
	if !p.quiet {
		for _, n := range carried.Left {
			p.Env.Warn("%s, which stays here", n)
		}
		if carried.Stashed {
			p.Env.Warn("the stashes of the repository stay here")
		}
	}
	for _, why := range slices.Sorted(maps.Keys(leftByReason)) {
		if paths := leftByReason[why]; len(paths) > 0 && !p.quiet {
			more := ""
			if n := len(paths) - 1; n > 0 {
				more = " and " + count.Plural(n, "other")
			}
			p.Env.Warn("%s%s stays here: %s", git.Quote(paths[0]), more, why)
		}
	}
	w.manifest.Git = g
	if trackedLeft == 0 { // mutant always: . TestScripts/session_back$
		state = w.manifest.worktreeDigest()
	}
	return root, state, nil
}

// worktreeDigest returns a digest of the worktree's state.
func (m *Manifest) worktreeDigest() string {
	digests := map[string]string{}
	for _, one := range m.Members {
		digests[one.Name] = one.SHA256
	}
	files := slices.Clone(m.Git.Files)
	for i, f := range files {
		files[i].Member = digests[f.Member] // the content, whatever the member is called
	}
	all := []any{m.Git.Head, m.Git.Index, files, m.Git.Deleted}
	if m.Git.Intended != nil {
		all = append(all, m.Git.Intended)
	}
	data, _ := json.Marshal(all) // it cannot fail
	return fmt.Sprintf("%x", sha256.Sum256(data))
}

// addFile adds a file that differs from the index, or returns why it stays.
func (p Packer) addFile(w *writer, g *Git, root *os.Root, path string) (why string, err error) {
	if secretfile.IsSecret(path) { // mutant never: . TestScripts/session_pack$
		return "a secret file", nil
	}
	if checkPath(path) != nil {
		return "its name", nil
	}
	info, err := root.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", fmt.Errorf("%s: %w", git.Quote(path), errChanged)
	case err != nil:
		return "", err
	case info.Mode()&fs.ModeSymlink != 0:
		to, err := root.Readlink(path)
		g.Files = append(g.Files, File{Path: path, Link: to})
		return "", err
	}
	name, err := w.addMember(content{root: root, path: path})
	g.Files = append(g.Files, File{Path: path, Exec: info.Mode()&0o100 != 0, Member: name})
	return "", err
}
