package gt_test

import (
	"encoding/pem"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync"

	"github.com/rogpeppe/go-internal/testscript"
)

// collector starts what traces are sent to, on loopback:
//
//	collector tls      by https, at $COLLECTOR; $WORK/roots.pem vouches for it
//	collector plain    by http
//	collector refuses  by https; it answers 401
//
// Each request's headers and body are appended to $WORK/collected.
func collector(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: collector tls | plain | refuses")
	}
	work := ts.Getenv("WORK")
	var mu sync.Mutex
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(reply http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		f, err := os.OpenFile(filepath.Join(work, "collected"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			http.Error(reply, err.Error(), http.StatusInternalServerError)
			return
		}
		defer f.Close()
		io.WriteString(f, r.Method+" "+r.URL.String()+" "+r.Host+"\n")
		r.Header.Write(f)
		io.Copy(f, r.Body)
		io.WriteString(f, "\n")
		if args[0] == "refuses" {
			reply.WriteHeader(http.StatusUnauthorized)
		}
	}))
	if args[0] == "plain" {
		s.Start()
	} else {
		s.StartTLS()
		ts.Check(os.WriteFile(filepath.Join(work, "roots.pem"), pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw}), 0o600))
	}
	ts.Defer(s.Close)
	ts.Setenv("COLLECTOR", s.URL)
}
