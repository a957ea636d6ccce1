// Ours prints one line that has gone through gt's table.
package main

import (
	"fmt"
	"os"

	"gt/lib/text/redact"
)

func main() { fmt.Println(redact.Text("one line", os.Environ())) }
