// gt-reconcile brings the agents of a town to where its templates want them.
package main

import (
	"os"

	"gt/lib/cli"
	"gt/lib/command/reconcile"
)

func main() { os.Exit(reconcile.Main(cli.OS())) }
