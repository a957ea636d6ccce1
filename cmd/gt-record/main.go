// gt-record keeps conversations, without secrets, for longer than their clients do.
package main

import (
	"os"

	"gt/lib/cli"
	"gt/lib/command/recordcmd"
)

func main() { os.Exit(cli.Run(cli.OS(), recordcmd.Program())) }
