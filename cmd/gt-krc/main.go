// gt-krc keeps the event log at a size that is worth reading.
package main

import (
	"os"

	"gt/lib/cli"
	"gt/lib/command/krc"
)

func main() { os.Exit(krc.Main(cli.OS())) }
