package redact

import "testing"

// Lines that speak of secrets, or look like some, and hold none.
var harmless = []string{
	// Prose.
	"The password must have at least 8 characters, one digit and one sign.", "Passwords are hashed with bcrypt (cost 12) before they are stored.", "password is required", "password is too short (minimum is 8 characters)", "the password is stored in 1Password", "If the token is expired, call refresh_token() again.",
	"password for bob: see the vault", "The API key is read from OPENAI_API_KEY.", "API key is missing or invalid (401)", "Your API key is valid for 30 days", "the secret is rotated every 90 days", "token is refreshed at 10:30", "Enter password for user bob: ", "Password: ", "password:", "password is `required`", "the `token` field", "token count: 12345",
	"Tokens used: 123456 in, 789 out", "tokens: 15k/200k", "max_tokens: 4096", "token_count=12345", "total_tokens = 123456", "usage.output_tokens: 1234", "password ........ ok", "secret scanning ....... passed", "auth ......... 200 OK in 12ms", "| password | string | required |", "| token | a JWT, see RFC7519 |", "| name | type |\n|---|---|\n| api_key | string |", "| password | yes |", "| secret | base64url |",
	"| `API_KEY` | your key, see docs |", "API_KEY  the key of the service", "password   string   the password", "  --password string   the password of the user", "  -p, --password <PASSWORD>  Password [env: DB_PASSWORD=]", "  --token TOKEN   (default: $TOKEN)", "key -> value", "password -> hash", "token → user id", "auth_pass is deprecated", "requirepass is not set", "AUTH failed", "AUTH required", "AUTH <password>", "AUTH LOGIN", "masterauth <password>",
	"password was changed 2 days ago", "the secret was found in commit 458e40cafe0210711a403ea25615827d30cc92ef", "secret-token: see RFC 8959", "Bearer tokens are described in RFC6750.", "a Basic auth header",
	// Code.
	`password = os.environ["DB_PASSWORD"]`, `password=os.environ["X"]`, "password: str", "password: str,", "password: Optional[str] = None", "password = getpass()", `password = getpass.getpass("Password for bob1: ")`, `password = input("Enter your password1: ")`, "token = request.headers.get('X-Auth-Token')", "password = config.get('db', 'password')", "def login(user, password):", "func login(user, password string) error {", "if password == nil {", "password := r.FormValue(\"password\")",
	"const token = await getToken(user1)", "token: token1,", "this.token = token;", "let token = self.next_token()?;", "password = hash_password(password1)", "return token.length > 10", "secret = secrets.token_hex(32)", "key = Fernet.generate_key()", "api_key=settings.API_KEY2,", "apiKey: process.env.API_KEY,", "apiKey: import.meta.env.VITE_API_KEY", "apiKey ?? throw new Error('x1')", `process.env.API_KEY || ""`, `process.env.API_KEY || "your-api-key"`, "process.env.TOKEN || process.env.TOKEN2", `os.getenv("API_KEY", "")`, `os.getenv("API_KEY", "changeme")`, `getenv("DB_PASSWORD") or die("no password1")`,
	"${API_KEY:-}", "${DB_PASSWORD:-changeme}", "${DB_PASSWORD:?must be set}", "${TOKEN:+--token}", `"${DB_PASSWORD}"`, "password: ${DB_PASSWORD}", "password: '{{ vault_db_password }}'", "password: !vault |\n  $ANSIBLE_VAULT;1.1;AES256\n", "password: !Ref DbPassword1", "password: !Sub '${DbPassword1}'", "password: *db_password1", "password: {{ .Values.db.password1 }}", "password: <your-password1>", "password=xxxxxxxx", "password=********", "password: ****", "password: [FILTERED]", "password=[PROTECTED]", "password: (sensitive value)", "password = (known after apply)", "password: null", "password: ~", "password: |\n  the password of the user\n", "password: >-\n  see below\n",
	"<password>${db.password}</password>", "<password></password>", `<input type="password" name="password" id="password1">`, `<input name="password" value="">`, `<label for="password">Password1</label>`, `<entry key="password"></entry>`, `<string name="password_hint">At least 8 letters</string>`, "<key>Password</key><true/>", "<key>CFBundleVersion</key><string>1.2.3b4c5d6</string>", `<property name="password" value="${db.password}"/>`, "<td>password</td><td>string</td>", "List<String> tokens1 = x", "Map<Token, String>", "a->token = b->next1;", "if (a<b && token>c1234567)",
	`setPassword(password1)`, `setPassword("")`, `t.Run("password1", f)`, `log.Print("password1234")`, `hashPassword("hunter22")`, `it("rejects password abc12345", f)`, `expect(token("abc"))`, `String token = tokens[12345678];`, "char password[64];", "char password[32] = {0};", "std::string password;", "password VARCHAR(255) NOT NULL", "`password` varchar(64) DEFAULT NULL", "token_type = 'bearer'", "#define API_KEY_LEN 32", "#define PASSWORD_MAX 0x1F", "#define TOKEN_EOF TOKEN_T1", "#define KEY_F12 0x7b", "secret: Secret", `"decryptionKey": "decryptionKey1024"`, "secret_name: my-secret-1", "secretName: my-app-tls2", "secretKeyRef:\n  name: app1\n  key: api-key1",
	"- name: API_KEY\n  valueFrom:\n    secretKeyRef:\n", "- name: PATH\n  value: /usr/bin1\n", `{"name":"region","value":"eu-west-1a2b3c"}`, `{"key":"size","value":"a1b2c3d4e5"}`, `variable "region" { default = "eu-west1-b2c3" }`, `"tokens": {"value": 12345678}`, `{"type":"object","properties":{"password":{"type":"string","minLength":8}}}`, `"password": {"type": "string"}`, `"token": {"description": "the token1234 of it"}`, "[]byte(\"a1b2c3d4\")", `Some("a1b2c3d4")`, `String::from("a1b2c3d4")`,
	// Output.
	"sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08", "index 83db48f..bf269f4 100644", "go.sum h1:GEvBYKDJ8X3qoKTDYQkeT3EvHJbOi7F2dpO9ZOWVvnQ=", `"integrity": "sha512-aB3dE6gH9jK2mN5pQ8sT1vW4yZ7bC0dFaB3dE6gH9jK2mN5pQ8sT1vW4yZ7bC0dFaB3dE6gH9jK2mN5pQ8sT1w=="`, "resolved https://registry.example.org/token-types/-/token-types-4.2.1.tgz", "checksum = \"0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef\"", "ETag: \"33a64df551425fcc55e4d42a148795d9\"", "x-request-id: 0a1b2c3d4e5f60718293a4b5c6d7e8f9", "trace_id=4bf92f3577b34da6a3ce929d0e0e4736", "SHA256:aB3dE6gH9jK2mN5pQ8sT1vW4yZ7bC0dF0123456789a", "256 SHA256:aB3dE6gH9jK2mN5pQ8sT1vW4yZ7bC0dF0123456789a bob@h (ED25519)", "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGk3Y2hK0123456789abcdefghijklmnopqrstuv bob@h", "The key fingerprint is:\nSHA256:aB3dE6gH9jK2mN5pQ8sT1vW4yZ7bC0dF0123456789a bob@h",
	"commit 458e40cafe0210711a403ea25615827d30cc92ef (HEAD -> token-parser-2)", "Merge branch 'fix/password-reset-2026'", "feat(auth): rotate api_key every 30d (#1234)", " lib/token/token_test.go | 12 +++---", "drwxr-xr-x 2 bob bob 4096 Nov 22 10:00 secrets2026", "--- PASS: TestPassword1 (0.01s)", "ok  \tgt/lib/token\t0.123s", "token.go:12:34: undefined: tokenKind2", "error[E0425]: cannot find value `token1` in this scope", "FAIL test/auth.test.js > password > rejects abc1", "docker run -p 8080:80 nginx1", "ssh -p 2222 bob@h", "mkdir -p a1b2c3d4", "cp -p mysql1.conf x", "ps -p 12345678", "mysql -u root -p mydb1", "mysql -p < dump1.sql", "docker login -u bob -p \"$TOKEN\"", "redis-cli -a \"$REDIS_PASSWORD\" ping", "ls -a dir12345", "sqlcmd -P $PW1", "https://example.org/reset-password?step=2", "https://example.org/docs/api-key#section-2", "%22name%22%3A%22a1b2c3d4e5%22", "q=password%20reset%202026", "&quot;name&quot;:&quot;a1b2c3d4&quot;", `{\"name\":\"a1b2c3d4e5\"}`, `{\"token\":\"\",\"n\":12345678}`, `\u001b[32mpassword\u001b[0m is set`, `C:\Users\bob\new\token1\x2026`, `^\s*password\s*[:=]\s*(\S+)$`, `"(?i)api[_-]?key\\s*[:=]\\s*['\"]?([a-z0-9]{20,})"`, "s/password=.*/password=***/", "grep -r 'password=' src2",
	"live_reload_of_the_whole_page_takes_2_seconds", "re_export_all_names_of_the_module_2026_x", "token-bucket-rate-limiter-with-2-windows", "standard_deviation_of_12345", "st.connect(1234)", "perm: 0644", "sess-2026-11-22", "api-gateway-v2", "as-of-2026-11-22", "fw_update_2026", "pa-some-long-branch-name-of-2026-and-more-of-it-to-come", "sl.no", "tk.eyJ", "p.eyes", "AAAA", "K00", "cio", "oauth:scope", "key: value", "keyboard: qwerty12", "Key  Value", "monkey  banana12", "turkey | a1b2c3d4e5", "hockey is g00d4you1", "the key is ctrl+shift+p2", "key is 12345678", "kernel.keys.maxkeys = 200", "keyring: /usr/share/keyrings/x1.gpg",

	// Flags, parts and forms that take no secret.
	"mkdir -p build2/x1y2z3", "docker run -u 1000 -p 8080:80 img", "ssh -p 2222 bob@h", "zip -r a1b2c3d4.zip dir", "python -u run.py -p plugin1", "msbuild /p:Configuration=Release1 /p:Platform=x64", "openssl enc -k $KEY -in x", "zip -P \"$ZIP_PASSWORD\" a b", "xfreerdp /p:$PASS /v:h", "curl -u bob: u", "curl -su \"$USER:$PASS\" u",
	"::add-mask::$TOKEN", "::add-mask::${{ secrets.X }}", "##vso[task.setvariable variable=count]12", `{"kty":"RSA","n":"aB3dE6gH9jK2mN5pQ8sT1vW4yZ7bC0dF","e":"AQAB"}`, `{"d": "2026-11-22T10:00:00", "p": "a1b2c3d4e5f6a7b8c9d0"}`, `"d": base64url_encode(force_bytes(d)), # kty`, "Content-Disposition: form-data; name=\"file\"\n\na1b2c3d4e5\n", "Content-Disposition: form-data; name=\"password\"\n\n--x--",
	`x = "a1b2c3" + "d4e5f6"`, `'password: ' + password1`, `echo "a1""b2"`, `log("token " + "count: 12")`, `password: "must have 8 characters"`, `password: "the md5sum of it"`, "PASSWORD='$DB_PASSWORD'", "password = '$password'", `await page.fill('#password', password1)`, `<input type="password" value="">`, "password for 'https://bob@h': ",
	// Commands that could take a secret by position, from their input or in a list.
	"echo 1 | sudo tee /proc/x", "echo y | sudo -S apt upgrade", "cat pw1.txt | docker login -u bob --password-stdin", `echo "$CR_PAT" | docker login -u bob1 --password-stdin`, "aws ecr get-login-password | docker login -u AWS --password-stdin 123456789012.dkr.ecr.us-east-1.amazonaws.com",
	"echo foo12345 | xargs getent passwd", "cat /etc/passwd | grep bob1", "echo abc123def | sha256sum", `printf '%s\n' "$PASS" | sudo -S id`, "sqlplus / as sysdba", "sqlplus bob1@db", "jdbc:oracle:thin:@//db1:1521/svc1", "cargo login --registry r1", "vault login -method=oidc1", "docker secret create db ./pw1.txt",
	`["docker", "run", "-p", "8080:80", "-u", "1000"]`, `["ssh", "-p", "2222", "bob@h1"]`, `["mysql", "-u", "root", "-p"]`, `["mkdir", "-p", "a1b2c3d4"]`, `args: ["--token", "$TOKEN1"]`, "- --name\n- web1a2b3c", "PASS=12 FAIL=0", "PWD=/home/bob/proj1", "session_id=0a1b2c3d4e5f", `"login": "octocat1"`,
	`mysqli_connect($host, $user, $pass, "db1name")`, `new PDO($dsn, "bob1", $password)`, "jwt.verify(token, publicKey1, {algorithms: ['RS256']})", `crypto.createHmac('sha256', secret1)`, "Port [8080]: 9090", "is my password is safe?", "https://x.example.org:8443/a@b/c", "bob@example.org:8080", "http://h:80/x@y1",
	"Authorization: Bearer\nThe header that is needed1 here", `headers["Authorization"], "token type1"`, "cat <<EOF\np4ssW0rd9\nEOF", "docker login --password-stdin <<EOF\nsome words 1\nEOF", "sudo chpasswd <<END\nbobby:\nEND", `git commit -m "echo passw0rd1 is tested"`, "passthrough 'echo /usr/bin/x1'", "tar -c abc123de f", "docker run -t a1b2c3d4 sh", "x <<END1\nabc123\nEND1",
	`headers["authorization"] = "Basic " + base64.b64encode(auth1)`, `"Proxy-Authorization: Basic " + b64encode(auth1).decode()`,
	"kpasswd\t\t464/tcp", "a,h1:GqA5TC/0021Y/b9FG4Oi9Mr3q7XYx6KllzawFIhcdPw=,7f59f32c568539afee9a21a665a4156962b019beaac8404e26ba37af", "--discovery-token-ca-cert-hash sha256:49b15a2bc6b76be38c64764bb1a45a2fb05b8e024d8e7561ed9aab5fd7cf0d54", "login: http:8080", "auth: oauth2", "| password | sha256 |", "the token 458e40cafe0210711a403ea25615827d30cc92ef\n", `"SecretId": "my-secret-1"`,
	"2/1206455795888861 tasks", "rnd_seed", "the file a1b2c3d4e5f6a1b2c3d4e5f6a1b2c3d4.png", "sha d41d8cd98f00b204e9800998ecf8427e.",
	// Tables, statements and prompts that hold none.
	"The user, password, and host\nare needed, see b4r12345, twice",
	"import { user, password, token } from './a1b2c3d4'\nimport { x, y, z1234567 } from 'b'",
	"| column | type | note |\n|---|---|---|\n| password | varchar255 | the hash |\n| token | char40 | unique1 |",
	"| name | token count |\n|---|---|\n| gpt4o1x | 12345678 |",
	"INSERT INTO users (name, password) VALUES (?, ?)",
	"INSERT INTO t (token_type, expires) VALUES ('bearer2x9', 12345678);",
	"CREATE TABLE users (id int, name varchar(20), password varchar(64));",
	"model,tokens,cost\nclaude-3-5x2,12345678,0.1a2b3",
	"func login(user, password string) error {\n\treturn f(a1b2c3d4, user)",
	"     1\tpassword\n     2\tabc123def\n     3\ttoken\n     4\tx1y2z3w4q",
	"Commands:   token\nlist1234    a1b2c3d4",
	"send \"show version 12\\r\"",
	"expect \"$ \"\nsend \"ls build2x\\r\"",
	"The mnemonic for this opcode is easy and the reader may learn it from the table below with some work",
	"the seed phrase must be kept safe because anyone with these words can take everything",
	"socket.send(\"hello12345\")",
	"ws.send(JSON.stringify(x1))",
	"name;password\nsee the page;about it",
	"key,value\na1b2c3d4,9z8y7x6w5",
	"public_key,fingerprint\na1b2c3d4e5f6,0a1b2c3d",
	"ID  NAME  TOKENS\n1a2b3c4d  foo  12345678",
	"seed: 12345678",
	"db seed: users posts comments orders items carts coupons reviews images videos tags prices",
	"seeds: users posts comments orders items carts coupons reviews images videos tags prices",
	"seeding users posts comments orders items carts coupons reviews images videos tags prices",
	"RNG seed is a1b2c3d4",
	"Username | Password reset at\n---------+------------------\nbob      | 2026-11-28T10:00:00Z",
	"file,secret_name,path\na.yaml,app-token-1,x/y1",
	"const [user, password, token] = useState(\"a1b2c3d4\");",
	"credentials at 10:30am2x",
	"lost credentials app:prod",
	"[::1]:587 main.go:123",
	"the credentials file.go:12a3b4",
	"<table><tr><th>Field</th><th>Password</th></tr><tr><td>length</td><td>required</td></tr><tr><td>sha256</td><td>hashed with bcrypt</td></tr></table>",
	"<table><tr><td>Name</td><td>abc12345</td></tr></table>", "<tr><th>Token count</th><td>12345678</td></tr>", "<th>Tokens</th><td>a1b2c3d4</td>", "<p>Password: <code>string</code></p>", "<label>Password</label><span>required</span>", "<b>Password</b> must have 8 characters",
	`{"columns":["user","tokens"],"rows":[["bob1x2y3","12345678"]]}`, `["user","password"]`, `const fields = ["user","password"]; const x = ["bob12345", "a1b2c3d4"]`, `{"required":["user","password"],"properties":["x","string"]}`, `{"password":["required","min8"]}`,
	`{"name":"build-v2","value":"a1b2c3d4e5"}`, `{"id":"max_tokens","text":"a1b2c3d4"}`, `{"type":"text","text":"a1b2c3d4"}`, `{"field":"token","content":"see the docs"}`, `{"title":"Rotate the token","body":"see issue 12"}`, `{"label":"password","value":"required"}`,
	"SELECT count(*) AS tokens FROM t1", "SELECT x1.token AS token FROM x1", "SELECT 'bearer' AS token_type", "SELECT name AS password_hint", "SELECT password FROM users WHERE name = 'bob12345'", "SELECT id, 'abc12345' AS name", "identified by its id1234", "ALTER USER bob IDENTIFIED BY :password",
	"kind: ConfigMap\ndata:\n  foo: VHIwdWI0ZG9yM3g=\n", "kind: SecretStore\ndata:\n  foo: a1b2c3d4e5\n", "kind: Secret\nmetadata:\n  name: app-x1y2z3\n", `{"kind":"Pod","data":{"foo":"VHIwdWI0ZG9yM3g="}}`,
	"mnemonic: a short word that helps you to keep the opcode in mind here", "seed phrase: twelve words", "share: users posts comments orders items carts coupons reviews images videos tags prices", "the phrase: nobody knows", "recovery: restart the server after that check logs and then verify the state again",
	"cy.get('#user').type('bob12345')", "await page.fill('#name', 'a1b2c3d4')", "passwordField.sendKeys(password1)", "connect('bob12345')", "socket.connect('h1', 'a1b2c3d4')", "app/x1y2@sha256:1521", "registry/app1@h:1521",
	`"main.go": {"x.y": "a1b2c3d4"}`, `s:4:"name";s:8:"a1b2c3d4";`, "x <- \"a1b2c3d4\"", "BUNDLE_PATH: vendor/b1", "image@/x1", "PRAGMA journal_mode = 'wal12345'", "Cookie: accepted", `{"name":"Accept","value":"text/html1"}`, "dotnet build -k x1y2z3w4",
	"kubectl create configmap app --from-literal=LOG_LEVEL=debug2 --from-literal=REGION=eu-west-1", "kubectl create configmap my-secret --from-literal=a=a1b2c3d4", `{"name":"Cookie","value":`,
	"each row is identified by user_id2 and name", "identified by issue-1234", "The bug was identified by test123abc in CI", "The bug was identified by 'test123abc' in CI", "a user identified by user_id2", "the user is identified by 'bob12345'", "Create a user. Rows identified by row_id2",
	"Catch phrase: please make sure that every test passes before you push this branch", "phrases: please make sure that every test passes before you push this branch again", "phrase: please make sure that every test passes before you push this branch again today after", "Seed data: please make sure that every test passes before you push this branch again today after the others have", "recovery plan: please make sure that every test passes before you push this branch", "Recovery steps: please make sure that every test passes before you push this branch again", "Frase de ejemplo: please make sure that every test passes before you push this branch again today after", "frase: please make sure that every test passes before you push this branch again today after the others have", "share: please make sure that every test passes before you push this branch", "shared seed data: please make sure that every test passes before you push this branch again", "Key phrase: please make sure that every test passes before you push this branch again today after", "recovery: please make sure that every test passes before you push this branch again today after the others have", "Catch phrase: please make sure that every test passes before you push this branch again", "Catch phrase: please make sure that every test passes before you push this branch again today after", "Catch phrase: please make sure that every test passes before you push this branch again today after the others have",
	"share: please make sure that every test passes before you push this branch again today after the others have read everything", "фраза: эта строка просто говорит что надо проверить каждый тест перед тем как отправить", "短语: 你好 谢谢 再见 早安 晚安 请问 抱歉 欢迎 朋友 老师 学生 学校",
	`{"key":"token","text":"abc12345"}`, `{"key": "token", "text": "abc12345"}`, `{"data":"user12345","name":"token"}`, `[{"text":"Reset my password1","field":"token"}]`, `{"name":"api_key","body":"a1b2c3d4"}`, `name=token content=width1234`, `<meta name="token" content="width1234">`,
	"reg add HKCU\\a /v Password /t REG_SZ /f\nreg add HKLM\\Soft /ve /d v18-lts-node /f", `client.run("test_integration_2")`, `bot.run("scripts/migrate-2024.sh")`, `client.login('administrator2')`, `stripe("acct_2024example")`, `Fernet("aes128-cbc")`,
	"iwconfig wlan0 essid CoffeeShop2024", `client.connect(a, b, c, "mqtt-v3.1.1")`, `{"key":"build/token","value":"tokenizer-v2.bin"}`, `{"name":"src/components/Password","value":"PasswordInput2"}`, "- name: auth/secret\n  value: config-v2-prod",
	"rekey = interval-3600s", "rekey: ikev2-default1", "activation_key: relu6-hard", "https://x.org/conda/t/python3-dev/main", "/conda/t/python3-dev/main",
	`token = sha256("file1234")`, `token: md5("abc12345")`,
	"<table><tr><td>password</td><td>x</td></tr><tr><td>utf8mb4_bin</td><td>varchar255</td></tr></table>", "<tr><td>password</td><td>x</td></tr><tr><td>abc12345</td><td>y</td></tr>", "<table><tr><th>Password</th><td>x</td></tr><tr><th>abc12345</th><td>y</td></tr></table>",
}

func TestHarmless(t *testing.T) {
	for _, text := range harmless {
		if got := Text(text, nil); got != text {
			t.Errorf("%q becomes %q", text, got)
		}
	}
}
