package main

import (
	"math/rand/v2"
	"testing"

	"github.com/zricethezav/gitleaks/v8/detect"
)

// exemptRules says of the rules whose secrets gt leaves alone why it does.
var exemptRules = map[string]string{
	"asana-client-id":           "a number, and no secret",
	"discord-client-id":         "a number, and no secret",
	"flutterwave-public-key":    "public",
	"curl-auth-header":          "samples with quotes and brackets in the middle of a word",
	"curl-auth-user":            "the same, and users without a password",
	"jwt":                       "samples that are no base64 of a JSON object",
	"jwt-base64":                "the same",
	"private-key":               "samples of any characters, not of base64",
	"slack-config-access-token": "samples in letters that no token has",
}

// What the scanner's rules know for a secret gt's table knows too: eight of ten
// samples of each rule, and 98 of a hundred of all.
func TestRules(t *testing.T) {
	d, err := detect.NewDetectorDefaultConfig()
	if err != nil {
		t.Fatal(err)
	}
	all, _ := samples(d, rand.New(rand.NewPCG(1, 2)))
	caught, of := 0, 0
	for rule, n := range compare(all) {
		if exemptRules[rule] != "" {
			continue
		}
		caught += n.caught
		of += n.of
		if n.caught*10 < n.of*8 {
			t.Errorf("%s: %v", rule, n)
		}
	}
	if of < 5000 || caught*100 < of*98 {
		t.Errorf("%d of %d samples", caught, of)
	}
}
