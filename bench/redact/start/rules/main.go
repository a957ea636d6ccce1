// Rules prints one line, and carries gitleaks' config package, whose rules it
// does not even read.
package main

import (
	"fmt"

	"github.com/zricethezav/gitleaks/v8/config"
)

func main() { fmt.Println("one line", len(config.DefaultConfig)) }
