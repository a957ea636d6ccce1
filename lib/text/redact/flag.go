package redact

import (
	"math/bits"
	"slices"
	"strings"
)

// Flags of programs that take a secret.

// findFlagValue finds the secret behind the flag at s[i], if the flag's name says that it takes one
// (--some-token), or the program before it is known to take one there; 0, 0 if there is none.
func (sc *scanner) findFlagValue(i int) (from, to int) {
	if !sc.beginsWord(i) {
		return 0, 0
	}
	s := sc.s
	end := endOfRun(s[:min(len(s), i+maxName)], i, "w-")
	if from, to = sc.findShortFlagValue(i, end); to > 0 {
		return from, to
	}
	if end < len(s) && s[end] == ':' && strings.HasPrefix(s[i:], "-u") && sc.inCommand(i, "curl") { // curl -ubob:x
		return filledValue(s, end+1)
	}
	name := s[i:end]
	if len(name) > 2 && strings.HasPrefix(name, "-b") && sc.inCommand(i, "secret set") { // gh secret set NAME -bx
		return likelySecret(s, i+len("-b"), "token")
	}
	if end == len(s) || strings.IndexByte(" =\t", s[end]) < 0 && nextArgument(s, end) == end {
		return 0, 0 // no value follows
	}
	if from, to = sc.findAfterUser(i, end, name); to > 0 {
		return from, to
	}
	switch {
	case name == "-b" || name == "--cookie":
		if sc.inCommand(i, "curl") {
			return findCookie(s, end)
		}
		fallthrough // gh secret set has -b, too
	case name == "--body":
		if !sc.inCommand(i, "secret set") {
			return 0, 0
		}
		return filledValue(s, end+1)
	case name == "--value" && (sc.inCommand(i, "put-parameter") || sc.inCommand(i, "secret set")):
		return likelySecret(s, end+1, "password")
	case s[end] != '=' && len(name) > 4 && isSureName(name):
		return likelySecret(s, nextArgument(s, end), name)
	case s[end] != '=' && takesPassword(name):
		return likelySecret(s, nextArgument(s, end), "password")
	case name == "--otp": // digits only
		from, to = boundedValueAt(s, end+1)
		return spanIf(to-from >= minPassword && endOfRun(s[:to], from, "0") == to, from, to)
	case equalFold(name, "-value"): // Set-Item env:NAME -Value x
		if _, variable, ok := strings.Cut(s[max(sc.done, i-maxName):i], "env:"); ok && isSureName(variable[:endOfRun(variable, 0, "w")]) {
			return likelySecret(s, end+1, "password")
		}
	case name == "--auth" && sc.inCommand(i, "netlify"):
		return likelySecret(s, nextArgument(s, end), "token")
	}
	return 0, 0
}

// nextArgument returns the beginning of the argument behind the flag that ends at s[i]: after
// blanks, or in the next text of a list: "-p", "x". It returns i if there is none.
func nextArgument(s string, i int) int {
	if v := skipBlanks(s, i); v > i || i == len(s) {
		return v
	}
	quote := skipChars(s, i, "\\", 1) // JSON in JSON
	if quote == len(s) || s[quote] != '"' && s[quote] != '\'' {
		if next := strings.TrimLeft(s[i:min(len(s), i+maxName)], " \n"); s[i] == '\n' && strings.HasPrefix(next, "- ") { // a list of YAML
			return i + strings.Index(s[i:], "- ") + 2
		}
		return i
	}
	v := quote + 1
	if v == len(s) || s[v] != ',' {
		return i
	}
	v = skipChars(s, v+1, " \t\n", maxName)
	if !isQuoted(s, v) {
		return i
	}
	return v
}

