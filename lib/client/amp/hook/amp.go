// Package hook has what the hooks know of Amp, which runs none of ours.
package hook

import "gt/lib/client/contract"

// Client is Amp.
var Client = contract.Client{
	Name:        Name,
	Processes:   processes,
	SessionVars: []string{"AMP_CURRENT_THREAD_ID"}, // as others saw it
}
