// gt-watch is the live screen of a fleet of agents.
package main

import (
	"os"

	"gt/lib/cli"
	"gt/lib/command/watchcmd"
)

func main() { os.Exit(cli.Run(cli.OS(), watchcmd.Program())) }