// takesPassword reports whether the name of a flag says that it takes a password, in one word:
// -storepass, -pw, --oauth2-bearer.
func takesPassword(name string) bool {
	name = strings.TrimLeft(strings.ToLower(name), "-")
	ends := []string{"storepass", "keypass", "userpass", "adminpass", "rootpass", "passwd", "pwd", "-pass", "-pw"}
	return oneOf(name, "pass upw psk opw pw oauth2-bearer") || slices.ContainsFunc(ends, func(end string) bool { return strings.HasSuffix(name, end) })
}

// shortFlags are the flags of programs for a password, and how it follows: in the same word,
// in the next, or in either.
var shortFlags = [...]struct {
	programs string // in words
	flag     string
	how      int
}{
	{"sshpass", "p", joinedOrNext}, {"mysql mysqldump mysqladmin mysqlimport mysqlshow mysqlcheck mycli mariadb mariadb-dump mariadb-admin", "p", joined},
	{"redis-cli", "a", nextArg}, {"mongo mongosh mongodump mongorestore mongoimport mongoexport mongostat mongotop", "p", joinedOrNext},
	{"login", "p", joinedOrNext}, // docker login, helm registry login, crane auth login, az login …
	{"ldapsearch ldapmodify ldapadd ldapdelete ldapcompare ldapmodrdn ldappasswd ldapwhoami", "w", joinedOrNext}, {"ldappasswd", "s", nextArg}, {"ldappasswd", "a", nextArg},
	{"sqlcmd bcp osql isql tsql sqsh", "P", joinedOrNext}, {"7z 7za 7zz 7zr 7z.exe rar unrar", "p", joined}, {"rar", "hp", joined},
	{"zip unzip zipcloak", "P", joinedOrNext}, {"rdesktop psexec psexec.exe psexec64.exe evil-winrm crackmapexec cme nxc netexec hydra medusa winexe", "p", nextArg},
	{"ipmitool", "P", joinedOrNext}, {"mcrypt", "k", nextArg}, {"ccrypt ccencrypt ccdecrypt ccat", "K", nextArg}, {"aescrypt certutil mutool msoffcrypto-tool xfreerdp wlfreerdp", "p", nextArg}, {"kadmin", "w", nextArg},
	{"kadmin", "pw", nextArg}, {"swaks", "ap", nextArg}, {"sendemail sendEmail", "xp", nextArg}, {"snmpget snmpwalk snmpset snmpbulkwalk snmpbulkget snmptrap snmpgetnext", "A", nextArg}, {"snmpget snmpwalk snmpset snmpbulkwalk snmpbulkget snmptrap snmpgetnext", "X", nextArg},
	{"snmpget snmpwalk snmpset snmpbulkwalk snmpbulkget snmptrap snmpgetnext", "c", nextArg}, {"influx vercel vc", "t", nextArg}, {"elasticsearch-users", "p", nextArg}, {"openssl", "k", nextArg}, {"cqlsh cypher-shell ncftpput ncftpget ncftp steghide cbq vncviewer", "p", nextArg}, {"mosquitto_pub mosquitto_sub mosquitto_rr", "P", nextArg},
	{"ssh-keygen", "N", nextArg}, {"ssh-keygen", "P", nextArg}, {"add-generic-password add-internet-password", "w", nextArg}, {"unlock-keychain create-keychain", "p", nextArg},
	{"security", "P", nextArg}, {"set-key-partition-list", "k", nextArg}, {"twine", "p", nextArg}, {"nuget", "k", nextArg}, {"plink pscp psftp putty", "pw", nextArg}, {"nordvpn openfortivpn nuget supabase", "p", nextArg},
}

const (
	joined = 1 << iota
	nextArg
	joinedOrNext = joined | nextArg
)

// flagPrograms has for a program which of shortFlags it has: a bit for each.
var flagPrograms = func() map[string]uint64 {
	all := map[string]uint64{}
	for n, f := range shortFlags {
		for program := range strings.FieldsSeq(f.programs) {
			all[program] |= 1 << n
		}
	}
	return all
}()

// unlisted makes words of a list of arguments.
var unlisted = strings.NewReplacer(",", " ", `\"`, " ", `"`, " ", "'", " ", "[", " ", "(", " ")

