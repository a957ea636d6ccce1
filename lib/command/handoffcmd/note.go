package handoffcmd

import (
	"cmp"
	"errors"
	"io/fs"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"gt/lib/cli"
	"gt/lib/client/recorded"
	"gt/lib/conversation"
	"gt/lib/conversation/brief"
	"gt/lib/conversation/summary"
	"gt/lib/conversation/tail"
	"gt/lib/launch/entries"
	"gt/lib/place/git"
	"gt/lib/state/activity"
	"gt/lib/state/beads"
	"gt/lib/state/checkpoint"
	"gt/lib/state/mail"
	"gt/lib/state/request"
	"gt/lib/state/session"
	"gt/lib/state/thread"
)

type draft struct {
	note       mail.Note
	message    string                      // the caller's message
	buildBody  func(earlier string) string // returns the note's text, with earlier hand-overs of the session that nobody received
	essentials string                      // what a summary of the conversation must keep
	state      git.State                   // of the worktree
	isEmpty    bool                        // there is nothing to hand over
	unsavedErr error                       // of what the conversation says; expected in a sandbox
}

// composeNote writes the note. message is the caller's text, work the id of work that is handed
// over with it.
func (h handover) composeNote(message, work string) draft {
	from, by := h.call.Home.Identity.Address(), "" // by stands for the message if there is none
	if h.remote && message == "" && h.subject == "" {
		by = "You were handed over by " + from + "."
	}
	if h.remote && h.call.ID == "" { // a person, in any folder
		from = h.home.Identity.Address()
		if by != "" {
			by = "A person handed this session over."
		}
	}
	if h.replaces && !h.dryRun {
		// Another gt-handoff may replace the pane meanwhile, which ends the
		// terminal and whoever reads the output.
		signal.Ignore(syscall.SIGHUP, syscall.SIGPIPE)
	}
	var d draft
	var failed error
	asked := cli.Go(func() { // git is slowest, so the rest is read meanwhile
		d.state, failed = git.Status(h.home.Dir, gitWait)
	})
	b := brief.Brief{
		Message: message, LivesOn: h.kind == session.KindAuto,
		AwaitsPermission: h.remote && activity.Read(h.home, h.id).Reason == activity.Permission,
	}
	if h.collect {
		d.unsavedErr = h.gatherFacts(&b)
	}
	asked.Wait()
	if failed != nil && !errors.Is(failed, git.ErrNotRepository) {
		h.env.WarnError(failed)
	}
	if h.collect {
		b.State = d.state
	}
	d.isEmpty = h.record == nil && !h.agent.IsSet() && message == "" && h.subject == "" && by == "" &&
		len(d.state.Changes)+len(b.Hooked)+len(b.Unread) == 0
	b = b.Clean(h.redact)
	subject := b.Subject() // before Message changes: it is about the work, not about who asked
	if by != "" {
		b.Message = by
	}
	d.message = b.Message
	d.note = mail.Note{
		Type: mail.Handoff, From: from, To: h.home.Identity.Address(),
		Subject: h.redact(h.subject), Date: h.env.Now(),
	}
	if h.record != nil {
		d.note.Session, d.note.Chain = string(h.record.ID), string(h.record.ChainID)
	}
	d.note.Subject = cmp.Or(d.note.Subject, subject)
	// Every part was redacted before it was cut. Redact the result as well, because
	// joined parts can form a secret.
	d.note.Subject = h.redact(d.note.Subject)
	d.buildBody = func(earlier string) string {
		b := b
		b.Message = strings.TrimSpace(b.Message + "\n\n" + earlier)
		text := b.Text()
		if h.whyPaneKept != "" {
			text += "\n\nThe agent was not replaced: " + h.whyPaneKept + "."
			if line, _ := h.startByHand(); h.folderReplaced == nil {
				text += " To go on in its pane, a person ends it there and types: " + line
			}
			text += "\n"
		}
		if work != "" {
			given := "Given: "
			if !h.home.Town.Personal {
				given = "Hooked: "
			}
			text = given + work + "\n\n" + text
		}
		return h.redact(text)
	}
	d.note.Body = d.buildBody("")
	d.essentials = h.redact(b.Essentials())
	return d
}

