package writers_test

import (
	"bytes"
	"gt/internal/testenv"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"gt/lib/client/account"
	"gt/lib/client/readers"
	"gt/lib/client/writers"
	"gt/lib/conversation"
	"gt/lib/record"
	"gt/lib/sys/atomicfile"
)

// Writing a conversation takes bounded memory, however long it is.
func TestMemory(t *testing.T) {
	const (
		rounds = 8 << 10
		text   = 2 << 10
		most   = 8 << 20 // of memory
	)
	words := strings.Repeat("word ", text/5)
	// A round is a prompt, two overlapping calls, their results and an answer. In one of
	// many rounds the second result comes a thousand entries later.
	source := func(from int64, each func(conversation.Entry) bool) error {
		for at := from; at < 6*rounds; at++ {
			id := string(rune('a' + at/6%26))
			e := conversation.Entry{Offset: at, Kind: conversation.Prompt, Text: strings.Clone(words)}
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
			if at == 1 || at == 6*rounds-3 { // a result at the very end
				e.CallID = "far"
			}
			if !each(e) {
				break
			}
		}
		return nil
	}
	for _, w := range writers.Writers {
		t.Run(w.Client(), func(t *testing.T) {
			testenv.Sample(t, 5)
			before := heapOf(t)
			settled, err := conversation.PairResults(source)
			testenv.NoError(t, err)
			sink := &sink{}
			sink.look = func() {
				if now := heapOf(t); now > before+most {
					t.Errorf("after %d MB it holds %d KB", sink.n>>20, (now-before)>>10)
				}
			}
			c := &conversation.Copy{ID: w.NewID(testTime), FromClient: "other", CWD: t.TempDir(), Now: testTime, Settled: settled}
			testenv.NoError(t, w.Write(sink, c))
			if sink.n < 6*rounds*text*9/10 {
				t.Errorf("only %d MB were written", sink.n>>20)
			}
		})
	}
}

// Recording a conversation, and writing its record for another client, takes bounded
// memory, whichever client kept it.
func TestSyncMemory(t *testing.T) {
	const (
		rounds = 256
		text   = 60 << 10
		most   = 12 << 20
	)
	source := func(from int64, each func(conversation.Entry) bool) error {
		for at := from; at < 2*rounds; at++ {
			e := conversation.Entry{Offset: at, Kind: conversation.Prompt, Text: strings.Repeat("word ", text/5)}
			if at%2 == 1 {
				e.Kind = conversation.Answer
			}
			if !each(e) {
				break
			}
		}
		return nil
	}
	settled, err := conversation.PairResults(source)
	testenv.NoError(t, err)
	for i, w := range writers.Writers {
		t.Run(w.Client(), func(t *testing.T) {
			testenv.Sample(t, 5)
			home := t.TempDir()
			getenv := func(key string) string { return map[string]string{"HOME": home}[key] }
			c := &conversation.Copy{ID: w.NewID(testTime), FromClient: "other", CWD: home, Now: testTime, Settled: settled}
			own, err := account.FindCurrent(w.Client(), getenv)
			testenv.NoError(t, err)
			path, err := w.TranscriptPath(own, c)
			testenv.NoError(t, err)
			if path != "" {
				stream(t, path, func(out io.Writer) error { return w.Write(out, c) })
			} else {
				var all bytes.Buffer
				testenv.NoError(t, w.Write(&all, c))
				takeIn(t, own.Dir, all.Bytes())
			}
			r := readers.FindReader(w.Client())
			var found []conversation.File
			if err := r.Find(storeOf(t, w.Client(), getenv), func(f conversation.File) { found = append(found, f) }); err != nil || len(found) != 1 {
				t.Fatal(found, err)
			}
			m, err := r.Metadata(found[0])
			testenv.NoError(t, err)
			s, err := record.StoreOf(getenv)
			testenv.NoError(t, err)
			before, seen := heapOf(t), 0
			y := &record.Syncer{Store: s, Now: func() time.Time { return testTime }, Bulk: true, Redact: func(text string) string {
				if seen += len(text); seen > 8<<20 {
					seen = 0
					if now := heapOf(t); now > before+most {
						t.Errorf("recording, it holds %d KB", (now-before)>>10)
					}
				}
				return text
			}}
			done, err := y.Sync(r, conversation.Conversation{File: found[0], Metadata: m})
			if err != nil || done.Lines < 2*rounds {
				t.Fatalf("%+v, %v", done, err)
			}
			kept, err := conversation.PairResults(s.Conversation(done.ID))
			testenv.NoError(t, err)
			sink := &sink{}
			sink.look = func() {
				if now := heapOf(t); now > before+most {
					t.Errorf("converting, it holds %d KB", (now-before)>>10)
				}
			}
			to := writers.Writers[(i+1)%len(writers.Writers)]
			if err := to.Write(sink, &conversation.Copy{ID: to.NewID(testTime), FromClient: w.Client(), CWD: home, Now: testTime, Settled: kept}); err != nil || sink.n < done.Lines*text*9/10 {
				t.Errorf("%d MB were written, %v", sink.n>>20, err)
			}
		})
	}
}

// stream writes a file larger than the memory limit.
func stream(t *testing.T, path string, write func(io.Writer) error) {
	t.Helper()
	testenv.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
	testenv.NoError(t, atomicfile.Stream(path, write))
}

func heapOf(t *testing.T) uint64 {
	t.Helper()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// sink measures the memory while it is written to.
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
