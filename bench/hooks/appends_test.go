package main

import (
	"os"
	"path/filepath"
	"testing"
)

// A benchmark that counts wrongly proves nothing.
func TestCount(t *testing.T) {
	const (
		a = `{"type":"session_start","payload":{"session_id":"a"}}` + "\n"
		b = `{"type":"session_start","payload":{"session_id":"b"}}` + "\n"
	)
	want := map[string]int{"a session_start": 1, "b session_start": 1}
	for log, is := range map[string][3]int{ // events, torn, lost
		a + b:                       {2, 0, 0},
		a:                           {1, 0, 1},
		a + a + b:                   {3, 0, 1},
		a + b[:20]:                  {1, 1, 1},
		a[:20] + b + a:              {1, 1, 1},
		a + b[:len(b)-1]:            {1, 1, 1},
		a + "{}\n" + b:              {3, 0, 0},
		a[:len(a)-1] + b + b[:5]:    {0, 2, 2},
		"\x00\x00\n" + a + b + "\n": {2, 2, 0},
	} {
		path := filepath.Join(t.TempDir(), "log")
		if err := os.WriteFile(path, []byte(log), 0o600); err != nil {
			t.Fatal(err)
		}
		events, torn, lost, err := count(path, want)
		if got := [3]int{events, torn, lost}; err != nil || got != is {
			t.Errorf("%q: %v (%v), not %v", log, got, err, is)
		}
	}
}
