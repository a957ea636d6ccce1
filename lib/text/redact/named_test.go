package redact

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"gt/internal/testenv"
)

// What scanners' rules do not have, and people write: each secret between « and ».
var handwritten = []string{
	// Discord.
	"«MTE4NzY1NDMyMTA5ODc2NTQzMg.GhIjKl.aB3dE6gH9jK2mN5pQ8sT1vW4yZ7bC0dFaB3d»", "client.login('«MXy7kQ2mLp9RtZ4bN8sWc3Yd6.GhIjKl.aB3dE6gH9jK2mN5pQ8sT1vW4yZ7»')", "bot «NXy7kQ2mLp9RtZ4bN8sWc3Yd6F.GhI-K_.aB3dE6gH9jK2mN5pQ8sT1vW4yZ7bC0dFaB3d»",
	// Google.
	`{"type":"service_account","project_id":"p","private_key_id":"«0123456789abcdef0123456789abcdef01234567»","private_key":"«-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASC\n-----END PRIVATE KEY-----\n»","client_email":"x@p.iam.gserviceaccount.com"}`,
	"private_key_id: «0123456789abcdef0123456789abcdef01234567»", "\"private_key_id\": \"«0123456789abcdef0123456789abcdef01234567»\",\n",
	`{"client_id":"x.apps.googleusercontent.com","client_secret":"«d-FL95Q19q7MQmFpd7hHD0Ty»","refresh_token":"«1//0aB3dE6gH9jK2mN5pQ8sT1vW4yZ7bC0dFaB3dE6gH9jK2»","type":"authorized_user"}`,
	// PowerShell.
	`ConvertTo-SecureString "«hunter2»" -AsPlainText -Force`, `$p = ConvertTo-SecureString -String '«s3cr3t th1ng»' -AsPlainText -Force`, `ConvertTo-SecureString -AsPlainText -Force -String "«word»"`, `convertto-securestring «s3cr3t-th1ng» -asplaintext -force`,
	`("«s3cr3t-th1ng»" | ConvertTo-SecureString -AsPlainText -Force)`, `ConvertTo-SecureString -AsPlainText "«s3cr3t-th1ng»" -Force`,
	// YAML.
	`password: "«p@ss:w0rd#1!»"`, `password: '«it''s!a#7p4ss»'`, `  password: "«!@#$%^&*()»"`, `db_password: '«$ecret{with}[all]»'`, `password: '«<Tr0ub4dor&3>»'`, `password: "«p\"a$$w0rd»"`,
	// ODBC.
	"DRIVER={ODBC Driver 18 for SQL Server};SERVER=db;DATABASE=x;UID=sa;PWD=«s3cr3t-th1ng»;Encrypt=yes", "Driver={PostgreSQL};Server=db;Uid=bob;Pwd=«word»;", "DSN=x;UID=bob;PWD=«word»", `conn = pyodbc.connect("DSN=x;UID=bob;PWD={«a;b!c1#»}")`, "SERVER=db;UID=sa;PWD={«p@ss;w0rd»};Encrypt=yes", "dsn: 'DRIVER=x;DBQ=h/x;UID=bob;PWD=«tiger»'",
	// Airtable.
	"«keyXy7kQ2mLp9Rt4b»", "AIRTABLE=«keyXy7kQ2mLp9Rt4b»", "«patXy7kQ2mLp9RtZ4.0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef»", "«oaaXy7kQ2mLp9RtZ4.v1.eyJ1c2VySWQiOiJ1c3JYeTdrUTJtTHA5UnRaNCJ9.0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef»",
	// Keys by their names.
	"service_role_key: «s3cr3t-r0le-th1ng»", "SUPABASE_SERVICE_ROLE_KEY=«Xy7kQ2mLp9Rt»", `"service_role_key": "«Xy7kQ2mLp9Rt»"`, "supabase_key = «Xy7kQ2mLp9Rt»", `supabaseKey: '«Xy7kQ2mLp9Rt»'`, "license_key: «AB12-CD34-EF56-GH78»", `licenseKey="«AB12-CD34-EF56-GH78»"`, "LICENSE_KEY=«AB12-CD34-EF56-GH78»", "license key: «AB12-CD34-EF56-GH78»",
	"amadeus_key: «Xy7kQ2mLp9RtZ4bN8sWc3Yd6»", "adzuna_key: 'b8ip119eitdkqabwopavamk4fhyzdncg'", `"pexelsKey": "«Xy7kQ2mLp9RtZ4bN8sWc3Yd6»"`,
	// The word for password.
	"Passwort: «s3cr3t-th1ng»", "passwort=«s3cr3t-th1ng»", "DB_PASSWORT=«word»", `"kennwort": "«s3cr3t-th1ng»"`, "Kennwort: «hunter2»", "mot de passe : «s3cr3t-th1ng»", "Mot de passe: «s3cr3t-th1ng»", "mot_de_passe: «s3cr3t-th1ng»", "motDePasse = '«s3cr3t-th1ng»'", "MOT_DE_PASSE=«word»",
	"contraseña: «s3cr3t-th1ng»", "Contraseña = «s3cr3t-th1ng»", `"contraseña": "«s3cr3t-th1ng»"`, "contrasena: «s3cr3t-th1ng»", "senha: «s3cr3t-th1ng»", "SENHA=«word»", "password senha = \"«s3cr3t-th1ng»\"", "hasło: «s3cr3t-th1ng»", "haslo=«s3cr3t-th1ng»", "wachtwoord: «s3cr3t-th1ng»", "lösenord: «s3cr3t-th1ng»", "Lösenord = «s3cr3t-th1ng»",
	"пароль: «s3cr3t-th1ng»", "ПАРОЛЬ=«s3cr3t-th1ng»", `{"пароль": "«s3cr3t-th1ng»"}`, "密码: «s3cr3t-th1ng»", "密码：«s3cr3t-th1ng»", "数据库密码=«s3cr3t-th1ng»", "パスワード: «s3cr3t-th1ng»", "パスワード：«s3cr3t-th1ng»", "비밀번호: «s3cr3t-th1ng»", "şifre: «s3cr3t-th1ng»", "heslo: «s3cr3t-th1ng»", "jelszó: «s3cr3t-th1ng»", "סיסמה: «s3cr3t-th1ng»", "كلمة المرور: «s3cr3t-th1ng»", "token：«Xy7kQ2mLp9Rt»", "API_KEY：«Xy7kQ2mLp9Rt»",
	// By a form that no name says.
	"«0123456789abcdef0123456789abcdef-01234567-89abcdef»", "«0123456789abcdef0123456789abcdefFFFFNRAL»", "«AA0123456789abcdef0123456789abcdef01234567-NRMA»", "«aB3dE6gH9jK2mN5pQ8sT1v==:Xy7kQ2mLp9RtZ4bN8sWc3Yd6Xy7kQ2mL»", "«aB3dE6gH9jK2mN5pQ8sT1vW4yZ7bC0dFaB3dE6gH9j+ACRaB3dE6»",
	"«aB3dE6gH9jK2mN5pQ8sT1vW4yZ7bC0dFaB3dE6gH9jK2mN5pQ8sT1vW4yZ7bC0dFaB3dE6gH9jK2+AStaB3dE6==»", "«00D000000000000!aB3dE6gH9jK2mN5pQ8sT1vW4yZ7bC0dFaB3dE6gH9jK2mN5pQ8sT1vW4yZ7bC0dFaB3dE6gH9jK2mN5pQ8sT1vW4yZ7bC0dFaB3d»",
	// Tables, statements of SQL, answers to prompts, words of wallets.
	"name,password,email\nbob,«S3cr3t-P4ss»,b@x\neve,«Tr0ub4dor&3»,e@x",
	"id;login;passwd\n1;bob;«Winter2026x»\n2;eve;«hunter22x»",
	"\"username\",\"password\"\n\"bob\",\"«S3cr3t-P4ss»\"",
	"user\ttoken\nbob\t«pLIix6MEOLeMa61EqJomTEI1JEzO3joO»\neve\t«j37HyVaQXekW9LctXb03rEMU64yTY6BzUZKC97i4»",
	"| user | password |\n|------|----------|\n| bob | «Tr0ub4dor3» |\n| eve | «Winter2026x» |",
	" id | name | password \n----+------+----------\n  1 | bob  | «hunter2!x»\n(1 row)",
	"+----+----------+\n| id | password |\n+----+----------+\n|  1 | «S3cr3tP4ss» |\n+----+----------+",
	"NAME      ROLE    TOKEN\nbob       admin   «xgciFnq9RBXO2tAG1yKwILALo5vR67b2»\neve       user    «rMQSkS3u9I5KKgTPnO1KrsheE2OEfwZeA5jbsBXA»",
	"{\"type\":\"tool_result\",\"content\":\"name,password\\nbob,«Tr0ub4dor3»\\neve,«Winter2026x»\"}",
	"{\"content\":\"| user | password |\\n|---|---|\\n| bob | «hunter22x» |\\n\"}",
	"INSERT INTO users (name, email, password, created) VALUES ('bob', 'b@x', '«S3cr3t-P4ss»', NOW()), ('eve', 'e@x', '«Tr0ub4dor&3»', NULL);",
	"INSERT INTO `users` (`id`, `password`)\nVALUES\n  (1, '«Winter2026x»'),\n  (2, '«hunter22x»');",
	"insert into public.api_keys(id, api_key, owner) values (1, '«3hcMNWcyTLvJ47rGpctaegMIc8mAsNqj»', 2);",
	"cur.execute(\"INSERT INTO users (name, password) VALUES (%s, %s)\", (\"bob\", \"«S3cr3tP4ss»\"))",
	"db.Exec(\"INSERT INTO users (name, password) VALUES ($1, $2)\", \"bob\", \"«Tr0ub4dor3»\")",
	"psql -c \"INSERT INTO users(name,password) VALUES('bob','«Winter2026x»')\"",
	"COPY public.users (id, name, token) FROM stdin;\n1\tbob\t«Sc3vux9i53yyD3HyP3MRJgN8ZGrBOUTp»\n2\teve\t«7tBqHtJvaYALubyNLOidOOvDwR6wMTrVFbLd9Rb9»\n\\.",
	"INSERT INTO \"Users\" (\"Id\", \"Password\", \"Role\") VALUES (1, crypt('«hunter22x»', gen_salt('bf')), 'admin');",
	"REPLACE INTO [dbo].[Users] ([Name], [Secret]) VALUES (N'bob', N'«xqODtLMulxluWx2MqtYygX0b»')",
	"expect \"assword:\"\nsend \"«S3cr3t-P4ss»\\r\"",
	"expect {\n  \"password:\" { send \"«Tr0ub4dor3»\\r\"; exp_continue }\n}",
	"child.expect('password:')\nchild.sendline('«Winter2026x»')",
	"spawn ssh bob@h\nexpect \"*?assword:*\"\nsend -- \"«hunter22x»\\r\"",
	"expect -c 'spawn su; expect \"Password:\"; send \"«S3cr3tP4ss»\\r\"; interact'",
	"chan.expect(\"Password: \"); chan.send(\"«Tr0ub4dor3»\\n\")",
	"mnemonic: «abandon ability able about above absent absorb abstract absurd abuse access accident»",
	"MNEMONIC=\"«legal winner thank year wave sausage worth useful legal winner thank yellow»\"",
	"Secret Recovery Phrase:\n«letter advice cage absurd amount doctor acoustic avoid letter advice cage above»",
	"const seedPhrase = '«zoo zoo zoo zoo zoo zoo zoo zoo zoo zoo zoo wrong»';",
	"Your seed phrase (write it down):\n1. «legal 2. winner 3. thank 4. year 5. wave 6. sausage 7. worth 8. useful 9. legal 10. winner 11. thank 12. yellow»",
	"\"mnemonic\": \"«letter advice cage absurd amount doctor acoustic avoid letter advice cage absurd amount doctor acoustic avoid letter advice cage absurd amount doctor acoustic bless»\"",
	"mnemonic: «abandon ability have about above absent absorb abstract absurd abuse access accident»",
	"mnemonic: «must into have must into have must into have must into have»",
	"seed phrase 1: «legal winner thank year wave sausage worth useful legal winner thank yellow»\nseed phrase 2: «abandon ability have about above absent absorb abstract absurd abuse access accident»",
	"seed 1: «legal winner thank year wave sausage worth useful legal winner thank yellow»\nseed 2: «abandon ability have about above absent absorb abstract absurd abuse access accident»",
	"alice:\n  mnemonic: «legal winner thank year wave sausage worth useful legal winner thank yellow»\nbob:\n  mnemonic: «abandon ability have about above absent absorb abstract absurd abuse access accident»",
	"{\"mnemonic\": \"«legal winner thank year wave sausage worth useful legal winner thank yellow»\",\n \"address\": \"0x12ab\"}",
	"seeds:\n  - «legal winner thank year wave sausage worth useful legal winner thank yellow»\n  - «abandon ability have about above absent absorb abstract absurd abuse access accident»\n  - «legal winner thank year wave sausage worth useful legal winner thank yellow»",
	"{\"text\":\"Seed words:\\n1. «legal\\n7. winner\\n7. thank\\n7. year\\n7. wave\\n7. sausage\\n7. worth\\n7. useful\\n7. legal\\n7. winner\\n7. thank\\n7. yellow»\"}",
	"mnemonic:\n      - \"«zoo\"\n      - \"zebra\"\n      - \"youth\"\n      - \"yellow\"\n      - \"year\"\n      - \"wrong\"\n      - \"write\"\n      - \"wrist\"\n      - \"world\"\n      - \"zone\"\n      - \"zero\"\n      - \"yard»\"",
	"MNEMONIC={«LEGAL WINNER THANK YEAR WAVE SAUSAGE WORTH USEFUL LEGAL WINNER THANK YELLOW»}",
	"seed phrase: 1: «legal 2: winner 3: thank 4: year 5: wave 6: sausage 7: worth 8: useful 9: legal 10: winner 11: thank 12: yellow»",
	"INSERT INTO users (name, password) VALUES ($1,\nINSERT INTO users (name, password) VALUES ('bob', '«Tr0ub4dor3»');",
	"cvs -d :pserver:bob:«Winter2026x»@h:/r co x",
	"fetchmail: user bob pass «hunter22x»",
	"(echo «S3cr3tP4ss»; echo «Tr0ub4dor3») | passwd root",
	"app password: «svxe jqhu zihk fvnu»",
	"aws configure set \\\n  aws_secret_access_key \\\n  «SggMu8vR1oCZ29kfvVPn4KCroYhcH9muZ11Kl3rv»",
	"2026-11-28 A temporary password is generated for root@localhost: «xK9#mQ2$vL»",
	"kubeadm join h:6443 --token «fwi0s7.r3w0s00c0jma4619» --discovery-token-ca-cert-hash sha256:71e9a72937116d10f35970d13a48f1b763357840fc1878d1fa0141312f12fa5a",
	"     1\tname,password\n     2\tbob,«xK9mQ2vL77»",
	"users:\n| login | pwd | role |\n| --- | --- | --- |\n| bob | `«Tr0ub4dor3»` | admin |",
	"INSERT INTO users (name, password_hash, salt) SELECT 'bob', '«S3cr3tP4ss»', 'x';",
	"expect eof; expect -re \"(P|p)assword:\" { exp_send \"«S3cr3tP4ss»\\r\" }",
	"set pw \"«S3cr3tP4ss»\"\nexpect \"Password:\"\nsend \"$pw\\r\"",
	"expect \"Enter passphrase\" ; send -s \"«Tr0ub4dor3»\\r\"",
	"wallet recovery words: «legal winner thank year wave sausage worth useful legal winner thank yellow»",
	"bip39: «legal winner thank year wave sausage worth useful legal winner thank yellow»",
	"MNEMONIC_PHRASE: >-\n  «legal winner thank year wave sausage\n  worth useful legal winner thank yellow»",
	"connecting with credentials bob:«hunter22x»",
	"KIS_APP_KEY_PAPER=«PSzGtSnovm14TUOizwd1iaeOV4qBkdfQ1y3G»", "STRIPE_SECRET_KEY_SANDBOX: «f3Kq9ZpL2mX7vB1n»", "db_password_test = '«hunter22x»'",
	"basic auth bob:«Winter2026!» failed",
	// A part of them tells what they are, whatever follows.
	"https://h.example/«GTd7FguoV8FWnFbB0JxXujr4qqaaABvvLOzAxzXMcU+ACRAk7jqe»/v1", "«QMaRiNTN9Ox98whGcTZc1UWb5fxzpF7STG7nVLe3lARUsRJlNONwktN9ugkZeESG61she/QAqq0n+AStkBxjd2==»/x", "«1Ls6v6+O9JL8ZsoWw/Rxl+IUiTeNUJ+HLRwb8GPJ7KTSJS0Sw5UQsvzU9Kk1v1MIdzu4xCxf8Cvg+ABa5ihu9l==»+x",
	"x-y=«9ye17SWjAEVaSZJ0oVeMmLRLTq10V7suW9zrlSaWnPsPW23C/L9WXuHM/G1cON+Ks9dp4FLfrYb9+AMCIJrp7E==»/", "«eF+ItKL/8pcqMKRLd7SUqeaG6nyb229X8YzL7iMa3K8Nsv9/Qt2giDIkidQ2iZ+gppCorL4txx0uACDbeNncJg==»=", "use «WjJhpZrb3lO++TVhrLtLCHiEGKrEV6Xwq+AEhTbPvfK=»=+/",
	"bot/«elp6EX79PndXgt2Cok+BrWTELQSXWrTL3+ASb92xHcL=»/", `«BxYimeexzzf+9Sa28M2P77mytujVX8tGo+ARmr0kWsR=»=\n`, "https://h.example/?k=«Ee9eSVOhc68tpPL6EuezdDkZUNx7UKi7uEwAf3Ia7h50AzFukccJ11==»=&x=1",
	"«SmjE+l8gFg/YhgG05NgeywZyDkOnlujBc4T+2WqbN5CorN9lHZOqqk8Fk2FJh/FgzKVmj1OWaKqd+AStCj0SPY==»/x", "«01d83c4a29548fa91200314bd807d4b6-us12»x", "«ab0553854edd3aae7ed5e15ff034d160-us1234»",
	"«c6KpET4wzDnmr0mtJHwWWYpxwZp0Q162dNFzwjj1pFycgkzgWTs56mYZWuERE3IN_PF84_26c035c0-a09c-fce1-4db0-699202bd9087»zone", "use «2129b6f237adc0cc56aca3b7.36998252d572dd7df79d82a5d04395d6»zone",
	// Names that could only say something about a secret.
	"<secret>«Summer2Winter»</secret>", "<clientSecret>«Pass4Word»</clientSecret>", "<apiKey>«Summer2Winter»</apiKey>", "<accessToken>«Summer2Winter»</accessToken>",
	"STRIPE_KEY_TEST=«rQ8vZ1mT4xK7nB2wLp9c»", "kis_app_key_paper: «k3mf9x2q8z1v7t4w6y5p0r2s»", "api_key_qa: \"«f3Kq9ZpL2mX7vB1n»\"", "API_KEY_UAT=«f3/Kq9ZpL2m+X7vB1nQ4==»", "DB_PASS_TEST=«hunter22»",
	"token_updated_at=«hunter22x»", "password_ref: «hunter22x»", "password_ref: «Uq467O0M6ItW31wQ7Q0AQJnO»", "secret.ref=«55sC7yq2Lm9Xv4Zt8Kw1Rb3N»", "token_used_at=«q8Zr2Lx7Vn4Tb9Km1Wc6Yd3P»", "PASSWORD_REF=«Uq467O0M6ItW31wQ7Q0AQJnO»", "password_hash_algorithm: «k3mf9x2q8z1v7t4w6y5p0r2s»", "<passwordRef>«Uq467O0M6ItW31wQ7Q0AQJnO»</passwordRef>",
	"[smtp.example.org]:587 bob@x.com:«S3cr3tP4ss»",
}

