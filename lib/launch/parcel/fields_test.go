package parcel

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gt/internal/testenv"
	"gt/lib/cli"
	"gt/lib/state/instance"
	"gt/lib/state/session"
)

// oddValues are what a field of a manifest can have instead of what it has.
var oddValues = []string{
	`null`, `-1`, `1e300`, `0.5`, `true`, `""`, `"x"`, `"../../x"`, `"-x"`, `"/"`, `"a\u0000b"`, `"\u001b[31m\u202e\n"`, `"\ud800"`, `[]`, `[null]`, `[[]]`, `{}`, `{"":{}}`,
	`"0000-01-01T00:00:00+14:00"`, `"9999-12-31T23:59:59-14:00"`, `"0001-01-01T00:00:00Z"`, `"` + strings.Repeat("x", 300_000) + `"`, `18446744073709551616`,
}

// found are those of which each was once tried again without end.
var found = []string{
	`.git.branch "main/x"`, // there is a branch main
	`.git.branch "a\u0000b"`, `.at "0000-01-01T00:00:00+14:00"`, `.session.started_at "0000-01-01T00:00:00+14:00"`, `.session.handoff.at "0000-01-01T00:00:00+14:00"`,
}

// places returns where a value of JSON has fields, each as a function that changes it there.
func places(v any, at string, set func(any)) map[string]func(any) {
	all := map[string]func(any){at: set}
	switch v := v.(type) {
	case map[string]any:
		for key, one := range v {
			maps.Copy(all, places(one, at+"."+key, func(to any) { v[key] = to }))
		}
	case []any:
		for i, one := range v[:min(len(v), 1)] {
			maps.Copy(all, places(one, at+"[]", func(to any) { v[i] = to }))
		}
	}
	return all
}

// sent returns a parcel with this manifest, and members with these contents.
func sent(t *testing.T, manifest []byte, members []Member, contents map[string][]byte) []byte {
	t.Helper()
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	put := func(name string, data []byte) {
		testenv.NoError(t, w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name, Size: int64(len(data)), Mode: 0o600}))
		_, err := w.Write(data)
		testenv.NoError(t, err)
	}
	put(manifestName, manifest)
	for _, m := range members {
		put(m.Name, contents[m.Name])
	}
	testenv.NoError(t, w.Close())
	return out.Bytes()
}

// TestFields shows that each field of a manifest can have any value: the parcel is refused for good, so that
// its sender learns it and nothing is tried again and again, or what it makes can be read.
func TestFields(t *testing.T) {
	there, good := hosts(t)
	good.Manifest.Session.Handoff = &Handoff{Kind: session.KindHandoff, Note: "a", Reason: "b", At: good.At}
	good.Manifest.Session.Commits, good.Manifest.Session.Delivered = []string{hash}, []string{"a"}
	_ = good.data(t) // it measures the members
	whole, err := json.Marshal(&good.Manifest)
	testenv.NoError(t, err)
	read := func() any {
		var v any
		testenv.NoError(t, json.Unmarshal(bytes.ReplaceAll(whole, []byte(good.ID), []byte(session.NewID())), &v))
		return v
	}
	tried, taken := 0, 0
	try := func(what string, manifest []byte) {
		tried++
		var id struct{ ID string }
		_ = json.Unmarshal(manifest, &id)
		contents := maps.Clone(good.contents)
		contents[endName] = []byte(good.ID)
		there.stderr.Reset()
		_, err := there.unpack(sent(t, manifest, good.Members, contents), func(u *Unpacker) { u.From, u.Key = "box", "U1" })
		if code := cli.ExitCode(err); err != nil && code != cli.AnswerNo && code != cli.Usage {
			t.Errorf("%.200s: it would be tried again: %.400v", what, err)
		}
		env := there.env()
		all, failed := there.store(env).ReadInstances()
		if failed != nil || err == nil && len(all) != 1 {
			t.Fatalf("%.200s: %d agents, %v", what, len(all), failed)
		}
		if err == nil {
			taken++
			for _, in := range all {
				if id := in.SessionID; id != "" {
					if _, err := session.Lookup(there.store(env).State, id); err != nil {
						t.Errorf("%.200s: its session: %v", what, err)
					}
				}
			}
		}
		for _, path := range append(glob(t, filepath.Join(there.home, "src-*")), filepath.Join(there.home, ".local"), filepath.Join(there.home, ".claude")) {
			testenv.NoError(t, os.RemoveAll(path))
		}
		there.git("-C", "src", "worktree", "prune")
		for _, branch := range strings.Fields(there.git("-C", "src", "for-each-ref", "--format=%(refname:short)", "refs/heads")) {
			if branch != "main" {
				there.git("-C", "src", "branch", "-q", "-D", branch)
			}
		}
	}
	names := slices.Sorted(maps.Keys(places(read(), "", func(any) {})))
	for i, name := range names {
		for j, value := range append([]string{`"main/x"`}, oddValues...) {
			if (i+j)%8 > 0 && !slices.Contains(found, name+" "+value) && !testenv.Thorough() {
				continue
			}
			if !testenv.InSample(name+value, 5) {
				continue
			}
			v := read()
			whole := v
			places(v, "", func(to any) { whole = to })[name](json.RawMessage(value))
			manifest, err := json.Marshal(whole)
			if err != nil {
				continue
			}
			try(fmt.Sprintf("%s: %.60s", name, value), manifest)
		}
	}
	t.Logf("%d fields, %d manifests, %d taken", len(names), tried, taken)
}

