package wiring

import (
	"path/filepath"
	"strings"
)

// quote writes a word for a shell.
func quote(word string) string {
	if word != "" && strings.Trim(word, plain) == "" {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// quotePowerShell writes a program for PowerShell, which takes a quoted word for a
// text and not for a program.
func quotePowerShell(program string) string {
	if strings.Trim(program, plain) == "" {
		return program
	}
	return "& '" + strings.ReplaceAll(program, "'", "''") + "'"
}

// plain are the characters that stand for themselves in every shell.
const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:@%+,"

// Split takes a command line apart: the file that it runs, and the rest of the
// line as it is written.
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

// bare returns the command line with the program's name in the place of its path:
// what it does, wherever the program lies.
func bare(line string) string {
	program, rest := Split(line)
	return filepath.Base(program) + rest
}
