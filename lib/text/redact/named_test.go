package redact

import (
	"strings"
	"testing"
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
}

func TestWritten(t *testing.T) {
	for _, text := range handwritten {
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
	}
}
