package fleet

import (
	"os"
	"slices"
	"strings"
	"time"

	"gt/lib/conversation"
	"gt/lib/live"
	"gt/lib/live/status"
	"gt/lib/state/activity"
	"gt/lib/state/keepalive"
	"gt/lib/sys/process"
)

// silentAfter is how long a working agent gives no sign until it counts as silent. A model
// may think for minutes.
const silentAfter = 10 * time.Minute

// setSilence sets since when a working agent is silent: while the machine was awake, its hooks and
// its conversation gave no sign, and no tool of it runs. Of a client whose conversations do
// not tell which tools run, it is not known.
func (m *Member) setSilence() {
	now := m.survey.now
	if m.Status != status.Running || m.Record == nil || now.Sub(m.Since).Abs() < silentAfter {
		return
	}
	told, last := m.Activity().Since, m.Since              // last becomes the last sign of any kind
	asleep := process.Slept(told, m.Activity().Awake, now) // for so long the machine slept
	if beat := keepalive.Read(m.home); beat != nil && beat.SessionID == m.Record.ID {
		told = beat.Timestamp
		if beat.Awake != 0 {
			asleep = process.Slept(told, beat.Awake, now)
		}
	}
	if told.After(last) {
		last = told
	}
	now = now.Add(-asleep)
	path := m.Record.Transcript
	if now.Sub(last) < silentAfter || !strings.HasSuffix(path, ".jsonl") || m.conversationStore() == "" {
		return
	}
	info, err := os.Stat(path)
	if err != nil {
		return
	}
	if info.ModTime().After(last) {
		last = info.ModTime()
	}
	f := conversation.File{Client: m.Record.Agent, Path: path, ID: m.Record.ID, Size: info.Size()}
	if now.Sub(last) < silentAfter || conversation.EndsInCall(m.reader(), f) || m.runsCommand(last) {
		return
	}
	m.SilentSince, m.SilentFor = last, now.Sub(last)
}

// runsCommand reports whether a command of the agent's runs that its conversation does not show, as
// one of a hook.
func (m *Member) runsCommand(last time.Time) bool {
	start, err := process.StartTime(m.Process.PID)
	if err != nil {
		return false
	}
	return slices.ContainsFunc(live.ProcessTree(m.Process), func(p process.Proc) bool {
		at, err := process.StartTime(p.PID)
		// macOS' Claude Code keeps the machine awake with one while it works.
		return err == nil && isCommand(at, start, last) && process.Name(p.PID) != "caffeinate"
	})
}

const (
	settleTime = time.Minute      // in which an agent starts the servers that run as long as it
	signSlack  = 10 * time.Second // at most, between two signs of one moment
)

// isCommand reports whether an agent that started at start may wait for a process that began at a
// time. It does not wait for what it had left in the background before it gave its last sign.
func isCommand(began, start, last time.Time) bool {
	return began.Sub(start) > settleTime && last.Sub(began) < signSlack
}

// NoteSilence records that the person is told of the agent's present silence, or with told false
// that they are not, and reports whether that was otherwise before.
func (m *Member) NoteSilence(told bool) (changed bool, err error) {
	at := time.Time{}
	if told {
		at = m.SilentSince
	}
	err = activity.Change(m.home, m.Record.ID, func(s *activity.State) bool {
		changed = told == s.SilentTold.Before(m.SilentSince) // before: of none, or of an earlier one
		s.SilentTold = at
		return changed
	})
	return changed && err == nil, err
}