// gatherFacts adds what the transcript, git and the box contain. It leaves out what it cannot
// read: a shorter note is better than none. It redacts before it cuts, because half a
// secret is not recognized. It returns an error if it had no right to save what it read.
func (h handover) gatherFacts(b *brief.Brief) (unsaved error) {
	warn := func(err error) {
		if !errors.Is(err, fs.ErrNotExist) {
			h.warn(err)
		}
	}
	var err error
	if path := h.transcript(); path != "" {
		b.Session, b.Thread, err = h.readConversation(path)
		if s := (*tail.SaveError)(nil); !h.isHook && errors.As(err, &s) && request.Denied(s.Err) {
			err, unsaved = nil, err
		}
		warn(err)
	}
	if b.Thread == nil && h.record != nil {
		b.Thread, err = thread.Read(h.home.Town.State, h.record.Chain(), h.warn)
		if !errors.Is(err, thread.ErrNone) {
			warn(err)
		}
	}
	if b.Thread != nil {
		common, err := git.CommonDir(h.home.Dir)
		warn(err)
		b.Thread = thread.WithRules(b.Thread, b.Thread.ChainID, thread.Rules(h.home.Town.State, common, h.warn))
	}
	if h.record != nil {
		all, err := checkpoint.List(h.home)
		warn(err)
		for _, c := range all {
			if c.SessionID == h.record.ID {
				b.Checkpoint = c.Summary()
			}
		}
		b.Commits = git.Commits(h.home.Dir, h.record.StartedAt, time.Time{})
	}
	box := mail.NewBox(h.home, h.home.Identity.Address())
	hooked, err := box.Hooked()
	warn(err)
	b.Hooked = slices.DeleteFunc(hooked, func(n mail.Note) bool { return n.Type == mail.Handoff })
	b.Unread, b.More, err = box.Unread()
	warn(err)
	b.Work, b.Ready, err = beads.Collect(h.home, h.environ, maxReady)
	warn(err)
	return unsaved
}

const maxReady = 5

// readConversation reads the conversation from where it was read last, and saves the result, unless
// there is no record or --dry-run is set. In a sandbox it cannot; the next hook reads it again.
func (h handover) readConversation(path string) (summary.Summary, *thread.Thread, error) {
	c := recorded.Conversation{File: conversation.File{Client: h.transcriptForm(), Path: path, ID: h.id}, CWD: h.dir}
	if h.record != nil {
		c.SavedSummary = tail.NewFile(h.home, h.record)
	}
	read := entries.FindReader(h.env, h.call.Dir, h.transcriptForm())
	to := tail.Carry{Home: h.home, Record: cmp.Or(h.record, &session.Record{ID: h.id}), Now: h.env.Now(), Warn: h.warn}
	if h.record == nil || h.dryRun {
		fold, err := c.Read(read, h.redact)
		if fold == nil {
			return summary.Summary{}, nil, err
		}
		return summary.Summarize(fold), to.Preview(fold), err
	}
	fold, carried, err := c.Carry(read, to, h.redact)
	if fold == nil {
		return summary.Summary{}, nil, err
	}
	if carried == nil {
		carried = to.Preview(fold)
	}
	return summary.Summarize(fold), carried, err
}

const gitWait = 3 * time.Second // limits git, which may be slow in a huge worktree

// warnOfGit warns of uncommitted work. The hand-over goes on, because the files stay.
func (h handover) warnOfGit(s git.State) {
	if h.quietGit || h.isHook {
		return
	}
	if s.Head != "" && s.Ahead == 0 { // git's status counts none of a branch that follows no other
		s.Ahead = git.Unpushed(h.home.Dir, gitWait)
	}
	if len(s.Changes) > 0 || s.Ahead > 0 {
		h.env.Warn("the worktree has uncommitted or unpushed work: %s", s.Summary())
	}
}
