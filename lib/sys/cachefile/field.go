package cachefile

import (
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"github.com/tidwall/gjson"
)

// Field is a member of a line: its key, and a pointer to its value. One pointer is set.
type Field struct {
	Key    string
	Text   *string
	Time   *time.Time
	Number *int64
	Flag   *bool
}

// value returns the field's value in a line, and whether it is quoted; "" if it is empty.
func (f Field) value() (value string, quoted bool) {
	switch {
	case f.Text != nil:
		return *f.Text, true
	case f.Time != nil && !f.Time.IsZero():
		return f.Time.Format(time.RFC3339Nano), true
	case f.Number != nil && *f.Number != 0:
		return strconv.FormatInt(*f.Number, 10), false
	case f.Flag != nil && *f.Flag:
		return "true", false
	}
	return "", f.Time != nil
}

// set is the inverse of value.
func (f Field) set(value string) (err error) {
	switch {
	case f.Text != nil:
		*f.Text = value
	case value == "":
	case f.Time != nil:
		*f.Time, err = time.Parse(time.RFC3339, value)
	case f.Number != nil:
		*f.Number, err = strconv.ParseInt(value, 10, 64)
	default:
		*f.Flag = value == "true"
	}
	return err
}

// AppendFields appends members to an object, separated by commas; line ends with '{' before
// the first. Empty members are left out, except texts and times among the first always
// ones.
func AppendFields(line []byte, fields []Field, always int) []byte {
	for i, f := range fields {
		value, quoted := f.value()
		if value == "" && (i >= always || !quoted) {
			continue
		}
		if line[len(line)-1] != '{' {
			line = append(line, ',')
		}
		line = append(line, '"')
		line = append(line, f.Key...)
		line = append(line, `":`...)
		if quoted {
			line = gjson.AppendJSONString(line, value)
		} else {
			line = append(line, value...)
		}
	}
	return line
}

// ReadFields reads the members that AppendFields wrote, in order, and returns the rest.
// Texts share the line's memory. ok is false if a value is not in AppendFields's form.
func ReadFields(line string, fields []Field) (rest string, ok bool) {
	rest = line
	for _, f := range fields {
		if len(rest) < 2 || rest[0] != '{' && rest[0] != ',' || rest[1] != '"' {
			break
		}
		after, _ := strings.CutPrefix(rest[2:], f.Key)
		after, ok := strings.CutPrefix(after, `":`)
		if !ok {
			continue // it was empty
		}
		var value string
		if strings.HasPrefix(after, `"`) {
			value, rest, ok = cutText(after)
		} else if end := strings.IndexAny(after, ",}"); end > 0 {
			value, rest = after[:end], after[end:]
		} else {
			ok = false
		}
		if !ok || f.set(value) != nil {
			return "", false
		}
	}
	return rest, true
}

// cutText reads the JSON text at the beginning of quoted.
func cutText(quoted string) (text, rest string, ok bool) {
	end := strings.IndexByte(quoted[1:], '"') + 1
	if end < 1 {
		return "", "", false
	}
	if strings.IndexByte(quoted[:end], '\\') < 0 {
		return quoted[1:end], quoted[end+1:], true
	}
	for end = 1; end < len(quoted) && quoted[end] != '"'; end++ {
		if quoted[end] == '\\' {
			end++
		}
	}
	if end >= len(quoted) || json.Unmarshal([]byte(quoted[:end+1]), &text) != nil {
		return "", "", false
	}
	return text, quoted[end+1:], true
}
