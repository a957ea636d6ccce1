package redact

import (
	"encoding/base64"
	"strings"
	"testing"
)

// django is a key as Django makes them: any of fifty characters.
const django = "k3#v9(z&x1^b)m@7+q!w=e5*r$t_y-u8i2o4p6a0s%d^f&g#h(j"

// What settings, programs and command lines look like that hold a secret, each
// with what must be left of it.
func TestAssignments(t *testing.T) {
	b64 := base64.StdEncoding.EncodeToString
	bot := base64.RawStdEncoding.EncodeToString([]byte("112233445566778899")) + "." + "GhIjKl" + "." + abc
	hex64 := strings.Repeat("0123456789abcdef", 4)
	for text, want := range map[string]string{
		"the bot's is " + bot + " there":                                                    "the bot's is [redacted] there",
		"Authorization: Bot " + bot:                                                         "Authorization: Bot [redacted]",
		`cfg['SECRET_KEY'] = 'a1b2c3d4e5'`:                                                  `cfg['SECRET_KEY'] = '[redacted]'`,
		`os.environ["API_KEY"] = "a1b2c3d4e5"`:                                              `os.environ["API_KEY"] = "[redacted]"`,
		`process.env["API_KEY"]="a1b2c3d4e5"`:                                               `process.env["API_KEY"]="[redacted]"`,
		`$config['password'] = 's3cr3t';`:                                                   `$config['password'] = '[redacted]';`,
		"SECRET_KEY = '" + django + "'":                                                     "SECRET_KEY = '[redacted]'",
		"SECRET_KEY = 'django-insecure-" + django + "'":                                     "SECRET_KEY = '[redacted]'",
		"SECRET_KEY = '$" + django + "'":                                                    "SECRET_KEY = '[redacted]'",
		`const API_KEY: &str = "a1b2c3d4e5";`:                                               `const API_KEY: &str = "[redacted]";`,
		`static API_KEY: &'static str = "a1b2c3d4e5";`:                                      `static API_KEY: &'static str = "[redacted]";`,
		"ENV API_KEY a1b2c3d4e5\nRUN x":                                                     "ENV API_KEY [redacted]\nRUN x",
		"ENV DB_PASSWORD hunter":                                                            "ENV DB_PASSWORD [redacted]",
		"API_KEY_PROD=a1b2c3d4e5":                                                           "API_KEY_PROD=[redacted]",
		"OPENAI_API_KEY2=a1b2c3d4e5":                                                        "OPENAI_API_KEY2=[redacted]",
		"DB_PASSWORD_OLD=s3cr3t":                                                            "DB_PASSWORD_OLD=[redacted]",
		"JWT_SIGNING_KEY_V2=a1b2c3d4e5":                                                     "JWT_SIGNING_KEY_V2=[redacted]",
		"DB_PASSWORD=%Xk9vQ2mLp7RtZ4":                                                       "DB_PASSWORD=[redacted]",
		"DB_PASSWORD=$Xk9vQ2mLp7RtZ4":                                                       "DB_PASSWORD=[redacted]",
		"DB_PASSWORD=$DB_PASSWORD_FILE":                                                     "DB_PASSWORD=$DB_PASSWORD_FILE",
		"password=%APPDATA%":                                                                "password=%APPDATA%",
		"aws_secret_access_key = /Xk9vQ2mLp7RtZ4bN8sWc3Yd6Fh1Jg5Ka0Ue7Io9":                  "aws_secret_access_key = [redacted]",
		"secret_key = /home/user/Projects/App2/keys/Server1.pem":                            "secret_key = /home/user/Projects/App2/keys/Server1.pem",
		"set -x API_KEY a1b2c3d4e5":                                                         "set -x API_KEY [redacted]",
		"set -gx API_KEY 'word'":                                                            "set -gx API_KEY '[redacted]'",
		"set -Ux API_KEY word; and x":                                                       "set -Ux API_KEY [redacted]; and x",
		"setenv API_KEY a1b2c3d4e5":                                                         "setenv API_KEY [redacted]",
		`setx API_KEY "a1b2c3d4e5" /M`:                                                      `setx API_KEY "[redacted]" /M`,
		"aws configure set aws_secret_access_key wJalrX7/K7MDENG":                           "aws configure set aws_secret_access_key [redacted]",
		"aws configure set profile.x.aws_session_token wJalrX7/K7MDENG":                     "aws configure set profile.x.aws_session_token [redacted]",
		"npm config set //registry.example.org/:_authToken a1b2c3d4e5":                      "npm config set //registry.example.org/:_authToken [redacted]",
		"gh secret set API_KEY --body word":                                                 "gh secret set API_KEY --body [redacted]",
		"gh secret set API_KEY -b 'a word'":                                                 "gh secret set API_KEY -b '[redacted]'",
		"gh secret set API_KEY --repo me/x --body=a1b2c3d4e5":                               "gh secret set API_KEY --repo me/x --body=[redacted]",
		"ALTER USER me WITH PASSWORD 'word';":                                               "ALTER USER me WITH PASSWORD '[redacted]';",
		"create role me login password 'word'":                                              "create role me login password '[redacted]'",
		"CREATE USER 'me'@'%' IDENTIFIED BY 'word';":                                        "CREATE USER 'me'@'%' IDENTIFIED BY '[redacted]';",
		"IDENTIFIED WITH caching_sha2_password BY 'word'":                                   "IDENTIFIED WITH caching_sha2_password BY '[redacted]'",
		"machine h login me password word":                                                  "machine h login me password [redacted]",
		"machine h\n  login me\n  password word\nmachine":                                   "machine h\n  login me\n  password [redacted]\nmachine",
		"default login me password word":                                                    "default login me password [redacted]",
		"localhost:5432:db:me:word":                                                         "localhost:5432:db:me:[redacted]",
		"*:*:*:me:word\n":                                                                   "*:*:*:me:[redacted]\n",
		"db.example.org:15432:*:me:s3cr3t":                                                  "db.example.org:15432:*:me:[redacted]",
		`{"auths":{"r.example.org":{"auth":"` + b64([]byte("me:word")) + `"}}}`:             `{"auths":{"r.example.org":{"auth":"[redacted]"}}}`,
		"_auth=" + b64([]byte("me:word")):                                                   "_auth=[redacted]",
		`"//registry.example.org/:_authToken" a1b2c3d4e5`:                                   `"//registry.example.org/:_authToken" [redacted]`,
		"_authToken a1b2c3d4e5":                                                             "_authToken [redacted]",
		"Server=h;Uid=me;Pwd=word;":                                                         "Server=h;Uid=me;Pwd=[redacted];",
		"Server=h;User Id=me;Password=word;":                                                "Server=h;User Id=me;Password=[redacted];",
		"pwd=s3cr3t":                                                                        "pwd=[redacted]",
		"Pwd=s3cr3t":                                                                        "Pwd=[redacted]",
		"pw: s3cr3t":                                                                        "pw: [redacted]",
		"pass: hunter2":                                                                     "pass: [redacted]",
		`"pass": "hunter2"`:                                                                 `"pass": "[redacted]"`,
		"root:word@tcp(127.0.0.1:3306)/db":                                                  "root:[redacted]@tcp(127.0.0.1:3306)/db",
		`dsn := "me:p@ss:w@unix(/tmp/s)/db"`:                                                `dsn := "me:[redacted]@unix(/tmp/s)/db"`,
		"API key: a1b2c3d4e5":                                                               "API key: [redacted]",
		"**API Key:** `a1b2c3d4e5`":                                                         "**API Key:** `[redacted]`",
		"secret key = a1b2c3d4e5":                                                           "secret key = [redacted]",
		"https://x/?auth=a1b2c3d4e5f6a7b8&y=1":                                              "https://x/?auth=[redacted]&y=1",
		"https://x/?y=1&key=" + abc:                                                         "https://x/?y=1&key=[redacted]",
		"https://x/cb?code=4/0A" + abc:                                                      "https://x/cb?code=[redacted]",
		"Proxy-Authorization: Basic dXNlcjpwYXNz":                                           "Proxy-Authorization: Basic [redacted]",
		"Ocp-Apim-Subscription-Key: 0123456789abcdef":                                       "Ocp-Apim-Subscription-Key: [redacted]",
		"https://o.webhook.office.com/webhookb2/" + hex64 + "@1/x":                          "https://o.webhook.office.com/webhookb2/[redacted]",
		"https://outlook.office.com/webhook/" + hex64 + "@1/IncomingWebhook":                "https://outlook.office.com/webhook/[redacted]",
		`document.cookie = "sid=a1b2c3d4e5f6; theme=dark"`:                                  `document.cookie = "[redacted]"`,
		`"cookie": "sid=a1b2c3d4e5f6"`:                                                      `"cookie": "[redacted]"`,
		"curl -b 'sid=a1b2c3d4e5f6' https://x/":                                             "curl -b '[redacted]' https://x/",
		"curl --cookie sid=a1b2c3d4e5f6 https://x/":                                         "curl --cookie [redacted] https://x/",
		"JSESSIONID=0A1B2C3D4E5F60718293A4B5C6D7E8F9; x":                                    "JSESSIONID=[redacted]; x",
		"connect.sid=s%3A" + abc:                                                            "connect.sid=[redacted]",
		"Private-Lines: 2\n" + abc + abc + "\n" + abc + "=\nPrivate-MAC: x":                 "Private-Lines: 2\n[redacted]\nPrivate-MAC: x",
		"    client-key-data: LS0tLS1CRUdJTiBSU0E1234=":                                     "    client-key-data: [redacted]",
		"Private Keys\n====\n(0) 0x" + hex64:                                                "Private Keys\n====\n(0) [redacted]",
		"Private Key: 0x" + hex64:                                                           "Private Key: [redacted]",
		"the private key (hex) is 0x" + hex64 + ".":                                         "the private key (hex) is [redacted].",
		"me:$2b$12$" + abc + abc[:21]:                                                       "me:[redacted]",
		"me:$6$salt$" + abc + abc + abc[:22] + ":19000:0":                                   "me:[redacted]:19000:0",
		"x $argon2id$v=19$m=65536,t=3,p=4$c2FsdHNhbHQ$" + abc:                               "x [redacted]",
		"pbkdf2_sha256$260000$salt$" + abc + "=":                                            "[redacted]",
		"password:\n  s3cr3t-thing\nnext":                                                   "password:\n  [redacted]\nnext",
		"password: |-\n  s3cr3t-thing\n  m0re-s3cr3t9\nnext: 1":                             "password: |-\n  [redacted]\nnext: 1",
		"  api_key: &a |\n    a1b2c3d4e5\n    f6a7b8c9d0\n  next: 1":                        "  api_key: &a |\n    [redacted]\n  next: 1",
		"password: |-\n  s3cr3t-thing\n  more of it\n":                                      "password: |-\n  [redacted]\n  more of it\n",
		"API key:\n\n`a1b2c3d4e5`\n":                                                        "API key:\n\n`[redacted]`\n",
		join("gh", "p_aB3dE6gH9jK2mN5p\nQ8sT1vW4yZ7bC0dF and"):                              "[redacted] and",
		join("gh", "p_", abc, "\n  x9\nand"):                                                "[redacted]\nand",
		join("sk-", "ant-api03-", abc, "\\\n", abc, "\nand"):                                "[redacted]\nand",
		join("ey", "JhbGciOiJIUzI1NiJ9.", "ey", "JzdWIiOiIxMjM0In0.", abc, "\n", abc, "\n"): "[redacted]\n",
	} {
		if got := Text(text, nil); got != want {
			t.Errorf("%q becomes\n%q, want\n%q", text, got, want)
		}
		if got := Text(want, nil); got != want {
			t.Errorf("a second time %q becomes %q", want, got)
		}
	}
}

