// gt-reconcile brings the agents of a town to where its templates want them.
package main

import (
	"os"

	"gt/lib/cli"
	"gt/lib/command/reconcilecmd"
)

func main() { os.Exit(cli.Run(cli.OS(), reconcilecmd.Program())) }
