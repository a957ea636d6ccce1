// Package secretfile tells which files are secret by their name: what an agent read from
// one, or wrote to it, is kept nowhere.
package secretfile

import (
	"path"
	"strings"

	"gt/lib/conversation"
)

// Of returns the name of the first file that a tool was called with and that is secret by
// its name, "" where none is.
func Of(call conversation.Entry) string {
	switch {
	case call.Target != "":
		return inCommand(call.Target)
	case hasArguments(call.Text):
		return inArguments(call.Text)
	}
	return inCommand(call.Text)
}

// inCommand returns the name of the first file in a command line that is secret by its
// name, "" where none is.
func inCommand(command string) string {
	if Is(command) && !strings.ContainsAny(command, " \t\n") {
		return path.Base(command)
	}
	for _, word := range strings.FieldsFunc(command, func(r rune) bool {
		return strings.ContainsRune(" \t\r\n\"'`=<>|&;()[]{},:*?!$\\", r)
	}) {
		if Is(word) {
			return path.Base(word)
		}
	}
	return ""
}

// inArguments is inCommand of a tool's arguments, as conversation.Arguments writes
// them: a file is an argument by itself, for what is said about one is no reason to leave
// out what a tool answered.
func inArguments(arguments string) string {
	const most = 64 // arguments; what follows is the content of one
	for n := 0; arguments != "" && n < most; n++ {
		var line string
		line, arguments, _ = strings.Cut(arguments, "\n")
		if _, value, ok := strings.Cut(line, ": "); ok {
			line = value
		}
		if line = strings.Trim(line, " \t\r\"'[]{},"); Is(line) {
			return path.Base(line)
		}
	}
	return ""
}

// hasArguments reports whether a call's text is several arguments, each with its name,
// and not one by itself: a command, or a path.
func hasArguments(text string) bool {
	first, _, several := strings.Cut(text, "\n")
	name, _, named := strings.Cut(first, ": ")
	return several && named && name != "" && strings.Trim(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_") == ""
}

// Is reports whether a file is secret by its name: its content is nobody's
// business but its owner's, whatever stands in it.
func Is(file string) bool {
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
	for _, kind := range [...]string{".pem", ".key", ".p12", ".pfx", ".jks", ".keystore", ".kdbx", ".ppk", ".asc", ".gpg", ".age", ".tfvars", ".ovpn"} {
		if ext == kind {
			return true
		}
	}
	for _, begin := range [...]string{"id_rsa", "id_dsa", "id_ecdsa", "id_ed25519", "service-account", "service_account"} {
		if strings.HasPrefix(name, begin) && (strings.HasPrefix(begin, "id_") || ext == ".json") {
			return true
		}
	}
	if strings.HasPrefix(name, "id_") && strings.Contains(file, ".ssh/") {
		return true
	}
	for _, own := range [...]string{
		".netrc", "_netrc", ".npmrc", ".yarnrc", ".pypirc", ".pgpass", ".my.cnf", ".git-credentials", ".htpasswd", ".vault-token", ".s3cfg", ".boto",
		".credentials.json", "credentials.json", "application_default_credentials.json", "oauth_creds.json", "auth.json", "token.json",
		"client_secret.json", "secrets.json", "secrets.yml", "secrets.yaml", "secrets.toml", "kubeconfig", "terraform.tfstate",
		"known_tokens.csv", "mcp-oauth-tokens.json", "google_accounts.json",
	} {
		if name == own {
			return true
		}
	}
	for _, end := range [...]string{
		".aws/credentials", ".aws/config", ".docker/config.json", ".kube/config", "gh/hosts.yml", ".config/gh/hosts.yml", "gcloud/credentials.db",
		".cargo/credentials", ".cargo/credentials.toml", ".gem/credentials", "rclone/rclone.conf", ".terraformrc", ".azure/accesstokens.json", "/proc/self/environ", "/etc/shadow",
	} {
		if strings.HasSuffix(file, end) {
			return true
		}
	}
	return false
}

// isSample reports whether an ending says that a file shows what another should hold.
func isSample(ext string) bool {
	switch ext {
	case ".example", ".sample", ".template", ".dist", ".tpl", ".md":
		return true
	}
	return false
}
