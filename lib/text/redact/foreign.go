package redact

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Settings named by the word for a password in another language, in its own script or with
// accents. Words in plain letters are in isSecretName.

// foreign are these words. Some are also forms of verbs, so the value must look like a
// secret.
var foreign = []string{
	"mot de passe", "contraseña", "palavra passe", "palavra-passe",
	"hasło", "lösenord", "jelszó", "şifre", "slaptažodis", "mật khẩu", "lykilorð",
	"пароль", "лозинка", "парола", "κωδικός", "συνθηματικό", "סיסמה", "סיסמא", "كلمة المرور", "كلمة السر", "گذرواژه", "رمز عبور",
	"पासवर्ड", "পাসওয়ার্ড", "รหัสผ่าน",
	"密码", "密碼", "口令", "パスワード", "暗証番号", "비밀번호", "암호", "密钥", "秘钥", "令牌", "トークン", "토큰", "токен", "ключ api",
}

// isForeign reports whether a word for a password or token in another language (see foreign) ends at
// s[n].
func (sc *scanner) isForeign(n int) bool {
	const longest = 32 // bytes of a word
	before := sc.s[max(sc.done, n-longest):max(n, sc.done)]
	plain := !strings.HasSuffix(before, "passe") // each other word has a letter beyond ASCII in its last 11 bytes
	for i := len(before) - 1; plain && i >= 0 && i > len(before)-12; i-- {
		plain = before[i] < 0x80
	}
	if plain {
		return false // a cheap check, because every colon calls this
	}
	before = strings.ToLower(before)
	return slices.ContainsFunc(foreign, func(word string) bool { return strings.HasSuffix(before, word) })
}

// wide is the Chinese and Japanese colon. Their equals sign is as long, and begins like it.
const wide = "\uff1a"

// findWideSetting finds the value of a setting with such a colon or equals sign, at s[i].
func (sc *scanner) findWideSetting(i int) (from, to int) {
	s := sc.s
	if !strings.HasPrefix(s[i:], wide) && !strings.HasPrefix(s[i:], "\uff1d") {
		return 0, 0
	}
	n := sc.skipQuotesBack(i)
	name := sc.nameBefore(n)
	if name == "" || !isSureName(name) {
		if name = "password"; !sc.isForeign(n) {
			return 0, 0
		}
	}
	return likelySecret(s, skipBlanks(s, i+len(wide)), name)
}

// wallets are the labels of a wallet's words, in the languages that have a list of such words, as
// bareLabel returns them. A phrase or a seed of something else is none.
var wallets = []string{
	"seed phrase", "seed words", "seed mnemonic", "recovery phrase", "recovery words", "recovery seed", "recovery mnemonic", "backup phrase", "secret phrase", "wallet phrase",
	"mnemonic", "mnemonic phrase", "mnemonic words", "mnemonic seed", "mnemonic code", "bip", "bip39 phrase", "bip39 words", "bip 39 phrase", "bip39 seed", "shamir backup words", "shamir words",
	"phrase de récupération", "phrase de recuperation", "phrase mnémonique", "phrase mnemonique", "phrase secrète", "phrase secrete", "phrase seed",
	"frase semilla", "frase de semilla", "frase de recuperación", "frase de recuperacion", "frase mnemotécnica", "frase mnemónica", "frase mnemotecnica", "frase secreta", "frase seed",
	"frase di recupero", "frase mnemonica", "frase segreta", "frase seme", "frase semente", "frase de recuperação", "frase de recuperacao", "frase mnemônica", "seed fráze",
	"シード", "シードフレーズ", "シード フレーズ", "リカバリーフレーズ", "リカバリー フレーズ", "リカバリフレーズ", "復元フレーズ", "バックアップフレーズ", "ニーモニック", "ニーモニックフレーズ",
	"助记词", "助記詞", "恢复短语", "恢復短語", "助记短语", "种子短语", "私密恢复短语", "시드 구문", "시드구문", "시드 문구", "복구 구문", "복구 문구", "니모닉", "니모닉 구문",
	"сид фраза", "seed фраза", "мнемоническая фраза", "секретная фраза", "мнемоника", "фраза восстановления",
}

// findForeignWallet finds a wallet's words behind the sign at s[i] and a label that ends in another
// script than the Latin one. findByWord finds the other labels.
func (sc *scanner) findForeignWallet(i int) (from, to int) {
	n := sc.skipQuotesBack(i)
	if n == sc.done || sc.s[n-1] < 0x80 {
		return 0, 0
	}
	return sc.findForeignWords(n, n)
}

