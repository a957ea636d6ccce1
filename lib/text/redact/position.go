package redact

import (
	"slices"
	"strings"
)

// Secrets that a command takes by position or from its standard input, so that no name
// stands before them.

// positions are commands that take or print a secret. skip is the number of arguments before
// the secret; flags and what stands in the same word do not count. With a sign, the secret is
// what is behind it in that argument; with a line feed, it is the line that the command prints.
// The scanner finds the command by the characters behind the stroke, which are rare.
var positions = [...]struct {
	command string
	skip    int
	sign    byte
}{
	{"cargo l|ogin ", 0, 0}, {"vault l|ogin ", 0, 0}, {"snyk |auth ", 0, 0}, {"add|-authtoken ", 0, 0}, {"ngrok |authtoken ", 0, 0}, {"redis-cli |auth ", 0, 0}, {"redis-cli |AUTH ", 0, 0},
	{"openssl |passwd ", 0, 0}, {"mk|passwd ", 0, 0}, {"ht|passwd ", 2, 0}, {"mosquitto_|passwd ", 2, 0}, {"dscl . |-passwd ", 1, 0}, {"caddy hash|-password --plaintext ", 0, 0}, {"wpa_|passphrase ", 1, 0},
	{"rclone o|bscure ", 0, 0}, {"snmp|-server community ", 0, 0}, {"bi|ndpw ", 0, 0}, {"|-setairportnetwork ", 2, 0}, {"|wifi connect ", 2, 0}, {"wifi|-sec.psk ", 0, 0}, {"wireless|-security.psk ", 0, 0},
	{"rabbitm|qctl add_user ", 1, 0}, {"rabbitm|qctl change_password ", 1, 0}, {"ejabbe|rdctl register ", 2, 0}, {"|mc alias set ", 3, 0}, {"config http|-basic.", 2, 0}, {"--global http|-basic.", 2, 0},
	{"user-se|crets set ", 1, 0}, {"config set |--secret ", 1, 0}, {"ex|pdp ", 0, '/'}, {"im|pdp ", 0, '/'}, {"s|qlplus ", 0, '/'}, {"s|qlldr ", 0, '/'},
	{"/user|:", 1, 0}, {"jdbc:oracle:thin|:", -1, '/'}, {"jdbc:oracle:oci|:", -1, '/'}, {"operator u|nseal ", 0, 0}, {"|IDENTIFY ", 0, 0}, {"wpa|-psk ", 0, 0}, {"|PSK ", 0, 0}, {"|EAP ", 0, 0}, {"encry|pt_string ", 0, 0},
	{"enable se|cret ", 0, 0}, {"tacacs|-server key ", 0, 0}, {"radius|-server key ", 0, 0}, {"config pypi|-token.", 1, 0}, {"rclone config |create ", 3, 0}, {"setA|piKey ", 0, 0},
	{"bw u|nlock ", 0, 0}, {"bw lo|gin ", 1, 0}, {"+l|ogin ", 1, 0}, {"root|pw ", 0, 0}, {"|net user ", 1, 0},
	{"op read op|:", 0, '\n'}, {"op read \"op|:", 0, '\n'}, {"op read 'op|:", 0, '\n'}, {"-|-fields ", 0, '\n'}, {"|pass show ", 0, '\n'}, {"bw get |password ", 0, '\n'}, {"find-generic|-password ", 0, '\n'}, {"find-internet|-password ", 0, '\n'},
	{"output |-raw ", 0, '\n'}, {"'|{.data.", 0, '\n'}, {"\"|{.data.", 0, '\n'}, {"wg gen|key", 0, '\n'}, {"wg ge|npsk", 0, '\n'},
}

