package mail

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/quotedprintable"
	"net/mail"
	"os"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"gt/lib/sys/atomicfile"
)

const (
	Plain   = "note"    // a message
	Handoff = "handoff" // from a session to its successor
)

// Note is one message. Notes in a list have no Body.
type Note struct {
	ID      string    `json:"id,omitempty"`
	Type    string    `json:"type"`
	From    string    `json:"from,omitempty"`
	To      string    `json:"to,omitempty"`
	Subject string    `json:"subject"`
	Date    time.Time `json:"date,omitzero"`
	Session string    `json:"session,omitempty"` // the writer's session
	Chain   string    `json:"chain,omitempty"`   // that session's chain
	Host    string    `json:"host,omitempty"`    // the host that it came from, if that is another one
	For     string    `json:"for,omitempty"`     // one agent of several that share the box, as in GT_INSTANCE
	Seen    bool      `json:"seen"`
	Hooked  bool      `json:"hooked"`
	Done    bool      `json:"done"`
	Path    string    `json:"path,omitempty"`
	Problem string    `json:"problem,omitempty"` // why the file is not a readable message
	Body    string    `json:"body,omitempty"`

	messageID string
}

func (n Note) Clean(clean func(string) string) Note {
	n.From, n.To, n.Subject, n.Body = clean(n.From), clean(n.To), clean(n.Subject), clean(n.Body)
	n.Type, n.Session, n.Chain, n.Host = clean(n.Type), clean(n.Session), clean(n.Chain), clean(n.Host)
	return n
}

// domain makes a mail address of an agent's address. The top-level domain is reserved, so a
// reply never leaves the machine.
const domain = "gt.invalid"

// Message returns the note as the message in a file of this name, or ErrTooLarge for a text
// or subject over its maximum.
func (n Note) Message(name string) ([]byte, error) {
	if len(n.Body) > MaxBody {
		return nil, fmt.Errorf("the message is %w (%d bytes, over %d)", ErrTooLarge, len(n.Body), MaxBody)
	}
	if s := oneLine(n.Subject); len(s) > MaxSubject {
		return nil, fmt.Errorf("the subject is %w (%d bytes, over %d)", ErrTooLarge, len(s), MaxSubject)
	}
	n.messageID = name
	var text bytes.Buffer
	_, err := n.WriteTo(&text)
	return text.Bytes(), err
}

// WriteTo writes the note as an RFC 5322 message whose lines end in \n. The flags, ID
// and Path are not part of the message; the box keeps them.
func (n Note) WriteTo(w io.Writer) (int64, error) {
	var b bytes.Buffer
	header := func(key, value string) {
		if value != "" {
			b.WriteString(key + ": " + value + "\n")
		}
	}
	header("From", encodeAddress(n.From))
	header("To", encodeAddress(n.To))
	header("Subject", encodeWords(oneLine(n.Subject)))
	if !n.Date.IsZero() {
		header("Date", n.Date.Format(time.RFC1123Z))
	}
	if n.messageID != "" {
		header("Message-ID", "<"+strings.Map(atomRune, n.messageID)+"@"+domain+">")
	}
	kind := cmp.Or(n.Type, Plain)
	header("X-Gt-Type", encodeWords(oneLine(kind)))
	header("X-Gt-Session", encodeWords(oneLine(n.Session)))
	header("X-Gt-Chain", encodeWords(oneLine(n.Chain)))
	header("X-Gt-Host", encodeWords(oneLine(n.Host)))
	header("MIME-Version", "1.0")
	header("Content-Type", "text/plain; charset=utf-8")
	encoding, body := encodeBody(n.Body)
	header("Content-Transfer-Encoding", encoding)
	b.WriteByte('\n')
	b.WriteString(body)
	return b.WriteTo(w)
}

// MaxMessage bounds a note's file, with its attachments, in bytes.
const MaxMessage = 16 << 20

// maxHeader bounds a message's header, in bytes.
const maxHeader = 256 << 10

// Parse reads a message, of gt or of any mail program. The body of a message in several
// parts is its text, with one line for each other part.
func Parse(r io.Reader) (Note, error) {
	limited := &io.LimitedReader{R: r, N: MaxMessage + 1}
	n, m, err := parseHeader(limited)
	if err == nil {
		n.Body, err = text(m.Header.Get("Content-Type"), m.Header.Get("Content-Transfer-Encoding"), m.Body)
	}
	if limited.N <= 0 {
		err = fmt.Errorf("the message is %w (over %d bytes)", ErrTooLarge, MaxMessage)
	}
	return n, err
}

// parseHeader returns a note without its body, and the message from which that can be read.
func parseHeader(r io.Reader) (Note, *mail.Message, error) {
	m, err := mail.ReadMessage(r)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = errors.New("its header does not end")
	}
	if err != nil {
		return Note{}, nil, fmt.Errorf("not a mail message: %w", err)
	}
	get := func(key string) string { return oneLine(decodeWords(m.Header.Get(key))) }
	n := Note{
		Type:    Plain,
		From:    decodeAddress(m.Header.Get("From")),
		To:      decodeAddress(m.Header.Get("To")),
		Subject: get("Subject"),
		Session: get("X-Gt-Session"),
		Chain:   get("X-Gt-Chain"),
		Host:    get("X-Gt-Host"),
	}
	if get("X-Gt-Type") == Handoff {
		n.Type = Handoff
	}
	// In UTC, because other formats cannot express every zone offset.
	if t, err := m.Header.Date(); err == nil && t.UTC().Year() > 0 && t.UTC().Year() <= 9999 {
		n.Date = t.UTC()
	}
	return n, m, nil
}

