package record

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"strings"
	"time"

	"gt/lib/cli"
	"gt/lib/text/term"
)

// sendWait bounds how long a collector may take.
const sendWait = 30 * time.Second

// maxReply bounds what is read of its answer.
const maxReply = 64 << 10

// send posts traces to a collector on this machine. gt speaks no TLS, and what is sent in
// the clear stays here: to another machine another program brings it.
func send(env *cli.Env, address string, body []byte) error {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "http" || u.Hostname() != "localhost" && !net.ParseIP(u.Hostname()).IsLoopback() {
		return cli.Fail(cli.Usage, fmt.Errorf("cannot send to '%s': it is no http address of this machine", address),
			"to another: gt-record export ID --format otlp | curl --data-binary @- -H 'Content-Type: application/json' ADDRESS")
	}
	port, path := u.Port(), u.EscapedPath()
	if port == "" {
		port = "4318"
	}
	if path == "" || path == "/" {
		path = "/v1/traces"
	}
	failed := func(err error) error { return cli.Fail(cli.IO, fmt.Errorf("cannot send to '%s': %w", address, err)) }
	c, err := net.DialTimeout("tcp", net.JoinHostPort(u.Hostname(), port), sendWait)
	if err != nil {
		return failed(err)
	}
	defer c.Close()
	if err := c.SetDeadline(time.Now().Add(sendWait)); err != nil {
		return failed(err)
	}
	head := fmt.Sprintf("POST %s HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\nConnection: close\r\n\r\n", path, u.Host, len(body))
	if _, err := io.WriteString(c, head); err != nil {
		return failed(err)
	}
	if _, err := c.Write(body); err != nil {
		return failed(err)
	}
	reply, err := io.ReadAll(io.LimitReader(bufio.NewReader(c), maxReply))
	if len(reply) == 0 {
		return failed(errors.Join(errors.New("it gave no answer"), err))
	}
	line, rest, _ := strings.Cut(string(reply), "\r\n")
	if version, code, ok := strings.Cut(line, " "); !ok || !strings.HasPrefix(version, "HTTP/1.") || !strings.HasPrefix(code, "200") {
		return failed(fmt.Errorf("it answered '%s'", term.Clean(line)))
	}
	if _, said, _ := strings.Cut(rest, "\r\n\r\n"); strings.Contains(said, "rejectedSpans") {
		env.Warn("the collector took not all of it: %s", term.OneLine(term.Clean(said)))
	}
	env.Hint("%s sent", term.Size(int64(len(body))))
	return nil
}
