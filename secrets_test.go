package gt_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"mime/quotedprintable"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// planted are the secrets of the scenarios named secrets_*: none is real, and
// each is put together here, so that nobody's scanner finds one in this
// repository. A script has each as $PLANT_<name>, in a variable whose name does
// not say that it is one; those that only their variable gives away are in env.
var planted = map[string]string{
	"anthropic": "sk-ant-" + "api03-" + "Qm7ZrT2kVx9LpW4sHd8NfB3cYg6JtKw1_Ma5Eu0Rz-iXo7PAA",
	"openai":    "sk-" + "proj-" + "Zk4Wn8Qs2Vb6Lx0Pd3Hf7Jt1Rc5Gm9Ya-Te2Uo6Ii8_Kw",
	"google":    "AI" + "za" + "SyD8kq2Lr5Vn9Xw3Bz7Ht1Mc4Pf6Gj0Ys2K",
	"aws":       "AK" + "IA" + "Z7QW4ERT2YUI6OPL",
	"github":    "gh" + "p_" + "4Tz8Lq1Xw6Vn3Bk9Hs2Rd7Mf5Pc0Gj4YtZaB",
	"gitlab":    "gl" + "pat-" + "Xk3Vq8Nw5Lz1Br7Ht4Md",
	"npm":       "np" + "m_" + "8Wq3Zx6Lk1Vn9Bt4Hs7Rd2Mf5Pc0Gj3YaTeU",
	"slack":     "xo" + "xb-" + "204715938264-593017264850-Lw7Qz3Vk9Xn5Bt1Hs4Rd8Mf2",
	"stripe":    "sk_" + "live_" + "5Lq9Xw2Vn7Bk3Ht8Rd1Mf6Pc",
	"jwt": "ey" + "JhbGciOiJIUzI1NiJ9." + "ey" + "JzdWIiOiJkZXBsb3kiLCJuIjo3fQ." +
		"Rk7Zq2Wx9Lv4Nb8Ht3Md6Pf1Gc5Yj0TaEsUoIi7Kw2Q",
	"pem": "-----BEGIN " + "RSA PRIVATE KEY-----\n" +
		"MIIEow8Zq3Wx7Lv2Nb9Ht4Md1Pf6Gc5Yj0TaEsUoIi7Kw2Qr8Zk3Vn6Xb1Lt5H\n" +
		"s9Rd4Mf7Pc2Gj8Ya3Te6Uo1Wi5Kx0Qz9Lw4Vn7Bk2Ht6Rs3Md8Pf5Gc1Yj0Za\n" +
		"Tq8Xw3Lv=\n-----END " + "RSA PRIVATE KEY-----",
	"url":    "postgres://deploy:" + "hV7qZ2wX9kLtB4" + "@db.example.org:5432/app",
	"remote": "https://ci:" + "N4vQz8LwXk1BtH6s" + "@git.example.org/app.git",
	"dotenv": "SMTP_PASSWORD=" + "wq7Lz2Xv9Kt4Bn1H",
	"header": "Authorization: Bearer " + "Jd5Rz8Qw1Xk6Vn3Bt9Hs",
}

// inEnv are secrets of no known form, in variables whose names say what they
// are.
var inEnv = map[string]string{
	"DEPLOY_SECRET":         "correcthorse" + "batterystaple",
	"ADMIN_PASSWORD":        `quo"te\and` + "slash-under-bridge",
	"AWS_SECRET_ACCESS_KEY": "wPzLqXv/K7MtRnBg" + "+bHsYdFcUoJiEaTeWq/Zk",
	"LATE_TOKEN":            "mushroomsoup" + "inthemorning",
	"CACHE_URL":             "redis://:" + "mellonmellonmellon" + "@cache.example.org/1",
}

// public are the parts of the planted texts that may stay.
var public = []string{
	"sk-ant-", "sk-proj-", "RSA PRIVATE KEY-----", "-----BEGIN ", "-----END ", "postgres://deploy:", "@db.example.org:5432/app",
	"https://ci:", "@git.example.org/app.git", "SMTP_PASSWORD=", "Authorization: Bearer ", "redis://:", "@cache.example.org/1",
}

// plant puts the secrets where a session finds them:
//
//	plant env        into the script's environment
//	plant file...    into these files, for %{name}; they may hold them from then on
func plant(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: plant env | file...")
	}
	if args[0] == "env" {
		for name, value := range planted {
			ts.Setenv("PLANT_"+name, value)
		}
		for name, value := range inEnv {
			ts.Setenv(name, value)
		}
		return
	}
	var old []string
	for name, value := range planted {
		escaped := strings.ReplaceAll(value, "\n", `\n`) // as it stands in JSON
		old = append(old, "%{"+name+"}", escaped, "%%{"+name+"}", value)
	}
	for name, value := range inEnv {
		escaped := strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(value)
		old = append(old, "%{"+name+"}", escaped, "%%{"+name+"}", value)
	}
	for _, file := range args {
		path := ts.MkAbs(file)
		data, err := readable(path)
		ts.Check(err)
		text := strings.NewReplacer(old...).Replace(string(data))
		if text == string(data) {
			ts.Fatalf("%s has no place for a secret", file)
		}
		ts.Check(os.WriteFile(path, []byte(text), 0o600))
	}
	f, err := os.OpenFile(ts.MkAbs(sources(ts)), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	ts.Check(err)
	defer f.Close()
	for _, file := range args {
		fmt.Fprintln(f, ts.MkAbs(file))
	}
}

// sources is the list of the files that may hold secrets.
func sources(ts *testscript.TestScript) string {
	return filepath.Join(ts.Getenv("WORK"), "planted.list")
}

