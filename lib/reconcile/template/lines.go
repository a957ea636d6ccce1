package template

import (
	"strings"
)

// keyLines returns a function that finds the line of a key, such as pool.max, in the
// [[agent]] block with a number. It falls back to the line of the key's table, of the
// block, or 0. The parser's own positions do not help, because every block has the same
// keys. A quoted key or one in an inline table is not found.
func keyLines(text []byte) func(block int, key string) int {
	type place struct {
		block int
		key   string
	}
	lines := map[place]int{}
	block, prefix, fence := -1, "", ""
	number := 0
	for line := range strings.Lines(string(text)) {
		number++
		line = strings.TrimSpace(line)
		if fence != "" { // in a multi-line string
			if strings.Contains(line, fence) {
				fence = ""
			}
			continue
		}
		switch {
		case strings.HasPrefix(line, "#"):
			continue
		case strings.HasPrefix(line, "[["):
			name, _, _ := strings.Cut(line[2:], "]]")
			prefix = "-" // another array
			if strings.TrimSpace(name) == "agent" {
				block++
				prefix = ""
				lines[place{block, ""}] = number
			}
			continue
		case strings.HasPrefix(line, "["):
			name, _, _ := strings.Cut(line[1:], "]")
			prefix = "-"
			if rest, ok := strings.CutPrefix(strings.TrimSpace(name), "agent."); ok && block >= 0 {
				prefix = rest + "."
				lines[place{block, rest}] = number
			}
			continue
		}
		key, value, ok := strings.Cut(line, "=")
		if !ok {
			continue
		}
		for _, quotes := range []string{`"""`, "'''"} {
			if strings.Count(value, quotes) == 1 {
				fence = quotes
			}
		}
		if at := (place{block, prefix + strings.TrimSpace(key)}); prefix != "-" && lines[at] == 0 {
			lines[at] = number
		}
	}
	return func(block int, key string) int {
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
