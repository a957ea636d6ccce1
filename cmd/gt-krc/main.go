// gt-krc keeps the event log at a size that is worth reading.
package main

import (
	"os"

	"gt/lib/cli"
	"gt/lib/command/krccmd"
)

func main() { os.Exit(cli.Run(cli.OS(), krccmd.Program())) }
