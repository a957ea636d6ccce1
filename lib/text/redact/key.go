package redact

import "strings"

// Private keys, complete and truncated.

const (
	beginKey = "-----BEGIN "
	endKey   = "-----END "
	dashes   = "-----"
	maxKey   = 16 << 10 // of a private key
)

// privateKey finds a private key in a PEM block that begins at s[i]. The end may be
// missing.
func (sc *scanner) privateKey(i int) (from, to int) {
	s := sc.s
	name := s[i+len(beginKey) : min(i+len(beginKey)+64, len(s))]
	end := strings.Index(name, dashes)
	if end < 0 || !strings.Contains(name[:end], "PRIVATE KEY") {
		return 0, 0
	}
	body := i + len(beginKey) + end + len(dashes)
	if sc.end < body { // search only once, even if there is none
		sc.end = len(s)
		if n := strings.Index(s[body:], endKey); n >= 0 {
			sc.end = body + n
		}
	}
	if sc.end < len(s) && sc.end-body < maxKey {
		to = sc.end + len(endKey)
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
		for q < len(s) && (isWord(s[q]) || strings.IndexByte(`+/=\`, s[q]) >= 0) {
			q++
		}
		if q == p || q < len(s) && s[q] != '\n' && s[q] != '\r' && q-p < 16 {
			break
		}
		p, to = q, q
	}
	return i, to
}

// keyLine skips line ends, and what programs print before the lines of a file: blanks, a
// number, a bar or arrow, the sign of a diff.
func keyLine(s string, p int) int {
	start := p
	for p < len(s) && (s[p] == '\n' || s[p] == '\r' || s[p] == ' ' || s[p] == '\t') {
		p++
	}
	if p == start {
		return p
	}
	q := run(s[:min(p+8, len(s))], p, "0")
	blank := q
	for blank < len(s) && (s[blank] == ' ' || s[blank] == '\t') && blank-q < 4 {
		blank++
	}
	for _, bar := range []string{"→", "│", "|", ":", "+", "-", ">"} {
		if strings.HasPrefix(s[blank:], bar) {
			for p = blank + len(bar); p < len(s) && s[p] == ' '; p++ {
			}
			return p
		}
	}
	if q > p && blank > q {
		return blank
	}
	return p
}

// keyEnd finds the rest of a private key whose beginning is missing: the lines of base64
// before the end line at s[i].
func (sc *scanner) keyEnd(i int) (from, to int) {
	s := sc.s
	name := s[i+len(endKey) : min(i+len(endKey)+64, len(s))]
	end := strings.Index(name, dashes)
	if end < 0 || !strings.Contains(name[:end], "PRIVATE KEY") {
		return 0, 0
	}
	from = i
	for p := i; p > sc.done && i-p < maxKey; {
		q := p
		for q > sc.done && strings.IndexByte("\r\n \t", s[q-1]) >= 0 {
			q--
		}
		start := q
		for start > sc.done && (isWord(s[start-1]) || strings.IndexByte(`+/=\`, s[start-1]) >= 0) {
			start--
		}
		if n := q - start; n >= 16 { // together with a short last line
			from = start
		} else if n == 0 || p != i {
			break
		}
		p = start
	}
	return from, i + len(endKey) + end + len(dashes)
}
