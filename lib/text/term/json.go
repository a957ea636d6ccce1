package term

import (
	"bytes"
	"encoding/json"
	"fmt"
	"unicode/utf16"

	"gt/lib/text/plain"
)

// JSON returns v as one line of JSON, with its line end, that a terminal
// prints and does not obey: what Clean would take out stands in it as \u….
// Nothing is lost, save bytes that are no UTF-8.
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
	marks := 0 // how many stand on the letter
	for _, r := range string(line) {
		if plain.Hidden(r) || plain.Heaps(r, marks) { // within a string: JSON has such characters nowhere else
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
