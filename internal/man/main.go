// Man writes the manual pages of all programs into a folder, from the grammars by which
// they parse their command lines. install.sh runs it:
//
//	go run ./internal/man DIR [VERSION]
package main

import (
	"fmt"
	"os"
	"path/filepath"

	"gt/lib/cli"
	"gt/lib/command/checkpoint"
	"gt/lib/command/handoff"
	"gt/lib/command/hooks"
	"gt/lib/command/keepalive"
	"gt/lib/command/krc"
	"gt/lib/command/mail"
	"gt/lib/command/pick"
	"gt/lib/command/prime"
	"gt/lib/command/reconcile"
	"gt/lib/command/record"
	"gt/lib/command/seance"
	"gt/lib/command/session"
)

// programs are all programs, in the order of their names.
func programs() []cli.Program {
	return []cli.Program{
		checkpoint.Program(), handoff.Program(), hooks.Program(), keepalive.Program(), krc.Program(), mail.Program(),
		pick.Program(), prime.Program(), reconcile.Program(), record.Program(), seance.Program(), session.Program(),
	}
}

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
	for _, p := range programs() {
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
