package redact

import (
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"gt/internal/testenv"
)

// join keeps this file free of anything that looks like a real token.
func join(parts ...string) string { return strings.Join(parts, "") }

const abc = "aB3dE6gH9jK2mN5pQ8sT1vW4yZ7bC0dF"

func TestShapes(t *testing.T) {
	for _, secret := range []string{
		join("sk-", "ant-api03-", abc, "-", abc, "AA"),
		join("sk-", "ant-fake-0000000000000000"),
		join("sk-", "proj-", abc, "_", abc),
		join("sk-", abc),
		join("gh", "p_", abc, "1234"), join("gh", "o_", abc), join("gh", "u_", abc), join("gh", "s_", abc), join("gh", "r_", abc),
		join("github", "_pat_", abc, "_", abc),
		join("gl", "pat-", abc[:20]),
		join("xox", "b-1234567890-", abc), join("xox", "p-", abc), join("xox", "a-", abc), join("xox", "r-", abc), join("xox", "s-", abc),
		join("AK", "IAIOSFODNN7EXAMPLE"), join("AS", "IAIOSFODNN7EXAMPLE"),
		join("AI", "za", abc, "abc"),
		join("ya", "29.", abc), join("h", "f_", abc, "ab"), join("np", "m_", abc, "abcd"),
		join("py", "pi-", abc, abc), join("dop", "_v1_", abc, abc),
		join("SG", ".", abc[:22], ".", abc, "abcdefghijk"),
		join("sk", "_live_", abc), join("rk", "_live_", abc),
		join("ey", "JhbGciOiJIUzI1NiJ9.", "ey", "JzdWIiOiIxMjM0In0.", abc),
	} {
		for _, around := range []string{"%", "use %, then go on", "(%)", "a=%", `{"t":"%"}`, "'%'\n", `x\n%\n`, "%.", "-%\n+%\n", "- %"} {
			text := strings.ReplaceAll(around, "%", secret)
			want := strings.ReplaceAll(around, "%", Mark)
			if got := Text(text, nil); got != want {
				t.Errorf("%q becomes %q, want %q", text, got, want)
			}
		}
	}
}

