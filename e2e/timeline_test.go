//go:build e2e

package e2e

import (
	"bytes"
	"context"
	"fmt"
	"image/color"
	"image/png"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// browser is a headless Chromium with nothing of anybody's.
type browser struct {
	t    *testing.T
	path string
	dir  string // a town, and what the browser writes
}

func newBrowser(t *testing.T) *browser {
	t.Helper()
	t.Parallel()
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return &browser{t, path, t.TempDir()}
		}
	}
	if os.Getenv("GT_E2E") == "required" {
		t.Fatal("no Chromium is here")
	}
	t.Skip("no Chromium is here")
	return nil
}

// run opens an address, and returns what came to standard output and what the
// page said on its console.
func (b *browser) run(address string, flags ...string) (stdout, console string) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.t.Context(), 2*patience)
	defer cancel()
	args := append([]string{
		"--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
		"--disable-component-update", "--disable-sync", "--disable-dev-shm-usage", "--hide-scrollbars", "--enable-logging=stderr",
		"--host-resolver-rules=MAP * ~NOTFOUND", // whatever it would ask for, there is nobody to ask
		"--user-data-dir=" + filepath.Join(b.dir, "profile"), "--window-size=1300,800",
	}, flags...)
	cmd := exec.CommandContext(ctx, b.path, append(args, address)...)
	cmd.Env = []string{"HOME=" + b.dir, "XDG_STATE_HOME=" + filepath.Join(b.dir, "state"), "PATH=" + os.Getenv("PATH"), "TZ=UTC"}
	cmd.WaitDelay = patience
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		b.t.Fatalf("the browser: %v\n%s", err, errs.String())
	}
	for _, line := range strings.Split(errs.String(), "\n") {
		if strings.Contains(line, "CONSOLE") {
			console += line + "\n"
		}
	}
	return out.String(), console
}

// page draws sessions, each crash the third of its chain.
func (b *browser) page(sessions int) (path string) {
	b.t.Helper()
	var log strings.Builder
	start := time.Date(2026, 1, 5, 8, 0, 0, 0, time.UTC)
	for i := range sessions {
		at := start.Add(time.Duration(i) * 47 * time.Minute)
		id := func(i int) string { return fmt.Sprintf("%08x-0000", i) }
		parent, outcome := "", "done"
		if i%3 > 0 {
			parent = fmt.Sprintf(`,"parent_id":%q`, id(i-1))
		}
		if i%3 == 2 {
			outcome = "crash"
		}
		fmt.Fprintf(&log, `{"ts":%q,"type":"session_start","actor":"demo/crew/%c","payload":{"session_id":%q,"chain_id":%q%s,"topic":"</script><script>console.error(%d)</script> \"' onload="}}`+"\n",
			at.Format(time.RFC3339), 'a'+rune(i/3%7), id(i), id(i-i%3), parent, i)
		fmt.Fprintf(&log, `{"ts":%q,"type":"session_end","actor":"x","payload":{"session_id":%q,"outcome":%q}}`+"\n",
			at.Add(40*time.Minute).Format(time.RFC3339), id(i), outcome)
	}
	state := filepath.Join(b.dir, "state", "gt")
	if err := os.MkdirAll(state, 0o700); err != nil {
		b.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(state, ".events.jsonl"), []byte(log.String()), 0o600); err != nil {
		b.t.Fatal(err)
	}
	path = filepath.Join(b.dir, "page.html")
	cmd := exec.Command(filepath.Join(bin, "gt-seance"), "timeline", "--limit", "0", "--html", path, "--svg", filepath.Join(b.dir, "page.svg"))
	cmd.Dir = b.dir
	cmd.Env = []string{"HOME=" + b.dir, "XDG_STATE_HOME=" + filepath.Join(b.dir, "state"), "PATH=" + os.Getenv("PATH"), "TZ=UTC"}
	if out, err := cmd.CombinedOutput(); err != nil {
		b.t.Fatalf("%v\n%s", err, out)
	}
	return path
}

// shown is a count of what is in a page as it came to be.
func shown(dom, pattern string) int {
	return len(regexp.MustCompile(pattern).FindAllString(dom, -1))
}

