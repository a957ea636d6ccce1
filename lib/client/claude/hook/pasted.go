package hook

import "strings"

// Unpasted returns a prompt without the tags that Claude Code puts around what the person
// pasted (seen with 2.1.332, where the input box shows "[Pasted text #1 +20 lines]"):
//
//	please look at
//
//	<pasted_content id="d796">
//	the text
//	</pasted_content id="d796">
//
//	and say why
//
// The id belongs to the session. In a tag that the person writes, the client adds a
// backslash, so that what has this form is its own.
func Unpasted(prompt string) string {
	var text strings.Builder
	add := func(part string) {
		// The input box showed the paste apart from the words beside it.
		if s := text.String(); s != "" && part != "" && !isSpace(s[len(s)-1]) && !isSpace(part[0]) {
			text.WriteByte('\n')
		}
		text.WriteString(part)
	}
	rest := prompt
	for from := 0; ; {
		i := strings.Index(rest[from:], tagStart)
		if i < 0 {
			break
		}
		start := from + i
		from = start + len(tagStart)
		id, _, ok := strings.Cut(rest[from:min(len(rest), from+idLength+len(tagEnd))], tagEnd)
		if !ok || !isHex(id) {
			continue
		}
		closing := "\n</" + tagName + id + `">`
		body := rest[from+idLength+len(tagEnd)-1:] // with the line break, which an empty paste shares
		before, after, ok := strings.Cut(body, closing)
		if !ok {
			break
		}
		add(withoutBreaks(rest[:start], strings.TrimSuffix))
		add(strings.TrimPrefix(before, "\n"))
		rest, from = withoutBreaks(after, strings.TrimPrefix), 0
	}
	add(rest)
	return text.String()
}

const (
	tagName  = `pasted_content id="`
	tagStart = "<" + tagName
	tagEnd   = "\">\n"
	idLength = 4
)

func isSpace(c byte) bool { return c == ' ' || c == '\n' || c == '\t' }

func isHex(id string) bool { return len(id) == idLength && strings.Trim(id, "0123456789abcdef") == "" }

// withoutBreaks trims the empty line that the client puts before and after a paste.
func withoutBreaks(s string, trim func(s, cut string) string) string {
	return trim(trim(s, "\n"), "\n")
}
