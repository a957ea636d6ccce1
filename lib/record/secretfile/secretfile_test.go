package secretfile

import (
	"testing"

	"gt/lib/conversation"
)

func TestIs(t *testing.T) {
	for _, file := range []string{
		".env", "/x/.env", "a/.env.local", ".env.production", "prod.env", "id_rsa", "/home/max/.ssh/id_ed25519", "~/.ssh/id_work", "server.pem", "KEY.PEM",
		"tls.key", ".netrc", ".npmrc", "/root/.aws/credentials", ".docker/config.json", "~/.kube/config", ".git-credentials", "~/.codex/auth.json",
		"~/.claude/.credentials.json", ".gemini/oauth_creds.json", "service-account.json", "/etc/shadow", "store.jks",
		// Histories of shells, interpreters and databases.
		"~/.bash_history", ".zsh_history", "~/.local/share/fish/fish_history", ".python_history", ".psql_history", ".mysql_history", ".sqlite_history", ".node_repl_history",
		".rediscli_history", ".irb_history", ".lesshst", ".viminfo", ".history", ".zhistory", ".Rhistory", ".dbshell", ".mycli-history", "~/.config/pgcli/history",
		"AppData/Roaming/Microsoft/Windows/PowerShell/PSReadLine/ConsoleHost_history.txt", "~/.julia/logs/repl_history.jl",
		// Credentials of programs and servers.
		"/var/www/wp-config.php", "LocalSettings.php", "sites/default/settings.php", "/proc/1234/environ", "/proc/self/environ", ".pgpass", ".my.cnf", ".mylogin.cnf", ".htpasswd",
		".config/rclone/rclone.conf", ".s3cfg", ".boto", ".config/gh/hosts.yml", ".config/hub", "~/.config/glab-cli/config.yml", "/etc/ipsec.secrets", "/etc/ppp/chap-secrets",
		"/etc/wireguard/home.conf", "wg0.conf", "client.ovpn", "home.nmconnection", "wpa_supplicant.conf", ".vault_pass.txt", "config/master.key", "config/secrets.yml",
		"terraform.tfstate", "prod.tfstate.backup", "prod.tfvars", "prod.auto.tfvars.json", "~/.terraform.d/credentials.tfrc.json", "~/.m2/settings.xml", "~/.gradle/gradle.properties",
		"~/.azure/msal_token_cache.json", "~/.azure/accessTokens.json", "~/.config/gcloud/access_tokens.db", "~/.config/gcloud/application_default_credentials.json",
		"my-app-firebase-adminsdk-x1.json", "client_secret_12.apps.googleusercontent.com.json", "max_accessKeys.csv", "~/.aws/sso/cache/ab12.json", "/run/secrets/db_password",
		"/var/run/secrets/kubernetes.io/serviceaccount/token", "dev.kubeconfig", "/etc/kubernetes/admin.conf", ".dockercfg", ".dev.vars", ".streamlit/secrets.toml", "~/.kaggle/kaggle.json",
		"~/.cache/huggingface/token", ".databrickscfg", "~/.dbt/profiles.yml", ".Renviron", ".erlang.cookie", ".msmtprc", "sftp-config.json", ".smbcredentials", "krb5.keytab",
		// Stores of keys and passwords.
		"vault.kdbx", "login.keychain-db", "logins.json", "key4.db", "wallet.dat", "UTC--2020-01-01T00-00-00Z--ab", "ssh_host_ed25519_key", "/etc/ssh/ssh_host_rsa_key", "AuthKey_AB12.p8",
		"~/.gnupg/private-keys-v1.d/AB.key", "~/.config/sops/age/keys.txt", "secring.gpg", "~/.ssh/identity",
	} {
		if !IsSecret(file) {
			t.Errorf("%s is not secret", file)
		}
	}
	for _, file := range []string{
		"", ".", "/", "main.go", ".env.example", ".env.sample", "config.env.example", "id_rsa.pub", "id_token_test.go", "id_map.ts", "environment.md", "keys.md", "config.json", "hosts.yml",
		"credentials", "shadow", "docs/.env.md", "env", "token.go",
		".env.dist", ".envrc", "wp-config-sample.php", "settings.php", "prod.tfvars.example", "terraform.tfvars.sample", ".bashrc", ".zshrc", ".ssh/config", ".ssh/known_hosts", ".ssh/authorized_keys",
		"history.go", "history", "docs/history.txt", "CHANGELOG", "environ", "src/environ.c", "/proc/1/status", "ssh_host_rsa_key.pub", "id_rsa.pub", "settings.py", "database.yml", "settings.xml",
		"gradle.properties", "appsettings.json", "web.config", ".yarnrc.yml", "my.cnf", "passwd", "/etc/passwd", "server.crt", "ca.cer", "key.go", "keys.ts", "secrets.go", "secrets.md", "wgsl.conf",
		"service.json", "credentials.yml.enc", "tfstate.go", "nginx.conf", "wallet.go", "cookies.ts", "login.html", "config.yml", "config.yaml", "redis.conf", "auth.ts", "tokenizer.json",
	} {
		if IsSecret(file) {
			t.Errorf("%s is secret", file)
		}
	}
}

// A command that reads a secret file is recognised, even with a shell's variable in place
// of a number.
func TestOfCommand(t *testing.T) {
	for command, want := range map[string]string{
		"tail -5 ~/.bash_history":                    ".bash_history",
		"tr '\\0' '\\n' </proc/$PID/environ":         "environ",
		"cat /proc/*/environ | strings":              "environ",
		"xargs -0 -L1 </proc/$(pgrep -n x)/environ":  "environ",
		"cd /proc/12 && cat environ":                 "environ",
		"php -r 'require \"wp-config.php\"; x();'":   "wp-config.php",
		"grep -rn environ src/":                      "",
		"cat .env.example":                           "",
		"git log --oneline docs/history.txt":         "",
		"ls /proc/12/fd; python -c 'import environ'": "environ",
	} {
		if got := FindInCall(conversation.Entry{Target: command}); got != want {
			t.Errorf("%s: %q, want %q", command, got, want)
		}
	}
}
