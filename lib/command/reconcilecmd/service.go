package reconcilecmd

import (
	"encoding/xml"
	"os"
	"strings"

	"gt/lib/sys/atomicfile"
)

func ownPath() (string, error) {
	self, err := os.Executable()
	return atomicfile.ResolveLinks(self), err
}

// systemdUnit returns a user unit that runs args in dir, with path as PATH. Stopping it ends only
// this program: a tmux server that it started has its own scope, other children end by themselves.
func systemdUnit(dir string, args []string, path string) string {
	quoted := make([]string, len(args))
	for i, a := range args {
		quoted[i] = systemdWord(a)
	}
	return `# ~/.config/systemd/user/gt-reconcile.service
#   systemctl --user enable --now gt-reconcile
#   loginctl enable-linger        keeps it when you log out
[Unit]
Description=gt-reconcile: agents as their templates want them

[Service]
Type=exec
ExecStart=` + strings.Join(quoted, " ") + `
WorkingDirectory=` + strings.ReplaceAll(dir, "%", "%%") + `
Environment=` + systemdWord("PATH="+path) + `
KillMode=process
Restart=on-failure
RestartSec=5

[Install]
WantedBy=default.target
`
}

func systemdWord(s string) string {
	s = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "%", "%%", "$", "$$", "\n", `\n`).Replace(s)
	return `"` + s + `"`
}

// launchdList is systemdUnit for launchd: a property list. Stopping it ends only this program, too.
func launchdList(dir string, args []string, path string) string {
	text := func(s string) string {
		var b strings.Builder
		_ = xml.EscapeText(&b, []byte(s))
		return "<string>" + b.String() + "</string>"
	}
	var b strings.Builder
	for _, a := range args {
		b.WriteString("    " + text(a) + "\n")
	}
	return `<?xml version="1.0" encoding="UTF-8"?>
<!-- ~/Library/LaunchAgents/gt.reconcile.plist; launchctl load -w it -->
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<plist version="1.0">
<dict>
  <key>Label</key>
  <string>gt.reconcile</string>
  <key>ProgramArguments</key>
  <array>
` + b.String() + `  </array>
  <key>WorkingDirectory</key>
  ` + text(dir) + `
  <key>EnvironmentVariables</key>
  <dict>
    <key>PATH</key>
    ` + text(path) + `
  </dict>
  <key>RunAtLoad</key>
  <true/>
  <key>KeepAlive</key>
  <true/>
  <key>AbandonProcessGroup</key>
  <true/>
</dict>
</plist>
`
}

// cronLine returns a crontab line that runs args in dir each minute. In it % must be escaped.
func cronLine(dir string, args []string) string {
	quote := func(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }
	words := []string{"cd", quote(dir), "&&"}
	for _, a := range args {
		words = append(words, quote(a))
	}
	return "* * * * * " + strings.ReplaceAll(strings.Join(words, " "), "%", `\%`) + "\n"
}
