package pickcmd

import (
	"bufio"
	"fmt"
	"os"
	"strings"
	"unicode"
	"unicode/utf8"

	"gt/lib/cli"
	"gt/lib/state/session"
	"gt/lib/text/term"
	"gt/lib/view/wordsearch"
)

// searchScript is a shell command that prints the rows of a file for a query, its %s: gt-seance, gt-pick, the
// file. The finder runs it whenever the query has changed, and goes on with the rows that it has. The
// command waits until the person has stopped typing, and leaves out what the query excludes, and what
// is too short to search for. The finder kills all of it when the query changes.
const searchScript = `sleep 0.25; q={q}; set -f; set -- $q; for w; do shift; case $w in "!"*|"|") ;; *) set -- "$@" "$w";; esac; done; ` +
	`case $* in ""|[A-Za-z0-9]|[A-Za-z0-9][A-Za-z0-9]) ;; *) %s search --json --limit 0 -- "$@" 2>/dev/null;; esac | %s --among=%s --query={q}`

func searchArgs(seance, rows string) []string {
	self, err := os.Executable()
	if err != nil {
		return nil // it filters without the conversations
	}
	return []string{"--bind=change:reload-sync:" + fmt.Sprintf(searchScript, seance, quotedPath(self), quotedPath(rows))}
}

func quotedPath(path string) string {
	return strings.ReplaceAll(term.Quote(path), "{", "{''") // which is no placeholder
}

// printFound prints all rows of a file: first those whose conversation has the words of a
// query, the best first, with the line that has them. The finder filters the rows by the query once
// more, so printFound appends each word that is elsewhere in the exchange.
func printFound(env *cli.Env, path, query string) error {
	words := plainWords(query)
	found := wordsearch.ReadSessions(env.Stdin)
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	rows := map[session.ID]string{}
	for row := range strings.Lines(string(data)) {
		id, _, _ := strings.Cut(row, "\t")
		rows[session.ID(id)] = row
	}
	out := bufio.NewWriter(env.Stdout)
	first := map[string]bool{}
	for _, s := range found {
		row, known := rows[s.ID]
		if !known || first[row] {
			continue
		}
		first[row] = true
		id, rest, _ := strings.Cut(row, "\t")
		_, shown, _ := strings.Cut(strings.TrimSuffix(rest, "\n"), "\t")
		reads := fmt.Sprintf("--turns=%d", max(s.Turn, 1))
		if s.Subagent != "" { // the turn is the subagent's, but the preview shows its session
			reads = "--last=3"
		}
		if !strings.Contains(shown, s.Text) {
			shown += " · " + s.Text
		}
		for _, word := range words {
			if !hasWord(shown, word) {
				shown += " [" + word + "]"
			}
		}
		fmt.Fprintf(out, "%s\t%s\t%s\n", id, reads, shown)
	}
	for row := range strings.Lines(string(data)) {
		if !first[row] {
			out.WriteString(row)
		}
	}
	return out.Flush()
}

// plainWords returns the words of a query without the finder's signs, and without those that
// it excludes.
func plainWords(query string) (words []string) {
	for _, word := range strings.Fields(query) {
		if word != "|" && !strings.HasPrefix(word, "!") {
			if word = strings.TrimSuffix(strings.TrimLeft(word, "'^"), "$"); word != "" {
				words = append(words, term.Clean(word))
			}
		}
	}
	return words
}

// hasWord reports whether a word of the text begins with word, exactly as it is typed.
func hasWord(text, word string) bool {
	isLetter := func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }
	for i := 0; ; {
		at := strings.Index(text[i:], word)
		if at < 0 {
			return false
		}
		i += at
		before, _ := utf8.DecodeLastRuneInString(text[:i])
		if i += len(word); !isLetter(before) {
			return true
		}
	}
}