// TestBranchBelow shows that an agent gets another branch where git cannot make its own: below another one.
func TestBranchBelow(t *testing.T) {
	there, good := hosts(t)
	for _, want := range []string{"moved/api", "moved-api"} {
		b := good.clone(t)
		b.Git.Branch = "main/api"
		b.Instance.ID, b.Manifest.Session.ID = instance.ID(session.NewID()), session.NewID()
		b.Manifest.Session.Chain = b.Manifest.Session.ID
		b.put(b.Manifest.Session.Thread, fmt.Sprintf(`{"chain_id":%q}`, b.Manifest.Session.ID))
		done, err := there.unpack(b.data(t), nil)
		if err != nil || done.Branch != strings.Replace(want, "api", done.Name, 1) || done.Waits != nil {
			t.Fatalf("%+v, %v, not %s", done, err, want)
		}
		there.git("-C", "src", "worktree", "remove", "--force", done.Worktree)
		there.git("-C", "src", "branch", "-q", "-D", done.Branch)
		there.git("-C", "src", "branch", "-f", "moved")
	}
}

// block returns a member of a tar as no writer of Go makes it.
func block(name string, kind byte, data string) []byte {
	h := make([]byte, 512)
	copy(h, name)
	copy(h[100:], fmt.Sprintf("%07o\x00%07o\x00%07o\x00%011o\x00%011o\x00        %c", 0o600, 0, 0, len(data), 0, kind))
	copy(h[257:], "ustar\x0000")
	sum := 0
	for _, b := range h {
		sum += int(b)
	}
	copy(h[148:], fmt.Sprintf("%06o\x00 ", sum))
	return append(append(h, data...), make([]byte, (512-len(data)%512)%512)...)
}

// TestSparse shows that a member has no more bytes than are in the parcel: a letter of some KB would fill the
// disk with zeros.
func TestSparse(t *testing.T) {
	there, b := hosts(t)
	const size = 32 << 20
	sum := sha256.Sum256(make([]byte, size))
	b.Members[1] = Member{"member-1", size, hex.EncodeToString(sum[:])}
	parcel := b.data(t)
	records := ""
	for _, r := range []string{"GNU.sparse.numblocks=1", fmt.Sprintf("GNU.sparse.map=%d,0", size), fmt.Sprintf("GNU.sparse.size=%d", size)} {
		for n := len(r) + 3; ; n++ {
			if line := fmt.Sprintf("%d %s\n", n, r); len(line) == n {
				records += line
				break
			}
		}
	}
	var out []byte
	for rest := parcel; len(rest) >= 512 && rest[0] != 0; { // member for member
		name := string(bytes.TrimRight(rest[:100], "\x00"))
		var n int
		_, err := fmt.Sscanf(string(rest[124:135]), "%o", &n)
		testenv.NoError(t, err)
		n = 512 + (n+511)/512*512
		if name == "member-1" {
			out = append(append(out, block("x", 'x', records)...), block(name, '0', "")...)
		} else {
			out = append(out, rest[:n]...)
		}
		rest = rest[n:]
	}
	r := tar.NewReader(bytes.NewReader(out))
	for h, err := r.Next(); h == nil || h.Name != "member-1"; h, err = r.Next() {
		testenv.NoError(t, err)
	}
	if n, err := io.Copy(io.Discard, r); n != size || err != nil {
		t.Fatalf("this is no attack: %d bytes, %v", n, err)
	}
	if _, err := there.unpack(append(out, make([]byte, 1024)...), nil); err == nil || !strings.Contains(err.Error(), "is not the one") {
		t.Errorf("%d bytes become %d: %v", len(out), size, err)
	}
}
