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
		pulse    pulse
		expected bool
	}{
		{"it is there", peer.Host{LastSeen: now}, pulse{}, true},
		{"it is away", peer.Host{LastSeen: long}, pulse{}, false},
		{"it is away and asked", peer.Host{LastSeen: long}, pulse{wanted: true}, false},
		{"it has ended", peer.Host{LastSeen: now, Every: peer.Ended}, pulse{}, false},
		{"it has just connected", peer.Host{}, pulse{wanted: true}, true},
		{"it is asked for the last time", peer.Host{}, pulse{wanted: true, asks: mostAsks}, true},
		{"it did not answer", peer.Host{}, pulse{wanted: true, asks: mostAsks + 1}, false},
		{"it was never there", peer.Host{}, pulse{}, false},
	} {
		if got := (&remote{host: c.host, pulse: c.pulse}).isExpected(now); got != c.expected {
			t.Errorf("%s: isExpected is %v", c.name, got)
		}
	}
}
