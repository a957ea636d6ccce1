// Package record keeps conversations: a copy of its own of what a client says of a
// session, without secrets, that stays when the client deletes, rewrites or truncates it.
//
//	${AGENT_HOME:-~/.agent}/sessions/<id>.jsonl          a line an entry (Line)
//	${AGENT_HOME:-~/.agent}/context/<id>-<tool>-<hash>.json   results over 64 KB
//
// A record is only ever appended to, by one process at a time. The order of writing is
// what makes a kill at any point harmless: the lines of a conversation are followed by a
// mark, which says where reading stopped. What stands after the last mark was written by
// a sync that did not get to its end; the next begins at the mark and passes over the
// lines that are there. Only a line without its end is removed.
//
// Each line holds the digest of the one before, so that a line that was changed or taken
// out later is found (Verify).
package record