// readFile reads a note's file: with body, or only the header.
func readFile(dir *os.Root, name string, body bool) (Note, error) {
	f, err := atomicfile.OpenIn(dir, name)
	if err != nil {
		return Note{}, err
	}
	defer f.Close()
	if body {
		return Parse(f)
	}
	n, _, err := parseHeader(io.LimitReader(f, maxHeader))
	return n, err
}

// oneLine makes a value fit for a header. Control characters and runs of spaces become one space.
func oneLine(s string) string {
	s = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == '\u2028' || r == '\u2029' {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(s, "\uFFFD"))
	return strings.Join(strings.Fields(s), " ")
}

// encodeAddress returns the mail address for an agent's address. A mail address, with
// or without a name, is returned as it is.
func encodeAddress(s string) string {
	s = oneLine(s)
	if s == "" {
		return ""
	}
	name, bare := "", s
	if i := strings.LastIndex(s, " <"); i >= 0 && strings.HasSuffix(s, ">") {
		name, bare = s[:i], s[i+2:len(s)-1]
	}
	if a, err := mail.ParseAddress("<" + bare + ">"); err == nil {
		return (&mail.Address{Name: name, Address: a.Address}).String()
	}
	return (&mail.Address{Address: s + "@" + domain}).String()
}

// decodeAddress is the inverse of encodeAddress. It returns the first of several
// addresses, and text that is not an address as it is.
func decodeAddress(s string) string {
	list, err := (&mail.AddressParser{WordDecoder: words}).ParseList(s)
	if err != nil || len(list) == 0 {
		return oneLine(decodeWords(s))
	}
	a := list[0]
	if name, ours := strings.CutSuffix(a.Address, "@"+domain); ours {
		return oneLine(name)
	}
	if a.Name == "" {
		return oneLine(a.Address)
	}
	return oneLine(a.Name + " <" + a.Address + ">")
}

// words decodes RFC 2047. Charsets that the standard library does not know stay encoded.
var words = new(mime.WordDecoder)

func decodeWords(s string) string {
	if d, err := words.DecodeHeader(s); err == nil {
		return d
	}
	return s
}

// encodeWords encodes text that is not plain ASCII, or that looks like an encoded word,
// as RFC 2047 words of at most 75 characters, one on each line.
func encodeWords(s string) string {
	plain := !strings.Contains(s, "=?")
	for i := 0; plain && i < len(s); i++ {
		plain = s[i] >= ' ' && s[i] < 0x7f
	}
	if plain {
		return s
	}
	const open, end, width = "=?utf-8?q?", "?=", 75
	var b strings.Builder
	b.WriteString(open)
	used := len(open) + len(end)
	for _, r := range s {
		var code string
		switch {
		case r == ' ':
			code = "_"
		case r < utf8.RuneSelf && (unicode.IsLetter(r) || unicode.IsDigit(r)):
			code = string(r)
		default:
			for _, c := range []byte(string(r)) {
				code += fmt.Sprintf("=%02X", c)
			}
		}
		// A character must not be split between words.
		if used+len(code) > width {
			b.WriteString(end + "\n " + open)
			used = len(open) + len(end)
		}
		b.WriteString(code)
		used += len(code)
	}
	b.WriteString(end)
	return b.String()
}

func atomRune(r rune) rune {
	if r < utf8.RuneSelf && (unicode.IsLetter(r) || unicode.IsDigit(r)) || r == '.' || r == '-' || r == '_' {
		return r
	}
	return '-'
}

// encodeBody returns the text as it is if mail allows that. Otherwise (NUL, CR, lines
// over 998 bytes) it encodes it as quoted-printable. Decoding returns the same bytes.
func encodeBody(s string) (encoding, body string) {
	fits := strings.IndexByte(s, 0) < 0 && strings.IndexByte(s, '\r') < 0
	for line := range strings.Lines(s) {
		fits = fits && len(line) <= 998
	}
	if fits {
		return "8bit", s
	}
	var b bytes.Buffer
	for line := range strings.Lines(s) {
		text, ended := strings.CutSuffix(line, "\n")
		// Binary: a CR is written as =0D and not as the end of a line.
		w := quotedprintable.NewWriter(&b)
		w.Binary = true
		io.WriteString(w, text) // a buffer never fails
		w.Close()
		if ended {
			b.WriteByte('\n')
		}
	}
	return "quoted-printable", strings.ReplaceAll(b.String(), "=\r\n", "=\n")
}

// StaleReason shows both times if a note is older than the session that reads it, so that a
// predecessor may have dealt with it. Otherwise, and if a time is zero, it is "".
func StaleReason(note, sessionCreated time.Time) string {
	if note.IsZero() || sessionCreated.IsZero() || !note.Before(sessionCreated) {
		return ""
	}
	return fmt.Sprintf("message=%s session_started=%s",
		note.UTC().Format(time.RFC3339), sessionCreated.UTC().Format(time.RFC3339))
}