// findShortFlagValue finds the value of one of shortFlags. The flag begins at s[i], and its letters
// end at s[end].
func (sc *scanner) findShortFlagValue(i, end int) (from, to int) {
	s := sc.s
	if end-i < 2 || i > 0 && s[i-1] == '-' || strings.IndexByte("pawPhAXkNsKxct", s[i+1]) < 0 {
		return 0, 0 // not the first letter of a short flag
	}
	before := strings.ReplaceAll(sc.s[max(0, i-maxLook):i], "\\\n", " ") // a command of several lines
	cut := "\n|&;"
	if i > 0 && (s[i-1] == '"' || s[i-1] == '\'') { // in a list of arguments
		before, cut = unlisted.Replace(before), "|&;"
	}
	words := strings.Fields(before[strings.LastIndexAny(before, cut)+1:]) // of the command
	// Behind a flag for a user, -p or -P may take a password in a program that shortFlags lacks.
	// There only a strong secret counts.
	if v := nextArgument(s, i+2); v > i+2 && userFlag(words, s[i+1]) {
		if from, to = boundedValueAt(s, v); from < to && isStrongSecret(s[from:to]) && !isPlaceholderText(s[from:to]) && s[from] != '-' {
			return valueAt(s, v)
		}
	}
	var named uint64 // a bit for each of shortFlags that a program among the words has
	for _, w := range words {
		w = strings.TrimRight(w, "\"'`)")
		named |= flagPrograms[w[strings.LastIndexAny(w, "/\\\"'`($")+1:]]
	}
	for ; named != 0; named &= named - 1 { // for each bit that is set
		f := &shortFlags[bits.TrailingZeros64(named)]
		v := i + 1 + len(f.flag)
		if v > len(s) || s[i+1:v] != f.flag {
			continue
		}
		how, at := joined, nextArgument(s, v)
		if at > v {
			how = nextArg
		}
		if v == len(s) || f.how&how == 0 {
			continue
		}
		from, to = valueAt(s[:min(len(s), v+maxLook)], at)
		if from >= to || isPlaceholder(s, from, to) || f.how&joined == 0 && strings.IndexByte(s[from:to], '=') >= 0 {
			continue
		}
		if looksSecret(s[from:to], minPassword) || isPassphrase(s[from:to]) {
			return valueAt(s, at)
		}
	}
	return 0, 0
}

// userFlag reports whether the words before the flag for a password have one for a user, as in
// most programs: -u bob -p x.
func userFlag(words []string, letter byte) bool {
	words = words[:max(len(words)-1, 0)] // without the user
	return letter == 'P' && slices.Contains(words, "-U") ||
		letter == 'p' && slices.ContainsFunc(words, func(w string) bool { return w == "-u" || w == "--user" || w == "--username" })
}

// pairs are the flags that take a user and a password, with a sign between them.
var pairs = [...]struct {
	programs, flags string
	sign            byte
}{
	{"curl", "-u --user -U --proxy-user -E --cert --proxy-cert", ':'}, {"http https xh xhs", "-a --auth", ':'},
	{"skopeo podman buildah ctr nerdctl crictl", "-u --user --creds --src-creds --dest-creds", ':'}, {"lftp", "-u --user", ','}, {"etcdctl", "--user", ':'},
	{"smbclient rpcclient smbget net smbcacls smbpasswd", "-U --user", '%'}, {"wbinfo", "-a", '%'}, {"sqlmap", "--auth-cred", ':'}, {"cli.jar", "-auth", ':'},
}