// fromInput are what a command says if it reads a secret from its standard input.
var fromInput = []string{
	"-stdin", "--with-token", "sudo -S", "sudo -kS", "sudo -k -S", "chpasswd", "--passphrase-fd 0", "-passin stdin", "-pass stdin", "cryptsetup luks",
	"secret put ", "secret set ", "secrets create ", "secrets set ", "secrets versions add", "passwd --stdin", "smbpasswd -s", "vncpasswd -f", "pass insert", "--data-file=-",
	"auth login", "vault login -", "--token-file -", "--from-file=/dev/stdin", "age -p", "--passwd-on-stdin", "--password-file -", "--password-file=-", "sudo --stdin", "docker secret create", "podman secret create", "secret-tool store", "swarm unlock",
}

// position is one of positions, whose command is cut at the stroke.
type position struct {
	before, behind string
	skip           int
	sign           byte
}

// findByPosition finds the secret of one of positions, whose stroke is at s[i].
func (sc *scanner) findByPosition(i int) (from, to int) {
	s := sc.s
	commands := sc.index.commands[s[i]&(1<<7-1)]
	for n := range commands {
		p := &commands[n]
		// Comparing one character rules out most commands.
		if len(p.behind) > 1 && i+1 < len(s) && s[i+1] != p.behind[1] || !sc.isCommandAt(i, p) {
			continue
		}
		if p.sign != '\n' {
			return p.secretArgument(s, i+len(p.behind))
		}
		v := i + len(p.behind)
		if from, to = printedValue(s, v); from < to && sc.printsSecret(i, v, p.behind) {
			return from, to
		}
	}
	return 0, 0
}

// isCommandAt reports whether the command of p is in the text, with its stroke at s[i].
func (sc *scanner) isCommandAt(i int, p *position) bool {
	s, before, behind := sc.s, p.before, p.behind
	if before != "" && (i == sc.done || s[i-1] != before[len(before)-1]) {
		return false
	}
	if !strings.HasPrefix(s[i:], behind) || !strings.HasSuffix(s[sc.done:i], before) {
		return false
	}
	switch begin := i - len(before); {
	case s[begin] != '-' && !sc.beginsWord(begin): // the end of a longer word
		return false
	case behind == "-fields ":
		return sc.inCommand(i, "op item get ")
	case before == "/user":
		return sc.inCommand(i, "net use ") || sc.inCommand(i, "runas ")
	}
	return true
}

// secretArgument finds the secret among the arguments of the command of p, which begin at s[v].
func (p *position) secretArgument(s string, v int) (from, to int) {
	skip := p.skip
	for words := 0; words < maxWords && v < len(s) && s[v] >= ' '; words++ {
		v = skipBlanks(s, v)
		from, to = boundedValueAt(s, v)
		if from >= to || strings.IndexByte("|&;<>\n", s[v]) >= 0 {
			break
		}
		switch word := s[from:to]; {
		case s[v] == '-' && len(word) > 1, strings.HasPrefix(word, "/") && p.sign == 0: // a flag
			switch {
			case word == "-m", word == "--method", word == "-salt", word == "-S", word == "-R": // with a word of its own
				skip++
			case p.before == "ht" && skip > 0 && endOfRun(word, 1, "a") == len(word) && strings.IndexByte(word, 'n') > 0: // htpasswd -n has no file
				skip--
			}
		case p.sign != 0: // USER/SECRET or USER/SECRET@PLACE
			sign := strings.IndexByte(word, p.sign)
			end := to
			if at := strings.IndexByte(word[sign+1:], '@'); at > 0 {
				end = from + sign + 1 + at
			}
			from += sign + 1
			return spanIf(sign > 0 && isSecretWord(s, from, end), from, end)
		case skip > 0:
			skip--
		default:
			isPlace := strings.Contains(word, "://") || strings.HasPrefix(word, "./")
			return spanIf(isSecretWord(s, from, to) && !isPlace, from, to)
		}
		v = skipChars(s, to, "\"'", len(s))
	}
	return 0, 0
}

// isSecretWord reports whether s[from:to], of which a command says that it is a secret, is one.
func isSecretWord(s string, from, to int) bool {
	return from < to && !isPlaceholder(s, from, to) && looksPassword(s[from:to])
}

