// gt-hooks wires gt into the hooks of coding agents.
package main

import (
	"os"

	"gt/lib/cli"
	"gt/lib/command/hookscmd"
)

func main() { os.Exit(cli.Run(cli.OS(), hookscmd.Program())) }
