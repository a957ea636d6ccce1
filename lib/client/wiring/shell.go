package wiring

import (
	"path/filepath"
	"strings"
)

func quote(word string) string {
	if word != "" && strings.Trim(word, plain) == "" {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// quotePowerShell quotes a program for PowerShell, for which a quoted word is a string
// unless & precedes it.
func quotePowerShell(program string) string {
	if strings.Trim(program, plain) == "" {
		return program
	}
	return "& '" + strings.ReplaceAll(program, "'", "''") + "'"
}

// plain are the characters that no shell interprets.
const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:@%+,"

// Split returns the program of a command line, and the rest unchanged.
func Split(line string) (program, rest string) {
	var word strings.Builder
	var quoted byte
	line = strings.TrimLeft(line, "& \t\n") // PowerShell's & runs a quoted word
	for i := 0; i < len(line); i++ {
		switch c := line[i]; {
		case c == quoted:
			quoted = 0
		case quoted == 0 && (c == '"' || c == '\''):
			quoted = c
		case c == '\\' && quoted != '\'' && i+1 < len(line):
			i++
			word.WriteByte(line[i])
		case quoted == 0 && strings.IndexByte(" \t\n;&|<>()", c) >= 0:
			return word.String(), line[i:]
		default:
			word.WriteByte(c)
		}
	}
	return word.String(), ""
}

// bare returns a command line with the program's name in place of its path.
func bare(line string) string {
	program, rest := Split(line)
	return filepath.Base(program) + rest
}
