package relay

import (
	"testing"
	"time"
)

// TestPause shows that a host comes back within seconds, and that a thousand hosts of one hub
// do not come at once.
func TestPause(t *testing.T) {
	for without, most := range map[time.Duration]time.Duration{0: 2 * time.Second, 5 * time.Minute: 5 * time.Second, 12 * time.Hour: time.Minute, -time.Hour: time.Minute} {
		tenths := map[time.Duration]int{}
		for range 1000 {
			p := reconnectWait(without)
			if p <= 0 || p > most {
				t.Fatalf("%v after %v", p, without)
			}
			tenths[10*p/most]++
		}
		for tenth, n := range tenths {
			if n > 200 {
				t.Errorf("%d of 1000 hosts come within the tenth %d of %v", n, tenth, most)
			}
		}
	}
}
