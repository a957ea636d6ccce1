// Package hook describes Amp, which runs no hooks of gt.
package hook

import (
	"gt/lib/client/contract"
	"gt/lib/client/names"
)

var Client = contract.Client{
	Client: &names.Amp,
}
