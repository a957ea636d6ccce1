package writers_test

import (
	"runtime"
	"strings"
	"testing"

	"gt/lib/client/writers"
	"gt/lib/conversation"
)

// What is held of a conversation while it is written does not grow with it.
func TestMemory(t *testing.T) {
	const (
		rounds = 8 << 10
		text   = 2 << 10
		most   = 8 << 20 // of what is held
	)
	words := strings.Repeat("word ", text/5)
	// A round is a prompt, two calls that overlap, their results, the second of which comes
	// a thousand entries later in one of many, and an answer.
	source := func(from int64, each func(conversation.Entry) bool) error {
		for at := from; at < 6*rounds; at++ {
			id := string(rune('a' + at/6%26))
			e := conversation.Entry{At: at, Kind: conversation.Prompt, Text: strings.Clone(words)}
			switch at % 6 {
			case 1, 2:
				e.Kind, e.Tool, e.CallID = conversation.Call, "Bash", id
			case 3, 4:
				e.Kind, e.CallID = conversation.Result, id
				if at/6%100 == 0 && at%6 == 4 {
					e.CallID = "a"
				}
			case 5:
				e.Kind = conversation.Answer
			}
			if at == 1 || at == 6*rounds-3 { // a result that comes at the very end
				e.CallID = "far"
			}
			if !each(e) {
				break
			}
		}
		return nil
	}
	for _, w := range writers.All {
		t.Run(w.Client(), func(t *testing.T) {
			before := heapOf(t)
			settled, err := conversation.Settle(source)
			if err != nil {
				t.Fatal(err)
			}
			sink := &sink{}
			sink.look = func() {
				if now := heapOf(t); now > before+most {
					t.Errorf("after %d MB it holds %d KB", sink.n>>20, (now-before)>>10)
				}
			}
			c := &conversation.Copy{ID: w.NewID(at), From: "other", CWD: t.TempDir(), Now: at, Settled: settled}
			if err := w.Write(sink, c); err != nil {
				t.Fatal(err)
			}
			if sink.n < 6*rounds*text*9/10 {
				t.Errorf("only %d MB were written", sink.n>>20)
			}
		})
	}
}

func heapOf(t *testing.T) uint64 {
	t.Helper()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// sink looks now and then while it is written to.
type sink struct {
	n, looked int
	look      func()
}

func (s *sink) Write(p []byte) (int, error) {
	if s.n += len(p); s.n-s.looked > 16<<20 {
		s.looked = s.n
		s.look()
	}
	return len(p), nil
}