// findAfterUser finds the password in the value of one of pairs. The flag begins at s[i] and ends at
// s[end].
func (sc *scanner) findAfterUser(i, end int, name string) (from, to int) {
	s := sc.s
	if len(name) > 2 && name[1] != '-' && name[len(name)-1] == 'u' && sc.inCommand(i, "curl") { // curl -su bob:x
		name = "-u"
	}
	// For these names, the program need not be known.
	sure := name == "--auth" || strings.HasSuffix(name, "-creds") || name == "--creds"
	for _, p := range pairs {
		if !strings.Contains(" "+p.flags+" ", " "+name+" ") {
			continue
		}
		named := false
		for program := range strings.FieldsSeq(p.programs) {
			named = named || sc.inCommand(i, program)
		}
		if !named && !sure {
			continue
		}
		v := nextArgument(s, end)
		if v == end {
			v++
		}
		from, to = boundedValueAt(s, v)
		sign := strings.IndexByte(s[from:max(from, to)], p.sign)
		if named && sign < 0 && strings.HasSuffix(p.flags, "--auth") && sc.inCommand(i, "bearer") {
			return likelySecret(s, v, "token") // http -A bearer -a x
		}
		if sign < 0 || from+sign+1 == to || isPlaceholder(s, from+sign+1, to) {
			continue
		}
		from += sign + 1
		// Behind a certificate or another sign, or in an unknown program, this may be no password.
		if certificate := strings.HasSuffix(name, "cert") || name == "-E"; (certificate || !named || p.sign != ':') && !looksSecret(s[from:to], minPassword) {
			continue
		}
		return from, to
	}
	return 0, 0
}

// inCommand reports whether a flag at s[i] belongs to a command that contains the words.
func (sc *scanner) inCommand(i int, words string) bool {
	before := sc.s[max(sc.done, i-maxLook):i]
	at := strings.LastIndex(before, words)
	if at < 0 {
		return false
	}
	before = strings.ReplaceAll(before[at:], "\\\n", "") // a command of several lines
	return !strings.Contains(before, "\n")
}

// findSlashFlagValue finds the secret behind a flag that begins with a slash, as in xfreerdp /p:x,
// schtasks /rp x and reg add /v TOKEN /d x, and the token in a channel of conda. s[i] is the slash.
func (sc *scanner) findSlashFlagValue(i int) (from, to int) {
	s := sc.s
	begin := i + len("/t/")
	if strings.HasPrefix(s[i:], "/t/") && isConda(s[max(sc.done, i-maxName):i]) { // anaconda.org/t/x/
		to = endOfRun(s, begin, "w-")
		return spanIf(to < len(s) && s[to] == '/' && looksSecret(s[begin:to], minPassword), begin, to)
	}
	if i == sc.done || s[i-1] > ' ' {
		return 0, 0
	}
	switch {
	case strings.HasPrefix(s[i:], "/p:") && (sc.inCommand(i, "freerdp") || sc.inCommand(i, "mstsc")):
		return filledValue(s, begin)
	case strings.HasPrefix(s[i:], "/gp:") && sc.inCommand(i, "freerdp"):
		return filledValue(s, begin+1)
	case strings.HasPrefix(s[i:], "/p ") && sc.inCommand(i, "signtool"):
		return likelySecret(s, skipBlanks(s, begin), "password")
	case strings.HasPrefix(s[i:], "/d ") && sc.inCommand(i, "reg add "):
		before := s[max(sc.done, i-maxLook):i]
		before = before[strings.LastIndex(before, "reg add "):]
		if _, name, ok := strings.Cut(before, "/v "); ok {
			return likelySecret(s, skipBlanks(s, begin-1), name[:endOfRun(name, 0, "w-")])
		}
	case strings.HasPrefix(s[i:], "/rp ") && sc.inCommand(i, "schtasks"):
		return likelySecret(s, skipBlanks(s, begin), "password")
	}
	return 0, 0
}

// isConda reports whether s ends with the host of channels of conda.
func isConda(s string) bool {
	host := s[strings.LastIndexByte(s, '/')+1:]
	return strings.HasPrefix(host, "conda.") || strings.HasSuffix(host, "anaconda.org")
}

