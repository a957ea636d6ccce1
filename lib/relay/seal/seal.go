// Package seal signs what a host sends to the fleet, and seals what is for one host, so that
// the hub's owner reads no letter.
//
// A message is a line of JSON (Header), a line with the signature, and the body, which is
// encrypted with age if it is for one host. The signature (ed25519) covers header and body. The
// header stands inside an encrypted body as well, so nobody can sign what another host sealed.
package seal

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"filippo.io/age"
	"github.com/nats-io/nkeys"

	"gt/lib/place"
	"gt/lib/sys/atomicfile"
)

// Keys are this host's secrets.
type Keys struct {
	// Seed signs, and identifies the host to a NATS server: an nkey of a user, SU….
	Seed string `json:"seed"`
	// Box opens what is for this host: AGE-SECRET-KEY-1….
	Box string `json:"box"`

	pair   nkeys.KeyPair
	public string
	box    *age.X25519Identity
}

// Load reads the keys of this host from <state>/relay/keys.json, and creates them if create is set.
// Otherwise it returns fs.ErrNotExist.
func Load(state place.State, create bool) (*Keys, error) {
	path := state.Path("relay", "keys.json")
	data, err := atomicfile.ReadIf(path, 4096, atomicfile.CheckPrivate)
	if atomicfile.IsAbsent(err) && create {
		k, err := newKeys()
		if err != nil {
			return nil, err
		}
		return k, k.Store(state)
	}
	if err != nil {
		return nil, err
	}
	k := new(Keys)
	if err := json.Unmarshal(data, k); err != nil {
		return nil, atomicfile.Error("read", path, err)
	}
	return k, atomicfile.Error("read", path, k.parse())
}

// Store writes the keys, synced to disk.
func (k *Keys) Store(state place.State) error {
	return state.WriteJSON(state.Path("relay", "keys.json"), k, atomicfile.Synced)
}

// newKeys makes the two keys of a host: one signs, the other opens what is for it.
func newKeys() (*Keys, error) {
	pair, err := nkeys.CreateUser()
	if err != nil {
		return nil, err
	}
	seed, err := pair.Seed()
	if err != nil {
		return nil, err
	}
	box, err := age.GenerateX25519Identity()
	if err != nil {
		return nil, err
	}
	k := &Keys{Seed: string(seed), Box: box.String()}
	return k, k.parse()
}

// parse sets the other fields from Seed and Box, or returns an error if one of them is invalid.
func (k *Keys) parse() (err error) {
	if k.pair, err = nkeys.FromSeed([]byte(k.Seed)); err != nil {
		return err
	}
	if k.public, err = k.pair.PublicKey(); err != nil {
		return err
	}
	k.box, err = age.ParseX25519Identity(k.Box)
	return err
}

// Public returns the host's public key, U….
func (k *Keys) Public() string { return k.public }

// Recipient returns the age recipient of what is for this host.
func (k *Keys) Recipient() string { return k.box.Recipient().String() }

// maxChallenge bounds a server's challenge, in bytes. NATS has 15.
const maxChallenge = 128

