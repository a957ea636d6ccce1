package redact

import (
	"slices"
	"strings"
)

// What the name of a variable or setting suggests about its value.

// isSecretName reports whether the name of a variable or setting suggests that its value is a
// secret.
func isSecretName(name string) bool {
	if !mayBeSecretName(name) {
		return false
	}
	parts := trimVariant(splitName(name))
	if len(parts) == 0 {
		return false
	}
	last := parts[len(parts)-1]
	switch last {
	// Properties of a secret are not secret.
	case "file", "path", "dir", "url", "uri", "endpoint", "host", "type", "name", "sock", "socket", "ttl", "expiry",
		"expires", "limit", "count", "length", "size", "budget", "max", "min", "helper", "policy", "store", "method",
		"format", "version", "enabled", "required", "env", "var", "stdin":
		return false
	case "passe": // mot_de_passe
		return len(parts) > 1 && (parts[0] == "mot" || parts[0] == "mots")
	case "key", "keys":
		if len(parts) == 1 {
			return false // of a map, of a keyboard
		}
		return !oneOf(parts[len(parts)-2], "primary foreign sort cache public partition hot host")
	case "auth", "pat", "pwd", "pass", "cookie":
		return len(parts) > 1 || name == "AUTH" || name == "PAT"
	case "authorization", "jwt", "creds", "mnemonic", "psk", "totp":
		return true
	case "hash":
		if len(parts) > 1 && parts[len(parts)-2] == "cert" {
			return false
		}
	case "pw":
		return strings.ContainsAny(name, "_-") || len(parts) > 1 && parts[len(parts)-2] == "root" // olcRootPW
	case "phrase":
		return len(parts) > 1 && parts[len(parts)-2] == "pass"
	case "ident": // npmAuthIdent
		return len(parts) > 1 && parts[len(parts)-2] == "auth"
	case "login", "session": // sonar.login, BW_SESSION
		return len(parts) == 2 && (strings.HasSuffix(parts[0], "sonar") || parts[0] == "bw")
	case "salt":
		return len(parts) > 1
	case "id": // which names the account's key, in Google's files
		return len(parts) == 3 && parts[0] == "private" && parts[1] == "key"
	case "data": // client-key-data
		return len(parts) > 2 && parts[len(parts)-2] == "key" && parts[len(parts)-3] == "client"
	}
	return hasSecretWord(parts)
}

// hasSecretWord reports whether the words of a name have one of a secret, at any place.
func hasSecretWord(parts []string) bool {
	return parts[0] == "auth" || slices.ContainsFunc(parts, func(p string) bool {
		switch p {
		case "secrets", "credential", "credentials":
			return true
		}
		for _, end := range []string{
			"secret", "password", "passwd", "passphrase", "passcode", "sshpass", "dbpass", "ldappass", "smtppass", "rootpass", "adminpass", "userpass", "requirepass", "bindpw", "rootpw", "token", "apikey", "secretkey", "privatekey", "accesskey", "authkey",
			"masterkey", "privkey", "signingkey", "encryptionkey", "licensekey", "licencekey",
			"passwort", "kennwort", "motdepasse", "contrasena", "senha", "haslo", "wachtwoord", "passord", "adgangskode",
			"salasana", "heslo", "jelszo", "parola", "lozinka", "geslo", "parool", "matkhau", "parol",
		} {
			if strings.HasSuffix(p, end) { // PGPASSWORD
				return true
			}
		}
		return false
	})
}

// onlyDescribes reports whether the setting is no secret although its name has the word for one: a
// reference to the secret (token_ref: vault/app), its algorithm, a time (password_changed_at,
// token_expires_at), or what belongs to a test or sandbox of it and is words, code, a path or the
// setting's own name (api_key_test: tests/key2.py).
func onlyDescribes(name, value string) bool {
	parts := splitName(name)
	n := len(parts) - 1
	if n < 1 {
		return false
	}
	switch parts[n] {
	case "algorithm":
		return areWords(value)
	case "ref":
		return areWords(value) && (countAlternations(value) < 2 || strings.ContainsAny(value, "-_./:"))
	case "at":
		return n > 1 && (strings.HasSuffix(parts[n-1], "ed") || parts[n-1] == "expires" || parts[n-1] == "sent") && areWords(value) && (value == "" || isDigit(value[0]) || countAlternations(value) == 0)
	case "paper", "sandbox", "test", "testing", "demo", "qa", "uat":
		if bare := trimVariant(parts); hasSecretWord(parts) || isPasswordName(bare[len(bare)-1]) {
			return false
		}
		plain := strings.NewReplacer("_", "", "-", "", ".", "") // for a value that has the name in it
		return areWords(value) || !isMixedCase(value) && (strings.Contains(value, "::") || strings.ContainsAny(value, "([") || strings.Contains(value, "/") && strings.Contains(value, ".") ||
			strings.Contains(strings.ToLower(plain.Replace(value)), strings.ToLower(plain.Replace(name))))
	}
	return false
}

// areWords reports whether a value is words or numbers with signs between them, as a name, a path
// and a time are: in none do letters and digits alternate, and capital letters begin words.
func areWords(v string) bool {
	if endOfRun(v, 0, "w-./:+") < len(v) {
		return false
	}
	for word := range strings.FieldsFuncSeq(v, func(r rune) bool { return r > 1<<7 || !isAlnum(byte(r)) }) {
		odd := 0 // parts of one or two letters, or of capital letters and small ones
		for i, from := 0, 0; i < len(word); i++ {
			if next := i + 1; isDigit(word[i]) {
				from = next
			} else if next == len(word) || isDigit(word[next]) || isUpper(rune(word[next])) && !isUpper(rune(word[i])) {
				if part := word[from:next]; len(part) < 3 || isUpper(rune(part[1])) && part != strings.ToUpper(part) {
					odd++
				}
				from = next
			}
		}
		if len(word) > 3 && odd+countAlternations(word) > 3 {
			return false
		}
	}
	return true
}

