// Package attacks proves that nobody gets in (docs/security.md): it puts what a
// stranger can bring, a clone, an archive, an agent in its sandbox, another user,
// a text, before the programs of gt as a person runs them, and sees that nothing
// happened; and that beside each attack its honest twin still works. It is all
// tests:
//
//	go test ./attacks
//
// A scenario lays a trap for each program that must not run: a script that leaves
// a mark (world.trap). Where a plain git or shell falls into it, that is tried
// too (bites), so that no scenario passes because its attack is none.
package attacks
