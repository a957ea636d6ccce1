// Package record keeps its own copy of conversations, without secrets, which stays when
// the client deletes, rewrites or truncates its file.
//
//	${AGENT_HOME:-~/.agent}/sessions/<id>.jsonl          one entry a line (Line)
//	${AGENT_HOME:-~/.agent}/context/<id>-<tool>-<hash>.json   results over 64 KB
//
// One process at a time appends to a record; its lines never change. The order of writing makes a
// kill at any point harmless: after the lines of a conversation follows a mark, which says where
// reading stopped. Lines after the last mark are from a sync that was killed. The next one begins
// at the mark and skips the lines that are already there. It removes only an incomplete last line.
//
// Each line has the digest of the one before, so that Verify finds lines that were
// changed or removed.
package record
