// gt-prime tells a session who it is, what happened before it and what to do now.
package main

import (
	"os"

	"gt/lib/cli"
	"gt/lib/command/primecmd"
)

func main() { os.Exit(cli.Run(cli.OS(), primecmd.Program())) }
