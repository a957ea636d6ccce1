// gt-hub is the server between the hosts that gt-relay joins.
package main

import (
	"os"

	"gt/lib/cli"
	"gt/lib/command/hubcmd"
)

func main() { os.Exit(cli.Run(cli.OS(), hubcmd.Program())) }
