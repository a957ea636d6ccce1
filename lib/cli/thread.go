//go:build !faults

package cli

// Few is how many things are done at the same time that mostly wait, such as starts of
// agents.
const Few = 4
