package redact

import (
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"strings"
	"testing"
)

// The lines of a key go without its head, whatever stands before and behind them.
func TestKeyLines(t *testing.T) {
	data := make([]byte, 600)
	_, _ = rand.Read(data) // it never fails
	text := base64.StdEncoding.EncodeToString(data)
	var lines []string
	for len(text) > 64 {
		lines, text = append(lines, text[:64]), text[64:]
	}
	lines = append(lines, text)
	// The first lines of such keys are less random.
	lines[0] = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQCcccdddeeefffg"
	lines[1] = "b3BlbnNzaC1rZXktdjEAAAAABG5vbmUAAAAEbm9uZQAAAAAAAAABAAAAMwAAAAtzc2gtZW"
	end := "-----END RSA PRIVATE KEY-----"
	for _, form := range []string{
		"%s", "-%s", "+%s", "    %s", "> %s", "> > %s", "    12\t%s", "12: %s", "12:%s", "k.pem:12:%s", "k.pem-12-%s", "etc/ssl/private/site.key:12: %s", "# %s", "// %s", " * %s", "| %s", "│ 12 │ %s",
		"web_1  | %s", "web-1 | 2026-11-27T10:00:00.123Z %s", "Nov 27 10:00:00 host app[12]: %s", "12 | %s |", `"%s",`, `  "%s\n" +`, `'%s\n' .`, `        "%s\n"`, "echo '%s' >> k", "%s\r", "%s\\", "  - %s", "1234abcd (Max 2026-11-27 10:00:00 +0000 12) %s", "[stdout] %s", "<li>%s",
	} {
		var all []string
		for _, line := range append(lines, end) {
			all = append(all, fmt.Sprintf(form, line))
		}
		got := Text("before\n"+strings.Join(all, "\n")+"\nafter", nil)
		for _, line := range lines {
			if strings.Contains(got, line) {
				t.Errorf("%q: %d lines stay: %.300q", form, strings.Count(got, "\n")-2, got)
				break
			}
		}
		if !strings.Contains(got, "before") || !strings.HasSuffix(got, "after") {
			t.Errorf("%q: %q", form, got)
		}
		// Also one that has a head and no end.
		head := fmt.Sprintf(form, "-----BEGIN RSA PRIVATE KEY-----") + "\n" + strings.Join(all[:len(lines)], "\n") + "\n\nafter"
		got = Text(head, nil)
		for _, line := range lines {
			if strings.Contains(got, line) {
				t.Errorf("%q without an end: %.300q", form, got)
				break
			}
		}
	}
	// A certificate is public, and so is what stands above the end of a key.
	for _, text := range []string{
		"-----BEGIN CERTIFICATE-----\n" + strings.Join(lines, "\n") + "\n-----END CERTIFICATE-----",
		"the file ends with\n-----END PRIVATE KEY-----",
		"see /usr/share/doc/some/long/path/that/goes/on/and/on/file\nfor -----END PRIVATE KEY-----",
	} {
		if got := Text(text, nil); !strings.Contains(got, strings.Split(text, "\n")[0]) {
			t.Errorf("%q becomes %q", text, got)
		}
	}
}
