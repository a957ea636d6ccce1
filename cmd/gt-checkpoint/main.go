// gt-checkpoint writes, reads and clears the crash-recovery checkpoint.
package main

import (
	"os"

	"gt/lib/cli"
	"gt/lib/command/checkpointcmd"
)

func main() { os.Exit(cli.Run(cli.OS(), checkpointcmd.Program())) }
