package mail

import (
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"mime/quotedprintable"
	"strings"
)

const maxDepth = 8

// text returns a body's text: of several parts the texts, and a line for each other part.
func text(contentType, encoding string, body io.Reader) (string, error) {
	var b strings.Builder
	err := writePart(&b, contentType, encoding, "", body, 0)
	return b.String(), err
}

// writePart adds the text of a part, or a line about an attachment. It is inside depth other parts.
func writePart(b *strings.Builder, contentType, encoding, name string, body io.Reader, depth int) error {
	kind, params, err := mime.ParseMediaType(contentType)
	if err != nil || kind == "" {
		kind, params = "text/plain", nil // the default of RFC 2045
	}
	switch {
	case strings.HasPrefix(kind, "multipart/") && params["boundary"] != "" && depth < maxDepth:
		return writeParts(b, kind, multipart.NewReader(body, params["boundary"]), depth)
	case name == "" && (kind == "text/plain" || depth == 0 && strings.HasPrefix(kind, "text/")): // no HTML part
		data, err := io.ReadAll(decode(encoding, body))
		if err != nil && len(data) == 0 {
			return err
		}
		b.WriteString(toUTF8(params["charset"], data))
		return nil
	}
	size, err := io.Copy(io.Discard, decode(encoding, body))
	if err != nil {
		return nil // skip a broken attachment
	}
	what := kind
	if name != "" {
		what = name + ", " + kind
	}
	fmt.Fprintf(b, "[%s, %d bytes]\n", oneLine(what), size)
	return nil
}

// writeParts adds the parts of a message, or of alternatives the first one with text.
func writeParts(b *strings.Builder, kind string, parts *multipart.Reader, depth int) error {
	for {
		p, err := parts.NextRawPart()
		if errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return fmt.Errorf("broken part: %w", err)
		}
		if b.Len() > 0 && !strings.HasSuffix(b.String(), "\n") {
			b.WriteByte('\n')
		}
		before := b.Len()
		h := p.Header
		err = writePart(b, h.Get("Content-Type"), h.Get("Content-Transfer-Encoding"), decodeWords(p.FileName()), p, depth+1)
		if err != nil {
			return err
		}
		// One alternative is enough; plain text comes first.
		if kind == "multipart/alternative" && b.Len() > before && !strings.HasPrefix(b.String()[before:], "[") {
			return nil
		}
	}
}

func decode(encoding string, r io.Reader) io.Reader {
	switch strings.ToLower(strings.TrimSpace(encoding)) {
	case "base64":
		return base64.NewDecoder(base64.StdEncoding, r)
	case "quoted-printable":
		return quotedprintable.NewReader(r)
	}
	return r
}

// toUTF8 converts charsets that need no table. It leaves others unchanged, so that their
// invalid UTF-8 stays visible.
func toUTF8(charset string, data []byte) string {
	switch strings.ToLower(charset) {
	case "iso-8859-1", "latin1":
		runes := make([]rune, len(data))
		for i, c := range data {
			runes[i] = rune(c)
		}
		return string(runes)
	}
	return string(data)
}
