package redact

import "strings"

// Private keys, complete and truncated.

const (
	beginKey = "-----BEGIN "
	endKey   = "-----END "
	dashes   = "-----"
	maxKey   = 16 << 10 // of a private key
)

// findPrivateKey finds a private key in a PEM block that begins at s[i]. The end may be
// missing.
func (sc *scanner) findPrivateKey(i int) (from, to int) {
	s := sc.s
	body := endOfBoundary(s, i+len(beginKey))
	if body < 0 {
		return 0, 0
	}
	if sc.keyEnd < body { // search only once, even if there is none
		sc.keyEnd = len(s)
		if n := strings.Index(s[body:], endKey); n >= 0 {
			sc.keyEnd = body + n
		}
	}
	if sc.keyEnd < len(s) && sc.keyEnd-body < maxKey {
		to = sc.keyEnd + len(endKey)
		if n := strings.Index(s[to:min(to+64, len(s))], dashes); n >= 0 {
			to += n + len(dashes)
		}
		return i, to
	}
	// Without an end, take the lines of base64 and the two headers of an encrypted key.
	to = body
	for p := body; p < len(s); {
		p = keyLine(s, p)
		q := p
		if strings.HasPrefix(s[p:], "Proc-Type:") || strings.HasPrefix(s[p:], "DEK-Info:") {
			for q < len(s) && s[q] != '\n' {
				q++
			}
		}
		q = endOfRun(s, q, `w+/=\`)
		if q == p || q < len(s) && s[q] != '\n' && s[q] != '\r' && q-p < 16 {
			break // no line of base64
		}
		p, to = q, q
	}
	return i, endOfKeyLines(s, to)
}

// endOfBoundary returns the end of the first or last line of a PEM block whose name begins at s[i],
// -1 if that is not of a private key.
func endOfBoundary(s string, i int) int {
	name, _, closed := strings.Cut(s[i:min(i+64, len(s))], dashes)
	if !closed || !strings.Contains(name, "PRIVATE KEY") {
		return -1
	}
	return i + len(name) + len(dashes)
}

// keyLine skips line ends, and what programs print before the lines of a file: blanks, a
// number, a bar or arrow, the sign of a diff.
func keyLine(s string, p int) int {
	start := p
	if p = skipChars(s, p, "\n\r \t", len(s)); p == start {
		return p
	}
	q := endOfRun(s[:min(p+8, len(s))], p, "0")
	blank := skipChars(s, q, " \t", 4)
	for _, bar := range []string{"→", "│", "|", ":", "+", "-", ">"} {
		if strings.HasPrefix(s[blank:], bar) {
			return skipChars(s, blank+len(bar), " ", len(s))
		}
	}
	if q > p && blank > q {
		return blank
	}
	return p
}

// findKeyEnd finds the rest of a private key whose beginning is missing: the lines of base64
// before the end line at s[i], whatever stands before them on their lines (see keyLines).
func (sc *scanner) findKeyEnd(i int) (from, to int) {
	s := sc.s
	end := endOfBoundary(s, i+len(endKey))
	if end < 0 {
		return 0, 0
	}
	from = i
	for p := i; p > sc.done && i-p < maxKey; {
		q := sc.skipBack(p, "\r\n \t", len(s))
		start := sc.skipBack(q, `w+/=\`, len(s))
		if n := q - start; n >= 16 && looksLikeKey(s[start:q]) { // with a short last line behind it
			from = start
		} else if n == 0 || n >= 16 || p != i { // only the last line may be short
			break
		}
		p = start
	}
	return min(from, sc.keyLines(i)), end
}

// keyLines goes back from the line of s[i] over the lines of a key, whatever stands before and
// behind the base64 on them. It returns where the first begins, or i if there are none.
func (sc *scanner) keyLines(i int) (from int) {
	s := sc.s
	from = i
	for p, first := sc.lineStart(i), true; p > sc.done && i-p < maxKey; first = false {
		start := sc.lineStart(p - 1)
		begin, end := keyRun(s[start : p-1])
		if end > begin {
			from = start + begin
		} else if !first { // the last line may be short
			break
		}
		p = start
	}
	return from
}

// lineStart returns the beginning of the line that has s[i], or of the end of it if it is
// longer than a line of a key.
func (sc *scanner) lineStart(i int) int {
	low := max(sc.done, i-maxKeyLine)
	return low + strings.LastIndexByte(sc.s[low:max(low, i)], '\n') + 1
}

// maxKeyLine bounds a line of a key with what is before it.
const maxKeyLine = 240

// keyRun returns where the base64 is in a line of a key: 0, 0 if it is not one.
func keyRun(line string) (begin, end int) {
	const least = 40
	for i := 0; i < len(line); i++ {
		start := i
		i = endOfRun(line, i, "a+/=")
		if i-start >= least && looksLikeKey(line[start:i]) {
			return start, i
		}
	}
	return 0, 0
}

// looksLikeKey reports whether a word is like a line of the base64 of a key, which can have many
// zeros, and names of algorithms.
func looksLikeKey(v string) bool {
	const least, enough = 60, 10
	changes, digits := alternations(v[:min(len(v), 128)])
	return isMixedCase(v) || len(v) >= least && changes >= enough && digits && strings.Count(v, "/")*10 < len(v)
}

// endOfKeyLines returns where a private key ends whose head or first line ends at s[i], or i
// if no line of base64 follows. Each line may have something before and behind the base64,
// such as the mark of a quotation or of a string.
func endOfKeyLines(s string, i int) (to int) {
	to = i
	before := ""
	for p := i; p-i < maxKey; {
		eol := strings.IndexByte(s[p:min(len(s), p+maxKeyLine)], '\n')
		if eol < 0 {
			break
		}
		start := p + eol + 1
		end := start + strings.IndexByte(s[start:min(len(s), start+maxKeyLine)]+"\n", '\n')
		line := s[start:end]
		n, last := keyRun(line)
		if last == n { // the last line may be short
			if rest, ok := strings.CutPrefix(line, before); ok && to > i && rest != "" {
				to = end - len(strings.TrimLeft(rest, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+/="))
			}
			break
		}
		before, to, p = line[:n], start+last, end
	}
	return to
}
