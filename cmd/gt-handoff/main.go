// gt-handoff saves what a session knows and puts a fresh agent into its pane.
package main

import (
	"os"

	"gt/lib/cli"
	"gt/lib/command/handoffcmd"
)

func main() { os.Exit(cli.Run(cli.OS(), handoffcmd.Program())) }
