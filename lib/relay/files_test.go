package relay

import (
	"testing"
	"time"

	"golang.org/x/time/rate"

	"gt/internal/testenv"
)

// TestManyQuestions shows that no file is looked for, for a host that asks without end, that one that
// has many logs and records gets thousands at once, and that records leave some for the others.
func TestManyQuestions(t *testing.T) {
	now, looked := time.Unix(1795712515, 0), 0
	r := &Relay{Options: Options{Now: func() time.Time { return now }, Logs: func() map[string]string { looked++; return nil }}}
	to := &remoteHost{answerRate: rate.NewLimiter(bytesPerSec, bytesAtOnce)}
	ask := func(name string, times int) (left float64) {
		t.Helper()
		for range times {
			testenv.NoError(t, r.answerFile(to, "1", []byte(`{"name":"`+name+`"}`)))
		}
		return to.answerRate.TokensAt(now)
	}
	if left := ask("record/x", 20_000); left < bytesAtOnce/5 || left > bytesAtOnce/4 {
		t.Errorf("records leave %.0f bytes", left)
	}
	now = now.Add(time.Hour)
	if ask("log/x", 20_000); looked < 16_000 || looked > 16_384 {
		t.Errorf("%d files were looked for", looked)
	}
	now, looked = now.Add(time.Second), 0
	if ask("log/x", 1000); looked < 60 || looked > 70 {
		t.Errorf("%d files were looked for in a second", looked)
	}
}