func TestForms(t *testing.T) {
	key := join("-----BEGIN ", "RSA PRIVATE KEY-----\n", abc, "\n", abc, "==\n-----END ", "RSA PRIVATE KEY-----")
	for text, want := range map[string]string{
		"before\n" + key + "\nafter":                  "before\n[redacted]\nafter",
		strings.ReplaceAll("x "+key+" y", "\n", `\n`): "x [redacted] y",
		key[:70] + "\n\nand more, cut":                "[redacted]\n\nand more, cut",
		join("-----BEGIN ", "RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES\n\n", abc, "\n"): "[redacted]\n",

		"psql postgres://me:hunter2@db:5432/x":    "psql postgres://me:[redacted]@db:5432/x",
		"https://u:p@ss@example.org/":             "https://u:[redacted]@example.org/",
		"https://" + abc + "@example.org/r.git":   "https://[redacted]@example.org/r.git",
		"https://u:$PASSWORD@example.org":         "https://u:$PASSWORD@example.org",
		`curl -H "Authorization: Bearer abc123"`:  `curl -H "Authorization: Bearer [redacted]"`,
		`{"authorization":"Basic dXNlcjpwYXNz"}`:  `{"authorization":"Basic [redacted]"}`,
		"authorization: " + abc:                   "authorization: [redacted]",
		"send Bearer " + abc + " with it":         "send Bearer [redacted] with it",
		"DB_PASSWORD=hunter2 make test":           "DB_PASSWORD=[redacted] make test",
		"export API_KEY='a b c'\nX=1":             "export API_KEY='[redacted]'\nX=1",
		`CLIENT_SECRET="x y"`:                     `CLIENT_SECRET="[redacted]"`,
		`"TOKEN=abc\nNEXT=1"`:                     `"TOKEN=[redacted]\nNEXT=1"`,
		"MY_CREDENTIALS=a;b":                      "MY_CREDENTIALS=[redacted]",
		"TOKEN=abc; echo":                         "TOKEN=[redacted]; echo",
		"NPM_AUTH=xyz":                            "NPM_AUTH=[redacted]",
		"PGPASSWORD=postgres psql":                "PGPASSWORD=[redacted] psql",
		"password: s3cr3t-thing":                  "password: [redacted]",
		`{"apiKey": "a1b2c3d4e5"}`:                `{"apiKey": "[redacted]"}`,
		`{\"api_key\":\"a1b2c3d4e5\"}`:            `{\"api_key\":\"[redacted]\"}`,
		"aws_secret_access_key = wJalrX7/K7MDENG": "aws_secret_access_key = [redacted]",
		"//host/:_authToken=1a2b3c4d5e":           "//host/:_authToken=[redacted]",
		"run --token a1b2c3d4e5 now":              "run --token [redacted] now",
		"run --api-key=a1b2c3d4e5":                "run --api-key=[redacted]",
		"?access_token=a1b2c3d4e5&x=1":            "?access_token=[redacted]&x=1",

		// The ways in which settings are written.
		`String apiToken = "a1b2c3d4e5";`:                                           `String apiToken = "[redacted]";`,
		`var apiToken string = "a1b2c3d4e5"`:                                        `var apiToken string = "[redacted]"`,
		`apiToken: string = "a1b2c3d4e5"`:                                           `apiToken: string = "[redacted]"`,
		"apiToken := `a1b2c3d4e5`":                                                  "apiToken := `[redacted]`",
		`'apiToken' => 'a1b2c3d4e5',`:                                               `'apiToken' => '[redacted]',`,
		"API_TOKEN ?= a1b2c3d4e5":                                                   "API_TOKEN ?= [redacted]",
		"API_TOKEN :::= a1b2c3d4e5":                                                 "API_TOKEN :::= [redacted]",
		`os.Setenv("API_TOKEN", "a1b2c3d4e5")`:                                      `os.Setenv("API_TOKEN", "[redacted]")`,
		`{\"x\":[\"API_TOKEN\", \"a1b2c3d4e5\"]}`:                                   `{\"x\":[\"API_TOKEN\", \"[redacted]\"]}`,
		"<apiToken>\n  a1b2c3d4e5\n</apiToken>":                                     "<apiToken>\n  [redacted]\n</apiToken>",
		`<password>s3cret</password>`:                                               `<password>[redacted]</password>`,
		`<add key="ApiToken" value="a1b2c3d4e5"/>`:                                  `<add key="ApiToken" value="[redacted]"/>`,
		`{"name": "API_TOKEN", "value": "a1b2c3d4e5"}`:                              `{"name": "API_TOKEN", "value": "[redacted]"}`,
		"- name: API_TOKEN\n  value: a1b2c3d4e5\n":                                  "- name: API_TOKEN\n  value: [redacted]\n",
		"Server=db;Password=s3cret;Timeout=3":                                       "Server=db;Password=[redacted];Timeout=3",
		"DB_PASS=q y":                                                               "DB_PASS=[redacted] y",
		"password: s3cret":                                                          "password: [redacted]",
		"curl -s -u me:s3cr3t https://x/":                                           "curl -s -u me:[redacted] https://x/",
		`curl --user "me:two words" https://x/`:                                     `curl --user "me:[redacted]" https://x/`,
		`curl -H "Cookie: sid=abcdef; theme=dark" x`:                                `curl -H "Cookie: [redacted]" x`,
		"Set-Cookie: sid=abcdefgh; Path=/":                                          "Set-Cookie: [redacted]",
		"https://x/f?sig=a1b2c3d4e5%3D":                                             "https://x/f?sig=[redacted]",
		"https://x/f?a=1&X-Amz-Signature=0a1b2c3d4e5f":                              "https://x/f?a=1&X-Amz-Signature=[redacted]",
		join("https://hooks.slack", ".com/services/T01234567/B01234567/", abc[:24]): join("https://hooks.slack", ".com/services/[redacted]"),
		join("bot 123456789:A", "A", abc, "a"):                                      "bot [redacted]",
		join("abc8", "Q~", abc):                                                     "[redacted]",
		join(abc[:14], ".atlas", "v1.", abc, abc):                                   "[redacted]",
		join("0123456789abcdef0123456789abcdef", "-us12"):                           "[redacted]",
		join("ey", "JhbGciOiJIUzI1NiJ9.", "ey", "JzdWIiOiIxMjM0In0"):                "[redacted]",

		// What shows a file puts something before its lines.
		join("  1→-----BEGIN ", "PRIVATE KEY-----\n  2→", abc, "\n  3→", abc, "\nnext line"):  "  1→[redacted]\nnext line",
		join("+-----BEGIN ", "PRIVATE KEY-----\n+", abc, "\n+", abc, "\n-old line"):           "+[redacted]\n-old line",
		join("  k: |\n    -----BEGIN ", "PRIVATE KEY-----\n    ", abc, "\n    ", abc, "\n"):   "  k: |\n    [redacted]\n",
		join("the end:\n", abc, "\n", abc, "\nAb==\n-----END ", "RSA PRIVATE KEY-----\nnext"): "the end:\n[redacted]\nnext",
	} {
		if got := Text(text, nil); got != want {
			t.Errorf("%q becomes\n%q, want\n%q", text, got, want)
		}
		if got := Text(want, nil); got != want {
			t.Errorf("a second time %q becomes %q", want, got)
		}
	}
}

