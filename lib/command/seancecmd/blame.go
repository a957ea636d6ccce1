package seancecmd

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strconv"
	"strings"
	"time"

	"gt/lib/catalog"
	"gt/lib/catalog/scan"
	"gt/lib/catalog/search"
	"gt/lib/cli"
	"gt/lib/conversation"
	"gt/lib/conversation/edits"
	"gt/lib/place/git"
	"gt/lib/sys/atomicfile"
	"gt/lib/text/lazyregexp"
	"gt/lib/text/term"
)

type blaming struct {
	Place  string `arg:"" optional:"" name:"file[:line[,line]]" help:"The file, and in it a line (:42) or a range of lines (:42,48)."`
	Commit string `placeholder:"SHA" help:"The lines that this commit added, of the file or of all."`
	JSON   bool   `name:"json" help:"One JSON object for lines with the same origin."`

	selection
}

func (c *blaming) Validate() error {
	if c.Place == "" && c.Commit == "" {
		return errors.New("give a file, with or without lines, or --commit")
	}
	return nil
}

const maxBlamed = 16 << 20 // the largest file that is blamed, in bytes

const gitPatience = time.Minute // how long git may take to tell who changed lines

// placePattern also takes a column, as compilers write it.
var placePattern = lazyregexp.New(`^(.+?):(\d+)(?:[,-](\d+))?(?::\d*)?:?$`)

type origin struct {
	Path      string    `json:"path"`
	From      int       `json:"from"`
	To        int       `json:"to"`
	Commit    string    `json:"commit,omitempty"`
	Session   string    `json:"session_id,omitempty"`
	Subagent  string    `json:"subagent_id,omitempty"`
	Agent     string    `json:"agent,omitempty"`
	Turn      int       `json:"turn,omitempty"`
	Time      time.Time `json:"time,omitzero"` // of the edit
	Confirmed bool      `json:"confirmed"`     // the commit changed what the edit changed
	Request   string    `json:"request,omitempty"`
	Reason    string    `json:"reason,omitempty"` // why it is unknown
	Read      string    `json:"read,omitempty"`   // the command that prints the exchange

	change *search.Change
	at     target
}

// Run prints the origins of the lines. Neighbouring lines that one exchange wrote are one origin.
func (c *blaming) Run(env *cli.Env) error {
	// A file may itself have a name like a.go:12. A to of 0 means the last line.
	name, from, to := c.Place, 1, 0
	if m := placePattern().FindStringSubmatch(c.Place); m != nil && !pathExists(env.Abs(c.Place)) {
		name = m[1]
		from, _ = strconv.Atoi(m[2])
		to, _ = strconv.Atoi(cmp.Or(m[3], m[2]))
		if from < 1 || to < from {
			return cli.Failf(cli.Usage, "invalid lines in '%s' (try FILE:12 or FILE:12,18)", c.Place)
		}
	}
	lines, err := c.lines(env, name, from, to)
	if err != nil {
		return err
	}
	all, places, err := c.findTargets(env)
	if err != nil {
		return err
	}
	// Search by base name, as an edit can name a file in any way. keepChanges compares paths.
	paths, bases := map[string]bool{}, map[string]bool{}
	for _, l := range lines {
		paths[l.Path], bases[filepath.Base(l.Path)] = true, true
	}
	bar := term.NewProgress(env.Stderr, env.Getenv, "searching", env.Now)
	changes, failed := search.Changes(conversationsOf(places), slices.Sorted(maps.Keys(bases)), func(s string) string { return env.Text(s) }, bar.Show)
	bar.Finish()
	env.WarnError(failed)
	b := &blamer{top: git.Top(env.Abs(filepath.Dir(cmp.Or(name, ".")))), places: places, commits: map[string]*commitLines{}, since: map[string]time.Time{}, now: env.Now()}
	b.keepChanges(changes, slices.Sorted(maps.Keys(paths)))
	var found []origin
	for i := range lines {
		lines[i].Text = cellLine(lines[i].Path, lines[i].Text)
	}
	last := 0 // the number of the line before
	for i, l := range lines {
		if l.Number < from || to > 0 && l.Number > to {
			continue
		}
		next := l.Number == last+1
		last = l.Number
		if strings.TrimSpace(l.Text) == "" && from != to { // it tells nothing
			continue
		}
		o := b.origin(lines, i)
		if n := len(found); n > 0 && next && found[n-1].Path == o.Path && found[n-1].Commit == o.Commit && found[n-1].isSameExchange(o) {
			found[n-1].To, found[n-1].Confirmed = l.Number, found[n-1].Confirmed || o.Confirmed
			continue
		}
		found = append(found, o)
	}
	if slices.ContainsFunc(found, func(o origin) bool { return o.change == nil }) { // what was not read can have it
		var lost conversation.ReadErrors
		for _, at := range places {
			lost.Add(scan.CheckRead(at.session.ID, at.conversation.File))
		}
		env.WarnError(lost.Err())
	}
	return c.print(env, all, found)
}

