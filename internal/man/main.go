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
	"gt/lib/command/checkpointcmd"
	"gt/lib/command/handoffcmd"
	"gt/lib/command/hookscmd"
	"gt/lib/command/hubcmd"
	"gt/lib/command/keepalivecmd"
	"gt/lib/command/krccmd"
	"gt/lib/command/mailcmd"
	"gt/lib/command/pickcmd"
	"gt/lib/command/primecmd"
	"gt/lib/command/reconcilecmd"
	"gt/lib/command/recordcmd"
	"gt/lib/command/relaycmd"
	"gt/lib/command/seancecmd"
	"gt/lib/command/sessioncmd"
	"gt/lib/command/watchcmd"
)

// programs are all programs, in the order of their names.
func programs() []cli.Program {
	return []cli.Program{
		checkpointcmd.Program(), handoffcmd.Program(), hookscmd.Program(), hubcmd.Program(), keepalivecmd.Program(), krccmd.Program(), mailcmd.Program(),
		pickcmd.Program(), primecmd.Program(), reconcilecmd.Program(), recordcmd.Program(), relaycmd.Program(), seancecmd.Program(), sessioncmd.Program(),
		watchcmd.Program(),
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
