package watchcmd

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"gt/lib/cli"
	"gt/lib/state/session"
	"gt/lib/sys/bounded"
	"gt/lib/sys/process"
	"gt/lib/view/wordsearch"
)

// filterSearch is what conversations have of the filter's words.
type filterSearch struct {
	words string
	stop  context.CancelFunc
	found map[session.ID]match // of sessions and chains

	chosen string // the row that was chosen when the search began
	acted  bool   // the person has pressed a key of the list since
}

type match struct {
	rank int // 0 is the best
	text string
}

// searchResult is the end of a search in conversations.
type searchResult struct {
	words string
	found map[session.ID]match
	err   error
}

// searchFilter starts a search for the filter's words if they have changed. Until it ends, what was
// found for the words before counts if these only go on from them.
func (m *model) searchFilter() tea.Cmd {
	words := strings.TrimSpace(m.filter)
	if words == m.sought.words {
		return nil
	}
	if m.sought.stop != nil {
		m.sought.stop()
	}
	ctx, stop := context.WithCancel(m.reader.ctx)
	last := m.sought
	if m.sought = (filterSearch{words: words, stop: stop}); last.words != "" && strings.HasPrefix(words, last.words) {
		m.sought.found = last.found
	}
	m.fillItems()
	m.sought.chosen = m.chosen
	return func() tea.Msg {
		all, err := m.searchTyped(ctx, words)
		if ctx.Err() != nil { // the person has typed on
			return nil
		}
		a := searchResult{words: words, found: map[session.ID]match{}, err: err}
		for i, s := range all {
			for _, id := range []session.ID{s.ID, s.Chain} {
				if _, known := a.found[id]; id != "" && !known {
					a.found[id] = match{i, s.Text}
				}
			}
		}
		return a
	}
}

const (
	// typingPause is how long a person stops typing before a search begins, which reads all
	// conversations.
	typingPause = 250 * time.Millisecond
	// minTyped is the length of the shortest text that is searched for, in bytes.
	minTyped = 3

	searchTime = time.Minute
	maxFound   = 32 << 20 // bytes
)

// searchTyped returns what gt-seance search finds once the person has stopped typing, which ends ctx.
func (m *model) searchTyped(ctx context.Context, words string) ([]wordsearch.Session, error) {
	if len(words) < minTyped {
		return nil, nil
	}
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-time.After(typingPause):
	}
	path, err := process.LookPath(process.SiblingBinary("gt-seance"), m.env.Dir, m.env.Environ)
	if err != nil {
		return nil, err
	}
	p := bounded.Program{Path: path, Args: []string{"search", "--json", "--limit", "0", "--", words}, Dir: m.env.Dir, Env: m.env.Environ, Within: searchTime, Most: maxFound}
	m.reader.running.RLock()
	defer m.reader.running.RUnlock()
	result, err := p.Run(ctx)
	var failed *bounded.Failed
	if errors.As(err, &failed) && failed.Code == cli.AnswerNo || errors.Is(err, bounded.ErrTooMuch) {
		err = nil
	}
	return wordsearch.ReadSessions(bytes.NewReader(result.Out)), err
}

// takeSearchResult lists the agents whose conversations have the words as well. The best is chosen if no agent
// has them in its name or title, and the person has done nothing in the list since the search began.
func (m *model) takeSearchResult(a searchResult) {
	switch {
	case a.words != m.sought.words:
		return
	case a.err != nil:
		m.message = message{command: "gt-seance search", text: m.env.Line(a.err.Error(), maxMessage), failed: true}
	}
	m.sought.found = a.found
	untouched := !m.sought.acted && m.chosen == m.sought.chosen
	m.fillItems()
	best, rank, words := -1, 0, foldedWords(m.filter)
	for i := range m.items {
		r := m.items[i].row
		if r == nil {
			continue
		}
		if r.matchesWords(words) {
			return
		}
		if f, ok := m.bestMatch(r); ok && (best < 0 || f.rank < rank) {
			best, rank = i, f.rank
		}
	}
	if best >= 0 && untouched {
		m.selectRow(best)
	}
}

// bestMatch returns what was found in the conversations of an agent of this host.
func (m *model) bestMatch(r *row) (best match, ok bool) {
	if r.Member == nil || len(m.sought.found) == 0 {
		return best, false
	}
	for _, id := range []session.ID{r.Member.CurrentID, r.Member.SessionID, r.Member.ChainID} {
		if f, is := m.sought.found[id]; is && id != "" && (!ok || f.rank < best.rank) {
			best, ok = f, true
		}
	}
	return best, ok
}

// aboutText returns what the list shows of an agent in its last column: its title or
// folder, or the words that were found in its conversations.
func (m *model) aboutText(r *row) string {
	if f, ok := m.bestMatch(r); ok && m.filter != "" && !r.matchesWords(foldedWords(m.filter)) {
		return f.text
	}
	return cmp.Or(r.title, r.Folder)
}
