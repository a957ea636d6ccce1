package recordcmd

import (
	"bufio"
	"cmp"
	"crypto/tls"
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

const sendWait = 30 * time.Second

const maxReply = 64 << 10 // limits the answer that is read, in bytes

// sendTraces posts traces to a collector, by https or, on this machine, by http. plain allows
// http to another machine.
//
// It writes the HTTP request itself: net/http would slow down each start of gt-record,
// which hooks run.
func sendTraces(env *cli.Env, address string, plain bool, body []byte) error {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" {
		return cli.Failf(cli.Usage, "cannot send to '%s': give an address such as https://collector.example.com/v1/traces", term.Clean(env.Redact(address)))
	}
	shown := u.Scheme + "://" + u.Host // the rest of an address can contain a key
	if u.User != nil {
		return cli.Fail(cli.Usage, fmt.Errorf("cannot send to '%s' with a name or password in the address", shown),
			"everybody on this machine can read a command line: put it into OTEL_EXPORTER_OTLP_HEADERS")
	}
	// mutant never: . TestScripts/record_sent
	if u.Scheme == "http" && !plain && u.Hostname() != "localhost" && !net.ParseIP(u.Hostname()).IsLoopback() {
		return cli.Fail(cli.Usage, fmt.Errorf("cannot send to '%s': http to another machine can be read on the way", shown),
			"use https, or --insecure if the network is yours")
	}
	headers, err := collectorHeaders(env.Getenv)
	if err != nil {
		return cli.Fail(cli.Usage, err)
	}
	port, path := u.Port(), u.EscapedPath()
	port = cmp.Or(port, map[string]string{"http": "4318", "https": "443"}[u.Scheme])
	if path == "" || path == "/" {
		path = "/v1/traces"
	}
	if u.RawQuery != "" {
		path += "?" + u.RawQuery
	}
	sendError := func(err error) error { return cli.Fail(cli.IO, fmt.Errorf("cannot send to '%s': %w", shown, err)) }
	c, err := dialCollector(u, port)
	if err != nil {
		return sendError(err)
	}
	defer c.Close()
	if err := c.SetDeadline(time.Now().Add(sendWait)); err != nil {
		return sendError(err)
	}
	head := fmt.Sprintf("POST %s HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\nConnection: close\r\n%s\r\n", path, u.Host, len(body), headers)
	if _, err := io.WriteString(c, head); err != nil {
		return sendError(err)
	}
	_, sent := c.Write(body) // a collector may answer and close before it has read all
	reply, err := io.ReadAll(io.LimitReader(bufio.NewReader(c), maxReply))
	if len(reply) == 0 {
		return sendError(cmp.Or(sent, errors.Join(errors.New("it gave no answer"), err)))
	}
	line, rest, _ := strings.Cut(string(reply), "\r\n")
	if version, code, ok := strings.Cut(line, " "); !ok || !strings.HasPrefix(version, "HTTP/1.") || !strings.HasPrefix(code, "200") {
		return sendError(fmt.Errorf("it answered '%s'", term.OneLine(term.Clean(env.Redact(line)))))
	}
	if _, said, _ := strings.Cut(rest, "\r\n\r\n"); strings.Contains(said, "rejectedSpans") {
		env.Warn("the collector did not accept all of it: %s", term.OneLine(term.Clean(said)))
	}
	env.Hint("%s sent", term.FormatSize(int64(len(body))))
	return nil
}

// dialCollector connects to a collector. Its certificate must be valid for the system's roots.
func dialCollector(u *url.URL, port string) (net.Conn, error) {
	d := &net.Dialer{Timeout: sendWait}
	at := net.JoinHostPort(u.Hostname(), port)
	if u.Scheme == "http" {
		return d.Dial("tcp", at)
	}
	return tls.DialWithDialer(d, "tcp", at, &tls.Config{ServerName: u.Hostname(), NextProtos: []string{"http/1.1"}, MinVersion: tls.VersionTLS12})
}

// collectorHeaders returns header lines from OTEL_EXPORTER_OTLP_TRACES_HEADERS or else
// OTEL_EXPORTER_OTLP_HEADERS ("name=value,…" with values escaped as in a URL), which usually hold keys.
func collectorHeaders(getenv func(string) string) (string, error) {
	name := "OTEL_EXPORTER_OTLP_TRACES_HEADERS"
	if getenv(name) == "" {
		name = "OTEL_EXPORTER_OTLP_HEADERS"
	}
	var lines strings.Builder
	for pair := range strings.SplitSeq(getenv(name), ",") {
		if strings.TrimSpace(pair) == "" {
			continue
		}
		key, value, ok := strings.Cut(pair, "=")
		key, value = strings.TrimSpace(key), strings.TrimSpace(value)
		if plain, err := url.PathUnescape(value); err == nil {
			value = plain
		}
		if !ok || !isHeaderName(key) || strings.ContainsFunc(value, func(c rune) bool { return c < ' ' && c != '\t' || c == 0x7f }) {
			return "", fmt.Errorf("invalid %s (try name=value,name=value)", name) // without the value, which is a key
		}
		lines.WriteString(key + ": " + value + "\r\n")
	}
	return lines.String(), nil
}

func isHeaderName(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(c rune) bool {
		return c <= ' ' || c >= 0x7f || strings.ContainsRune(`"(),/:;<=>?@[\]{}`, c)
	})
}