// findMasked finds what a GitHub workflow says is secret: ::add-mask::x. s[i] is the first colon.
func (sc *scanner) findMasked(i int) (from, to int) {
	const mask = "::add-mask::"
	s := sc.s
	if !strings.HasPrefix(s[i:], mask) {
		return 0, 0
	}
	from, to = boundedValueAt(s, i+len(mask))
	if to-from < 4 || isPlaceholder(s, from, to) {
		return 0, 0
	}
	return valueAt(s, i+len(mask))
}

// findPipelineValue finds what a pipeline of Azure says is secret, behind the bracket that ends its
// command: ##vso[task.setvariable variable=TOKEN]x, …;issecret=true]x. s[i] is an equals sign.
func (sc *scanner) findPipelineValue(i int) (from, to int) {
	s := sc.s
	if word := s[max(0, i-len("variable")):i]; !strings.EqualFold(word, "variable") && !strings.EqualFold(word, "issecret") {
		return 0, 0
	}
	before := strings.ToLower(s[max(0, i-maxTag):i])
	at := strings.LastIndex(before, "##vso[")
	if at < 0 || strings.IndexByte(before[at+len("##vso["):], ']') >= 0 {
		return 0, 0
	}
	end := strings.IndexByte(s[i:min(len(s), i+maxTag)], ']')
	if end < 0 {
		return 0, 0
	}
	word := s[i+1 : i+end]
	name, rest, _ := strings.Cut(word, ";")
	switch {
	case strings.HasSuffix(before, "issecret") && strings.HasPrefix(strings.ToLower(word), "true"),
		strings.HasSuffix(before, "variable") && (isSecretName(name) || strings.Contains(strings.ToLower(rest), "issecret=true")):
		return filledValue(s, i+end+1)
	}
	return 0, 0
}

// findFormData finds the value of a field of a form: name="password" in a Content-Disposition
// header, then a blank line. s[i] is the equals sign.
func (sc *scanner) findFormData(i int) (from, to int) {
	s := sc.s
	if !strings.HasSuffix(s[max(sc.done, i-len("name")):i], "name") || !strings.Contains(strings.ToLower(s[max(sc.done, i-maxName):i]), "form-data") {
		return 0, 0
	}
	v := skipChars(s, i+1, "\"'", 1)
	end := endOfRun(s[:min(len(s), v+maxName)], v, "w-.")
	if end == v || !isSureName(s[v:end]) && !isPasswordName(s[v:end]) {
		return 0, 0
	}
	for p, header := end, 0; header < 4; header++ { // some more headers, and the blank line
		eol := strings.IndexByte(s[p:min(len(s), p+maxLook)], '\n')
		if eol < 0 {
			return 0, 0
		}
		if line := strings.Trim(s[p:p+eol], "\r\"' "); line != "" || header == 0 { // more of the header
			p += eol + 1
			continue
		}
		from = p + eol + 1
		for to = from; to < len(s) && s[to] >= ' ' && to-from < maxLook; to++ {
		}
		return spanIf(to-from >= 4 && !strings.HasPrefix(s[from:to], "--") && !isPlaceholderText(s[from:to]), from, to)
	}
	return 0, 0
}

// findJWKMember finds a private member of a JSON Web Key: "d": "x" beside "kty". s[i] is the colon.
func (sc *scanner) findJWKMember(i int) (from, to int) {
	s := sc.s
	n := sc.skipQuotesBack(i)
	if n == sc.done || strings.IndexByte("dpqik", s[n-1]) < 0 { // the usual case
		return 0, 0
	}
	if !oneOf(sc.nameBefore(n), "d p q dp dq qi k") {
		return 0, 0
	}
	const near = 3 << 10 // a key of 4,096 bits
	from = skipChars(s, skipChars(s, skipBlanks(s, i+1), "\\", 1), "\"'", 1)
	to = endOfRun(s, from, "w-=")
	isKey := to-from >= 16 && isMixedCase(s[from:min(to, from+maxLook)])
	return spanIf(isKey && strings.Contains(s[max(0, i-near):min(len(s), to+near)], `kty`), from, to)
}
