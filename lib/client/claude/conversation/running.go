package claude

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/tidwall/gjson"

	"gt/lib/conversation"
	"gt/lib/state/activity"
	"gt/lib/state/session"
	"gt/lib/sys/atomicfile"
	"gt/lib/sys/process"
)

// maxNote is far larger than the client's file about a process.
const maxNote = 64 << 10

// Running reads <store>/sessions/<pid>.json. A killed process leaves its file.
func (Reader) Running(store string, each func(id session.ID, pid int, start string)) error {
	var lost conversation.ReadErrors
	dir := filepath.Join(store, "sessions")
	for _, e := range lost.List(dir) {
		if !strings.HasSuffix(e.Name(), ".json") {
			continue // keys are beside it
		}
		data, err := atomicfile.Read(filepath.Join(dir, e.Name()), maxNote)
		if lost.Add(err); err != nil {
			continue
		}
		v := gjson.GetManyBytes(data, "sessionId", "pid", "procStart")
		if id, err := session.ParseID(v[0].Str); err == nil {
			each(id, int(v[1].Int()), v[2].String())
		}
	}
	return lost.Err()
}

// ReadActivity reads the client's file about a process, in the format of 2.1.197 and 2.1.330:
// what it does and since when, and what it waits for. The file changes at every answer of
// the person, shortly after the hooks. While a subagent runs in the background, it stays
// busy after the turn has ended.
func (Reader) ReadActivity(store string, id session.ID, p process.Proc) (s activity.State) {
	data, err := atomicfile.Read(filepath.Join(store, "sessions", strconv.Itoa(p.PID)+".json"), maxNote)
	if err != nil {
		return s
	}
	v := gjson.GetManyBytes(data, "sessionId", "procStart", "status", "statusUpdatedAt", "waitingFor")
	if v[0].Str != string(id) || v[1].Exists() && v[1].String() != p.Start {
		return s
	}
	switch v[2].Str {
	case "busy":
		s.Status = activity.Busy
	case "idle", "shell": // shell means that commands run in the background
		s.Status, s.Reason, s.Background = activity.Idle, activity.Done, v[2].Str == "shell"
	case "waiting":
		s.Status, s.Reason = activity.NeedsInput, activity.Question
		if strings.Contains(v[4].Str, "permission") {
			s.Reason = activity.Permission
		}
	default:
		return s
	}
	s.Since = time.UnixMilli(v[3].Int())
	return s
}

// maxTeams limits the teams, maxTeam the size of a team's file in bytes, and maxAgents
// the agents of a team.
const (
	maxTeams  = 64
	maxTeam   = 1 << 20
	maxAgents = 20
)

// Team reads the team that a session leads. For <root>/projects/<folder>/<id>.jsonl it is
// the <root>/teams/<name>/config.json that names the session. The leader is not among the
// agents.
func (Reader) Team(f conversation.File) []string {
	id, ok := strings.CutSuffix(filepath.Base(f.Path), ".jsonl")
	projects := filepath.Dir(filepath.Dir(f.Path))
	if !ok || id == "" || filepath.Base(projects) != "projects" {
		return nil
	}
	dir := filepath.Join(filepath.Dir(projects), "teams")
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil // no team yet
	}
	for _, e := range entries[:min(len(entries), maxTeams)] {
		data, err := atomicfile.Read(filepath.Join(dir, e.Name(), "config.json"), maxTeam)
		if err != nil || !gjson.ValidBytes(data) {
			continue // it is being written
		}
		team := gjson.ParseBytes(data)
		if team.Get("leadSessionId").Str != id {
			continue
		}
		lead, agents := team.Get("leadAgentId").Str, []string{team.Get("name").Str}
		team.Get("members").ForEach(func(_, m gjson.Result) bool {
			if m.Get("agentId").Str == lead {
				return true
			}
			line := m.Get("name").Str
			if kind := m.Get("agentType").Str; kind != "" {
				line += " (" + kind + ")"
			}
			if task := m.Get("prompt").Str; task != "" {
				line += ": " + task
			}
			agents = append(agents, line)
			return len(agents) <= maxAgents
		})
		if len(agents) > 1 {
			return agents
		}
	}
	return nil
}

// Claude Code writes a large result into <session>/tool-results/<call>.txt, and the
// conversation has its beginning and the file's path.

// resultsFolder returns the folder of those files, for a subagent that of its session.
func resultsFolder(f conversation.File) string {
	dir := strings.TrimSuffix(f.Path, ".jsonl")
	if f.Parent != "" { // a subagent's, below its session's folder
		for base := string(f.Parent); filepath.Base(dir) != base && len(dir) > 1; {
			dir = filepath.Dir(dir)
		}
	}
	return filepath.Join(dir, "tool-results")
}

func (Reader) KeepsResults(f conversation.File) bool {
	_, err := os.Stat(resultsFolder(f))
	return err == nil
}

// fullResult returns a result in full if it is kept in dir, else text, which may be its beginning.
// A summary has no use for more.
func fullResult(text, dir string, summary bool) string {
	if summary || !strings.HasPrefix(text, "<persisted-output>") {
		return text
	}
	_, path, _ := strings.Cut(text, "saved to: ")
	path, _, found := strings.Cut(path, "\n")
	data, err := atomicfile.Read(filepath.Join(dir, filepath.Base(strings.TrimSpace(path))), conversation.MaxRecord)
	if !found || err != nil {
		return text
	}
	return string(data)
}