// What only looks like one of those stays.
func TestNoAssignments(t *testing.T) {
	hex64 := strings.Repeat("0123456789abcdef", 4)
	for _, text := range []string{
		"lib/MTEyMjMz.GhIjKl.go", "a.b.c", "version 1.GhIjKl." + abc, "foo.method.another_long_name_of_a_function_here",
		`cfg['SECRET_KEY'] = load('x1')`, `os.environ["API_KEY"] == other`, `cfg["KEY"] = "a1b2c3d4e5"`, `x["token"] = next_token()`,
		"SECRET_KEY = '{{ secret_key }}'", `SECRET_KEY: "${SECRET_KEY:-0123}"`, `secret_key = "%(SECRET_KEY)s"`,
		`const NAME: &str = "a1b2c3d4e5";`, "fn token(s: &str) -> u8",
		"ENV PATH /usr/bin:/bin", "ENV SECRET_KEY is not set here", "ENV NODE_VERSION 20.1.0", "ENV API_KEY $OTHER",
		"set -x\nAPI_KEY first", "set -e", "set the token abc12345", "set API_KEY first", "set -gx PATH $PATH", "set -gx EDITOR vim", "set API_KEY to your key",
		"aws configure set region eu-west-1", "aws configure set output json2", "git config set user.name max1", "set key a1b2c3d4e5",
		"gh issue create --body 'a text with 12 words'", "gh secret set API_KEY", "gh secret set API_KEY < file1", "curl -b jar1.txt https://x/", "gh secret list; x -b word1",
		"the password 'reset' link", "Password 'hint' is shown", "the PASSWORD function", "identified by its name 'x1'.", "was identified; by 'max12'",
		"login and password fields", "login with password auth", "machine learning and password managers1", "the default password policy1",
		"main.go:5432: cannot read", "file.c:1234:56:error:unused", "a:5432:b:c", "http://h:5432/db:x:y", "2026:11:22:03:50", "::1:5432", "root:*:20228:0:99999:7:::", "localhost:5432:db:me:${PW}",
		"2601:645:8002:a500:986f:1db8:c836:bd65", "0011:2233:4455:6677:8899:aabb:ccdd:eeff", "fe80:0000:0000:0000:0000:0000:0000:0002%lo0",
		"machine string\nlogin string\npassword string", `identified as "in a system call" by x`, "dec.tokenState = dec.tokenStack[len(dec.tokenStack)-1]",
		`"auth": "basic"`, `"auth": "required1"`, `auth = "dXNlcm5hbWU="`, "auth: oauth2", "_auth = 12345678",
		"PWD=/home/x/work", "pwd=/home/x1", "--- PASS: TestSha2 (0.00s)", "PASS: TestSha2", "pass: test12", "pass=3 fail=0", "pw: see 1Password", "pass: 12 of 14", "bypass: a1b2c3d4",
		"max@tcp(1)", "connect@tcp(x:1)", "://x@tcp(h)", "u:$PW@tcp(h)/db",
		"Key: a1b2c3d4e5", "primary key: a1b2c3d4e5", "the key: value1234", "API key: see below", "API key: required", "sort key = a1b2c3d4e5",
		"https://x/?key=color2024", "https://x/?code=12345678", "https://x/?auth=basic", "?key=11111111-2222-4333-8444-555555555555", "foo(key=" + abc + ")",
		"Proxy-Authorization: required", "proxy-authenticate: Basic", "Subscription-Key: none",
		`document.cookie = ""`, `cookie = "theme=dark"`, `"cookie": "a=b"`, "cookie: accepted", "cookie(name=value)", "sessionId=11111111-2222-4333-8444-555555555555", `"sessionid": "11111111-2222-4333-8444-555555555555"`,
		"Private-Lines: many", "client-key-data is base64", "client_key: /etc/x1", "Public-Lines: 6\n" + abc,
		"tx 0x" + hex64, "Private keys are not shown. Transaction hash: 0x" + hex64, "0x" + hex64[:40] + " private key",
		"costs $2 and $6 a month", "$1$", "awk '{print $1$2}'", "{SSHA} is a scheme", "argon2id$v", "$2b is no variable", "scrypt: a function",
		"password:\n  user: x1y2z3", "password:\n- a1b2c3d4", "password:\n  required by 12 users", "token:\n\n\n\na1b2c3d4e5", "Tokens:\n  a1b2c3d4e5", "The password:\nHello there",
		join("gh", "p_\nThisIsTheNameOfAFunction1"), join("gh", "p_abcd\nand then it goes on for long"), "sk-learn\nand-more-of-it-2026",
		"the-sk-learn-release-notes-of-2026-and-more", "task_sk-my-long-branch-name-without-any", "node_modules/s.min.js", "my_pat_is_a_long_name_of_a_thing",
	} {
		if got := Text(text, nil); got != text {
			t.Errorf("%q becomes %q", text, got)
		}
	}
}

