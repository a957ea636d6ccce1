package cli

import (
	"fmt"
	"runtime/debug"

	"github.com/alecthomas/kong"
)

// Number is the version: the number of the topmost section of CHANGELOG.md. install.sh reads
// it here.
const Number = "v0.2.0"

// commit is what a build that cannot ask git is told of it:
//
//	go build -buildvcs=false -ldflags '-X "gt/lib/cli.commit=39aa9ac7, 2026-11-24"'
var commit string

// Version returns the number and, where it is known, the commit behind it with its date:
// "v0.2.0 (39aa9ac7, 2026-11-24)".
func Version() string {
	built := commit
	if info, ok := debug.ReadBuildInfo(); ok && built == "" {
		set := map[string]string{}
		for _, s := range info.Settings {
			set[s.Key] = s.Value
		}
		if hash, day := set["vcs.revision"], set["vcs.time"]; len(hash) > 8 && len(day) > 10 {
			built = hash[:8]
			if set["vcs.modified"] == "true" {
				built += "-dirty"
			}
			built += ", " + day[:10]
		}
	}
	if built == "" {
		return Number
	}
	return Number + " (" + built + ")"
}

// versionFlag prints the version and ends the program.
type versionFlag bool

func (versionFlag) BeforeReset(app *kong.Kong) error {
	fmt.Fprintln(app.Stdout, app.Model.Name, Version())
	app.Exit(Done)
	return nil
}
