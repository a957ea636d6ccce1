// Package hook describes Amp, which runs no hooks of gt.
package hook

import "gt/lib/client/contract"

var Client = contract.Client{
	Name:        "amp",
	Processes:   []string{"amp", "node"},
	SessionVars: []string{"AMP_CURRENT_THREAD_ID"}, // as others report
}
