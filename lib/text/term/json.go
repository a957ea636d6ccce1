package term

import (
	"bytes"
	"encoding/json"
	"fmt"
	"unicode/utf16"

	"gt/lib/text/plain"
)

// JSON returns v as one line of JSON that a terminal does not obey: what Clean would remove
// is escaped as \u…. Only invalid UTF-8 is lost.
func JSON(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	line := bytes.TrimSuffix(b.Bytes(), []byte("\n"))
	if plain.IsLine(string(line)) {
		return b.Bytes(), nil
	}
	var safe bytes.Buffer
	marks := 0 // on the current letter
	for _, r := range string(line) {
		if plain.Hidden(r) || plain.Heaps(r, marks) { // inside a string: JSON has such characters nowhere else
			for _, unit := range utf16.AppendRune(nil, r) {
				fmt.Fprintf(&safe, `\u%04x`, unit)
			}
			marks = 0
			continue
		}
		if marks++; !plain.IsMark(r) {
			marks = 0
		}
		safe.WriteRune(r)
	}
	safe.WriteByte('\n')
	return safe.Bytes(), nil
}
