// Package seancecmd is the gt-seance command: it finds, reads and asks past and present
// sessions.
package seancecmd

import (
	"gt/lib/cli"
	"gt/lib/client/startenv"
	"gt/lib/place/town"
)

const programHelp = `
Finds every session that ran on this machine, of every agent. It reads gt's
event log, and the conversations that the agents themselves keep.

  gt-seance                                  the latest 20
  gt-seance list --agent codex --since 24h
  gt-seance show 4f2c81d0                    the beginning of an id will do
  gt-seance search flaky retry test          the words in any order
  gt-seance grep 'connection refused' --here
  gt-seance blame lib/retry.go:42            the request that a line comes from
  gt-seance read 4f2c81d0 --last 3
  gt-seance pick --here                      choose one; Enter resumes it
  gt-seance usage --work gt-42
  gt-seance chain gt-42                      who worked on it, in which order
  gt-seance timeline --html week.html
  gt-seance talk 4f2c81d0 'why did you drop the index?'
  gt-seance resume 4f2c81d0
  gt-seance find --outcome crash | xargs -n1 gt-seance show

An outcome is handoff, done, crash or killed. A session without a recorded end
is active while its process runs, and gone afterwards. ACTOR is the name of
an agent's folder, and in a town the agent's address.
`

const exitCodes = `
   0  done
   1  no such session, or several; nothing found; talk: no answer
`

func Program() cli.Program {
	return cli.Program{Name: "gt-seance", Summary: programHelp, Exits: exitCodes, Prepare: startenv.Restore, Grammar: &grammar{}, Complete: completers(), UnusedGroups: town.UnusedHelp}
}

type grammar struct {
	cli.Flags
	List     list       `cmd:"" default:"withargs" help:"List sessions, the newest first (the default)."`
	Find     find       `cmd:"" help:"Print the ids of sessions, for a pipeline."`
	Show     show       `cmd:"" help:"Show everything that is known about a session."`
	Search   seeking    `cmd:"" help:"Find what was said or done in any session by some words, the best first."`
	Grep     grep       `cmd:"" help:"Search the conversations line by line for a regular expression."`
	Blame    blaming    `cmd:"" help:"Show which request of which session wrote a line."`
	Chain    chainOf    `cmd:"" help:"Show the chain that a session is in, or the chains that worked on a task."`
	Thread   threadOf   `cmd:"" help:"Show what a chain knows: what you asked for and said, the rules that you set, the hand-overs."`
	Timeline picture    `cmd:"" help:"Draw who worked when, in the terminal or as a page."`
	Read     read       `cmd:"" help:"Print the conversation of a session, or of a chain."`
	Follow   follow     `cmd:"" help:"Show the conversation of a session as it grows."`
	Usage    usage      `cmd:"" help:"Add up the tokens that were used."`
	Talk     talk       `cmd:"" help:"Ask a session what it knows, without leaving a trace."`
	Resume   resumption `cmd:"" help:"Resume a session in its folder, with its own agent."`
	Tail     tailText   `cmd:"" hidden:"" help:"Print what a session's conversation says, for gt-prime."`
	Entries  entriesOf  `cmd:"" hidden:"" help:"Print what was said in a session, for gt-checkpoint and gt-handoff."`
	MCP      server     `cmd:"" name:"mcp" help:"Answer an agent over the Model Context Protocol: search, read, thread (gt-hooks install --mcp)."`
	Pick     picking    `cmd:"" help:"Find a session by its name, folder or age, and resume it."`
}