// bareLabel returns the words of a label in small letters: seed phrase for "SEED_PHRASE_2",
// seedPhrase and Seed phrase (12 words). numbered reports whether a number was behind them.
func bareLabel(s string) (label string, numbered bool) {
	s = strings.TrimRight(s, " \"'`*_")
	s = s[strings.LastIndexAny(s, "\n\"'`{,;")+1:]
	if open := strings.LastIndexByte(s, '('); open >= 0 && strings.HasSuffix(s, ")") {
		s = s[:open]
	}
	var b strings.Builder
	lower := false
	for _, r := range s {
		switch {
		case unicode.IsUpper(r) && lower:
			b.WriteByte(' ')
		case !unicode.IsLetter(r) && !unicode.IsMark(r) && !unicode.IsDigit(r):
			r = ' '
		}
		b.WriteRune(unicode.ToLower(r))
		lower = unicode.IsLower(r)
	}
	words := strings.Fields(b.String())
	for n := len(words) - 1; n >= 0; n-- {
		bare := strings.TrimRight(words[n], "0123456789")
		numbered = numbered || bare != words[n]
		if bare != "" && bare != "of" && bare != "is" {
			words[n] = bare
			return strings.Join(words[:n+1], " "), numbered
		}
	}
	return "", false
}

// endsWith reports whether words ends with the whole words of end. Other scripts than the Latin
// one have no blanks between them.
func endsWith(words, end string) bool {
	before, ok := strings.CutSuffix(words, end)
	return ok && (before == "" || before[len(before)-1] == ' ' || end[0] >= 0x80)
}

// findForeignWords finds a wallet's words that are none of BIP39's English ones, behind a label whose
// first word ends at s[end]. It takes only a number of words that wallets have (12 to 33), alone on
// the rest of their line, each of at most 12 letters, and none as short as "of" in ASCII.
func (sc *scanner) findForeignWords(_, end int) (from, to int) {
	s := sc.s
	sign := strings.IndexAny(s[end:min(len(s), end+maxName/2)], ":=：\n")
	if sign < 0 || s[end+sign] == '\n' {
		return 0, 0
	}
	label, numbered := bareLabel(s[max(sc.done, end-maxName) : end+sign])
	isShare := endsWith(label, "share") && (numbered || endsWith(label, "slip39 share") || endsWith(label, "39 share") || endsWith(label, "shamir share") || endsWith(label, "recovery share") || endsWith(label, "backup share"))
	isWallet := slices.ContainsFunc(wallets, func(end string) bool { return endsWith(label, end) })
	if !isWallet && !isShare && !endsWith(label, "seed") {
		return 0, 0
	}
	_, size := utf8.DecodeRuneInString(s[end+sign:])
	from = skipBlanks(s, end+sign+size)
	if from < len(s) && strings.IndexByte("\"'`", s[from]) >= 0 {
		from++
	}
	words, plain := 0, true
	for to = from; to < len(s); {
		letters := 0
		start := to
		for to < len(s) && letters < 13 {
			r, size := utf8.DecodeRuneInString(s[to:])
			if !unicode.IsLetter(r) && !unicode.IsMark(r) || unicode.IsUpper(r) {
				break
			}
			plain = plain && r < 0x80
			letters, to = letters+1, to+size
		}
		if letters == 0 || letters == 13 || letters < 3 && s[start] < 0x80 || words == 33 {
			return 0, 0
		}
		words++
		space := to
		for space < len(s) && (s[space] == ' ' || strings.HasPrefix(s[space:], "\u3000")) {
			if s[space] != ' ' {
				space += 2
			}
			space++
		}
		if space == to || space == len(s) || strings.IndexByte("\r\n\"'`<\\", s[space]) >= 0 {
			break
		}
		to = space
	}
	if to < len(s) && strings.IndexByte(" \r\n\"'`<\\", s[to]) < 0 {
		return 0, 0
	}
	switch words {
	case 20, 25, 33: // of SLIP-39 and Monero
	case 12, 13, 15, 18, 21, 24:
		if plain && !isWallet { // behind seed or share, it can be a sentence
			return 0, 0
		}
	default:
		return 0, 0
	}
	return from, to
}
