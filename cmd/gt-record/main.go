// gt-record keeps conversations, without secrets, for longer than their clients do.
package main

import (
	"os"

	"gt/lib/cli"
	"gt/lib/command/record"
)

func main() { os.Exit(record.Main(cli.OS())) }
