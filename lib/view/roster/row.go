package roster

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"gt/lib/live/fleet"
	"gt/lib/live/status"
	"gt/lib/state/instance"
	"gt/lib/text/duration"
)

// Row is an instance in the tree of the list.
type Row struct {
	*fleet.Member
	Scope Scope
	Depth int // levels below the root
}

// Flatten returns the rows of the members that the caller chooses: by group, first those without
// one, and each member after its parent.
func Flatten(groups []instance.Group, members []fleet.Member, selects func(*fleet.Member) bool) []Row {
	order := map[string]int{"": -1} // by the path of a group; those without one come first
	for i, g := range groups {
		order[g.Path] = i
	}
	type placed struct {
		*fleet.Member
		at int
	}
	sorted := make([]placed, 0, len(members))
	children := false
	for i := range members {
		m := &members[i]
		if !selects(m) {
			continue
		}
		at, ok := order[m.Group]
		if !ok || IsStranger(*m) {
			at = len(groups) // the groups file does not have it
		}
		sorted, children = append(sorted, placed{m, at}), children || m.ParentID != ""
	}
	slices.SortStableFunc(sorted, func(a, b placed) int {
		return cmp.Or(cmp.Compare(a.at, b.at), strings.Compare(a.Group, b.Group), a.CreatedAt.Compare(b.CreatedAt), cmp.Compare(a.ID, b.ID))
	})
	rows := make([]Row, len(sorted))
	for i, m := range sorted {
		rows[i].Member = m.Member
	}
	if !children {
		return rows
	}
	return indentRows(rows)
}

// indentRows puts each row after its parent, if that is among them.
func indentRows(all []Row) (rows []Row) {
	listed := map[instance.ID]bool{}
	children := map[instance.ID][]*fleet.Member{}
	for _, m := range all {
		listed[m.ID] = true
	}
	var roots []*fleet.Member
	for _, m := range all {
		if m.ParentID != "" && m.ParentID != m.ID && listed[m.ParentID] {
			children[m.ParentID] = append(children[m.ParentID], m.Member)
		} else {
			roots = append(roots, m.Member)
		}
	}
	seen := map[*fleet.Member]bool{}
	var add func(m *fleet.Member, depth int)
	add = func(m *fleet.Member, depth int) {
		if seen[m] {
			return
		}
		seen[m] = true
		rows = append(rows, Row{Member: m, Depth: depth})
		for _, child := range children[m.ID] {
			add(child, depth+1)
		}
	}
	for _, m := range roots {
		add(m, 0)
	}
	for _, m := range all { // a damaged file can contain a cycle of parents
		add(m.Member, 0)
	}
	return rows
}

// StatusText returns the status of an agent with its reason: "waiting (question)".
func StatusText(m fleet.Member) string {
	reason := string(m.Reason)
	if !m.LimitedUntil.IsZero() {
		layout := "15:04"
		if m.LimitedUntil.Sub(m.Since) >= 24*time.Hour {
			layout = "Jan 2 15:04"
		}
		reason += " until " + m.LimitedUntil.Local().Format(layout)
	}
	switch {
	case m.Moved != nil && m.Pane.ID == "": // nothing of it is here any more
		return m.Moved.String()
	case IsArchived(m):
		return "archived"
	case m.Moved != nil && !m.Moved.Complete: // it is about to move
		return fmt.Sprintf("%s, then %s", m.Status, m.Moved)
	case m.Background && m.Reason != "":
		return fmt.Sprintf("%s (%s, background runs)", m.Status, reason)
	case m.Background:
		return fmt.Sprintf("%s (background runs)", m.Status)
	case m.SilentFor > 0:
		return fmt.Sprintf("%s (silent %s)", m.Status, duration.Format(duration.Rough(m.SilentFor.Truncate(time.Minute))))
	case m.Reason != "":
		return fmt.Sprintf("%s (%s)", m.Status, reason)
	}
	return string(m.Status)
}

// ListText is StatusText for lists, in which only what waits has a reason: of an idle agent
// it would say how its last turn ended.
func ListText(m fleet.Member) string {
	if m.Status == status.Waiting || m.SilentFor > 0 || m.Background || m.Moved != nil || IsArchived(m) {
		return StatusText(m)
	}
	return string(m.Status)
}

// StatusOrder is the order of statuses in a summary. What needs the person comes first.
var StatusOrder = [...]status.Status{status.Waiting, status.Error, status.Running, status.Starting, status.Idle, status.Unknown, status.Stopped}

// NoneYet says what to do while a profile, or "" for the person's own agents, has no agent.
func NoneYet(profile string) string {
	if profile == "" {
		return "no agents yet; gt-session new starts one in this folder"
	}
	return fmt.Sprintf("no agents in the profile %s yet; gt-session new -p %[1]s starts one in this folder", profile)
}
