package claude

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/tidwall/gjson"

	"gt/lib/conversation"
	"gt/lib/sys/atomicfile"
)

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