// looksPassword reports whether a word looks like a secret, or has the signs of a password.
func looksPassword(word string) bool { return looksSecret(word, minPassword) || hasManySigns(word) }

// maxWords bounds the words of a command that are looked at.
const maxWords = 12

// readsSecret reports whether the command at the beginning of s reads a secret from its
// standard input.
func readsSecret(s string) bool {
	s = s[:min(len(s), maxLook/2)]
	if end := strings.IndexAny(s, "\n|;"); end >= 0 {
		s = s[:end]
	}
	if words := strings.Fields(s); len(words) > 0 && (words[0] == "kinit" || words[0] == "passwd" || len(words) > 1 && words[0] == "sudo" && words[1] == "passwd") {
		return true
	}
	return slices.ContainsFunc(fromInput, func(text string) bool { return strings.Contains(s, text) })
}

// findPiped finds what echo and printf write into a command that reads a secret: echo x | sudo -S.
// s[i] is the bar. What several echo write, as in (echo x; echo x), it gives to addCell itself.
func (sc *scanner) findPiped(i int) (from, to int) {
	s, bar := sc.s, i
	if i+1 == len(s) || s[i+1] == '|' || !readsSecret(s[i+1:]) {
		return 0, 0
	}
	low := max(sc.done, i-maxLook)
	before := strings.TrimRight(s[low:i], " \t")
	if subshell, ok := strings.CutSuffix(before, ")"); ok { // (echo x; echo x) | passwd: each is reported here
		i, before = low+len(subshell), subshell
		for at := strings.LastIndexByte(before, '\n') + 1; ; {
			n := strings.Index(before[at:], "echo ")
			if n < 0 {
				break
			}
			at += n + len("echo ")
			if from, to = valueAt(s[:i], low+at); from < to {
				sc.addCell(from, to, "password")
			}
		}
	}
	before = strings.TrimRight(before, " \t")
	end := low + len(before)
	before = before[strings.LastIndexAny(before, "\n;|")+1:]
	at := max(strings.LastIndex(before, "echo "), strings.LastIndex(before, "printf "), strings.LastIndex(before, "yes "))
	if at < 0 {
		return 0, 0
	}
	for v := end - len(before) + at; v < end; { // ends with the last argument
		v = skipBlanks(s, v)
		from, to = valueAt(s[:end], v)
		if v = to + strings.IndexAny(s[min(to, end):end], " \t"); v < to {
			break
		}
	}
	if from >= to || to > end || isPlaceholder(s, from, to) {
		return 0, 0
	}
	word := s[from:to]
	if colon := strings.IndexByte(word, ':'); colon > 0 && strings.Contains(s[bar:min(len(s), bar+maxLook/2)], "chpasswd") { // bob:x
		from += colon + 1
	} else if strings.HasSuffix(word, `\n`) {
		to -= 2
	}
	isSentence := strings.Contains(s[from:to], " ") && !isPassphrase(s[from:to]) && !hasManySigns(s[from:to])
	return spanIf(to-from >= 4 && !isPlaceholder(s, from, to) && !isSentence, from, to)
}

// printsSecret reports whether what a command prints is a secret. Two commands, known by behind,
// print other values, too: for "-raw " the name at s[v] tells, for "{.data." the words before s[i].
func (sc *scanner) printsSecret(i, v int, behind string) bool {
	switch behind {
	case "-raw ":
		from, to := boundedValueAt(sc.s, v)
		return isSureName(sc.s[from:to]) || isPasswordName(sc.s[from:to])
	case "{.data.":
		return sc.inCommand(i, "get secret")
	}
	return true
}

// printedValue finds what a command that prints a secret has printed: the line below s[i], if it is one
// word.
func printedValue(s string, i int) (from, to int) {
	line := s[i:min(len(s), i+maxLook/2)]
	end, feed := strings.IndexByte(line, '\n'), 1
	if n := strings.Index(line, `\n`); n >= 0 && (end < 0 || n < end) { // in JSON
		end, feed = n, 2
	}
	if end < 0 {
		return 0, 0
	}
	from, to = boundedValueAt(s, i+end+feed)
	isAlone := from == i+end+feed && (to == len(s) || strings.IndexByte("\n\\\"", s[to]) >= 0)
	isSecret := isAlone && from < to && looksSecret(s[from:to], minValue) && !strings.ContainsAny(s[from:to], ":$")
	return spanIf(isSecret, from, to)
}