// The page opens without a word on the console and asks nobody for anything; its
// script searches; a title is a title.
func TestTimelineInABrowser(t *testing.T) {
	b := newBrowser(t)
	page := b.page(60)

	dom, console := b.run("file://"+page, "--dump-dom")
	if console != "" {
		t.Errorf("on the console:\n%s", console)
	}
	if n := shown(dom, `<rect class="b [a-z]"[^>]*><title>`); n != 60 {
		t.Errorf("%d bars", n)
	}
	if !strings.Contains(dom, `<html lang="en" class="on">`) || shown(dom, `<script`) != 1 {
		t.Error("its script did not run, or another stands there")
	}
	if !strings.Contains(dom, `<path class="thread follows"`) {
		t.Error("no threads")
	}

	// As a link into it: those that crashed, and the chains that they are in.
	dom, console = b.run("file://"+page+"#q=crash%20crew/b", "--dump-dom")
	if console != "" {
		t.Errorf("on the console:\n%s", console)
	}
	if n := shown(dom, `class="b c hit"`); n != 3 {
		t.Errorf("%d bars are found", n)
	}
	if !strings.Contains(dom, ">3 of 60</span>") {
		t.Error("it is not said how many")
	}
	if n := shown(dom, `<g class="l off"`); n != 6 {
		t.Errorf("%d lanes are gone", n)
	}

	// That the console would have told.
	data, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	broken := filepath.Join(b.dir, "broken.html")
	text := strings.Replace(string(data), "<h1>", `<img src="https://example.com/x.png"><h1>`, 1)
	text = strings.Replace(text, "'use strict';", "'use strict'; ", 1)
	if err := os.WriteFile(broken, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	dom, console = b.run("file://"+broken, "--dump-dom")
	if n := strings.Count(console, "Content Security Policy"); n < 2 {
		t.Errorf("a foreign image and a changed script are told of %d times:\n%s", n, console)
	}
	if strings.Contains(dom, `class="on"`) {
		t.Error("a changed script ran")
	}
}

// What a person sees: crashes in their colour, in light and in dark, in the page
// and in the image.
func TestTimelineIsSeen(t *testing.T) {
	b := newBrowser(t)
	page := b.page(60)
	for _, c := range []struct {
		file, scheme string
		crash, back  color.NRGBA
	}{
		{page, "1", color.NRGBA{0xc8, 0x42, 0x0b, 255}, color.NRGBA{0xff, 0xff, 0xff, 255}},
		{page, "0", color.NRGBA{0xff, 0x7a, 0x3d, 255}, color.NRGBA{0x14, 0x17, 0x1b, 255}},
		{filepath.Join(b.dir, "page.svg"), "1", color.NRGBA{0xc8, 0x42, 0x0b, 255}, color.NRGBA{0xff, 0xff, 0xff, 255}},
	} {
		shot := filepath.Join(b.dir, "shot.png")
		if _, console := b.run("file://"+c.file, "--screenshot="+shot, "--blink-settings=preferredColorScheme="+c.scheme); console != "" {
			t.Errorf("on the console:\n%s", console)
		}
		f, err := os.Open(shot)
		if err != nil {
			t.Fatal(err)
		}
		picture, err := png.Decode(f)
		f.Close()
		if err != nil {
			t.Fatal(err)
		}
		seen := map[color.Color]int{}
		for y := range picture.Bounds().Dy() {
			for x := range picture.Bounds().Dx() {
				seen[color.NRGBAModel.Convert(picture.At(x, y))]++
			}
		}
		if seen[c.crash] < 500 || seen[c.back] < 100_000 {
			t.Errorf("%s, scheme %s: %d points of a crash on %d of the ground", filepath.Base(c.file), c.scheme, seen[c.crash], seen[c.back])
		}
	}
}

// Ten thousand sessions are a page like any other.
func TestTimelineOfMany(t *testing.T) {
	b := newBrowser(t)
	page := b.page(10_000)
	if info, err := os.Stat(page); err != nil || info.Size() > 5<<20 {
		t.Errorf("the page has %d bytes: %v", info.Size(), err)
	}
	dom, console := b.run("file://"+page+"#q=00000007-0000", "--dump-dom")
	if console != "" {
		t.Errorf("on the console:\n%s", console)
	}
	if n := shown(dom, `<rect class="b [a-z]( hit)?"[^>]*><title>`); n != 10_000 || !strings.Contains(dom, ">1 of 10000</span>") {
		t.Errorf("%d bars", n)
	}
}
