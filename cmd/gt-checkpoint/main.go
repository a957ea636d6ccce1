// gt-checkpoint writes, reads and clears the crash-recovery checkpoint.
package main

import (
	"os"

	"gt/lib/cli"
	"gt/lib/command/checkpoint"
)

func main() { os.Exit(checkpoint.Main(cli.OS())) }
