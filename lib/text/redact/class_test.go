package redact

import (
	"slices"
	"strings"
	"testing"
)

// Ways to write a setting, each with § for the value: nothing but the value goes.
// The values below look like passwords that a person and that a program chose.
var classes = map[string][]string{
	"a bracket or comma behind it": {
		"[user=bob, password=§]", "(password=§)", "{password: §}", "{user: bob, password: §}", "password=§; next", "[password=§], [x=y]",
		"Config{User:bob Password:§}", "{password: §, user: bob}", "password=§,user=bob", "f(a, password=§).then", "{{password: §}}", "<password=§>",
		"map[password:§ user:bob]", "map[user:bob password:§]", "(token=§): x", "[DB_PASSWORD=§]", "{DB_PASSWORD=§, X=1}", "&{bob password:§}", "password=§.", "redis:6380,password=§,ssl=True",
	},
	"URL-encoded": {
		"%22api_key%22%3A%22§%22", "%22api_key%22:%22§%22", "x?next=%2Fa%3Fapi_key%3D§", "password%3A§", "password%3D§%26next%3D1", "password%253D§%2526x", "{%22password%22%3A%20%22§%22}",
		"Authorization%3A%20Bearer%20§", "https%3A%2F%2Fbob%3A§%40example.org%2F",
	},
	"HTML": {
		"&quot;password&quot;:&quot;§&quot;", "&#34;password&#34;: &#34;§&#34;", "&#x22;password&#x22;:&#x22;§&#x22;", "password&#x3D;§", "password&#61;§&#32;x", "a=b&amp;password=§", "&lt;password&gt;§&lt;/password&gt;",
		"&amp;quot;password&amp;quot;:&amp;quot;§&amp;quot;", "password&equals;§&nbsp;x", "&#39;password&#39; =&gt; &#39;§&#39;",
	},
	"JSON within JSON": {
		`{\"password\":\"§\"}`, `{\\\"password\\\":\\\"§\\\"}`, `{\"password\": \"§\", \"x\":1}`, `{\\\"x\\\":1,\\\"password\\\": \\\"§\\\"}`, `"{\\\"a\\\":{\\\"api_key\\\":\\\"§\\\"}}"`,
		`\\\\\\\"password\\\\\\\":\\\\\\\"§\\\\\\\"`, `{\n  \"password\": \"§\"\n}`, `{\\n  \\\"password\\\": \\\"§\\\"\\n}`, `"password = \"§\"\n"`, `"api_key: '§'\n"`,
	},
	"escapes of signs": {
		`password\u003d§`, `\u0022password\u0022:\u0022§\u0022`, `password\x3d§`, `\x22password\x22:\x22§\x22`, `\u003cpassword\u003e§\u003c/password\u003e`, `a=b\u0026password=§`, `password\075§`, `\u{22}password\u{22}:\u{22}§\u{22}`,
		"password=3D§", "=22password=22:=22§=22", "password=3A =22§=22",
	},
	"colours that a log shows": {
		`password=\u001b[32m§\u001b[0m`, `\u001b[1mpassword\u001b[0m: §`, `\x1b[31mpassword\x1b[0m=\x1b[1m§\x1b[0m`, `\033[1;31mpassword\033[0m: §\033[0m`, `\e[36mpassword\e[0m=§\e[0m`,
		"^[[36mpassword^[[0m=^[[1m§^[[0m", `"password": \u001b[33m"§"\u001b[0m`, `%1B[32mpassword%1B[0m=§`, `\u001b[36mpassword\u001b[0m=\u001b[33m§`,
	},
	"YAML": {
		"password: |\n  §\nnext: 1", "password: >-\n  §\n", "  password: |-\n    §\n  next: 1", "password: |2-\n    §\n", "password: !!str §", "password: !secret §\n", "password: &a §\n", "password: !!str '§'", `password: &pw "§"`,
		"password: # of the database\n  §\n", "- {name: password, value: §}", "password: !!binary |\n  §\n", "password: | # keep\n  §\n",
	},
	"literals": {
		`password = b"§"`, `password = r"§"`, `password = f"§"`, `password = u'§'`, `password = rb'§'`, `Password = @"§";`, `Password = $"§";`, `password = R"(§)";`, `password = L"§";`, `password = u8"§";`, `password = """§"""`, `password: '''§'''`,
		`password = ("§")`, `password = (\n    "§")`, `password = ["§"]`, `NSString *password = @"§";`,
	},
	"wrappers": {
		`password = SecretStr("§")`, `password=SecretStr('§')`, `Secret: Secret("§"),`, `let password = String::from("§");`, `password: "§".to_string(),`, `password: Some("§"),`, `password: Some("§".to_string())`, `password = new Password("§");`,
		`password = new SecretString("§")`, `Password: []byte("§"),`, `password: aws.String("§"),`, `password: pulumi.secret("§")`, `password = Buffer.from("§")`, `password: Some(String::from("§"))`, `Password: ptr.To("§")`, `password = str("§")`, `password = bytes("§", "utf-8")`,
		`$password = ConvertTo-SecureString "§" -AsPlainText -Force`, `password = std::string("§");`,
	},
	"defaults": {
		`getenv("DB_PASSWORD", "§")`, `os.environ.get("API_KEY", "§")`, `os.getenv('API_KEY', '§')`, `process.env.API_KEY || "§"`, `process.env.API_KEY ?? '§'`, "process.env.API_KEY || `§`", "${API_KEY:-§}", `"${DB_PASSWORD:-§}"`, "${DB_PASSWORD:§}", "${DB_PASSWORD:=§}",
		`os.environ.get("API_KEY") or "§"`, `env('DB_PASSWORD', '§')`, `ENV.fetch("API_KEY", "§")`, `ENV["API_KEY"] || "§"`, `getenv('API_KEY') ?: '§'`, `$_ENV['API_KEY'] ?? '§'`, `config("SECRET_KEY", default="§")`, `env::var("API_KEY").unwrap_or("§".to_string())`,
		`System.getenv().getOrDefault("API_KEY", "§")`, `Environment.GetEnvironmentVariable("API_KEY") ?? "§"`, `viper.SetDefault("api_key", "§")`, `flag.String("password", "§", "of the database")`, `password: str = Field(default="§")`, `api_key: str = os.getenv("API_KEY", default="§")`,
		`password: str = "§"`, `password: Optional[str] = "§"`, `password: str | None = "§"`, `let password: Option<&str> = Some("§");`, `const apiKey: string | undefined = "§"`, `val password: String? = "§"`, `public string Password { get; set; } = "§";`,
		`parser.add_argument("--password", default="§")`, `@Value("${db.password:§}")`, `const char *password = "§";`, `char password[] = "§";`, `char password[32] = "§";`, `#define API_PASSWORD "§"`, `std::string password{"§"};`, `Dim password As String = "§"`,
	},
	"XML": {
		"<password>§</password>", `<property name="password" value="§"/>`, `<add key="ApiKey" value="§"/>`, `<entry key="password">§</entry>`, `<string name="api_key">§</string>`, "<key>Password</key><string>§</string>", "<key>Password</key>\n\t<string>§</string>",
		`<password encrypted="false">§</password>`, `<setting name="Password" serializeAs="String">\n  <value>§</value>`, "<setting name=\"Password\" serializeAs=\"String\">\n  <value>§</value>", `<input type="hidden" name="api_key" value="§">`, `<input name="password" type="text" value="§">`, "<password><![CDATA[§]]></password>",
		`<user name="bob" password="§" />`, `<db:password>§</db:password>`, `<Property Name="Password">§</Property>`, `<password>\n  §\n</password>`, `<init-param><param-name>password</param-name><param-value>§</param-value></init-param>`,
		`<name>password</name><value>§</value>`, "<name>fs.s3a.secret.key</name>\n  <value>§</value>",
	},
	"options": {
		"-Dpassword=§", "java -Djavax.net.ssl.keyStorePassword=§ -jar x", "java -Dspring.datasource.password=§ x", "--set db.password=§", "--from-literal=password=§", "-e DB_PASSWORD=§", "--build-arg API_KEY=§", "-var db_password=§", "--env=API_KEY=§", "-P password=§", "-password §", "/p:Password=§", "-Password '§'",
	},
	"languages": {
		`define('API_KEY', '§');`, `define("DB_PASSWORD", "§");`, `'password' => '§',`, `:password => "§"`, `password: '§',`, `password = "§"`, `["password"] = "§",`, `val password = "§"`, `private static final String API_KEY = "§";`, `@password = '§'`, `$password = "§";`, `$env:API_KEY = "§"`, `SET PASSWORD = '§'`,
		`my $password = '§';`, `our %cfg = (password => '§');`, `config.password = "§"`, `setPassword("§")`, `.password("§")`, `.withPassword("§")`, `password("§")`, `cfg.setApiKey('§')`, `WithAPIKey("§")`, `defmodule X, password: "§"`, `(def password "§")`, `(setq api-key "§")`,
	},
	"names and values": {
		`{"name":"API_KEY","value":"§"}`, "- name: API_KEY\n  value: §\n", "- name: API_KEY\n  value: \"§\"\n", `{"Name":"API_KEY","Value":"§"}`, `{"name":"API_KEY","type":"secret_text","value":"§"}`, `{"Key":"Password","Value":"§"}`, `{"ParameterKey":"DbPassword","ParameterValue":"§"}`,
		`ParameterKey=DbPassword,ParameterValue=§`, `{"value":"§","name":"API_KEY"}`, "- key: API_KEY\n  value: '§'\n", `name: "API_KEY", value: "§"`, "name = \"API_KEY\"\n    value = \"§\"", `{\"name\":\"API_KEY\",\"value\":\"§\"}`, `"API_KEY": {"value": "§"}`, `"db_password": {\n "sensitive": true, "value": "§"}`,
		`["API_KEY", "§"]`, `("password", "§")`, `{"password", "§"}`, `"password" : [ "§" ]`, `variable "db_password" { default = "§" }`, "variable \"db_password\" {\n  type = string\n  default = \"§\"\n}",
	},
	"tables": {
		"| password | § |", "| name | value |\n|---|---|\n| api_key | § |\n", "password ........ §", "password........: §", "  secret_key     §", "│ password │ § │", " password | § ", "api_key\t§\n", "Key         Value\n---         -----\npassword    §\nttl         1h\n", "API_KEY:      §\n", "|password|§|", "| `api_key` | `§` |", "| **password** | § | x |",
		"+ password = §", "password -> §", "password → §", "Password ➜ §", "secret_key  §  env", "password is §", "the password is: §", "password is '§'.", "password `§`",
	},
	"directives": {
		"requirepass §", "masterauth §", "auth_pass §", "AUTH §", "redis-cli -a § ping", "sshpass -p § ssh x", "mysql -u bob -p§ db", "mysqldump --password=§ x", "CONFIG SET requirepass §", "SetEnv API_KEY §", "fastcgi_param API_KEY §;", "docker login -u bob -p § r.example.org", "proxy_set_header X-Api-Key §;", "api_key §\n", "mongo -u bob -p § h", "openssl rsa -passin pass:§ -in x",
		"ldapsearch -D x -w § y", "wget --password § x", "curl -H 'X-Api-Key: §' x", "X-Auth-Token: §",
	},
}

// escaped are the classes of texts whose signs are written as escapes, so that what
// stands behind a value can look like a part of it.
var escapedClasses = []string{"URL-encoded", "HTML", "JSON within JSON", "escapes of signs", "colours that a log shows"}

func TestClasses(t *testing.T) {
	for class, texts := range classes {
		for _, text := range texts {
			for _, value := range []string{"Xy7kQ2mLp9Rt", "s3cr3t-th1ng", "p4ssW0rd!x9"} {
				secret, want := strings.Replace(text, "§", value, 1), strings.Replace(text, "§", Mark, 1)
				got := Text(secret, nil)
				if got != want && (!slices.Contains(escapedClasses, class) || strings.Contains(got, value) || !strings.Contains(got, Mark)) {
					t.Errorf("%s: %q becomes %q", class, secret, got)
				}
				if again := Text(got, nil); again != got {
					t.Errorf("%s: a second time %q becomes %q", class, got, again)
				}
			}
		}
	}
}
