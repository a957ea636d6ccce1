// gt-keepalive records that an agent is alive and what it does, and tracks its processes.
package main

import (
	"os"

	"gt/lib/cli"
	"gt/lib/command/keepalive"
)

func main() { os.Exit(keepalive.Main(cli.OS())) }
