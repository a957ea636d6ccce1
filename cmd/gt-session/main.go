// gt-session starts, stops, restarts and lists agents in tmux, and brings them back.
package main

import (
	"os"

	"gt/lib/cli"
	"gt/lib/command/sessioncmd"
)

func main() { os.Exit(cli.Run(cli.OS(), sessioncmd.Program())) }