// leaks looks for the secrets, whole or in part, in all files below the
// folders but those that they were planted in: "! leaks $WORK". Without ! it
// asserts that there is one, to show that it would be found.
func leaks(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) == 0 {
		ts.Fatalf("usage: [!] leaks folder...")
	}
	listed, _ := os.ReadFile(sources(ts))
	may := strings.Fields(string(listed))
	if !neg {
		may = nil
	}
	var found []string
	for _, dir := range args {
		ts.Check(filepath.WalkDir(ts.MkAbs(dir), func(path string, e fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case e.IsDir() && (e.Name() == ".git" || strings.HasSuffix(path, "/.local/state/gt/git")), // both say what branch it is
				e.Type()&fs.ModeSocket != 0, slices.Contains(may, path):
				if e.IsDir() {
					return fs.SkipDir
				}
				return nil
			}
			for _, name := range secretsIn(e.Name()) {
				found = append(found, fmt.Sprintf("%s in the name of %s", name, path))
			}
			if !e.Type().IsRegular() {
				return nil
			}
			data, err := readable(path)
			if err != nil {
				return err
			}
			for _, name := range secretsIn(string(data)) {
				found = append(found, fmt.Sprintf("%s in %s", name, path))
			}
			return nil
		}))
	}
	switch {
	case neg && len(found) > 0:
		ts.Fatalf("leaked:\n%s", strings.Join(found, "\n"))
	case !neg && len(found) == 0:
		ts.Fatalf("no secret is found")
	}
}

// worth is how much of a secret must not be seen in a row.
const worth = 12

// secretsIn names the secrets of which the text shows a part: as it stands, or
// in the encodings in which notes and JSON hide it.
func secretsIn(text string) []string {
	texts := []string{text, strings.NewReplacer(`\"`, `"`, `\\`, `\`, `\n`, "\n", `\u0026`, "&").Replace(text)}
	if decoded, err := io.ReadAll(quotedprintable.NewReader(strings.NewReader(text))); err == nil {
		texts = append(texts, string(decoded))
	}
	var found []string
	for _, all := range []map[string]string{planted, inEnv} {
		for name, value := range all {
			for _, p := range public {
				value = strings.ReplaceAll(value, p, "\n")
			}
			for line := range strings.Lines(value) {
				line = strings.TrimSuffix(line, "\n")
				for i := 0; i+worth <= len(line); i++ {
					if slices.ContainsFunc(texts, func(t string) bool { return strings.Contains(t, line[i:i+worth]) }) {
						found = append(found, fmt.Sprintf("%s (%q)", name, line[i:i+worth]))
						break
					}
				}
			}
		}
	}
	slices.Sort(found)
	return found
}

// spied runs a command and keeps what it prints, and the arguments of every
// process that it starts, in $WORK/seen: "spied [!] command", "spied client
// key=value -- command". The command's own arguments are its caller's doing.
func spied(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: spied command [arg...]")
	}
	dir := filepath.Join(ts.Getenv("WORK"), "seen")
	ts.Check(os.MkdirAll(dir, 0o700))
	old, err := os.ReadDir(dir)
	ts.Check(err)
	path := filepath.Join(dir, fmt.Sprintf("%03d", len(old)))

	trace := []string{"strace", "-f", "-qq", "-e", "trace=execve", "-s", "100000", "-o", path + ".exec"}
	if i := slices.Index(args, "--"); args[0] == "client" && i > 0 {
		args = slices.Concat(args[:i+1], trace, args[i+1:])
	} else {
		args = slices.Concat(trace, args)
	}
	runErr := ts.Exec(args[0], args[1:]...) // what a command exits with is not at stake here
	out := ts.ReadFile("stdout") + ts.ReadFile("stderr")
	ts.Check(os.WriteFile(path+".out", []byte(out), 0o600))
	f, err := os.Open(path + ".exec")
	ts.Check(err)
	defer f.Close()
	var rest []string
	lines := bufio.NewReader(f)
	for n := 0; ; n++ {
		line, err := lines.ReadString('\n')
		if err != nil {
			break
		}
		if n > 0 {
			rest = append(rest, line)
		} else if !strings.Contains(line, "execve(") {
			ts.Fatalf("strace saw nothing: %v: %s", runErr, line)
		}
	}
	ts.Check(os.WriteFile(path+".exec", []byte(strings.Join(rest, "")), 0o600))
}

// What leaks looks for is found in each form, and nothing else is.
func TestLeaks(t *testing.T) {
	for _, all := range []map[string]string{planted, inEnv} {
		for name, value := range all {
			if len(secretsIn("x "+value+" y")) == 0 {
				t.Errorf("%s is not found", name)
			}
		}
	}
	for _, text := range []string{
		`{"a":"quo\"te\\andslash-under-bridge"}`, "correcthorsebat=\nterystaple",
		planted["github"][:20], "…" + planted["jwt"][len(planted["jwt"])-20:],
	} {
		if len(secretsIn(text)) == 0 {
			t.Errorf("nothing is found in %q", text)
		}
	}
	if found := secretsIn("SMTP_PASSWORD=[redacted] https://ci:[redacted]@git.example.org/app.git"); found != nil {
		t.Error(found)
	}
}

// readable reads a file. A lock, which only root can read, is empty.
func readable(path string) ([]byte, error) {
	data, err := os.ReadFile(path)
	if info, serr := os.Lstat(path); errors.Is(err, fs.ErrPermission) && serr == nil && info.Mode()&0o400 == 0 && info.Size() == 0 {
		return nil, nil
	}
	return data, err
}
