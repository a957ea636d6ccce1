package conversation

import (
	"bufio"
	"cmp"
	"errors"
	"io"
	"strings"

	"github.com/tidwall/gjson"

	"gt/lib/sys/atomicfile"
)

// ReadDocument parses a file that is one JSON object. It calls meta for the object's
// short members, and message for each object in the list "messages" with its offset,
// until message returns false; raw is nil for an object that is too long. It reads at most
// limit bytes, if that is not 0, and holds one message at a time.
func ReadDocument(path string, limit int64, meta func(key string, v gjson.Result), message func(raw []byte, at int64) bool) error {
	f, err := atomicfile.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	var in io.Reader = f
	if limit > 0 {
		in = io.LimitReader(f, limit)
	}
	d := document{r: bufio.NewReaderSize(in, 64<<10), meta: meta, message: message}
	if err := d.parse(); !errors.Is(err, io.EOF) && !errors.Is(err, errStop) {
		return atomicfile.Error("read", path, err)
	}
	return nil
}

var errStop = errors.New("enough")

type document struct {
	r       *bufio.Reader
	at      int64 // of the next byte
	meta    func(string, gjson.Result)
	message func([]byte, int64) bool
	buf     []byte
}

// parse reads the object. It never returns nil: errStop is its end, or means that it is no object;
// io.EOF means that it is cut off.
func (d *document) parse() error {
	if c, err := d.nextByte(); err != nil || c != '{' {
		return cmp.Or(err, errStop)
	}
	for {
		c, err := d.nextByte()
		if err != nil || c == '}' {
			return cmp.Or(err, errStop)
		}
		if c == ',' {
			continue
		}
		raw, err := d.readValue(c, EndSize)
		if err != nil {
			return err
		}
		key := gjson.ParseBytes(raw)
		if c != '"' || !gjson.ValidBytes(raw) {
			return errStop // not a JSON object
		}
		name := strings.Clone(key.Str)
		if c, err = d.nextByte(); err != nil || c != ':' {
			return cmp.Or(err, errStop)
		}
		if c, err = d.nextByte(); err != nil {
			return err
		}
		if name == "messages" && c == '[' {
			if err := d.readMessages(); err != nil {
				return err
			}
			continue
		}
		if raw, err = d.readValue(c, EndSize); err != nil {
			return err
		}
		if d.meta != nil && gjson.ValidBytes(raw) {
			d.meta(name, gjson.ParseBytes(raw))
		}
	}
}

// readMessages reads the list of messages, from behind its opening bracket to its end.
func (d *document) readMessages() error {
	for {
		c, err := d.nextByte()
		if err != nil || c == ']' {
			return err
		}
		if c == ',' {
			continue
		}
		at := d.at - 1
		raw, err := d.readValue(c, MaxRecord)
		if err != nil {
			return err
		}
		if c == '{' && (raw == nil || gjson.ValidBytes(raw)) && !d.message(raw, at) {
			return errStop
		}
	}
}

// nextByte returns the next byte that is not a blank.
func (d *document) nextByte() (byte, error) {
	for {
		c, err := d.r.ReadByte()
		if err != nil {
			return 0, err
		}
		d.at++
		if c != ' ' && c != '\n' && c != '\t' && c != '\r' {
			return c, nil
		}
	}
}

// readValue reads the value that begins with the byte c. It skips a value longer than most
// bytes and returns nil. The bytes are valid until the next call.
func (d *document) readValue(c byte, most int) ([]byte, error) {
	d.buf = append(d.buf[:0], c)
	if c != '"' && c != '{' && c != '[' {
		return d.readWord()
	}
	depth, text, escaped := 0, c == '"', false // open brackets; in a string; behind a \
	if !text {
		depth = 1
	}
	for text || depth > 0 {
		next, err := d.r.ReadByte()
		if err != nil {
			return nil, err
		}
		d.at++
		if len(d.buf) <= most {
			d.buf = append(d.buf, next)
		}
		switch {
		case escaped:
			escaped = false
		case text:
			escaped, text = next == '\\', next != '"'
		case next == '"':
			text = true
		case next == '{' || next == '[':
			depth++
		case next == '}' || next == ']':
			depth--
		}
	}
	if len(d.buf) > most {
		return nil, nil
	}
	return d.buf, nil
}

// readWord reads the rest of a number, true, false or null.
func (d *document) readWord() ([]byte, error) {
	for {
		next, err := d.r.Peek(1)
		if err != nil {
			return nil, err
		}
		if len(d.buf) > 64 || strings.IndexByte(",]} \n\t\r", next[0]) >= 0 { // no number is longer
			return d.buf, nil
		}
		d.r.Discard(1)
		d.at++
		d.buf = append(d.buf, next[0])
	}
}
