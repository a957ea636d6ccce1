package redact

import (
	"strings"
	"testing"
)

// What tools print and keep, each secret between « and ».
var tools = []string{
	`            "Env": [ "PATH=/usr/bin", "POSTGRES_PASSWORD=«s3cr3t-th1ng»", "API_TOKEN=«Xy7kQ2mLp9Rt»" ],`,
	"apiVersion: v1\ndata:\n  password: «czNjcjN0LXRoMW5n»\n  api-key: «WHk3a1EybUxwOVJ0»\nkind: Secret",
	"KeyError: 'x'\n  environ({'HOME': '/root', 'DB_PASSWORD': '«s3cr3t-th1ng»', 'LANG': 'C'})",
	"> GET / HTTP/1.1\n> Host: example.org\n> Authorization: Basic «Ym9iOnMzY3IzdA==»\n> X-Api-Key: «Xy7kQ2mLp9RtZ4»\n> Cookie: «sid=a1b2c3d4e5f6»\n",
	"< Set-Cookie: «session=Xy7kQ2mLp9RtZ4; Path=/; HttpOnly»\n",
	"  + resource \"aws_db_instance\" \"db\" {\n      + username = \"bob\"\n      + password = \"«s3cr3t-th1ng»\"\n      + token    = (known after apply)",
	"//registry.example.org/:_authToken=«0a1b2c3d-4e5f-6071-8293-a4b5c6d7e8f9»\nemail=bob@example.org", "//r.example.org/:_password=\"«czNjcjN0LXRoMW5n»\"",
	"[pypi]\nusername = bob\npassword = «s3cr3t-th1ng»\n", "[client]\nuser=bob\npassword=\"«s3cr3t-th1ng»\"\nhost=db\n", "[client]\npassword=«hunter2»\n",
	"spring:\n  datasource:\n    url: jdbc:postgresql://db/x\n    username: bob\n    password: «s3cr3t-th1ng»\n", "spring.datasource.password=«s3cr3t-th1ng»", "spring.mail.password: '«s3cr3t-th1ng»'",
	"secret_key_base: «0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef»\naws:\n  access_key_id: x\n  secret_access_key: «wJalrXUtnFEMI7K7MDENG/bPxRfiCYzzzzzzzKEY»\n",
	"ansible_become_pass: «s3cr3t-th1ng»", "ansible_ssh_pass=«s3cr3t-th1ng»", "web1 ansible_host=10.0.0.1 ansible_password=«s3cr3t-th1ng» ansible_user=bob", "vault_db_password: \"«s3cr3t-th1ng»\"", "become_password=«hunter2»",
	"2026-11-22T10:00:00.0000000Z   DEPLOY_TOKEN: «Xy7kQ2mLp9Rt»", "env:\n  API_KEY: «Xy7kQ2mLp9Rt»\n  OTHER: x", "##[debug]..Evaluating env.API_KEY => '«Xy7kQ2mLp9Rt»'",
	"psql \"host=db user=bob password=«s3cr3t-th1ng» dbname=x\"", "postgresql://bob:«s3cr3t-th1ng»@db:5432/x?sslmode=require", "origin\thttps://bob:«ghtoken12345»@github.com/bob/x.git (fetch)", "origin  https://oauth2:«Xy7kQ2mLp9RtZ4»@gitlab.com/x.git (push)",
	"level=info msg=\"token\" jwt=«eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.aB3dE6gH9jK2mN5pQ8sT1vW4yZ7bC0dF»", "SECRET_KEY = 'django-insecure-«k3#v9(z&x1^b)m@7+q!w=e5*r$t_y-u8i2o4p6a0s%d^f&g#h(j»'",
	"DATABASES = {'default': {'USER': 'bob', 'PASSWORD': '«s3cr3t-th1ng»', 'HOST': 'db'}}", "define( 'DB_PASSWORD', '«s3cr3t-th1ng»' );", "define('AUTH_KEY',         '«k3#v9(z&x1^b)m@7+q!w=e5*r$t_y-u8i2o4p6a0s%d^f&g#h(jKLMNO,.Q12345»');", "define('NONCE_SALT',       '«k3#v9(z&x1^b)m@7+q!w=e5*r$t_y-u8i2o4p6a0s%d^f&g#h(jKLMNO,.Q12345»');",
	`"ConnectionStrings": { "Default": "Server=db;Database=x;User Id=sa;Password=«s3cr3t-th1ng»;Encrypt=True" }`, `<add name="x" connectionString="Data Source=db;User ID=sa;Password=«word»" />`, `  "Jwt": { "Key": "«Xy7kQ2mLp9RtZ4bN8sWc3Yd6»", "Issuer": "x" }`, `"ClientSecret": "«Xy7kQ2mLp9Rt»"`,
	`<machineKey validationKey="«0123456789ABCDEF0123456789ABCDEF»" decryptionKey="«0123456789ABCDEF0123456789ABCDEF»" />`, `<appSettings><add key="StripeSecret" value="«Xy7kQ2mLp9Rt»" /></appSettings>`, `<credentials><username>bob</username><password>«s3cr3t-th1ng»</password></credentials>`,
	`db.createUser({user: "bob", pwd: "«s3cr3t-th1ng»", roles: []})`, `db.auth("bob", "«s3cr3t-th1ng»")`, "mongodb+srv://bob:«s3cr3t-th1ng»@c.example.org/x", "requirepass «s3cr3t-th1ng»", "127.0.0.1:6379> AUTH «s3cr3t-th1ng»\nOK", "127.0.0.1:6379> AUTH bob «s3cr3t-th1ng»\nOK", "redis://:«s3cr3t-th1ng»@r:6379/0",
	"[drive]\ntype = drive\ntoken = {\"access_token\":\"«ya29.aB3dE6gH9jK2mN5pQ8sT1vW4yZ7bC0dF»\",\"refresh_token\":\"«1//0aB3dE6gH9jK2mN5pQ8sT1vW4yZ7bC0dFaB3dE6gH9jK2»\"}", "[s3]\ntype = s3\naccess_key_id = x\nsecret_access_key = «Xy7kQ2mLp9RtZ4bN8sWc3Yd6Fh1Jg5Ka0Ue7Io9x»\n", "pass = «aB3dE6gH9jK2mN5pQ8sT1vW4yZ7bC0dF»",
	"[default]\naccess_key = x\nsecret_key = «Xy7kQ2mLp9RtZ4bN8sWc3Yd6Fh1Jg5Ka0Ue7Io9x»\n", "gpg_passphrase = «s3cr3t-th1ng»", "aws_secret_access_key = «Xy7kQ2mLp9RtZ4bN8sWc3Yd6Fh1Jg5Ka0Ue7Io9x»",
	`  "type": "service_account", "private_key_id": "«0123456789abcdef0123456789abcdef01234567»", "private_key": "«-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASC\n-----END PRIVATE KEY-----»\n",`,
	"DefaultEndpointsProtocol=https;AccountName=x;AccountKey=«aB3dE6gH9jK2mN5pQ8sT1vW4yZ7bC0dFaB3dE6gH9jK2mN5pQ8sT1vW4yZ7bC0dFaB3dE6gH9jK2mN5pQ8sT1w==»;EndpointSuffix=core.windows.net", "Endpoint=sb://x.servicebus.windows.net/;SharedAccessKeyName=Root;SharedAccessKey=«aB3dE6gH9jK2mN5pQ8sT1vW4yZ7bC0dF0123456789a=»",
	"HostName=x.azure-devices.net;DeviceId=d;SharedAccessKey=«aB3dE6gH9jK2mN5pQ8sT1vW4yZ7bC0dF0123456789a=»", "AccountEndpoint=https://x.documents.azure.com:443/;AccountKey=«aB3dE6gH9jK2mN5pQ8sT1vW4yZ7bC0dFaB3dE6gH9jK2mN5pQ8sT1vW4yZ7bC0dFaB3dE6gH9jK2mN5pQ8sT1w==»;", "InstrumentationKey=11111111-2222-4333-8444-555555555555;x", "https://x.blob.core.windows.net/c?sv=2024&se=2026&sig=«aB3dE6gH9jK2mN5pQ8sT1vW4yZ7bC0dF%3D»",
	`apiKey: "«AIzaSyaB3dE6gH9jK2mN5pQ8sT1vW4yZ7bC0dFx»", authDomain: "x.firebaseapp.com"`, "Your webhook signing secret is «whsec_aB3dE6gH9jK2mN5pQ8sT1vW4yZ7bC0dF» (^C to quit)", "TWILIO_AUTH_TOKEN=«0123456789abcdef0123456789abcdef»", "authToken: '«0123456789abcdef0123456789abcdef»'",
	"=== app Config Vars\nDATABASE_URL:    postgres://u:«s3cr3t-th1ng»@h/d\nSECRET_KEY_BASE: «0123456789abcdef0123456789abcdef»\nRAILS_ENV:       production", "flyctl secrets set API_KEY=«Xy7kQ2mLp9Rt»", "fly secrets set DB_PASSWORD='«s3cr3t-th1ng»'", "heroku config:set API_KEY=«Xy7kQ2mLp9Rt» -a x",
	"Key                  Value\n---                  -----\ntoken                «hvs.CAESIJaB3dE6gH9jK2mN5pQ8sT1vW4yZ7bC0dF»\ntoken_accessor       x\n", "Unseal Key 1: «aB3dE6gH9jK2mN5pQ8sT1vW4yZ7bC0dF0123456789ab»", "Initial Root Token: «hvs.aB3dE6gH9jK2mN5pQ8sT1vW4»", "password    «s3cr3t-th1ng»\nusername    bob",
	"kubectl create secret generic x --from-literal=password='«s3cr3t-th1ng»' --from-literal=user=bob", "kubectl create secret docker-registry r --docker-password=«s3cr3t-th1ng» --docker-username=bob", "helm install x --set postgresql.auth.password=«s3cr3t-th1ng»", "docker run -e MYSQL_ROOT_PASSWORD=«word» -d mysql", "docker build --build-arg NPM_TOKEN=«Xy7kQ2mLp9Rt» .", "    environment:\n      - POSTGRES_PASSWORD=«word»\n      - X=y",
	"      POSTGRES_PASSWORD: «s3cr3t-th1ng»", "token: «abcdef.0123456789abcdef»", "kubeadm join 10.0.0.1:6443 --token «abcdef.0123456789abcdef» --discovery-token-ca-cert-hash sha256:0123456789abcdef", "    token: «eyJhbGciOiJSUzI1NiIsImtpZCI6IiJ9.eyJpc3MiOiJrdWJlcm5ldGVzIn0.aB3dE6gH9jK2mN5pQ8sT1vW4yZ7bC0dF»", "    client-key-data: «LS0tLS1CRUdJTiBSU0EgUFJJVkFURSBLRVktLS0tLQ==»",
	"machine api.example.org\n  login bob\n  password «s3cr3t-th1ng»", "db.example.org:5432:x:bob:«s3cr3t-th1ng»", "smtp://bob:«s3cr3t-th1ng»@mail.example.org:587", "MAILER_DSN=smtp://bob:«s3cr3t-th1ng»@mail:25", "amqp://bob:«s3cr3t-th1ng»@mq:5672/x", "SENTRY_DSN=https://«0123456789abcdef0123456789abcdef»@o1.ingest.sentry.io/2", "ftp://bob:«s3cr3t-th1ng»@ftp.example.org/", "jdbc:mysql://db/x?user=bob&password=«s3cr3t-th1ng»",
	"sshpass -p '«s3cr3t-th1ng»' ssh bob@h", "mysql -h db -u bob -p'«s3cr3t-th1ng»' x", "PGPASSWORD=«word» psql -h db", "MYSQL_PWD=«word» mysql", "RESTIC_PASSWORD=«word» restic backup", "export BORG_PASSPHRASE='«two words»'", "curl -u bob:«word» https://x/", "curl -H 'PRIVATE-TOKEN: «Xy7kQ2mLp9Rt»' https://gitlab/x", "http --auth bob:«s3cr3t-th1ng» GET x", "wget --http-password=«s3cr3t-th1ng» x",
	"wpa_passphrase=«s3cr3t-th1ng»", "psk=\"«s3cr3t-th1ng»\"", "PrivateKey = «aB3dE6gH9jK2mN5pQ8sT1vW4yZ7bC0dF0123456789a=»", "PresharedKey = «aB3dE6gH9jK2mN5pQ8sT1vW4yZ7bC0dF0123456789a=»", "enable secret 5 «$1$mERr$hx5rVt7rPNoS4wqbXKX7m0»", "username bob password 7 «0822455D0A16»", "bob:«$6$abcdefgh$aB3dE6gH9jK2mN5pQ8sT1vW4yZ7bC0dFaB3dE6gH9jK2mN5pQ8sT1vW4yZ7b»:19000:0:99999:7:::", "bob:«$apr1$abcdefgh$aB3dE6gH9jK2mN5pQ8sT1v»",
	`{"access_token":"«Xy7kQ2mLp9RtZ4»","token_type":"bearer","expires_in":3600,"refresh_token":"«Xy7kQ2mLp9RtZ5»"}`, "access_token=«Xy7kQ2mLp9RtZ4»&token_type=bearer", "oauth_token=\"«Xy7kQ2mLp9RtZ4»\", oauth_token_secret=\"«Xy7kQ2mLp9RtZ5»\"", "client_id=x&client_secret=«Xy7kQ2mLp9RtZ4»&grant_type=client_credentials", "x-amz-security-token: «IQoJb3JpZ2luX2VjEaB3dE6gH9jK2»", "Credential=AKIA/20261122, Signature=«0123456789abcdef0123456789abcdef»",
	`time="2026" level=debug msg="login" user=bob password=«s3cr3t-th1ng»`, "Parameters: {\"user\"=>{\"name\"=>\"bob\", \"password\"=>\"«s3cr3t-th1ng»\"}}", "DEBUG login(user='bob', password='«s3cr3t-th1ng»')", "User(name=bob, password=«s3cr3t-th1ng»)", "&main.Config{User:\"bob\", Password:\"«s3cr3t-th1ng»\"}", "Config { user: \"bob\", password: \"«s3cr3t-th1ng»\" }", "#<User name: \"bob\", password: \"«s3cr3t-th1ng»\">", "{:user \"bob\", :password \"«s3cr3t-th1ng»\"}", "%{password: \"«s3cr3t-th1ng»\"}", "[password] => «s3cr3t-th1ng»", "  'password' =>\n  string(12) \"«s3cr3t-th1ng»\"",
	"INSERT INTO users (name, password) VALUES ('bob', '«$2b$12$aB3dE6gH9jK2mN5pQ8sT1vW4yZ7bC0dFaB3dE6gH9jK2mN5pQ8sT1»')", "UPDATE users SET password = '«s3cr3t-th1ng»' WHERE id = 1", "CREATE USER bob WITH PASSWORD '«word»'", "ALTER LOGIN sa WITH PASSWORD = '«s3cr3t-th1ng»'", "GRANT ALL ON x.* TO 'bob'@'%' IDENTIFIED BY '«word»'", "CHANGE MASTER TO MASTER_USER='r', MASTER_PASSWORD='«word»'", "SET PASSWORD FOR 'bob' = '«s3cr3t-th1ng»'",
	"The temporary password is «Xy7kQ2mLp9Rt».", "A temporary password is generated for root@localhost: «Xy7kQ2mLp9;Rt»", "Password: «s3cr3t-th1ng»", "password for bob: «s3cr3t-th1ng»", "New API key: «Xy7kQ2mLp9Rt»", "Your API key is «Xy7kQ2mLp9RtZ4»", "Your token: «Xy7kQ2mLp9RtZ4»", "admin password: «Xy7kQ2mLp9Rt»", "initialAdminPassword: «0123456789abcdef0123456789abcdef»", "Generated password = «Xy7kQ2mLp9Rt»", "login: bob / password: «s3cr3t-th1ng»", "pw=«s3cr3t-th1ng»", "bob's password (\"«s3cr3t-th1ng»\")",
	"--- a/.env\n+++ b/.env\n-DB_PASSWORD=«word»\n+DB_PASSWORD=«other»", ".env:3:DB_PASSWORD=«word»", "12:  password: «s3cr3t-th1ng»", "     3\tDB_PASSWORD=«word»", "config/db.yml-12-  password: «s3cr3t-th1ng»", "<td>password</td><td>«s3cr3t-th1ng»</td>", "<dt>Password</dt><dd>«s3cr3t-th1ng»</dd>", "\"password\",\"«s3cr3t-th1ng»\"",
	"Authorization: token «Xy7kQ2mLp9RtZ4»", "authorization: AWS4-HMAC-SHA256 Credential=x, Signature=«0123456789abcdef»", "Authorization: ApiKey «Xy7kQ2mLp9RtZ4»", "'Authorization': `Bearer «Xy7kQ2mLp9RtZ4bN8s»`", "auth=(\"bob\", \"«s3cr3t-th1ng»\")", "proxy = http://bob:«s3cr3t-th1ng»@proxy:3128", "Acquire::http::Proxy \"http://bob:«s3cr3t-th1ng»@proxy:3128\";", "extraheader = AUTHORIZATION: basic «eC1hY2Nlc3MtdG9rZW46czNjcjN0»", "machine github.com login x password «s3cr3t-th1ng»",
	"gitlab_rails['smtp_password'] = \"«s3cr3t-th1ng»\"", "grafana: admin_password = «s3cr3t-th1ng»", "cookie_secret = \"«aB3dE6gH9jK2mN5pQ8sT1vW4yZ7bC0dF»\"", "jwt_secret: «s3cr3t-th1ng»", "session_secret=«s3cr3t-th1ng»", "APP_KEY=base64:«aB3dE6gH9jK2mN5pQ8sT1vW4yZ7bC0dF0123456789a=»", "storePassword=«s3cr3t-th1ng»\nkeyAlias=x\nkeyPassword=«s3cr3t-th1nh»", "signing.password=«s3cr3t-th1ng»", "ossrhPassword=«s3cr3t-th1ng»", "secret: «aB3dE6gH9jK2mN5pQ8sT1vW4»", "gpg.passphrase=«s3cr3t-th1ng»", "sonar.login=«squ_0123456789abcdef0123456789abcdef01234567»",
}

func TestTools(t *testing.T) {
	for _, text := range tools {
		secrets := []string{}
		plain := ""
		for i, part := range strings.FieldsFunc("."+text, func(r rune) bool { return r == '«' || r == '»' }) {
			if i == 0 {
				part = part[1:]
			}
			if i%2 == 1 {
				secrets = append(secrets, part)
			}
			plain += part
		}
		got := Text(plain, nil)
		for _, secret := range secrets {
			if strings.Contains(got, secret) && len(secret) > 5 || got == plain {
				t.Errorf("%q becomes %q", plain, got)
				break
			}
		}
		if again := Text(got, nil); again != got {
			t.Errorf("a second time %q becomes %q", got, again)
		}
	}
}
