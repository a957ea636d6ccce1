// Package invite carries a host into a fleet: an invitation of gt-hub names its address,
// its certificate and a secret that can be used once.
package invite

import (
	"crypto/sha256"
	"crypto/tls"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/nats-io/nats.go"

	"gt/lib/relay/seal"
)

// User is the name under which a host connects that has only an invitation.
const User = "invited"

// Subject takes the request of a host with an invitation.
const Subject = "gt.join"

// ErrUsed is returned for an invitation that cannot be used any more.
var ErrUsed = errors.New("the invitation was used, or is older than 15 minutes")

// Invitation is what a host needs to join a hub.
type Invitation struct {
	Address     string `json:"address"`
	Fingerprint string `json:"fingerprint"` // SHA-256 of the hub's certificate
	Secret      string `json:"secret"`
}

// invitationPrefix begins an invitation, so that a person and a scanner of secrets recognize it.
const invitationPrefix = "gt-invitation-"

// String returns the invitation as one word.
func (i Invitation) String() string {
	data, err := json.Marshal(i)
	if err != nil {
		panic(err) // strings only
	}
	return invitationPrefix + base64.RawURLEncoding.EncodeToString(data)
}

// Parse parses what String returned.
func Parse(s string) (i Invitation, err error) {
	word, ok := strings.CutPrefix(strings.TrimSpace(s), invitationPrefix)
	data, derr := base64.RawURLEncoding.DecodeString(word)
	if !ok || derr != nil || json.Unmarshal(data, &i) != nil {
		return i, errors.New("not an invitation (one word that begins with " + invitationPrefix + ")")
	}
	_, _, err = net.SplitHostPort(i.Address)
	return i, err
}

// Request is what a host with an invitation sends: its key, and the invitation again, so
// that it is used up by what joins.
type Request struct {
	Secret string `json:"secret"`
	Key    string `json:"key"`
	Name   string `json:"name"`
	// Proof is the key's signature: nobody joins with another host's key.
	Proof []byte `json:"proof"`
}

// signedText returns the text that the proof of a request signs.
func (q Request) signedText() []byte {
	return []byte("gt-hub join 1\n" + q.Secret + "\n" + q.Key + "\n" + q.Name)
}

// Check returns an error unless the request was made with its key.
func (q Request) Check() error {
	if seal.Verify(q.Key, q.signedText(), q.Proof) != nil {
		return errors.New("the request is not signed with its key")
	}
	return nil
}

// Accept joins a hub with an invitation, which is used up.
func Accept(i Invitation, keys *seal.Keys, name string) error {
	nc, err := nats.Connect("tls://"+i.Address, nats.UserInfo(User, i.Secret), nats.Secure(Pinned(i.Fingerprint)), nats.Timeout(10*time.Second))
	if errors.Is(err, nats.ErrAuthorization) {
		return ErrUsed
	} else if err != nil {
		return err
	}
	defer nc.Close()
	q := Request{Secret: i.Secret, Key: keys.Public(), Name: name}
	if q.Proof, err = keys.SignRequest(q.signedText()); err != nil {
		return err
	}
	data, err := json.Marshal(q)
	if err != nil {
		return err
	}
	answer, err := nc.Request(Subject, data, 15*time.Second)
	if err != nil {
		return err
	}
	if string(answer.Data) != "ok" {
		return fmt.Errorf("the hub refuses: %s", answer.Data)
	}
	return nil
}

// Pinned returns the TLS settings for a server with this certificate and no other. The
// fingerprint came with the invitation, so no authority has to vouch for it.
func Pinned(fingerprint string) *tls.Config {
	return &tls.Config{
		MinVersion:         tls.VersionTLS13,
		InsecureSkipVerify: true, // VerifyConnection does it
		VerifyConnection: func(s tls.ConnectionState) error {
			if len(s.PeerCertificates) == 0 || Fingerprint(s.PeerCertificates[0].Raw) != fingerprint {
				return errors.New("the hub has another certificate than the invitation says")
			}
			return nil
		},
	}
}

// Fingerprint returns the SHA-256 of a certificate.
func Fingerprint(raw []byte) string {
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:])
}
