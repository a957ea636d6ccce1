package roster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"gt/lib/cli"
	"gt/lib/conversation"
	"gt/lib/conversation/price"
	"gt/lib/live/fleet"
	"gt/lib/place/git"
	"gt/lib/state/session"
	"gt/lib/sys/bounded"
	"gt/lib/sys/process"
	"gt/lib/text/count"
)

// Changes is how a worktree differs from its last commit, in lines and untracked files, and
// from its upstream, in commits. Without an upstream, Ahead counts what no remote has.
type Changes struct {
	Added     int `json:"added"`
	Removed   int `json:"removed"`
	Untracked int `json:"untracked"`
	Ahead     int `json:"ahead"`
	Behind    int `json:"behind"`
}

// String returns the changes as in "+12 -3 ?1 ↑2 ↓1", "" for none.
func (c Changes) String() string {
	var parts []string
	for _, p := range []struct {
		sign string
		n    int
	}{{"+", c.Added}, {"-", c.Removed}, {"?", c.Untracked}, {"↑", c.Ahead}, {"↓", c.Behind}} {
		if p.n > 0 {
			parts = append(parts, fmt.Sprint(p.sign, p.n))
		}
	}
	return strings.Join(parts, " ")
}

// ReadChanges asks git for the changes in folders, several at once, and returns them by
// folder. After within it returns what it has: what git did not tell of a folder until then
// counts as 0. A folder in no repository has none.
func ReadChanges(folders []string, within time.Duration) map[string]*Changes {
	begin := time.Now()
	tops, foldersIn := []string{}, map[string][]string{} // by repository; the first are asked first
	for _, folder := range folders {
		top := git.Top(folder)
		if foldersIn[top] == nil {
			tops = append(tops, top)
		}
		foldersIn[top] = append(foldersIn[top], folder)
	}
	read := make([]*Changes, len(tops))
	cli.Parallel(cli.Numbers(len(tops)), func(i int) {
		left := within - time.Since(begin)
		if left <= 0 || git.Branch(tops[i]) == "" {
			return
		}
		if s, err := git.Measure(tops[i], left); err == nil || s.Head != "" {
			read[i] = &Changes{s.Added, s.Removed, s.Untracked(), s.Ahead, s.Behind}
		}
	})
	all := map[string]*Changes{}
	for i, top := range tops {
		for _, folder := range foldersIn[top] {
			if read[i] != nil {
				all[folder] = read[i]
			}
		}
	}
	return all
}

// Usage is what agents used today, as gt-seance counts it.
type Usage struct {
	bySession map[session.ID]conversation.Usage
	since     time.Time // midnight
}

const maxUsage = 8 << 20

// ReadUsage has gt-seance count what all sessions used today, for at most within
// and not after the end of ctx.
func ReadUsage(ctx context.Context, env *cli.Env, within time.Duration) (Usage, error) {
	now := env.Now().Local()
	all := Usage{map[session.ID]conversation.Usage{}, time.Date(now.Year(), now.Month(), now.Day(), 0, 0, 0, 0, time.Local)}
	path, err := process.LookPath(process.SiblingBinary("gt-seance"), "", env.ChildEnviron())
	if err != nil {
		return all, err
	}
	r, err := bounded.Program{
		Path: path, Args: []string{"usage", "--since", "today", "--by", "session", "--json"}, Dir: "/", Env: env.ChildEnviron(), Within: within, Most: maxUsage,
	}.Run(ctx)
	if failed := new(bounded.Failed); errors.As(err, &failed) && failed.Code == cli.AnswerNo { // there are none
		return all, nil
	} else if err != nil {
		return all, fmt.Errorf("cannot count what was used today: %w", err)
	}
	for line := range strings.Lines(string(r.Out)) {
		var one struct {
			Session session.ID `json:"session_id"`
			conversation.Usage
		}
		if err := json.Unmarshal([]byte(line), &one); err != nil {
			return all, err
		}
		all.bySession[one.Session] = one.Usage
	}
	return all, nil
}

// UsedToday returns what an agent used today: its session and those that it follows. others are
// the current sessions of all agents of its scope.
func (u Usage) UsedToday(m *fleet.Member, others map[session.ID]bool) (sum conversation.Usage) {
	if m.CurrentID == "" || len(u.bySession) == 0 {
		return sum
	}
	for _, id := range m.Sessions(others, u.since) {
		sum.Add(u.bySession[id])
	}
	return sum
}

// UsageText returns tokens and their price, such as "1.2M $3.40", "" for none.
func UsageText(u conversation.Usage) string {
	if !u.HasTokens() && u.Cost == 0 {
		return ""
	}
	return strings.TrimSpace(count.Compact(u.Tokens()) + " " + price.Text(u))
}

// ContextText returns how full a context is, as a percentage if its size is known, "" if nothing is.
func ContextText(tokens, window int64) string {
	switch {
	case tokens <= 0:
		return ""
	case window <= 0:
		return count.Compact(tokens)
	}
	return fmt.Sprintf("%d%%", min(tokens*100/window, 100))
}
