// Man writes the manual pages of all programs into a folder, from the grammars by which
// they parse their command lines. install.sh runs it:
//
//	go run ./internal/man DIR [VERSION]
package main

import (
	"fmt"
	"gt/internal/programs"
	"os"
	"path/filepath"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: man DIR")
		os.Exit(80)
	}
	if err := write(os.Args[1]); err != nil {
		fmt.Fprintf(os.Stderr, "man: error: %v\n", err)
		os.Exit(74)
	}
}

// write puts a page for each program into the folder.
func write(dir string) error {
	for _, p := range programs.List() {
		text, err := page(p)
		if err != nil {
			return fmt.Errorf("%s: %w", p.Name, err)
		}
		if err := os.WriteFile(filepath.Join(dir, p.Name+".1"), []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}