// findRedisPassword finds a password in a rule of Redis: ACL SETUSER bob on >x, and user bob on >x in its
// settings. s[i] is the sign.
func (sc *scanner) findRedisPassword(i int) (from, to int) {
	s := sc.s
	if i == sc.done || s[i-1] != ' ' || i+1 == len(s) || s[i+1] <= ' ' {
		return 0, 0
	}
	line := sc.lineBefore(i, maxLook/2)
	if !strings.HasPrefix(line, "user ") && !strings.Contains(strings.ToLower(line), "acl setuser ") {
		return 0, 0
	}
	return wordAt(s, i+1, looksPassword)
}

// findEchoed finds what echo or printf writes in the value of a flag for a password or a key:
// --password-command 'echo x', --pwfile=<(echo x). s[i] is before the command.
func (sc *scanner) findEchoed(i int) (from, to int) {
	s := sc.s
	begin := i + 1
	for _, command := range [...]string{"echo ", "printf "} {
		if rest, ok := strings.CutPrefix(s[begin:], command); ok {
			begin = len(s) - len(rest)
		}
	}
	flag := strings.ToLower(s[max(sc.done, i-maxName/2):i])
	if begin == i+1 || !strings.Contains(flag, "pass") && !strings.Contains(flag, "pwfile") && !strings.Contains(flag, "private-key") || strings.ContainsAny(flag, "\n;") {
		return 0, 0
	}
	if strings.HasPrefix(s[begin:], "-n ") {
		begin += len("-n ")
	}
	from, to = valueAt(s, begin)
	isPath := strings.Contains(s[from:to], "/") && !isMixedCase(s[from:to])
	return spanIf(to-from >= 4 && !isPlaceholder(s, from, to) && !isPath, from, to)
}

// findHereText finds what a command that reads a secret is given by <<< x, or by the few lines up
// to the word of <<. The sign begins at s[i].
func (sc *scanner) findHereText(i int) (from, to int) {
	s := sc.s
	if !strings.HasPrefix(s[i:], "<<") {
		return 0, 0
	}
	before := s[max(sc.done, i-maxLook/2):i]
	before = before[strings.LastIndexAny(before, "\n|;")+1:]
	if reads := readsSecret(before); strings.HasPrefix(s[i:], "<<<") {
		if reads {
			return filledValue(s, skipBlanks(s, i+3))
		}
		words := strings.Fields(before)
		takes := slices.Contains(words, "read") || slices.Contains(words, "env") // read API_KEY <<< x, vercel env add API_KEY <<< x
		for _, word := range words {
			if takes && word == strings.ToUpper(word) && isSureName(word) {
				return likelySecret(s, skipBlanks(s, i+3), word)
			}
		}
		return 0, 0
	} else if !reads {
		return 0, 0
	}
	// Up to four lines of one word each can be secrets. A longer text or a sentence is none.
	line, body, _ := strings.Cut(s[i+2:min(len(s), i+maxLook)], "\n")
	end := strings.Trim(line, " -'\"")
	lines, _, found := strings.Cut(body, "\n"+end)
	if end == "" || endOfRun(end, 0, "w") < len(end) || !found || strings.Count(lines, "\n") > 3 || strings.Contains(lines, " ") || len(lines) < 4 || isPlaceholderText(lines) {
		return 0, 0
	}
	from = i + len("<<") + len(line) + 1
	if user := endOfRun(lines, 0, "w-."); user < len(lines) && lines[user] == ':' && !strings.Contains(lines, "\n") { // bob:x
		from, lines = from+user+1, lines[user+1:]
	}
	return spanIf(strings.TrimSpace(lines) != "", from, from+len(lines))
}
