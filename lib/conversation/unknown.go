package conversation

import (
	"cmp"
	"slices"
	"strings"

	"github.com/tidwall/gjson"
)

// Unknown counts the records of a conversation whose kind its reader does not know. A newer
// version of the client may keep in them what gt does not read.
type Unknown struct {
	Records int      `json:"records"`
	Kinds   int      `json:"kinds"`
	First   []string `json:"first"` // the names of the first kinds, as the file has them
}

const (
	maxKinds     = 1000 // counted of a conversation
	firstKinds   = 5    // named
	maxKindBytes = 100
	withoutType  = "without a type"
)

// CountUnknown reads a whole conversation. It counts nothing if the reader knows no kinds.
func CountUnknown(r Reader, f File) (u Unknown, err error) {
	c, ok := r.(Classifier)
	if !ok {
		return u, nil
	}
	seen := map[string]bool{}
	err = c.Unknown(f, func(kind string) {
		u.Records++
		kind = cmp.Or(kind, withoutType)
		kind = strings.Clone(kind[:min(len(kind), maxKindBytes)])
		if seen[kind] || len(seen) == maxKinds {
			return
		}
		seen[kind] = true
		if u.Kinds++; len(u.First) < firstKinds {
			u.First = append(u.First, kind)
		}
	})
	return u, err
}

// UnknownLines is Classifier's Unknown for a file of lines: it calls each for those whose
// kind is not known. Lines that are no JSON, such as torn ones, are of the kind "torn".
func UnknownLines(path string, known []string, kindOf func(line []byte) string, each func(kind string)) error {
	_, err := Lines(path, 0, func(line []byte, _ int64) bool {
		if !gjson.ValidBytes(line) {
			each("torn")
			return true
		}
		kind := kindOf(line)
		if !slices.Contains(known, kind) && gjson.ParseBytes(line).IsObject() { // mutant never: ./lib/client/readers TestUnknown
			each(kind)
		}
		return true
	})
	return err
}

// TypeOf returns the type of a record.
func TypeOf(line []byte) string { return gjson.GetBytes(line, "type").Str }
