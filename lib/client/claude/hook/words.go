package hook

import "strings"

// Message is what another agent or a channel sent to the agent in the person's name.
type Message struct{ From, Text string }

// Typed returns what the person typed in a prompt.
func Typed(prompt string) string {
	typed, _ := Split(prompt)
	return typed
}

// Split returns what the person typed in a text that stands in their name, and the
// messages of others in it. What the client adds comes first, as closed elements; a tag
// that is not closed is the person's own.
func Split(text string) (typed string, messages []Message) {
	for {
		text = strings.TrimSpace(text)
		name, attributes, body, after, announced := firstElement(text)
		switch {
		case isSender(name):
			messages = append(messages, Message{sender(name, attributes), strings.TrimSpace(body)})
			if text = strings.TrimSpace(after); announced {
				text = withoutRemarks(text)
			}
		case announced || !isWrapper(name): // from here, the text is the person's own
			text = withoutReminders(text)
			return strings.TrimSpace(Unpasted(text)), messages
		default:
			text = after
		}
	}
}

// firstElement returns the closed element at the beginning of a text, if there is one, and
// whether the client announces it as another session's message.
func firstElement(text string) (name, attributes, body, after string, announced bool) {
	if line, rest, ok := strings.Cut(text, "\n"); ok && strings.HasPrefix(line, announcement) && strings.HasSuffix(line, ":") {
		text, announced = strings.TrimLeft(rest, "\n"), true
	}
	tag, rest, ok := strings.Cut(text, ">")
	if !ok || !strings.HasPrefix(tag, "<") {
		return "", "", "", "", announced
	}
	name, attributes, _ = strings.Cut(tag[1:], " ")
	end := strings.Index(rest, "</"+name+">")
	if isSender(name) { // its text can have an end, too: what follows must not pass for the person's
		end = strings.LastIndex(rest, "</"+name+">")
	}
	if end < 0 || strings.Contains(attributes, "<") {
		return "", "", "", "", announced
	}
	return name, attributes, rest[:end], rest[end+len(name)+len("</>"):], announced
}

// withoutReminders removes what the client's older versions put below a prompt.
func withoutReminders(text string) string {
	const begin, end = "\n<system-reminder>", "</system-reminder>"
	for strings.HasSuffix(text, end) {
		i := strings.LastIndex(text, begin)
		if i < 0 {
			break
		}
		text = strings.TrimSpace(text[:i])
	}
	return text
}

const announcement = "Another Claude session sent a message"

// withoutRemarks removes what the client says about an announced message.
func withoutRemarks(text string) string {
	for strings.HasPrefix(text, "This came from another Claude session") || strings.HasPrefix(text, `That "other Claude session"`) {
		_, text, _ = strings.Cut(text, "\n\n")
		text = strings.TrimSpace(text)
	}
	return text
}

// isWrapper reports whether Claude Code itself puts an element of that name into a prompt.
func isWrapper(name string) bool {
	switch name {
	case "local-command-stdout", "local-command-stderr", "local-command-caveat",
		"bash-input", "bash-stdout", "bash-stderr", "system-reminder", "user-prompt-submit-hook",
		"bash-exit-code", "mcp-resource-update", "mcp-polling-update", "task-notification", "tick", "ide_opened_file", "ide_selection", "ide_diagnostics", "session-start-hook", "new-diagnostics":
		return true
	}
	return false
}

func isSender(name string) bool {
	switch name {
	case "teammate-message", "agent-message", "cross-session-message", "channel":
		return true
	}
	return false
}

// sender returns who sent a message, by the attributes that its kind of element has.
func sender(name, attributes string) string {
	value := func(key string) string {
		_, rest, ok := strings.Cut(" "+attributes, " "+key+`="`)
		value, _, closed := strings.Cut(rest, `"`)
		if !ok || !closed {
			return ""
		}
		return value
	}
	if name == "channel" {
		if user := value("user"); user != "" {
			return value("source") + " " + user
		}
		return value("source")
	}
	for _, key := range []string{"teammate_id", "from-name", "from", "name"} {
		if who := value(key); who != "" {
			return who
		}
	}
	return "another agent"
}
