package mail

import (
	"fmt"
	"os"
	"testing"
	"time"

	"gt/internal/testenv"
)

// What a start pays: for a box that is not there, and for one with many notes
// that are done.
func BenchmarkHooked(b *testing.B) {
	for _, notes := range []int{-1, 0, 1000, 10_000} {
		b.Run(fmt.Sprintf("%d", notes), func(b *testing.B) {
			box := townBox(b)
			if notes >= 0 {
				if o, err := box.prepare(); err == nil {
					o.Close()
				} else {
					b.Fatal(err)
				}
			}
			now := time.Now()
			for i := range notes {
				name := newUnique(now.Add(time.Duration(i)*time.Second)) + withFlags("ST")
				testenv.NoError(b, os.WriteFile(box.file("cur", name), nil, 0o600))
			}
			for b.Loop() {
				if hooked, err := box.Hooked(); err != nil || hooked != nil {
					b.Fatal(hooked, err)
				}
			}
		})
	}
}
