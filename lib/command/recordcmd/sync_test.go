package recordcmd

import (
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"gt/internal/testenv"

	"gt/lib/cli"
	"gt/lib/record"
)

// An interrupted sync of many short conversations stops between two of them, and the next
// sync completes it.
func TestSyncCalledOff(t *testing.T) {
	const all = 200
	home := t.TempDir()
	dir := filepath.Join(home, ".claude", "projects", "p")
	testenv.NoError(t, os.MkdirAll(dir, 0o700))
	for i := range all {
		line := fmt.Sprintf(`{"type":"user","uuid":"u","sessionId":"s-%03d","cwd":"/x","timestamp":"2026-01-17T01:00:00Z","message":{"role":"user","content":"ask"}}`+"\n", i)
		testenv.NoError(t, os.WriteFile(filepath.Join(dir, fmt.Sprintf("s-%03d.jsonl", i)), []byte(line), 0o600))
	}
	came := make(chan os.Signal, 1)
	signal.Notify(came, syscall.SIGTERM)
	defer signal.Stop(came)
	var once sync.Once
	env := &cli.Env{Name: "gt-record", Stdout: io.Discard, Stderr: io.Discard, Environ: []string{"HOME=" + home}, Dir: home, Now: time.Now}
	found := conversations(env)
	s, err := record.StoreOf(env.Getenv)
	if err != nil || len(found) != all {
		t.Fatal(len(found), err)
	}
	env.Now = func() time.Time { // called at the first conversations
		once.Do(func() {
			if err := syscall.Kill(os.Getpid(), syscall.SIGTERM); err != nil {
				t.Error(err)
			}
			<-came
			signal.Stop(came) // Stop waits until every channel has received the signal
		})
		return time.Now()
	}
	sum, err := syncAll(env, s, found)
	if err == nil || !strings.Contains(err.Error(), "interrupted") || sum.new > all/2 {
		t.Errorf("called off, it made %d records: %v", sum.new, err)
	}
	rest, err := syncAll(env, s, conversations(env))
	if err != nil || rest.new != all-sum.new {
		t.Errorf("of %d records it made %d, and then %d: %v", all, sum.new, rest.new, err)
	}
}
