package redact

import "strings"

// Settings named by the word for a password in another language, in its own script or with
// accents. Words in plain letters are in secretName.

// foreign are these words. Some are also forms of verbs, so the value must look like a
// secret.
var foreign = [...]string{
	"mot de passe", "contraseña", "palavra passe", "palavra-passe",
	"hasło", "lösenord", "jelszó", "şifre", "slaptažodis", "mật khẩu", "lykilorð",
	"пароль", "лозинка", "парола", "κωδικός", "συνθηματικό", "סיסמה", "סיסמא", "كلمة المرور", "كلمة السر", "گذرواژه", "رمز عبور",
	"पासवर्ड", "পাসওয়ার্ড", "รหัสผ่าน",
	"密码", "密碼", "口令", "パスワード", "暗証番号", "비밀번호", "암호", "密钥", "秘钥", "令牌", "トークン", "토큰", "токен", "ключ api",
}

// isForeign reports whether one of these words ends at s[n].
func (sc *scanner) isForeign(n int) bool {
	const longest = 32
	before := sc.s[max(sc.done, n-longest):max(n, sc.done)]
	plain := !strings.HasSuffix(before, "passe")
	for i := len(before) - 1; plain && i >= 0 && i > len(before)-12; i-- {
		plain = before[i] < 0x80
	}
	if plain {
		return false // a cheap check, because every colon calls this
	}
	before = strings.ToLower(before)
	for _, word := range foreign {
		if strings.HasSuffix(before, word) {
			return true
		}
	}
	return false
}

// wide begins the Chinese and Japanese colon and equals sign.
const wide = "\uff1a"

// wideSetting finds the value of a setting whose name ends with such a sign, at s[i].
func (sc *scanner) wideSetting(i int) (from, to int) {
	s := sc.s
	if !strings.HasPrefix(s[i:], wide) && !strings.HasPrefix(s[i:], "\uff1d") {
		return 0, 0
	}
	n := sc.unquote(i)
	name := sc.nameBefore(n)
	if name == "" || !sureName(name) {
		if name = "password"; !sc.isForeign(n) {
			return 0, 0
		}
	}
	return likelyValue(s, blanks(s, i+len(wide)), name)
}
