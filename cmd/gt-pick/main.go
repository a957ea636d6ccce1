// gt-pick finds a session among many, with a preview of each.
package main

import (
	"os"

	"gt/lib/cli"
	"gt/lib/command/pickcmd"
)

func main() { os.Exit(cli.Run(cli.OS(), pickcmd.Program())) }
