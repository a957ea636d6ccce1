package cli

import (
	"fmt"
	"runtime/debug"

	"github.com/alecthomas/kong"
)

// Number is the version: the topmost section of CHANGELOG.md. install.sh reads it here.
const Number = "v0.3.0"

// commit is set by builds that cannot ask git:
//
//	go build -buildvcs=false -ldflags '-X "gt/lib/cli.commit=39aa9ac7, 2026-11-24"'
var commit string

// Version returns the number and, if known, the commit and its date: "v0.2.0 (39aa9ac7,
// 2026-11-24)".
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

type versionFlag bool

func (versionFlag) BeforeReset(app *kong.Kong) error {
	fmt.Fprintln(app.Stdout, app.Model.Name, Version())
	app.Exit(Done)
	return nil
}
