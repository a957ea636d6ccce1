// gt-hooks wires gt into the hooks of coding agents.
package main

import (
	"os"

	"gt/lib/cli"
	"gt/lib/command/hooks"
)

func main() { os.Exit(hooks.Main(cli.OS())) }
