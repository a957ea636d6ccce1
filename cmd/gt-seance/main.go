// gt-seance finds the sessions that ever ran.
package main

import (
	"os"

	"gt/lib/cli"
	"gt/lib/verb/seance"
)

func main() { os.Exit(seance.Main(cli.OS())) }
