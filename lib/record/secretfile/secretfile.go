// Package secretfile recognises secret files by name. gt does not keep what an agent read
// from them or wrote to them.
package secretfile

import (
	"path"
	"slices"
	"strings"

	"gt/lib/conversation"
)

// FindInCall returns the name of the first secret file in a tool call, or "". The call has a
// command line or a path in Target, or else in Text, which can also have several arguments.
func FindInCall(call conversation.Entry) string {
	switch {
	case call.Target != "":
		return inCommand(call.Target)
	case hasArguments(call.Text):
		return inArguments(call.Text)
	}
	return inCommand(call.Text)
}

// inCommand returns the name of the first secret file in a command line, or "".
func inCommand(command string) string {
	if IsSecret(command) && !strings.ContainsAny(command, " \t\n") {
		return path.Base(command)
	}
	ofProcess := strings.Contains(command, "/proc") // /proc/$PID/environ, and /proc/*/environ
	for _, word := range strings.FieldsFunc(command, func(r rune) bool {
		return strings.ContainsRune(" \t\r\n\"'`=<>|&;()[]{},:*?!$\\", r)
	}) {
		if IsSecret(word) || ofProcess && path.Base(word) == "environ" {
			return path.Base(word)
		}
	}
	return ""
}

// inArguments returns the name of the first secret file in a tool's arguments, as
// conversation.Arguments writes them. Only a whole argument counts: a text that mentions
// a file is no reason to leave out the result.
func inArguments(arguments string) string {
	const most = 64 // arguments; the rest is the content of one
	for n := 0; arguments != "" && n < most; n++ {
		var line string
		line, arguments, _ = strings.Cut(arguments, "\n")
		if _, value, ok := strings.Cut(line, ": "); ok {
			line = value
		}
		if line = strings.Trim(line, " \t\r\"'[]{},"); IsSecret(line) {
			return path.Base(line)
		}
	}
	return ""
}