func (o origin) isSameExchange(other origin) bool {
	if o.change == nil || other.change == nil {
		return o.change == other.change
	}
	return o.change.Index == other.change.Index && o.change.Turn == other.change.Turn
}

// lines returns the lines to explain: those that c.Commit adds, or those of the file, each with the
// commit that git blames. A file's lines come with three more before and after, which tell apart
// lines with the same text, such as }.
func (c *blaming) lines(env *cli.Env, name string, from, to int) (all []git.BlamedLine, err error) {
	if c.Commit != "" {
		dir, path := env.Dir, ""
		if name != "" {
			dir = filepath.Dir(env.Abs(name))
			if path, err = filepath.Rel(git.Top(dir), env.Abs(name)); err != nil {
				return nil, err
			}
		}
		commit, changes, err := git.ChangesOf(dir, c.Commit, path, gitPatience)
		if err != nil {
			return nil, cli.Fail(cli.AnswerNo, err)
		}
		for _, change := range changes {
			for _, l := range change.Added {
				if l.Number >= from && (to == 0 || l.Number <= to) {
					text, number := l.Text, l.Number
					l = commit
					l.Text, l.Number, l.Path = text, number, change.Path
					all = append(all, l)
				}
			}
		}
		if len(all) == 0 {
			return nil, cli.Failf(cli.AnswerNo, "commit %s adds no such lines", c.Commit)
		}
		return all, nil
	}
	path := env.Abs(name)
	f, err := os.Open(path)
	if err != nil {
		return nil, atomicfile.Error("read", path, err)
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() || info.Size() > maxBlamed {
		return nil, cli.Failf(cli.IO, "cannot blame '%s': not a regular file of at most %s", term.Clean(path), term.FormatSize(maxBlamed))
	}
	text, err := io.ReadAll(io.LimitReader(f, maxBlamed))
	if err != nil {
		return nil, atomicfile.Error("read", path, err)
	}
	texts := edits.Lines(string(text))
	if to == 0 {
		to = len(texts)
	}
	if from > len(texts) || to > len(texts) {
		return nil, cli.Failf(cli.AnswerNo, "'%s' has %d lines", name, len(texts))
	}
	begin, end := max(from-3, 1), min(to+3, len(texts))
	if all, err = git.Blame(filepath.Dir(path), filepath.Base(path), begin, end, gitPatience); err != nil {
		if !errors.Is(err, git.ErrNotRepository) {
			env.Warn("git cannot list the commits: %v", err)
		}
		all = nil
		inside, _ := filepath.Rel(git.Top(filepath.Dir(path)), path)
		for i := begin; i <= end; i++ {
			all = append(all, git.BlamedLine{Number: i, Text: texts[i-1], Path: inside})
		}
	}
	return all, nil
}

type blamer struct {
	top     string
	places  []target
	changes map[string][]candidate // of each path in the repository, the earliest first
	commits map[string]*commitLines
	since   map[string]time.Time // see formerLines
	now     time.Time
}

// candidate is an edit of a file with the path of one of the repository.
type candidate struct {
	*search.Change
	other bool // in a folder that is here and is no worktree of the repository
}

// keepChanges sets b.changes to the changes of files with these paths, sorted by time: in worktrees
// of the repository or, for a path with a folder in it, in what may be a copy of it elsewhere.
func (b *blamer) keepChanges(changes []search.Change, paths []string) {
	roots := []string{atomicfile.ResolveLinks(b.top)}
	if trees, err := git.Worktrees(b.top); err == nil {
		for _, w := range trees {
			roots = append(roots, atomicfile.ResolveLinks(w.Path))
		}
	}
	real := map[string]string{}
	resolve := func(path string) string {
		if _, known := real[path]; !known {
			at := cmp.Or(path, "/")
			real[path] = atomicfile.ResolveLinks(at)
			if !pathExists(at) { // the file may have been deleted since
				real[path] = filepath.Join(atomicfile.ResolveLinks(filepath.Dir(at)), filepath.Base(at))
			}
		}
		return real[path]
	}
	b.changes = map[string][]candidate{}
	for i := range changes {
		ch := &changes[i]
		s := b.places[ch.Index].session
		if ch.Time.IsZero() {
			ch.Time = cmp.Or(s.LastAt, s.StartedAt)
		}
		if !filepath.IsAbs(ch.Path) {
			ch.Path = filepath.Join(cmp.Or(s.CWD, "/"), ch.Path)
		}
		for _, inside := range paths {
			root, ok := strings.CutSuffix(ch.Path, "/"+inside)
			ours := ok && slices.Contains(roots, resolve(root))
			if !ours { // the edit can name it by a link within the repository, or from elsewhere to it
				if top, is := strings.CutSuffix(resolve(ch.Path), "/"+inside); is {
					root, ok, ours = top, true, slices.Contains(roots, resolve(top))
				}
			}
			if !ok {
				continue
			}
			if ours || strings.Contains(inside, "/") { // README.md alone is in every repository
				b.changes[inside] = append(b.changes[inside], candidate{ch, !ours && pathExists(root)})
			}
		}
	}
	for _, candidates := range b.changes {
		sort.SliceStable(candidates, func(i, j int) bool { return candidates[i].Time.Before(candidates[j].Time) })
	}
}

// origin returns the edit that wrote lines[i], or as its Reason why none is known.
func (b *blamer) origin(lines []git.BlamedLine, i int) origin {
	line := lines[i]
	result := origin{Path: line.Path, From: line.Number, To: line.Number, Commit: line.Commit}
	if strings.TrimSpace(line.Text) == "" {
		result.Reason = "an empty line tells nothing"
		return result
	}
	neighbour := func(step int) string {
		for j := i + step; j >= 0 && j < len(lines) && lines[j].Number == line.Number+j-i; j += step {
			if strings.TrimSpace(lines[j].Text) != "" {
				return lines[j].Text
			}
		}
		return ""
	}
	before, after := neighbour(-1), neighbour(1)
	// A rebase or amendment keeps the author's time. A later edit counts if no earlier one fits.
	limits := []time.Time{b.now}
	if line.Commit != "" { // in whole seconds
		limits = []time.Time{line.Authored.Add(time.Second), line.Committed.Add(time.Second)}
	}
	for _, limit := range limits {
		// Of another repository only if nothing else fits.
		if result.change = cmp.Or(b.findWriter(line, before, after, limit, false), b.findWriter(line, before, after, limit, true)); result.change != nil {
			break
		}
	}
	if result.change == nil {
		result.Reason = "no known session wrote it before the commit"
		if line.Commit == "" {
			result.Reason = "no known session wrote it"
		}
		return result
	}
	ch := result.change
	result.at = b.places[ch.Index]
	result.Session, result.Agent, result.Turn, result.Time, result.Request = string(result.at.session.ID), result.at.session.Agent, max(ch.Turn, 1), ch.Time, ch.Request
	if result.at.subagent != nil {
		result.Subagent = string(result.at.subagent.ID)
	}
	result.Read = readCommand(result.at, ch.Turn, nil)
	result.Confirmed = line.Commit != "" && b.confirms(line, ch)
	return result
}

// findWriter returns the edit that wrote a line last before a time: it has the line or a part of it
// in its new text, and nothing had written it before and left it. A weak line, such as }, counts
// only beside its neighbours or if the commit confirms the edit. With other, findWriter returns the
// first edit in another repository that has the line.
func (b *blamer) findWriter(l git.BlamedLine, before, after string, limit time.Time, other bool) (written *search.Change) {
	weak, line := edits.IsWeak(l.Text), edits.Normalize(l.Text)
	for i, ch := range b.changes[l.Path] {
		if !ch.Time.Before(limit) {
			break
		}
		if ch.other != other {
			continue
		}
		n := ch.NetAdds(line)
		switch {
		case n > 0 && (!weak || ch.HasNeighbour(before, l.Text, after) || l.Commit != "" && b.confirms(l, ch.Change)):
			written = cmp.Or(written, ch.Change)
		case other: // what changes a line there tells nothing of this one
		case n == 0 && !weak && b.isPartReplaced(l, i):
			written = cmp.Or(written, ch.Change)
		case n < 0 && !weak, n == 0 && ch.IsWholeFile: // the line is gone, and the next edit can write it
			written = nil
		}
	}
	return written
}

// isPartReplaced reports whether an edit, by its index, made a line by replacing a part of an older line:
// one that the line's commit removed, or that an earlier edit wrote.
func (b *blamer) isPartReplaced(l git.BlamedLine, edit int) bool {
	const most = 8 // of the edits that fit, any can have been there; mostly all were, which is last
	changes := b.changes[l.Path]
	var former []string
	// take adds to former what edit i replaced with text. It ends at a line that the commit removed.
	take := func(i int, text string) (removed bool) {
		for _, before := range b.formerLines(l, changes[i].Change, text) {
			if l.Commit != "" && b.linesOf(l).removed[edits.Normalize(before)] {
				return true
			}
			if !slices.Contains(former, before) {
				former = append(former, before)
				former = former[max(0, len(former)-most):]
			}
		}
		return false
	}
	if take(edit, l.Text) {
		return true
	}
	for i := edit - 1; i >= 0 && len(former) > 0; i-- {
		for _, text := range former {
			if changes[i].NetAdds(text) > 0 || take(i, text) {
				return true
			}
		}
	}
	return false
}

// formerLines returns the lines that an edit replaced with text, a line of l's commit, so that older
// edits can be looked through for them. It returns none if another commit changed the file between
// the edit and l's commit: that one has what the edit wrote.
func (b *blamer) formerLines(l git.BlamedLine, ch *search.Change, text string) []string {
	const longest = 1 << 10 // more is mostly a program's, and would be copied often
	if len(text) > longest {
		return nil
	}
	all := slices.DeleteFunc(ch.FormerLines(strings.TrimRight(text, "\r")), edits.IsWeak)
	if len(all) == 0 {
		return nil
	}
	key := l.Commit + "\x00" + l.Path
	if _, known := b.since[key]; !known {
		from, until := "HEAD", b.now
		if l.Commit != "" {
			from, until = l.Commit+"^", l.Authored // of a rebased commit some of those before it are later
		}
		b.since[key] = git.LastChange(b.top, from, l.Path, until, gitPatience)
	}
	if ch.Time.Before(b.since[key]) {
		return nil
	}
	return all
}

// commitLines are the lines, as Normalize returns them, that a commit changed in a file.
type commitLines struct {
	added, removed  map[string]bool
	replaced, whole map[*search.Change]bool // what confirms found of an edit
}

// linesOf returns what a commit changed in a file. It asks git once for each pair.
func (b *blamer) linesOf(l git.BlamedLine) *commitLines {
	key := l.Commit + "\x00" + l.Path
	lines := b.commits[key]
	if lines == nil {
		lines = &commitLines{map[string]bool{}, map[string]bool{}, map[*search.Change]bool{}, map[*search.Change]bool{}}
		b.commits[key] = lines
		_, changes, _ := git.ChangesOf(b.top, l.Commit, l.Path, gitPatience) // unconfirmed if git fails
		for _, c := range changes {
			for _, added := range c.Added {
				lines.added[edits.Normalize(cellLine(l.Path, added.Text))] = true
			}
			for _, removed := range c.Removed {
				lines.removed[edits.Normalize(cellLine(l.Path, removed))] = true
			}
		}
	}
	return lines
}

// cellLine returns a line of a file as edits have it. A notebook's file has each line of a cell as
// a string of JSON.
func cellLine(path, line string) string {
	if filepath.Ext(path) != ".ipynb" {
		return line
	}
	var text string
	if json.Unmarshal([]byte(strings.TrimSuffix(strings.TrimSpace(line), ",")), &text) != nil {
		return line
	}
	return strings.TrimSuffix(text, "\n")
}

// confirms reports whether a line's commit confirms an edit: it removed what the edit replaced,
// added this line and all else that the edit wrote, or removed what the edit made into this line.
func (b *blamer) confirms(l git.BlamedLine, ch *search.Change) bool {
	lines := b.linesOf(l)
	if _, known := lines.whole[ch]; !known {
		lines.replaced[ch] = slices.ContainsFunc(ch.Old, func(line string) bool {
			return lines.removed[edits.Normalize(line)] && !edits.IsWeak(line) && ch.NetAdds(line) < 0
		})
		lines.whole[ch] = !slices.ContainsFunc(ch.New, func(line string) bool {
			return !lines.added[edits.Normalize(line)] && !edits.IsWeak(line) && ch.NetAdds(line) > 0
		})
	}
	return lines.replaced[ch] || lines.whole[ch] && lines.added[edits.Normalize(l.Text)] || slices.ContainsFunc(b.formerLines(l, ch, l.Text), func(before string) bool {
		return lines.removed[edits.Normalize(before)]
	})
}

// print prints the origins. It returns cli.Silent if no session is known for any of them.
func (c *blaming) print(env *cli.Env, all catalog.Catalog, found []origin) error {
	out, style, short := bufio.NewWriter(env.Stdout), term.StyleFor(env.Stdout, env.Getenv), all.IDShortener()
	width, terminal := term.Width(env.Stdout, env.Getenv), term.IsTerminal(env.Stdout)
	var first *origin
	several := slices.ContainsFunc(found, func(o origin) bool { return o.Path != found[0].Path })
	for i := range found {
		o := &found[i]
		o.Path, o.Agent, o.Request = env.Text(o.Path), env.Redact(o.Agent), term.OneLine(term.Clean(o.Request))
		if o.change != nil && first == nil {
			first = o
		}
		if c.JSON {
			if err := term.WriteJSON(out, o); err != nil {
				return err
			}
			continue
		}
		where := strconv.Itoa(o.From)
		if o.To > o.From {
			where += "-" + strconv.Itoa(o.To)
		}
		if several {
			where = term.Clean(o.Path) + ":" + where
		}
		id, about, turn := cmp.Or(o.Subagent, o.Session, "-"), cmp.Or(o.Request, o.Reason), "-"
		if o.change != nil {
			turn = strconv.Itoa(o.Turn)
		}
		sure := "unknown"
		switch {
		case o.Confirmed:
			sure = "confirmed"
		case o.change != nil && o.Commit == "":
			sure = "uncommitted"
		case o.change != nil:
			sure = "likely"
		}
		commit := cmp.Or(o.Commit[:min(len(o.Commit), 10)], "-")
		if !terminal {
			when := cmp.Or(formatUTC(o.Time), "-")
			fmt.Fprintln(out, strings.Join([]string{where, id, turn, when, commit, sure, about}, "\t"))
			continue
		}
		if o.change != nil {
			id = short(o.at.readID())
		}
		front := fmt.Sprintf("%-9s %-8s %3s  %-10s %-11s ", term.Pad(where, 9), id, turn, commit, sure)
		if width >= wide {
			front += fmt.Sprintf("%-12s ", term.FormatDay(o.Time.Local(), env.Now()))
		}
		fmt.Fprintln(out, style.Dim(front)+term.Cut(about, max(width-term.Columns(front), minText)))
	}
	if err := out.Flush(); err != nil {
		return err
	}
	if first == nil {
		return cli.Silent
	}
	if !c.JSON {
		env.Hint("%s reads on", readCommand(first.at, first.Turn, short))
	}
	return nil
}
