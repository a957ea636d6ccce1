package mail

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"gt/internal/testenv"

	"gt/lib/place"
	"gt/lib/text/term"
)

// Whatever Parse takes in, it gives back one note whose fields are lines, and
// that note written out again is the same note.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		"From: <demo/crew/joe@gt.invalid>\nTo: <mayor@gt.invalid>\nSubject: x\nDate: Sat, 17 Jan 2026 01:00:00 +0000\nX-Gt-Type: handoff\nX-Gt-Session: s\nX-Gt-Chain: c\nMIME-Version: 1.0\nContent-Type: text/plain; charset=utf-8\nContent-Transfer-Encoding: 8bit\n\ntext\n",
		"Subject: =?utf-8?q?Gr=C3=BC=C3=9Fe?=\n =?iso-8859-1?b?4Q==?=\n\n",
		"Subject: =?koi8-r?b?4Q==?= \x1b[31m\x9b\n\n\xff\x00",
		"From: \"a\\\" b@c\"@gt.invalid, Joe <joe@example.org>\n\n",
		"From: =?utf-8?q?=0D=0AX:_y?= <a@b>\nTo: undisclosed-recipients:;\n\n",
		"Content-Type: multipart/mixed; boundary=b\n\n--b\n\none\n--b\nContent-Type: multipart/mixed; boundary=c\n\n--c\nContent-Transfer-Encoding: base64\n\nYQ==\n--c--\n--b--\n",
		"Content-Type: text/html; charset=latin1\nContent-Transfer-Encoding: quoted-printable\n\n=E4=\n=3D\r\n",
		"Content-Transfer-Encoding: base64\n\n!!!!",
		"Content-Type: text/plain; charset=\"\n\nx",
		"Date: 17 Jan 26 01:00 Z\n\n", "Date: Fri, 17 Jan 2025 01:00:00 +9959\n\n", "Date: Fri, 31 Dec 9999 23:59:59 -0100\n\n", "\n", "", "no header", ": x\n\n", " folded\n\n", "A:b\r\n\r\nc\r\n",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		n, err := Parse(bytes.NewReader(data))
		if err != nil {
			return
		}
		for name, value := range map[string]string{
			"type": n.Type, "from": n.From, "to": n.To, "subject": n.Subject, "session": n.Session, "chain": n.Chain,
		} {
			if strings.ContainsFunc(value, unicode.IsControl) || !utf8.ValidString(value) {
				t.Fatalf("%s is no line: %q", name, value)
			}
		}
		if _, err := term.JSON(n); err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		if _, err := n.WriteTo(&out); err != nil {
			t.Fatal(err)
		}
		again, err := Parse(&out)
		if err != nil {
			t.Fatalf("what we wrote is no message: %v\n%q", err, out.String())
		}
		if again.Subject != n.Subject || again.Body != n.Body || again.Type != n.Type ||
			again.Session != n.Session || again.Chain != n.Chain || again.Host != n.Host {
			t.Fatalf("got  %#v\nwant %#v\nfrom %q", again, n, data)
		}
		// An address may be spelled in several ways; written once, it stays.
		var third bytes.Buffer
		if _, err := again.WriteTo(&third); err != nil {
			t.Fatal(err)
		}
		last, err := Parse(&third)
		if err != nil || last.From != again.From || last.To != again.To {
			t.Fatalf("from %q to %q, then %q to %q, %v", again.From, again.To, last.From, last.To, err)
		}
	})
}

// A file's name is what another program made of it; it never panics, and its
// ID can be typed.
func FuzzName(f *testing.F) {
	for _, seed := range []string{
		"1737075600.M123456R3f9a01c2.host:2,FS", "1737075600.V801I2M1P44.mx,S=1:2,", ":2,F", "", ".", "-1.M1R12345678.h",
		"99999999999999999999.M1", "1.M", "1.MR", "1.M9999999R00000000.h:1,x", "a:b:2,F",
		"1737075600.M123456R3f9a01c2.desk@box:2,FS", "x@box", "@", "a@b@c", "@box",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, name string) {
		unique, flags := splitName(name)
		id := idOf(unique)
		own, _, _ := strings.Cut(id, "@")
		if len(own) != 8 || !isHex(own) || strings.ContainsFunc(id, func(r rune) bool { return r <= ' ' || r == '/' || r >= 0x7f }) {
			t.Fatalf("%q has the ID %q", name, id)
		}
		arrival(unique)
		added := changeFlags(flags, "F", "T")
		if u, again := splitName(unique + withFlags(added)); u != unique || again != added {
			t.Fatalf("%q became %q %q", name, u, again)
		}
		if !strings.Contains(added, "F") || strings.Contains(added, "T") || changeFlags(added, "F", "T") != added {
			t.Fatalf("%q: flags %q", name, added)
		}
	})
}

// A box in which anything may lie is listed all the same.
func TestListAnything(t *testing.T) {
	b := townBox(t)
	id, err := b.Deliver(Note{Subject: "whole"}, true)
	testenv.NoError(t, err)
	for _, dir := range []string{"new", "cur"} {
		for _, name := range []string{"x", "1.M1R0000000a.h:2,F", ".hidden", "dir:2,F/"} {
			path := b.file(dir, name)
			if strings.HasSuffix(name, "/") {
				err = os.Mkdir(filepath.Clean(path), 0o700)
			} else {
				err = os.WriteFile(path, []byte("\x00\x01 no message"), 0o600)
			}
			testenv.NoError(t, err)
		}
	}
	hooked, err := b.Hooked()
	if err != nil || len(hooked) != 1 || hooked[0].ID != id {
		t.Errorf("what nobody has given is work: %+v, %v", hooked, err)
	}
	b.home.Town.Trust = &place.Trust{Mail: true} // the person believes whatever lies there
	hooked, err = b.Hooked()
	if err != nil || len(hooked) != 3 {
		t.Errorf("%d hooked, %v", len(hooked), err)
	}
	for _, n := range hooked {
		if (n.Problem == "") != (n.ID == id) {
			t.Errorf("%+v", n)
		}
	}
}
