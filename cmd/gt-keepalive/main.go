// gt-keepalive records that an agent is alive and what it does, and tracks its processes.
package main

import (
	"os"

	"gt/lib/cli"
	"gt/lib/command/keepalivecmd"
)

func main() { os.Exit(cli.Run(cli.OS(), keepalivecmd.Program())) }
