package relay

import (
	"testing"
	"time"

	"gt/lib/state/peer"
)

// Nobody waits for a host that is away, but for one that has connected and not said yet
// whether it is.
func TestIsExpected(t *testing.T) {
	now := time.Date(2026, 11, 30, 9, 0, 0, 0, time.UTC)
	long := now.Add(-time.Hour)
	for _, c := range []struct {
		name     string
		host     peer.Host
		pulse    beatState
		expected bool
	}{
		{"it is there", peer.Host{LastSeen: now}, beatState{}, true},
		{"it is away", peer.Host{LastSeen: long}, beatState{}, false},
		{"it is away and asked", peer.Host{LastSeen: long}, beatState{mustAsk: true}, false},
		{"it has ended", peer.Host{LastSeen: now, Every: peer.Ended}, beatState{}, false},
		{"it has just connected", peer.Host{}, beatState{mustAsk: true}, true},
		{"it is asked for the last time", peer.Host{}, beatState{mustAsk: true, askCount: maxBeatAsks}, true},
		{"it did not answer", peer.Host{}, beatState{mustAsk: true, askCount: maxBeatAsks + 1}, false},
		{"it was never there", peer.Host{}, beatState{}, false},
	} {
		if got := (&remoteHost{host: c.host, beats: c.pulse}).isExpected(now); got != c.expected {
			t.Errorf("%s: isExpected is %v", c.name, got)
		}
	}
}
