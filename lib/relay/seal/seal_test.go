package seal

import (
	"bytes"
	"encoding/json"
	"gt/internal/testenv"
	"math"
	"strings"
	"testing"
	"time"

	"gt/lib/place"
)

func keys(t *testing.T) *Keys {
	t.Helper()
	k, err := Load(place.State(t.TempDir()), true)
	testenv.NoError(t, err)
	return k
}

func TestKeysAreKept(t *testing.T) {
	state := place.State(t.TempDir())
	k, err := Load(state, true)
	testenv.NoError(t, err)
	again, err := Load(state, true)
	if err != nil || again.Public() != k.Public() || again.Recipient() != k.Recipient() {
		t.Errorf("other keys, %v", err)
	}
}

// TestForged shows that a message that was changed, signed by another host or sealed by
// another one is not accepted.
func TestForged(t *testing.T) {
	a, b, c := keys(t), keys(t), keys(t)
	msg, err := a.ForHost(b.Recipient(), Header{To: b.Public(), Kind: "note", ID: "1"}, []byte("hello"))
	testenv.NoError(t, err)
	m, err := Parse(msg)
	if err != nil || m.From != a.Public() {
		t.Fatal(m, err)
	}
	if body, err := b.OpenBody(m, 5); err != nil || string(body) != "hello" {
		t.Errorf("%q, %v", body, err)
	}
	if _, err := b.OpenBody(m, 4); err == nil {
		t.Error("a message over the limit was opened")
	}
	if _, err := c.OpenBody(m, 5); err == nil {
		t.Error("another host opened it")
	}
	for i := range msg {
		bad := bytes.Clone(msg)
		bad[i] ^= 1
		if m, err := Parse(bad); err == nil {
			t.Errorf("byte %d of %d changed: %+v", i, len(msg), m.Header)
		}
	}
	// Another host takes the sealed body and signs it as its own.
	stolen, err := c.seal(Header{To: b.Public(), Kind: "note", ID: "1"}, m.sealed, nil)
	testenv.NoError(t, err)
	if m, err := Parse(stolen); err != nil {
		t.Error(err)
	} else if _, err := b.OpenBody(m, 5); err == nil {
		t.Error("a stolen body was opened as the thief's")
	}
}

// A message of a time that no file of JSON can have is none: what is kept of its host could not be
// written any more.
func TestOddTimes(t *testing.T) {
	k := keys(t)
	for at, ok := range map[int64]bool{0: true, time.Now().UnixMilli(): true, 253402300799999: true, 253402300800000: false, math.MaxInt64: false, -1: false, math.MinInt64: false} {
		msg, err := k.Plain(Header{Kind: "beat", At: at}, nil)
		testenv.NoError(t, err)
		if m, err := Parse(msg); (err == nil) != ok {
			t.Errorf("%d: %v, %v", at, m.Time(), err)
		}
	}
}

// TestChallenge shows that a hub has nothing signed as a challenge that is a message or a request of
// this host: with a hello of its own making it would read what is sealed to the host.
func TestChallenge(t *testing.T) {
	k := keys(t)
	for _, good := range []string{"", "wxA3kL_-9aQbc0D", "q83vASNFZ4mrze8=", strings.Repeat("A", maxChallenge)} {
		sig, err := k.Sign([]byte(good))
		testenv.NoError(t, err)
		testenv.NoError(t, Verify(k.Public(), []byte(good), sig))
	}
	hello := signedText([]byte(`{"from":"`+k.Public()+`","kind":"hello","at":1795712515000}`), []byte(`{"name":"a","box":"`+keys(t).Recipient()+`"}`))
	for _, bad := range []string{
		string(hello), signaturePrefix, "gt-hub join 1\nsecret\n" + k.Public() + "\na", "two words", "a\n", "a\x00", "\u00e9", strings.Repeat("A", maxChallenge+1),
	} {
		if sig, err := k.Sign([]byte(bad)); err == nil || sig != nil {
			t.Errorf("%.60q is signed", bad)
		}
	}
}

// TestLocalTime shows that any time that is taken can be written where clocks are ahead of UTC.
func TestLocalTime(t *testing.T) {
	was := time.Local
	time.Local = time.FixedZone("", 14*60*60)
	defer func() { time.Local = was }()
	data, err := json.Marshal(Header{At: 253402300799999}.Time())
	if err != nil || string(data) != `"9999-12-31T23:59:59.999Z"` {
		t.Errorf("%s, %v", data, err)
	}
}