// mayBeSecretName reports whether a name contains the beginning of any word that isSecretName knows.
// That rules out most names quickly.
func mayBeSecretName(name string) bool {
	for i := 1; i < len(name); i++ {
		switch string([]byte{name[i-1] | 0x20, name[i] | 0x20}) {
		case "ke", "pa", "pw", "hp", "bp", "pp", "to", "cr", "au", "co", "jw", "mn", "ps", "sa", "og", "se",
			"nw", "nh", "sl", "tw", "dg", "sz", "oz", "kh": // of other languages
			return true
		}
	}
	return false
}

// isAddressName reports whether a variable of that name holds an address that can contain a
// password or a key.
func isAddressName(name string) bool {
	parts := trimVariant(splitName(name))
	return len(parts) > 0 && oneOf(parts[len(parts)-1], "dsn url uri connection conn connstr connectionstring string config json opts options")
}

// isWebhookName reports whether a variable of that name holds a URL that anybody who knows it can
// call.
func isWebhookName(name string) bool {
	name = strings.ToLower(name)
	return strings.HasSuffix(name, "hook_url") || strings.HasSuffix(name, "webhook") || strings.HasSuffix(name, "hook_uri") || strings.HasSuffix(name, "hook_endpoint")
}

// isPath reports whether a value is the path of a file, and not a secret itself.
func isPath(v string) bool {
	return (strings.HasPrefix(v, "/") || strings.HasPrefix(v, "./") || strings.HasPrefix(v, "~/")) && strings.Count(v, "/") > 1 && !isMixedCase(v)
}

// trimVariant removes words at the end of a name that only distinguish variants: API_KEY_PROD,
// DB_PASS_OLD, JWT_SIGNING_KEY_V2, PASSWORD1.
func trimVariant(parts []string) []string {
	for len(parts) > 0 {
		last := parts[len(parts)-1]
		switch last {
		case "prod", "production", "preprod", "staging", "stage", "dev", "live", "paper", "sandbox", "test", "testing", "demo", "qa", "uat", "old", "new", "prev", "previous", "next", "current", "backup",
			"base64", "b64", "hex":
		default:
			bare := strings.TrimRight(last, "0123456789")
			if bare == last {
				return parts
			}
			if bare != "" && bare != "v" {
				return append(parts[:len(parts)-1:len(parts)-1], bare)
			}
		}
		if len(parts) == 1 {
			return parts
		}
		parts = parts[:len(parts)-1]
	}
	return parts
}

// isPasswordName reports whether a name is that of a password. People choose passwords, so
// they can be short.
func isPasswordName(name string) bool {
	name = strings.ToLower(name)
	ends := []string{"password", "passwd", "pass", "pwd", "pw", "passphrase", "pass_phrase", "pass-phrase", "passcode", "passwort", "kennwort", "passe", "contrasena", "senha", "haslo", "wachtwoord", "parol"}
	return slices.ContainsFunc(ends, func(end string) bool { return strings.HasSuffix(name, end) })
}

// isSureName is isSecretName for names in code and prose, where auth and key are common words.
func isSureName(name string) bool {
	if !isSecretName(name) {
		return false
	}
	parts := trimVariant(splitName(name))
	last := parts[len(parts)-1]
	switch last {
	case "key", "keys":
		return oneOf(parts[len(parts)-2], "api access application private secret signing encryption master account deploy auth service webhook "+
			"role license licence supabase subscription functions validation decryption preshared shared unseal recovery jwt hmac nonce")
	case "auth", "cookie", "jwt", "creds":
		return false
	case "data", "id":
		return true
	}
	// isSecretName takes any name that begins with auth. Here the rest must be a secret's, too.
	return parts[0] != "auth" || len(parts) > 1 && isSecretName(strings.Join(parts[1:], "_"))
}

// splitName splits a name into its words, in lower case: API_KEY, api-key and apiKey all
// become api and key.
func splitName(name string) []string {
	parts := make([]string, 0, 4)
	start := 0
	flush := func(end int) {
		if end > start {
			parts = append(parts, strings.ToLower(name[start:end]))
		}
	}
	for i := range len(name) {
		c := name[i]
		switch {
		case !isWord(c) || c == '_':
			flush(i)
			start = i + 1
		case i > start && c >= 'A' && c <= 'Z' && name[i-1] >= 'a' && name[i-1] <= 'z':
			flush(i)
			start = i
		}
	}
	flush(len(name))
	return parts
}

// isRandomKey reports whether a name is that of some key and the value at s[v] is as random
// as one: letters and digits alternate, and it is no hash.
func isRandomKey(s string, v int, name string) bool {
	parts := trimVariant(splitName(name))
	if len(parts) < 2 || parts[len(parts)-1] != "key" {
		return false
	}
	from, to := valueAt(s[:min(len(s), v+maxLook)], skipOpening(s, v))
	if from >= to {
		return false
	}
	word := s[from:to]
	least := 20
	if equalFold(name[:2], "x-") { // a header
		least = 12
	}
	return len(word) >= least && endOfRun(word, 0, "w-=+/") == len(word) && endOfRun(word, 0, "x") < len(word) && (isMixedCase(word) || countAlternations(word)*4 >= len(word)) && !isUUID(word)
}
