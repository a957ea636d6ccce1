// gt-relay joins a person's machines, so that agents on them see each other.
package main

import (
	"os"

	"gt/lib/cli"
	"gt/lib/command/relaycmd"
)

func main() { os.Exit(cli.Run(cli.OS(), relaycmd.Program())) }
