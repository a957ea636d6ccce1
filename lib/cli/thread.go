//go:build !faults

package cli

// Few is how many tasks run at once that mostly wait, such as starts of agents.
const Few = 4
