// Package sqlite judges gt/lib/sys/sqlite by SQLite itself, in a module of its own:
// gt does not depend on the database whose files it reads.
package sqlite
