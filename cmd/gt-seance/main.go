// gt-seance finds the sessions that ever ran.
package main

import (
	"os"

	"gt/lib/cli"
	"gt/lib/command/seance"
)

func main() { os.Exit(seance.Main(cli.OS())) }