// Sign signs a server's challenge, which is one word of base64, and refuses anything else: a hub
// could pass off a message of this host as its challenge, such as a hello with the hub's own key.
func (k *Keys) Sign(challenge []byte) ([]byte, error) {
	isOther := func(r rune) bool {
		return (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z') && !strings.ContainsRune("-_+/=", r)
	}
	if len(challenge) > maxChallenge || bytes.ContainsFunc(challenge, isOther) { // mutant never: TestChallenge
		return nil, errors.New("the hub asks for the signature of something else than a challenge")
	}
	return k.pair.Sign(challenge)
}

// SignRequest signs a request, which begins with a line that says what it is.
func (k *Keys) SignRequest(text []byte) ([]byte, error) { return k.pair.Sign(text) }

// CheckKey returns an error unless s is a host's public key.
func CheckKey(s string) error {
	if !nkeys.IsValidPublicUserKey(s) {
		return fmt.Errorf("invalid key '%.80s'", s)
	}
	return nil
}

// CheckRecipient returns an error unless s is an age recipient.
func CheckRecipient(s string) error {
	_, err := age.ParseX25519Recipient(s)
	return err
}

// Verify returns an error unless a host's key has signed something.
func Verify(key string, text, sig []byte) error {
	pub, err := nkeys.FromPublicKey(key)
	if err != nil {
		return err
	}
	return pub.Verify(text, sig)
}

// Header is the open part of a message.
type Header struct {
	From string `json:"from"`         // the sender's public key
	To   string `json:"to,omitempty"` // the receiver's public key; absent: the fleet
	Kind string `json:"kind"`
	ID   string `json:"id,omitempty"`
	At   int64  `json:"at"` // the sender's clock, in milliseconds since 1970
}

// Time returns the time of the sender's clock. In UTC any that Parse accepts can be written as JSON.
func (h Header) Time() time.Time { return time.UnixMilli(h.At).UTC() }

// signatureEncoding has one form of each signature.
var signatureEncoding = base64.RawStdEncoding.Strict()

// signaturePrefix keeps a signature of this format from being taken for any other.
const signaturePrefix = "gt-relay message 1\n"

// maxHeader bounds the header, in bytes.
const maxHeader = 4096

// ForHost seals a message to the host with this age recipient.
func (k *Keys) ForHost(recipient string, h Header, body []byte) ([]byte, error) {
	r, err := age.ParseX25519Recipient(recipient)
	if err != nil {
		return nil, err
	}
	return k.seal(h, body, r)
}

// Plain signs a message that everybody may read.
func (k *Keys) Plain(h Header, body []byte) ([]byte, error) { return k.seal(h, body, nil) }

// seal signs a message of this host. Unless to is nil, it encrypts the body, with the header.
func (k *Keys) seal(h Header, body []byte, to age.Recipient) ([]byte, error) {
	h.From = k.Public()
	header, err := json.Marshal(h)
	if err != nil {
		return nil, err
	}
	sealed := body
	if to != nil {
		var b bytes.Buffer
		w, err := age.Encrypt(&b, to)
		if err != nil {
			return nil, err
		}
		w.Write(bytes.Join([][]byte{header, body}, []byte("\n")))
		if err := w.Close(); err != nil {
			return nil, err
		}
		sealed = b.Bytes()
	}
	sig, err := k.pair.Sign(signedText(header, sealed))
	if err != nil {
		return nil, err
	}
	return bytes.Join([][]byte{header, signatureEncoding.AppendEncode(nil, sig), sealed}, []byte("\n")), nil
}

func signedText(header, body []byte) []byte {
	return bytes.Join([][]byte{[]byte(signaturePrefix), header, []byte("\n"), body}, nil)
}

// Message is a received message whose signature was checked.
type Message struct {
	Header
	header []byte
	sealed []byte
}

// Parse checks the signature of a message. It says nothing about who the sender is.
func Parse(data []byte) (Message, error) {
	header, rest, _ := bytes.Cut(data, []byte("\n"))
	line, sealed, ok := bytes.Cut(rest, []byte("\n"))
	sig, err := signatureEncoding.DecodeString(string(line))
	m := Message{header: header, sealed: sealed}
	// The reasons are few: a hub or a host could fill with others what a person is shown.
	if !ok || err != nil || len(header) > maxHeader || json.Unmarshal(header, &m.Header) != nil || CheckKey(m.From) != nil {
		return Message{}, errors.New("not a message of gt-relay")
	}
	if year := m.Time().Year(); year < 1970 || year > 9999 { // mutant never: TestOddTimes
		return Message{}, errors.New("a message of no time") // no file could keep it
	}
	if Verify(m.From, signedText(header, sealed), sig) != nil { // mutant never: TestForged
		return Message{}, errors.New("a message with a wrong signature")
	}
	return m, nil
}

// PlainBody returns the body of a message that everybody may read.
func (m Message) PlainBody() []byte { return m.sealed }

// OpenBody opens a message that is for this host, of at most limit bytes.
func (k *Keys) OpenBody(m Message, limit int64) ([]byte, error) {
	r, err := age.Decrypt(bytes.NewReader(m.sealed), k.box)
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(io.LimitReader(r, limit+maxHeader+2)) // with the header
	if err != nil {
		return nil, err
	}
	header, body, ok := bytes.Cut(data, []byte("\n"))
	if !ok || !bytes.Equal(header, m.header) { // mutant never: TestForged
		return nil, errors.New("the message was sealed by another host")
	}
	if int64(len(body)) > limit {
		return nil, fmt.Errorf("the message is over %d bytes", limit)
	}
	return body, nil
}
