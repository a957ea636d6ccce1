package main

import "strings"

// shapes are what people type to an agent between the large requests, two or three messages
// for each generation: short, elliptic, in other languages, with corrections, with pasted
// output. A message is told if its first line reaches the model.
var shapes = [][]string{
	{"Use tabs, never spaces.", "yes"},
	{"the staging box listens on 7443, not 443", "hm, and the export as CSV too"},
	{"still broken", "FAIL: TestBooking\n" + strings.Repeat("    booking_test.go:41: got 2, want 1\n", 30) + "same as before"},
	{"actually drop the CSV path", "ok do B"},
	{"bitte die Fehlermeldungen auf Deutsch lassen", "nein, nur die im Dialog"},
	{"customer 4411 complained about the rounding, that's why", "k"},
	{"the API key lives in vault, ask Dana if you need it", "no i meant the other one, in partner.go"},
	{"なるべく小さいコミットにして", "go on"},
	{"dont forget the changelog later", "wait, stop. first the migration"},
	{"we ship on the 14th, so nothing risky", "looks good"},
	{"pourquoi ce test dort 2 secondes?", "enlève-le"},
	{"revert that last thing", "and keep the comment"},
	{"I'd rather have two small functions there", "option 2"},
	{"ssh to build-03 works for me, from the office net only", "try again"},
	{"那个超时改成三十秒", "it's `retry_max`, not `max_retry`"},
	{"who calls settleAll() anyway?", "then delete it"},
	{"for the record: Postgres 13 on prod, 16 here", "skip the flaky one"},
	{"I asked for a table, not a list", "better"},
	{"can you also do it for vendors", "same rules"},
	{"last thing today: bump the version", "thanks, that's it"},
}