// Of a phrase, and of what stands beside it, no more than its words goes.
func TestSeedPhrases(t *testing.T) {
	const words = "legal winner thank year wave sausage worth useful legal winner thank yellow"
	if got := Text("## Seed phrase\n\n"+words, nil); strings.Contains(got, "yellow") {
		t.Errorf("behind a word of the list: %q", got)
	}
	for _, text := range []string{
		"seed phrase 1: §\nseed phrase 2: §", "seed 1: §\nseed 2: §", "alice:\n  mnemonic: §\nbob:\n  mnemonic: §",
		"{\"mnemonic\": \"§\",\n \"address\": \"0x12ab\"}", `{\"mnemonic\":\"§\",\"index\":0}`, "mnemonic = § # keep", "MNEMONIC=§\nINDEX=1",
	} {
		if got, want := Text(strings.ReplaceAll(text, "§", words), nil), strings.ReplaceAll(text, "§", Mark); got != want {
			t.Errorf("%q becomes %q", text, got)
		}
	}
}

// A value of many bytes hides none behind it.
func TestLongValue(t *testing.T) {
	long := strings.Repeat("QUJD", 5000)
	text := "INSERT INTO users (name, avatar, password) VALUES ('bob','" + long + "','Tr0ub4dor3'), ('al','x','Winter2026x');"
	if got := Text(text, nil); strings.Contains(got, "Tr0ub4dor3") || strings.Contains(got, "Winter2026x") {
		t.Errorf("it becomes %q", strings.ReplaceAll(got, long, "…"))
	}
}

// testdata/forms.jsonl has a form of writing a secret on each line, after the name of its class.
func TestWritten(t *testing.T) {
	data, err := os.ReadFile("testdata/forms.jsonl")
	testenv.NoError(t, err)
	texts := handwritten
	for line := range strings.Lines(string(data)) {
		var form [2]string
		testenv.NoError(t, json.Unmarshal([]byte(line), &form))
		texts = append(texts, form[1])
	}
	for _, text := range texts {
		plain := strings.NewReplacer("«", "", "»", "").Replace(text)
		got := Text(plain, nil)
		for i, part := range strings.FieldsFunc("."+text, func(r rune) bool { return r == '«' || r == '»' }) {
			if i%2 == 1 && strings.Contains(got, part) {
				t.Errorf("%q becomes %q", plain, got)
				break
			}
		}
		if again := Text(got, nil); again != got {
			t.Errorf("a second time %q becomes %q", got, again)
		}
		for end := range plain { // a text that is cut off anywhere
			Text(plain[:end], nil)
		}
	}
}
