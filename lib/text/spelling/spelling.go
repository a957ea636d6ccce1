package spelling

import (
	"slices"
	"strings"
)

// Distance returns the number of bytes to insert, delete or change to turn one word into
// another.
func Distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		before := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := before
			if a[i] != b[j] {
				change++
			}
			before = row[j+1]
			row[j+1] = min(change, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}

// synonyms are words that people know from other programs for what ours call otherwise, the
// likeliest first.
var synonyms = map[string]string{
	"ls": "list inbox", "ll": "list inbox", "dir": "list", "ps": "list status", "top": "status", "sessions": "list", "agents": "list", "history": "list log", "info": "show status",
	"kill": "stop", "end": "stop", "terminate": "stop", "quit": "stop", "close": "stop", "down": "stop shutdown", "pause": "stop suspend",
	"delete": "rm remove forget", "del": "rm remove forget", "remove": "rm", "destroy": "rm", "rm": "remove forget", "uninstall": "remove", "clean": "prune", "gc": "prune",
	"log": "follow peek show", "logs": "follow peek show", "tail": "follow peek", "watch": "follow wait", "output": "peek", "capture": "peek", "cat": "read show", "view": "show read", "open": "attach show", "get": "show",
	"create": "new", "add": "new", "run": "new start", "launch": "new start", "spawn": "new", "up": "start restore", "begin": "start", "init": "new install", "setup": "install", "clone": "fork", "copy": "fork", "cp": "fork", "branch": "fork",
	"a": "attach", "at": "attach", "join": "attach", "connect": "attach join", "enter": "attach", "switch": "attach", "fg": "attach", "goto": "attach",
	"tell": "send", "prompt": "send", "message": "send", "msg": "send", "say": "send", "mail": "send", "write": "send", "post": "send", "reply": "answer send", "approve": "answer", "continue": "resume start",
	"mv": "rename move", "reload": "restart", "search": "grep", "find": "grep list", "cost": "usage", "tokens": "usage", "stats": "usage status", "check": "doctor status", "verify": "prove doctor", "enable": "install", "disable": "remove uninstall",
}

// FindNear returns the words that a mistyped word may have meant: the nearest of those that
// differ in few letters or that it abbreviates.
func FindNear(word string, words []string) (near []string) {
	for _, w := range strings.Fields(synonyms[word]) {
		if slices.Contains(words, w) {
			return []string{w}
		}
	}
	least := (len(word) + 2) / 3 // one letter in two, two in five may be wrong
	for _, w := range words {
		d := Distance(word, w)
		switch {
		case abbreviates(word, w):
			d = min(d, 1)
		case !strings.HasPrefix(w, word[:min(1, len(word))]): // the first letter is seldom wrong
			d++
		}
		switch {
		case d < least:
			near, least = []string{w}, d
		case d == least && d < len(w):
			near = append(near, w)
		}
	}
	return near
}

// Suggest asks whether some words were meant. It returns "" for none.
func Suggest(near []string) string {
	if len(near) == 0 {
		return ""
	}
	return "did you mean " + strings.Join(near, " or ") + "?"
}

// abbreviates reports whether short has the first letter and, in order, only letters of
// word.
func abbreviates(short, word string) bool {
	if short == "" || word == "" || short[0] != word[0] {
		return false
	}
	for _, r := range short {
		_, rest, ok := strings.Cut(word, string(r))
		if !ok {
			return false
		}
		word = rest
	}
	return true
}
