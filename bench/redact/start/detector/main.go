// Detector prints one line, and carries gitleaks' detector; with an argument it
// has its rules read and compiled.
package main

import (
	"fmt"
	"os"

	"github.com/zricethezav/gitleaks/v8/detect"
)

func main() {
	if len(os.Args) > 1 {
		if _, err := detect.NewDetectorDefaultConfig(); err != nil {
			panic(err)
		}
	}
	fmt.Println("one line")
}
