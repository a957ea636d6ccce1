package dial

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"gt/internal/testenv"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"gt/lib/place"
	"gt/lib/relay/invite"
	"gt/lib/relay/seal"
)

// TestInterrupted shows that ctrl-C ends the wait for an address at which nobody answers.
func TestInterrupted(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	testenv.NoError(t, err)
	defer l.Close()
	keys, err := seal.Load(place.State(t.TempDir()), true)
	testenv.NoError(t, err)
	ctx, interrupt := context.WithCancel(context.Background())
	go func() {
		if c, err := l.Accept(); err == nil {
			defer c.Close()
			time.AfterFunc(200*time.Millisecond, interrupt) // once it waits for what a hub says first
			time.Sleep(answerTimeout)
		}
	}()
	began := time.Now()
	if _, err := (Hub{URL: "nats://" + l.Addr().String()}).Connect(ctx, keys, Program{}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if took := time.Since(began); took > answerTimeout/2 {
		t.Errorf("it took %v", took)
	}
}

// TestHubsChallenge shows that a hub whose challenge is a message of the host gets no signature.
func TestHubsChallenge(t *testing.T) {
	t.Parallel()
	keys, err := seal.Load(place.State(t.TempDir()), true)
	testenv.NoError(t, err)
	for challenge, signs := range map[string]bool{
		"wxA3kL_-9aQbc0D": true,
		"gt-relay message 1\n{\"from\":\"" + keys.Public() + "\",\"kind\":\"hello\",\"at\":1795712515000}\n{\"name\":\"a\",\"box\":\"age1x\"}": false,
	} {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		testenv.NoError(t, err)
		said := make(chan string, 1)
		go func() {
			defer close(said)
			c, err := l.Accept()
			if err != nil {
				return
			}
			defer c.Close()
			info, _ := json.Marshal(map[string]any{"server_id": "x", "proto": 1, "version": "2.12.0", "max_payload": 1 << 20, "nonce": challenge})
			fmt.Fprintf(c, "INFO %s\r\n", info)
			line, _ := bufio.NewReader(c).ReadString('\n')
			said <- line
			fmt.Fprint(c, "-ERR 'Authorization Violation'\r\n")
		}()
		_, err = Hub{URL: "nats://" + l.Addr().String()}.Connect(context.Background(), keys, Program{})
		l.Close()
		if line := <-said; err == nil || strings.Contains(line, `"sig":"`) != signs {
			t.Errorf("%.40q is answered with %.200q, %v", challenge, line, err)
		}
	}
}

// TestManInTheMiddle shows that whoever stands between a host and its hub, and has not the hub's key, is told
// nothing: neither who connects nor an invitation.
func TestManInTheMiddle(t *testing.T) {
	t.Parallel()
	keys, err := seal.Load(place.State(t.TempDir()), true)
	testenv.NoError(t, err)
	for _, info := range []string{
		`{"server_id":"x","version":"2.12.0","nonce":"wxA3kL_-9aQbc0D"}`, `{"nonce":"wxA3kL_-9aQbc0D","tls_required":false,"tls_available":false}`, `{"nonce":"wxA3kL_-9aQbc0D","tls_available":true}`,
		`{"nonce":"wxA3kL_-9aQbc0D","tls_required":true}` + "\r\nPING\r\nMSG x 1 2\r\nhi", `{"auth_required":true,"connect_urls":["127.0.0.1:1"]}`, `{}`, `null`, `x`, ``,
	} {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		testenv.NoError(t, err)
		said := make(chan string, 2)
		go func() {
			for range cap(said) {
				c, err := l.Accept()
				if err != nil {
					return
				}
				fmt.Fprintf(c, "INFO %s\r\n+OK\r\nPONG\r\n", info)
				c.(*net.TCPConn).CloseWrite()
				text, _ := io.ReadAll(io.LimitReader(c, 4096))
				c.Close()
				said <- string(text)
			}
		}()
		hub := Hub{URL: "gt://" + l.Addr().String(), Fingerprint: "00"}
		if _, err := hub.Connect(context.Background(), keys, Program{}); err == nil {
			t.Errorf("%q is the hub", info)
		}
		i := invite.Invitation{Address: l.Addr().String(), Fingerprint: "00", Secret: "the-secret"}
		if err := invite.Accept(i, keys, "a"); err == nil {
			t.Errorf("%q takes an invitation", info)
		}
		l.Close()
		for range cap(said) {
			if text := <-said; strings.Contains(text, "CONNECT") || strings.Contains(text, "the-secret") || strings.Contains(text, keys.Public()) {
				t.Errorf("%q is told %.200q", info, text)
			}
		}
	}
}