// hasArguments reports whether a call's text is several named arguments, and not a single
// command or path.
func hasArguments(text string) bool {
	first, _, several := strings.Cut(text, "\n")
	name, _, named := strings.Cut(first, ": ")
	return several && named && name != "" && strings.Trim(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_") == ""
}

// IsSecret reports whether a file is secret by its name.
func IsSecret(file string) bool {
	file = strings.ToLower(file)
	name := path.Base(file)
	ext := path.Ext(name)
	switch {
	case name == ".env" || strings.HasPrefix(name, ".env."):
		return !isSample(ext)
	case ext == ".env":
		return !isSample(path.Ext(strings.TrimSuffix(name, ext))) && len(name) > len(ext)
	case ext == ".pub" || ext == ".md" || ext == ".go" || ext == ".html":
		return false
	}
	return slices.Contains(secretExtensions, ext) || slices.Contains(secretNames, name) || isHistory(name) || isKeyFile(file, name, ext) ||
		slices.ContainsFunc(secretPaths, func(end string) bool { return strings.HasSuffix(file, end) }) ||
		slices.ContainsFunc(secretFolders, func(dir string) bool { return strings.Contains("/"+file, dir) })
}

// isHistory reports whether a file is the input history of a shell or a database client:
// .bash_history, .psql_history, fish_history, .mycli-history.
func isHistory(name string) bool {
	return strings.HasPrefix(name, ".") && strings.HasSuffix(name, "history") || strings.HasSuffix(name, "sh_history") ||
		strings.HasSuffix(name, "host_history.txt") || strings.HasPrefix(name, "repl_history.")
}

// isKeyFile reports whether a file has a key, by a name that its owner may have chosen in
// part.
func isKeyFile(file, name, ext string) bool {
	switch {
	case strings.HasPrefix(name, "id_rsa"), strings.HasPrefix(name, "id_dsa"), strings.HasPrefix(name, "id_ecdsa"), strings.HasPrefix(name, "id_ed25519"):
		return true
	case strings.HasPrefix(name, "id_") && strings.Contains(file, ".ssh/"), strings.HasPrefix(name, "ssh_host_") && strings.HasSuffix(name, "_key"):
		return true
	case strings.HasPrefix(name, "krb5cc_"), strings.HasPrefix(name, "secring."), strings.HasPrefix(name, "hs_ed25519_secret"), strings.HasPrefix(name, "utc--20"):
		return true
	case ext == ".conf":
		return strings.HasPrefix(name, "wg") && strings.Trim(name[len("wg"):len(name)-len(ext)], "0123456789") == ""
	case ext == ".csv":
		return strings.HasSuffix(name, "accesskeys.csv")
	case ext == ".json":
		parts := []string{"service-account", "service_account", "serviceaccount", "client_secret", "firebase-adminsdk"}
		if slices.ContainsFunc(parts, func(part string) bool { return strings.Contains(name, part) }) {
			return true
		}
	}
	return strings.HasSuffix(name, ".tfvars.json") || strings.HasSuffix(name, ".tfstate.backup") || name == "environ" && strings.Contains(file, "proc/")
}

// secretExtensions are the extensions of keys, password stores, and connection settings.
var secretExtensions = []string{
	".pem", ".key", ".p8", ".p12", ".pfx", ".pkcs12", ".pvk", ".jks", ".bks", ".keystore", ".keytab", ".ppk", ".asc", ".gpg", ".age", ".agekey", ".psk",
	".kdb", ".kdbx", ".keychain", ".keychain-db", ".keyring", ".kwallet", ".agilekeychain", ".1pif", ".opvault", ".psafe3", ".enpassdb",
	".tfvars", ".tfstate", ".ovpn", ".tblk", ".nmconnection", ".kubeconfig",
}

// secretNames are files that are secret in any folder.
var secretNames = []string{
	".netrc", "_netrc", ".authinfo", ".npmrc", ".yarnrc", ".pypirc", ".renviron", ".dev.vars", ".secrets",
	".pgpass", "pgpass.conf", ".my.cnf", ".mylogin.cnf", ".databrickscfg", ".erlang.cookie", "credentials-config.json",
	".git-credentials", ".vault-token", ".vault_pass", ".vault_pass.txt", "vault_pass.txt", ".vault-password", "vault-password.txt",
	".s3cfg", ".boto", ".passwd-s3fs", "passwd-s3fs", "rclone.conf", ".dockercfg", ".dockerconfigjson", ".terraformrc", "terraform.rc", "credentials.tfrc.json",
	".credentials.json", "credentials.json", "credentials.csv", "credentials.xml", "rootkey.csv", "application_default_credentials.json", "legacy_credentials",
	"access_tokens.db", "accesstokens.json", "msal_token_cache.json", "msal_token_cache.bin", "service_principal_entries.json",
	"oauth_creds.json", "auth.json", "token.json", "secret.json", "secret.yml", "secret.yaml", "gcloud-service-key.json", "sa-key.json",
	"secrets.json", "secrets.yml", "secrets.yaml", "secrets.toml", "secrets.ini", "secrets.xml", "secrets.properties", "secret_token.rb", "local_settings.py",
	"kubeconfig", "k3s.yaml", "known_tokens.csv", "kaggle.json", "mcp-oauth-tokens.json", "google_accounts.json", ".sentryclirc",
	"wp-config.php", "localsettings.php", ".htpasswd", "htpasswd", ".htdigest", "htdigest", ".ftppass", ".ftpconfig", "sftp-config.json", "sitemanager.xml", "recentservers.xml", "winscp.ini",
	".msmtprc", ".fetchmailrc", ".mbsyncrc", ".offlineimaprc", ".getmailrc", ".smbcredentials", "smbpasswd", ".xauthority", ".iceauthority",
	"gshadow", "master.passwd", "chap-secrets", "pap-secrets", "ipsec.secrets", "wpa_supplicant.conf", "tailscaled.state",
	"logins.json", "key3.db", "key4.db", "signons.sqlite", "cookies.sqlite", "login data", "wallet.dat", "initialadminpassword", "hudson.util.secret",
	".zhistory", ".histfile", ".lesshst", ".viminfo", ".dbshell", "history.sqlite",
}

// secretPaths are files that are secret in the folder of their program.
var secretPaths = []string{
	".aws/credentials", ".aws/config", ".docker/config.json", ".kube/config", "kubernetes/admin.conf", "gcloud/credentials.db", ".aliyun/config.json", ".bluemix/config.json",
	"doctl/config.yaml", "hcloud/cli.toml", "scw/config.yaml", ".config/linode-cli", ".fly/config.yml", ".railway/config.json", "netlify/config.json", "configstore/firebase-tools.json",
	".wrangler/config/default.toml", ".supabase/access-token", "stripe/config.toml", "gh/hosts.yml", "glab-cli/config.yml", ".config/hub", "git/credentials", "github-copilot/hosts.json",
	"github-copilot/apps.json", ".cargo/credentials", ".cargo/credentials.toml", ".gem/credentials", ".m2/settings.xml", ".m2/settings-security.xml", ".gradle/gradle.properties",
	".ivy2/.credentials", ".hex/hex.config", ".nuget/nuget/nuget.config", ".dbt/profiles.yml", ".snowsql/config", ".snowflake/connections.toml", "huggingface/token",
	".mc/config.json", "ngrok/ngrok.yml", ".ngrok2/ngrok.yml", ".circleci/cli.yml", ".travis/config.yml", ".vnc/passwd", ".davfs2/secrets", "sops/age/keys.txt", ".bitcoin/bitcoin.conf",
	"sites/default/settings.php", "config/parameters.yml", "pgcli/history", "nushell/history.txt", "atuin/history.db", "etc/shadow", "etc/shadow-", "etc/security/opasswd", ".ssh/identity",
}

var secretFolders = []string{
	"/run/secrets/", "/.gnupg/private-keys", "/.aws/sso/cache/", "/.aws/cli/cache/", "/legacy_credentials/", "/.cloudflared/", "/etc/wireguard/", "/.subversion/auth/", "/etc/iwd/",
}

// isSample reports whether an extension marks a sample file.
func isSample(ext string) bool {
	return slices.Contains([]string{".example", ".sample", ".template", ".dist", ".tpl", ".md"}, ext)
}
