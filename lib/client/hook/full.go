package hook

import (
	"cmp"
	"path/filepath"
	"strings"

	"github.com/tidwall/gjson"

	"gt/lib/sys/atomicfile"
)

// Full is when a client compacts by itself: at so many tokens of what its
// model takes, or where the person's settings say.
type Full struct {
	tokens   int64
	models   map[string]int64 // by how their names begin, where they take another number
	share    float64
	home     string // the variable that names another folder than HOME
	settings string // below that, and before it below the project's folder
	key      string // of the share there
}

// maxSettings bounds the settings of a client.
const maxSettings = 4 << 20

// At is the number of tokens from which on a conversation in dir is compacted.
func (f *Full) At(model, dir string, getenv func(string) string) int64 {
	tokens, share := f.tokens, f.share
	for name, n := range f.models {
		if strings.HasPrefix(model, name) {
			tokens = n
		}
	}
	for _, dir := range []string{dir, cmp.Or(getenv(f.home), getenv("HOME"))} {
		data, err := atomicfile.Read(filepath.Join(dir, filepath.FromSlash(f.settings)), maxSettings)
		if v := gjson.GetBytes(data, f.key); err == nil && v.Type == gjson.Number && v.Num > 0 {
			share = v.Num
			break
		}
	}
	return int64(float64(tokens) * share)
}
