package redact

import (
	"strings"

	"gt/lib/text/lazyregexp"
)

// maxTag bounds the length of the tag before a value, and of what is before the tag.
const maxTag = 160

// findElementValue finds the text of an XML element whose opening tag ends with s[i]:
// <token>x</token>, <entry key="token">x</entry>, and the element after
// <key>token</key>. It returns 0, 0 if there is none or the text does not look like a secret.
func (sc *scanner) findElementValue(i int) (from, to int) {
	s := sc.s
	window := s[max(sc.done, i-maxTag):i]
	start := strings.LastIndexByte(window, '<')
	if start < 0 || start+1 == len(window) || !isWord(window[start+1]) {
		return 0, 0
	}
	tag, before := window[start+1:], window[:start]
	// The first <th> or <td> of a table of HTML: all of its cells are handled at once.
	if len(tag) > 1 && (tag[0]|0x20 == 't') && (tag[1]|0x20 == 'h' || tag[1]|0x20 == 'd') && (len(tag) == 2 || tag[2] == ' ') && i >= sc.htmlTableEnd {
		sc.addHTMLColumns(i, tag[1]|0x20 == 'h')
	}
	end := endOfRun(tag, 0, "w-.:")
	name := tag[:end]
	if end < len(tag) && tag[end] != ' ' && tag[end] != '\n' && tag[end] != '\t' {
		return 0, 0 // code, such as i<n && n>m
	}
	if name = name[strings.LastIndexByte(name, ':')+1:]; name == "master" && strings.HasPrefix(s[i+1:], "{") { // of Maven's settings
		if from, to = i+2, endOfRun(s, i+2, "a+/="); to-from >= 24 && to < len(s) && s[to] == '}' {
			return from, to
		}
	}
	if !isSureName(name) {
		if name = attribute(tag[end:]); name == "" {
			name = elementName(before)
		}
		if !isSureName(name) {
			return 0, 0
		}
	}
	from = skipTags(s, i+1)
	const data = "<![CDATA["
	stop := byte('<')
	if strings.HasPrefix(s[from:], data) {
		from, stop = from+len(data), ']'
	}
	for to = from; to < len(s) && s[to] > ' ' && s[to] != stop && to-from < maxLook; to++ {
	}
	value := s[from:to]
	if to == len(s) || s[to] > ' ' && s[to] != stop || isPlaceholderText(value) || !looksSecret(value, minLength(name)) || onlyDescribes(name, value) {
		return 0, 0
	}
	return spanIf(!equalFold(name, "token") || !conversionName().MatchString(value), from, to)
}

// conversionName matches an identifier in the <token> of a parser: Ident2Name.
var conversionName = lazyregexp.New(`^[A-Z][a-z]{2,}[24][A-Z][a-z]{2,}$`)

// attribute returns the name in the attributes of an element: key="token".
func attribute(s string) string {
	for _, key := range []string{"name=", "key=", "Name=", "Key=", "id="} {
		if n := strings.Index(s, key); n > 0 && !isWord(s[n-1]) {
			v := skipChars(s, n+len(key), "\"'\\", len(s))
			return s[v:endOfRun(s, v, "w-.")]
		}
	}
	return ""
}

// elementName returns the name in the element at the end of s: <key>token</key>, or
// <setting name="token"> before the tag of a value.
func elementName(s string) string {
	for range 3 { // tags around the name
		s = strings.TrimRight(s, " \t\r\n")
		open := strings.LastIndexByte(s, '<')
		if open < 0 || !strings.HasSuffix(s, ">") {
			return ""
		}
		tag, isEnd := strings.CutPrefix(strings.ToLower(s[open+1:len(s)-1]), "/")
		name, isAround := "", isInline(s[open:]) // isAround: its element can hold the name
		if isEnd {
			name = strings.TrimRight(s[strings.LastIndexByte(s[:open], '>')+1:open], ": \t\r\n")
			isAround = isAround || strings.HasSuffix(tag, "name") || strings.HasSuffix(tag, "key") || tag == "td" || tag == "th" || tag == "dt"
		} else {
			name = attribute(s[open+1 : len(s)-1])
		}
		if !isAround && isEnd {
			return ""
		}
		if name != "" || !isAround {
			return name
		}
		s = s[:open]
	}
	return ""
}

// isInline reports whether s begins with the tag of an element of HTML that has a word in it.
func isInline(s string) bool {
	name := strings.TrimLeft(s, "</")
	name = strings.ToLower(name[:endOfRun(name, 0, "a")])
	return oneOf(name, "b strong em i code kbd tt span label div p pre samp td dd")
}

// skipTags skips blanks, the ends of lines and a few tags that isInline knows, at s[i].
func skipTags(s string, i int) int {
	for range 4 {
		i = skipChars(s, i, " \t\r\n", maxName)
		if i == len(s) || s[i] != '<' || !isInline(s[i:min(len(s), i+maxName)]) {
			break
		}
		end := strings.IndexByte(s[i:min(len(s), i+maxTag)], '>')
		if end < 0 {
			break
		}
		i += end + 1
	}
	return i
}

// addHTMLColumns adds the secrets of a table of HTML whose first cell begins after s[i]: those
// below the name of a column, which is in a <th>. isName reports whether the first cell is a <th>.
func (sc *scanner) addHTMLColumns(i int, isName bool) {
	s := sc.s
	end := strings.Index(s[i:], "</table")
	if end < 0 {
		end = len(s) - i
	}
	sc.htmlTableEnd = i + end
	var names []string
	found := false
	for p, column, head := i+1, 0, true; p < sc.htmlTableEnd; { // head: in the first row
		from := skipTags(s[:sc.htmlTableEnd], p)
		to := from
		for to < sc.htmlTableEnd && s[to] != '<' && to-from < maxLook {
			to++
		}
		switch name := strings.ReplaceAll(strings.TrimSpace(s[from:to]), " ", "_"); {
		case head && isName && len(name) < maxName && (isSureName(name) || isPasswordName(name)):
			names, found = append(names, name), true
		case head:
			names = append(names, "")
		case !isName && column < len(names) && names[column] != "":
			text := strings.TrimRightFunc(s[from:to], func(r rune) bool { return r <= ' ' })
			sc.addCell(from, from+len(text), names[column])
		}
		column++
		for more := false; !more; { // the next cell
			n := strings.IndexByte(s[p:sc.htmlTableEnd], '<')
			if n < 0 {
				return
			}
			p += n + 1
			switch tag := strings.ToLower(s[p:min(sc.htmlTableEnd, p+3)]); {
			case strings.HasPrefix(tag, "tr"):
				if column, head = 0, false; !found {
					return
				}
			case tag == "td>", tag == "td ", tag == "th>", tag == "th ":
				n := strings.IndexByte(s[p:sc.htmlTableEnd], '>')
				if n < 0 {
					return
				}
				p, more, isName = p+n+1, true, tag[1] == 'h'
			}
		}
	}
}
