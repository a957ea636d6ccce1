// gt-seance finds the sessions that ever ran.
package main

import (
	"os"

	"gt/lib/cli"
	"gt/lib/command/seancecmd"
)

func main() { os.Exit(cli.Run(cli.OS(), seancecmd.Program())) }