// kinds returns a token of every shape and of every other form that needs no context.
func kinds() []string {
	var all []string
	for _, sh := range shapes {
		n := max(sh.min, 40)
		if sh.max > 0 {
			n = sh.max
		}
		body := strings.Repeat(abc[:31]+"9", 10)
		switch sh.chars[0] {
		case 'U':
			body = strings.ToUpper(body)
		case 'x':
			body = strings.Repeat("1a9f07b", 100)
		}
		all = append(all, sh.prefix+body[:n])
	}
	return append(all,
		join("ey", "JhbGciOiJIUzI1NiJ9.", "ey", "JzdWIiOiIxMjM0In0.", abc),
		join("abc8", "Q~", abc), join(abc[:14], ".atlas", "v1.", abc, abc), join("0123456789abcdef0123456789abcdef", "-us12"),
		join("123456789:A", "A", abc, "a"), join("1234567890123456|", abc[:27]),
		base64.RawStdEncoding.EncodeToString([]byte("112233445566778899"))+".GhIjKl."+abc,
		join(abc, "1234", "_mmk"),
	)
}

// worth is how much of a token may be left: less than what is any use.
const worth = 10

func kept(clean, token string) string {
	for _, sh := range shapes { // the public part of a URL stays
		if sh.how&tail != 0 {
			token = strings.TrimPrefix(token, sh.prefix)
		}
	}
	for i := 0; i+worth <= len(token); i++ {
		if part := token[i : i+worth]; strings.Contains(clean, part) {
			return part
		}
	}
	return ""
}

