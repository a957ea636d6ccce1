// gt-mail is an agent's notes: inbox, read, send, and the work that is hooked to it.
package main

import (
	"os"

	"gt/lib/cli"
	"gt/lib/command/mailcmd"
)

func main() { os.Exit(cli.Run(cli.OS(), mailcmd.Program())) }
