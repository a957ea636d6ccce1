package template

import (
	"bytes"
	"strings"

	"github.com/pelletier/go-toml/v2/unstable"
)

// header is the line that begins a table, or an element of an array of tables.
type header struct {
	name  string
	array bool
	line  int
}

// noBlock stands for the block of the table [session].
const noBlock = -1

// keyLines returns the headers of a text, and a function that finds the line of a key, such
// as pool.max, in the [[agent]] block with a number, or session.provider. It falls back to the line of the key's
// table, of the block, or 0. A key in an inline table is not found.
func keyLines(text []byte) (headers []header, find func(block int, key string) int) {
	type place struct {
		block int
		key   string
	}
	lines := map[place]int{}
	blocks, block, prefix, within := 0, noBlock, "", false // within a block
	line, counted := 1, 0
	parser := unstable.Parser{}
	for parser.Reset(text); parser.NextExpression(); {
		e := parser.Expression()
		var names []string
		for key := e.Key(); key.Next(); names = append(names, string(key.Node().Data)) {
			at := int(key.Node().Raw.Offset)
			line, counted = line+bytes.Count(text[counted:at], []byte("\n")), at
		}
		name := strings.Join(names, ".")
		if e.Kind != unstable.KeyValue {
			headers = append(headers, header{name, e.Kind == unstable.ArrayTable, line})
			table, below := strings.CutPrefix(name, "agent.")
			switch within = true; {
			case e.Kind == unstable.ArrayTable && name == "agent":
				blocks, block, prefix, name = blocks+1, blocks, "", ""
			case e.Kind == unstable.Table && below && blocks > 0:
				block, prefix, name = blocks-1, table+".", table
			case e.Kind == unstable.Table && name == "session":
				block, prefix = noBlock, "session."
			default:
				within = false
			}
		} else {
			name = prefix + name
		}
		if at := (place{block, name}); within && lines[at] == 0 {
			lines[at] = line
		}
	}
	return headers, func(block int, key string) int {
		if at := lines[place{block, key}]; at != 0 {
			return at
		}
		table, _, ok := strings.Cut(key, ".")
		if at := lines[place{block, table}]; ok && at != 0 {
			return at
		}
		return lines[place{block, ""}]
	}
}