// Every kind of token is found in every wrapping: next to other characters, and with
// invisible ones inside.
func TestFormsTimesWrappings(t *testing.T) {
	wrappings := []string{
		"%", "a %\n", "x=%", `"%"`, "(%)", "a\n%\nb", "é%é", "日本%語",
		"\x1b[32m%\x1b[0m", "\x1b[1;31m\x1b[K%\x1b[m\x1b[K", "\x1b[%", "\x1b%", "\u009b32m%", "\x9b32m%", "\x1b]0;%\x07", "\x1b]8;;x\x1b\\%\x1b]8;;\x1b\\",
		"x\x00%", "x\x07%\x07", "x\b%", "\x7f%\x7f", "\xff%\xff", "\uFFFD[32m%",
		"x\u200b%\u200b", "\ufeff%", "x\u202e%\u202c", "\U000E0041%\U000E007F", "x\u00ad%", "\u2028%\u2029",
		"k%3D%", "k%253D%", `k\u003d%`, `k\\u003d%`, "k=3D%", `k\x3d%`, `k\033[32m%`, `\u001b[32m%\u001b[0m`, `\x1b[1m%\x1b[0m`, `a\n%\n`, `a\t%`, `\e[31m%`, "[32m%[0m", "^[[32m%^[[0m",
		"&#61;%", "&#x3d;%&amp;", "x-%", "X_%", "a/%", "a.%", "a:%", "a,%;", "<%>", "[%]", "{%}", "|%|", "~%", "#%", "@%", "+%", "*%*", "$%", "`%`", "…%…", "→%",
	}
	inside := []string{"\u200b", "\u200d", "\u2060", "\u00ad", "\ufeff", "\u034f", "\U000E0041", "\ufe0f", "\U000E0100", "\u115f", "\u3164", "\u2062", "\ufff9", "\u202e", "\x00", "\x7f", "\b", "\x1b[31m", "\x1b[0m\x1b[K", "\u009b1m", "\x1b]0;x\x07", "\xff", "\uFFFD",
		`\u001b[31m`, `\x1b[0m`, `\033[1;32m`, `\e[0m`, "^[[0m", "%1B[0m", `\u200b`, "&#8203;"}
	for _, token := range kinds() {
		for _, w := range wrappings {
			if isDigit(token[0]) && (strings.HasSuffix(w, "[%") || strings.Contains(w, "[K%")) {
				continue // a terminal takes its front for the end of the sequence, and K00 begins a token
			}
			text := w[:strings.LastIndex(w, "%")] + token + w[strings.LastIndex(w, "%")+1:]
			if strings.Count(w, "%") == 1 {
				text = strings.Replace(w, "%", token, 1)
			}
			clean := Text(text, nil)
			if part := kept(clean, token); part != "" {
				t.Errorf("%q in %q leaves %q", token, w, clean)
			}
			if again := Text(clean, nil); again != clean {
				t.Errorf("%q becomes %q", clean, again)
			}
		}
		for _, hidden := range inside {
			if isDigit(token[0]) && strings.HasSuffix(hidden, "[K") {
				continue // as above
			}
			for _, at := range []int{1, len(token) / 4, len(token) / 2, len(token) - 1} {
				text := "a " + token[:at] + hidden + token[at:] + " b"
				if part := kept(Text(text, nil), token); part != "" {
					t.Errorf("%q at %d of %q leaves %q", hidden, at, token, part)
				}
			}
			text := "a " + strings.Join(strings.Split(token, ""), hidden) + " b"
			if part := kept(strings.ReplaceAll(Text(text, nil), hidden, ""), token); part != "" {
				t.Errorf("%q between all of %q leaves %q", hidden, token, part)
			}
		}
	}
}

// A value of the environment is found whatever stands in it.
func TestHiddenValues(t *testing.T) {
	environ := []string{"MY_API_KEY=plain-value", "ODD_SECRET=with\x1b[31mcolour-and\u200bmore"}
	for _, text := range []string{
		"a plain\u200b-value b", "a \x1b[32mplain-\x1b[0mvalue b", "pl\U000E0041ain-v\x00alue", "x with\x1b[31mcolour-and\u200bmore", "withcolour-andmore",
	} {
		if got := Text(text, environ); !strings.Contains(got, Mark) || strings.Contains(got, "value") || strings.Contains(got, "more") {
			t.Errorf("%q becomes %q", text, got)
		}
	}
}

// A text without a secret is data, and stays what it was.
func TestDataStays(t *testing.T) {
	for _, text := range []string{"\x1b[31mred\x1b[0m", "a\u200bb", "\xff\xfe", "a\r\nb", "/tmp/\x1b]0;x\x07\u202e", "می\u200cخواهم"} {
		if got := Text(text, []string{"A_TOKEN=plain-value"}); got != text {
			t.Errorf("%q becomes %q", text, got)
		}
	}
}
