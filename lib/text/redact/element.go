package redact

import "strings"

// maxTag bounds the length of the tag before a value, and of what is before the tag.
const maxTag = 160

// element finds the text of an XML element whose opening tag ends with s[i]:
// <token>x</token>, <entry key="token">x</entry>, and the element after
// <key>token</key>.
func (sc *scanner) element(i int) (from, to int) {
	s := sc.s
	window := s[max(sc.done, i-maxTag):i]
	start := strings.LastIndexByte(window, '<')
	if start < 0 || start+1 == len(window) || !isWord(window[start+1]) {
		return 0, 0
	}
	tag, before := window[start+1:], window[:start]
	end := run(tag, 0, "w-.:")
	name := tag[:end]
	if end < len(tag) && tag[end] != ' ' && tag[end] != '\n' && tag[end] != '\t' {
		return 0, 0 // i<n && n>m
	}
	if name = name[strings.LastIndexByte(name, ':')+1:]; !sureName(name) {
		if name = attribute(tag[end:]); name == "" {
			name = named(before)
		}
		if name == "" || !sureName(name) {
			return 0, 0
		}
	}
	from = i + 1
	for from < len(s) && strings.IndexByte(" \t\r\n", s[from]) >= 0 && from-i < maxName {
		from++
	}
	const data = "<![CDATA["
	stop := byte('<')
	if strings.HasPrefix(s[from:], data) {
		from, stop = from+len(data), ']'
	}
	for to = from; to < len(s) && s[to] > ' ' && s[to] != stop && to-from < maxLook; to++ {
	}
	if to == len(s) || s[to] > ' ' && s[to] != stop || placeholder(s[from:to]) || !looksSecret(s[from:to], minLength(name)) {
		return 0, 0
	}
	return from, to
}

// attribute returns the name in the attributes of an element: key="token".
func attribute(s string) string {
	for _, key := range []string{"name=", "key=", "Name=", "Key=", "id="} {
		if n := strings.Index(s, key); n > 0 && !isWord(s[n-1]) {
			v := n + len(key)
			for v < len(s) && strings.IndexByte("\"'\\", s[v]) >= 0 {
				v++
			}
			return s[v:run(s, v, "w-.")]
		}
	}
	return ""
}

// named returns the name in the element at the end of s: <key>token</key>, or
// <setting name="token"> before the tag of a value.
func named(s string) string {
	s = strings.TrimRight(s, " \t\r\n")
	if !strings.HasSuffix(s, ">") {
		return ""
	}
	open := strings.LastIndexByte(s, '<')
	if open < 0 {
		return ""
	}
	if !strings.HasPrefix(s[open:], "</") {
		return attribute(s[open+1 : len(s)-1])
	}
	switch tag := strings.ToLower(s[open+2 : len(s)-1]); {
	case strings.HasSuffix(tag, "name"), strings.HasSuffix(tag, "key"), tag == "td", tag == "th", tag == "dt":
		return s[strings.LastIndexByte(s[:open], '>')+1 : open]
	}
	return ""
}
