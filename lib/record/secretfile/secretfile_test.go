package secretfile

import "testing"

func TestIs(t *testing.T) {
	for _, file := range []string{
		".env", "/x/.env", "a/.env.local", ".env.production", "prod.env", "id_rsa", "/home/max/.ssh/id_ed25519", "~/.ssh/id_work", "server.pem", "KEY.PEM",
		"tls.key", ".netrc", ".npmrc", "/root/.aws/credentials", ".docker/config.json", "~/.kube/config", ".git-credentials", "~/.codex/auth.json",
		"~/.claude/.credentials.json", ".gemini/oauth_creds.json", "service-account.json", "/etc/shadow", "store.jks",
	} {
		if !Is(file) {
			t.Errorf("%s is not secret", file)
		}
	}
	for _, file := range []string{
		"", ".", "/", "main.go", ".env.example", ".env.sample", "config.env.example", "id_rsa.pub", "id_token_test.go", "id_map.ts", "environment.md", "keys.md", "config.json", "hosts.yml",
		"credentials", "shadow", "docs/.env.md", "env", "token.go",
	} {
		if Is(file) {
			t.Errorf("%s is secret", file)
		}
	}
}
