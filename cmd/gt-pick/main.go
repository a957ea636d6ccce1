// gt-pick finds a session among many, with a preview of each.
package main

import (
	"os"

	"gt/lib/cli"
	"gt/lib/command/pick"
)

func main() { os.Exit(pick.Main(cli.OS())) }