func TestValues(t *testing.T) {
	environ := []string{
		"MY_API_KEY=plain-value", `ODD_SECRET=a"b\c d/e&f<`, "PGPASSWORD=postgres", "SHORT_TOKEN=abc", "PATH=/usr/bin:/bin",
		"LONG_TOKEN=plain-value-and-more", "DB_PASSWORD=hunter2", "OTHER_PASSWORD=hunter", "CACHE=redis://me:in-the-url@h/1",
		"SENTRY_DSN=https://0123456789abcdef0123456789abcdef@o1.ingest.example.org/22", "DATABASE_DSN=root:in-the-dsn@tcp(h)/db", "MONGO_URL=mongodb://u:in-mongo-url@h",
		"MY_WEBHOOK_URL=https://hook.example.org/in/the/webhook/42", "PAT=a-personal-one", "GH_PAT=another-one", "AZURE_CREDENTIALS={\"x\":12}", "DB_CONNECTION_STRING=Server=h;Pwd=in-the-string1",
		"GOOGLE_APPLICATION_CREDENTIALS=/home/me/key.json", "HOMEPAGE_URL=https://example.org/a/long/path/to/it", "APP_CONFIG={\"password\":\"in-the-json1\"}",
		"GIT_ASKPASS=/usr/bin/askpass", "SSH_AUTH_SOCK=/tmp/ssh-x/agent.1", "AUTHOR=Jane Doe Jr", "MONKEY=banana-split", "EMPTY_KEY=",
	}
	for text, want := range map[string]string{
		"a plain-value here": "a [redacted] here",
		"hunter2 and a hunter with in-the-url, /usr/bin/askpass": "[redacted] and a hunter with [redacted], /usr/bin/askpass",
		"plain-value-and-more": "[redacted]",
		"key 0123456789abcdef0123456789abcdef of o1.ingest.example.org": "key [redacted] of o1.ingest.example.org",
		"in-the-dsn, in-mongo-url, in-the-string1, in-the-json1":        "[redacted], [redacted], [redacted], [redacted]",
		"POST /in/the/webhook/42 with a-personal-one or another-one":    "POST /[redacted] with [redacted] or [redacted]",
		`say {"x":12} in /home/me/key.json, /a/long/path/to/it`:         `say [redacted] in /home/me/key.json, /a/long/path/to/it`,
		`say a"b\c d/e&f<`:                                "say [redacted]",
		`{"x":"a\"b\\c d/e\u0026f\u003c"}`:                `{"x":"[redacted]"}`,
		`{"x":"a\"b\\c d/e&f<"}`:                          `{"x":"[redacted]"}`,
		"?q=a%22b%5Cc%20d%2Fe%26f%3C":                     "?q=[redacted]",
		"?q=a%22b%5Cc+d%2Fe%26f%3C":                       "?q=[redacted]",
		"postgres, abc, /usr/bin:/bin":                    "postgres, abc, /usr/bin:/bin",
		"/tmp/ssh-x/agent.1 of Jane Doe Jr, banana-split": "/tmp/ssh-x/agent.1 of Jane Doe Jr, banana-split",
	} {
		if got := Text(text, environ); got != want {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
	}
}

// What looks random or sounds secret and is neither stays.
func TestLeftAlone(t *testing.T) {
	for _, text := range []string{
		"",
		"commit 458e40cafe0210711a403ea25615827d30cc92eff",
		"sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
		"session 11111111-2222-4333-8444-555555555555, agent-a9e5cd52bca50e9ba",
		"/home/me/src/project/lib/redact/redact_test.go:120: got 3",
		"/Users/x/Library/Application Support/sk-thing/a_b_c.go",
		"the task-list, a risk-assessment-of-2026-and-beyond, disk-usage-report-2026-10",
		"sk-learn and sk-my-long-branch-name-without-any-number",
		"Fix the token parser: tokens are now counted, and the key of the map is a string.",
		"The secret of good code: names. Password reset works; credentials are asked for twice.",
		"token := lexer.Next()", "password = getPassword()", "apiKey: process.env.API_KEY2", "key=value", "const key = 'a1b2c3d4e5f6'", "stmt.Token = stmt.Token[1:]", "http://user:***@example.org/",
		"set API_KEY=... first, or API_KEY=$OTHER, API_KEY=<your key>, API_KEY=xxxx", "if TOKEN == other { }",
		"MAX_OUTPUT_TOKENS=16000 TOKEN_LIMIT=12345678 CACHE_KEY=v1-linux-abc123 PUBLIC_KEY=abc123def",
		"npm_lifecycle_event=test npm_config_user_agent=npm/10", "hf_transfer", "SG.go", "AKIA", "eyJ.eyJ.x",
		"https://example.org:8080/a@b?x=1", "git@example.org:me/repo.git", "mailto:me@example.org", "http://[::1]:80/@x",
		"Authorization: required for all requests", "the bearer of this letter", "Basic usage: see below", "authorization",
		"-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----", "-----BEGIN ",
		"2026-11-21T03:29:23.679Z", "version 2.1.197 (build 20261121)", "data:image/png;base64,iVBORw0KGgoAAAANSUhEUg",
		"h1:GEvBYKDJ8X3qoKTDYQkeT3EvHJbOi7F2dpO9ZOWVvnQ=", "\xff\xfe broken \x80", "日本語 のテキスト。",
		"ext_authz.config.proto_filter.Settings", "patch-2026.path.to.a.file.with.a.very.long.name.and.no.end.of.it.x1", "k8s: v1.0-rc2", "sc_main.go",
		`os.Setenv("TOKEN", value)`, `log("password", "please")`, `{"name": "color", "value": "a1b2c3d4e5"}`, "Map<Token>a1b2c3d4e5(x)", "docker run -u 1000:1000 x", "ssh -u me:you",
		"The signature=a1b2c3d4e5 of it", "sign(sig=a1b2c3d4e5)", "Cookie: the word", "cookies=a1b2c3d4e5", "ACCOUNT|123456789012345|x", "x_mmk", "a Q~ b", "pass: 12 of 14", "pass=3 fail=0",
		"config.PrivateKey = testRSA2048PrivateKey", "PrivateKey: testP256PrivateKey,", "-----END CERTIFICATE-----", "KEY=SKILL SKIP", "apiKey: Token1", "type Token string",
		"ghp_ is how such a token begins, github_pat_ another, sk-ant- a third",
	} {
		if got := Text(text, nil); got != text {
			t.Errorf("%q becomes %q", text, got)
		}
	}
}

// No text makes Text look at the same bytes again and again: eight times as much of
// any of these takes about eight times as long, and not sixty-four times.
func TestLinear(t *testing.T) {
	for _, piece := range []string{
		"a", "A", "b", " ", "sk-", "eyJ", "eyJ.", "token=", "token:'", `"token":"`, "Bearer ", "bearer:", "authorization=", "Authorization: ", "--token ", "://", "://a:", "@",
		join("-----BEGIN ", "PRIVATE KEY-----"), join("-----BEGIN ", "PRIVATE KEY-----\n"), join("-----END ", "PRIVATE KEY-----\n"), join(abc, "\n-----END ", "KEY-----\n"),
		"A_KEY=$", "authorization:$1/", "Cookie: a=$", "Cookie: a=b;", "curl -u ", "curl -u a:$", `"token","`, `"token", "a`, "<token>", "<token>a", `name="token" value="`, "value=", "sig=", "?sig=$",
		"1|", ".atlasv1.", "aQ~", "1:AA", "_mmk", "-us", "eyJrIjoi", "pat.", "glpat-.", "sc_", "A_KEY=;a", "-----END ", "-----", "A_KEY=", "A_KEY='", "\\n", "AKIA", "xoxb-", "ya29.", "SG.",
		"phrase", "seed", "seed ", "seed: zoo", "seed 1", "mnemonic: zoo zoo zoo ", "INSERT INTO users (name, password) VALUES ($1,\n", "INSERT INTO users (name, password) VALUES ('\n", "INSERT INTO users (name, password) SELECT 'a\n",
		"COPY t (a, token) FROM stdin;\n", "a,password\n", "a,password\nb\n", "| password | a |\n", "password,", "a  TOKEN\n\"", "send \"", "send -a ", "child.sendline('assword", "(echo a) | passwd", "echo ) | passwd ", "creds a:", "creds a:'", "]:1 a:\"",
		"<td>", "<th>password</th>", "<th>password</th><tr><td>a", `["password",`, `["password","a"],["`, `"password":["a","`, "kind: Secret\n", "kind: Secret\ndata:\n a: b\n", "data: {\"kind: Secret ",
		"KIND: Secret\n", "kind: Secret\n\r\n", "kind: Secret\n---\n", "\"data\":{" + strings.Repeat("KIND: Secret,", 600), "\"data\":{" + strings.Repeat("a: b1b1b1b1,", 600) + "kind: Secret,", strings.Repeat("a: b1b1b1b1,", 600) + "\"kind\": \"Secret\",", "data:\n" + strings.Repeat(" kind: Secret\n", 500),
		"create user a identified by ", "a=--from-literal=", "secret --from-literal=a=b ", "Cookie=password=", "Cookie=\"password=", "cookie: a1b2c3d4=", "set-cookie (a=b1b1b1b1 ", "cookie(a=" + strings.Repeat("b1", 500) + " ",
		"' AS password", "'a' AS token ", "seed phrase: abc ", "share: ", "mnemonic: abc abc ", "シード: ", `";s:1:"`, `{"a.b":`, `"token":{"a.b":"`, `value":"a","name":`, "a:5432:b:c:", "::5432:", "Password: <b>", "fill('", "a@b:1521", "password <- \"",
		"recovery codes: ", "recovery codes: a1b2c3d4\n", "otp=1", "code=grant_type=", "\tTRUE\t/\t", "\tTRUE\t/\t\t0\ta\ta1b2c3d4\n", "result: random_password", `"value":"httpOnly`, "pass show \n", "user bob on >", " a:b1c2d3", "use a as the password ", "net user ", "KEY 'ATTACH ", "<master>{", "{token,'", "op read op:", "bundle config a b:c1d2e3\n",
		"user bob pass ", "pass \"", "app password: abcd efgh ", "mysqli_connect(a,", "reg add x /d y\n", "reg add /v a /d ", "https://conda.a/t/a", "PDO((", "set \\\n",
	} {
		if !testenv.InSample(piece, 5) {
			continue
		}
		// The processor's time: others may use the machine.
		took := func(size int) time.Duration {
			text := strings.Repeat(piece, size/len(piece))
			start := processorTime(t)
			Text(text, []string{"A_TOKEN=aaaaaaaaaaaaaaaaaaab"})
			return processorTime(t) - start
		}
		few, many := took(16<<10), took(128<<10)
		for try := 0; try < 9 && many > 24*few; try++ {
			few, many = max(few, took(16<<10)), min(many, took(128<<10))
		}
		if many > 24*few {
			t.Errorf("%q: 16 KB take %v, 128 KB %v", piece, few, many)
		}
	}
}

// What a text costs has a bound that no window multiplies: the cells of an object are added once.
func TestCost(t *testing.T) {
	for _, piece := range []string{
		"\"data\":{" + strings.Repeat("KIND: Secret,", 600), "\"data\":{" + strings.Repeat("kind: Secret,", 600), "data:\n" + strings.Repeat(" Kind: Secret\n", 500),
		"\"data\":{" + strings.Repeat("a: b1b1b1b1,", 600) + "kind: Secret,", "kind: Secret\n\r\n",
	} {
		text := strings.Repeat(piece, 1+128<<10/len(piece))
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		Text(text, nil)
		runtime.ReadMemStats(&after)
		if each := int(after.TotalAlloc-before.TotalAlloc) / len(text); each > 128 {
			t.Errorf("%.40q: %d bytes of memory for each byte", piece, each)
		}
	}
}

// processorTime is the processor's time that this process has used.
func processorTime(t *testing.T) time.Duration {
	t.Helper()
	var r syscall.Rusage
	testenv.NoError(t, syscall.Getrusage(syscall.RUSAGE_SELF, &r))
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}

// Every shape is found by the way in which findShaped looks for it, and none hides
// behind another.
func TestPrefixes(t *testing.T) {
	for _, sh := range shapes {
		n := max(sh.min, 40)
		if sh.max > 0 {
			n = sh.max
		}
		body := "1" + strings.Repeat(abc+"9", 10)
		switch sh.chars[0] {
		case 'U':
			body = strings.ToUpper(body)
		case 'x':
			body = strings.Repeat("1a9", 100)
		}
		text := sh.prefix + body[:n]
		sc := scanner{s: text, index: shapeIndex()}
		from, to := sc.findShaped(0)
		if want := len(sh.prefix) * (sh.how & tail) / tail; to != len(text) || from != 0 && from != want {
			t.Errorf("%q: %d to %d", text, from, to)
		}
	}
}

func BenchmarkText(b *testing.B) {
	text := strings.Repeat("The parser reads lib/text/redact/redact.go: ok, 3 tests failed with `token`. ", 1000)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		Text(text, []string{"MY_API_KEY=plain-value"})
	}
}

// Of a value at which a text was cut, the beginning goes, too, unless it is as short as any
// word.
func TestCut(t *testing.T) {
	clean := NewCutRedactor([]string{"DEPLOY_SECRET=correcthorsebatterystaple", "API_TOKEN=horses-in-the-morning"})
	for text, want := range map[string]string{
		"take correcthorsebatterystaple now": "take [redacted] now",
		"take correcthorsebat":               "take [redacted]",
		"take correcthorse":                  "take [redacted]",
		"that is correct":                    "that is [redacted]",
		"that is corre":                      "that is corre",
		"correcthorsebat at the beginning":   "correcthorsebat at the beginning",
		"of horses-in-the-mor":               "of [redacted]",
	} {
		if got := clean(text); got != want {
			t.Errorf("of %q stays %q, want %q", text, got, want)
		}
	}
}
