// Package sessioncmd is the gt-session command: it starts, stops, restarts and lists agents
// in tmux, and restores those that should run.
package sessioncmd

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"unicode/utf8"

	"gt/lib/cli"
	"gt/lib/client/startenv"
	"gt/lib/launch/respawn"
	"gt/lib/place"
	"gt/lib/place/town"
	"gt/lib/state/instance"
	"gt/lib/sys/flock"
	"gt/lib/sys/tmux"
	"gt/lib/view/roster"
)

const summary = `
Runs agents in tmux: starts and stops them, lists what each does, and brings
back those that should run, with their flags and their conversations.

  gt-session new ~/src/api -n api -m 'Port the parser' -- --model opus
  gt-session                                what each agent does now
  gt-session attach api                     Ctrl-b d leaves, in tmux Ctrl-b L
  gt-session send api 'Now the tests'       as if you had typed it
  gt-session restart api                    in the same pane, conversation kept
  gt-session fork api -n other              with a copy of its conversation
  gt-session stop --all
  gt-session restore                        after a reboot: all that should run

A NAME is an agent's name, the beginning of its id, its pane (%3) or its title.
`

const exitCodes = `
   0  done
   1  no such agent, or several; an agent that did not start or take a prompt
`

func Program() cli.Program {
	return cli.Program{Name: "gt-session", Summary: summary, Exits: exitCodes, Prepare: prepare, Grammar: &grammar{}, FastPath: respawn.ParseExec, Complete: completers(), UnusedGroups: town.UnusedHelp}
}

func prepare(env *cli.Env) {
	startenv.Restore(env)
	env.Args = convertDashed(moveProfileFlag(env.Args))
}

// convertDashed converts the arguments after -- of new and fork into --arg flags, and of send
// into --text. The parser would otherwise take the first of them for a folder or an agent.
func convertDashed(args []string) []string {
	i := slices.Index(args, "--")
	switch {
	case i > 0 && args[0] == "send" && namesAgent(args[1:i]):
		return append(slices.Clone(args[:i]), "--text="+strings.Join(args[i+1:], " "))
	case i < 1 || args[0] != "new" && args[0] != "fork":
		return args
	}
	all := slices.Clone(args[:i])
	for _, arg := range args[i+1:] {
		all = append(all, "--arg="+arg)
	}
	return all
}

// namesAgent reports whether the arguments before -- of send name an agent. If none does, the
// name stands behind --, like the text.
func namesAgent(args []string) bool {
	for i := 0; i < len(args); i++ {
		switch arg := args[i]; {
		case arg == "-p" || arg == "--profile" || arg == "--timeout":
			i++ // its value
		case !strings.HasPrefix(arg, "-"):
			return true
		}
	}
	return false
}

// moveProfileFlag moves a profile flag that precedes the command behind the command's
// arguments, where the grammar has it.
func moveProfileFlag(args []string) []string {
	n := 1
	switch {
	case len(args) == 0:
		return args
	case (args[0] == "-p" || args[0] == "--profile") && len(args) > 1:
		n = 2
	case !strings.HasPrefix(args[0], "-p") && !strings.HasPrefix(args[0], "--profile="):
		return args
	}
	named, rest := args[:n], args[n:]
	end := slices.Index(rest, "--")
	if end < 0 {
		end = len(rest)
	}
	return slices.Concat(rest[:end], named, rest[end:])
}

type grammar struct {
	cli.Flags
	List    list       `cmd:"" default:"withargs" help:"List the agents and what each does (the default)."`
	Status  summed     `cmd:"" help:"Count the agents by what they do, and name those that wait."`
	New     newOne     `cmd:"" help:"Add an agent and start it."`
	Fork    fork       `cmd:"" help:"Make and start an agent with a copy of another's conversation."`
	Start   start      `cmd:"" help:"Start agents that are stopped, with their conversations."`
	Stop    stop       `cmd:"" help:"Stop agents; they stay in the list, and keep their conversations. With --all, restore brings them back."`
	Archive archive    `cmd:"" help:"Stop agents and put them away, with their names, conversations and worktrees; list --archived shows them."`
	Back    unarchive  `cmd:"" name:"unarchive" help:"Put archived agents into the list again; start does that, too."`
	Restart restart    `cmd:"" help:"Restart agents in the same pane, with their conversations."`
	Restore restore    `cmd:"" help:"Start all agents that should be running and are not."`
	Down    downCmd    `cmd:"" name:"shutdown" help:"End all agents; gt-session restore brings them back."`
	Suspend suspend    `cmd:"" help:"End the agents of sessions, to be resumed with their conversations." group:"Sessions of templates:"`
	Resume  resume     `cmd:"" help:"Start agents that are suspended, or held back after too many crashes." group:"Sessions of templates:"`
	Drain   drain      `cmd:"" help:"Give sessions of pools no new work; they are archived when they are done." group:"Sessions of templates:"`
	Drains  drainAll   `cmd:"" name:"drain-all" help:"Drain all active sessions of a template." group:"Sessions of templates:"`
	Close   closes     `cmd:"" help:"Close sessions, for good." group:"Sessions of templates:"`
	Inspect inspect    `cmd:"" help:"Show a session: its state, its template, and its own settings." group:"Sessions of templates:"`
	Admin   adminClose `cmd:"" name:"admin-close" help:"Close sessions while no gt-reconcile runs." group:"Sessions of templates:"`
	Show    show       `cmd:"" help:"Show everything that is known about an agent."`
	Peek    peek       `cmd:"" help:"Print what an agent's screen shows."`
	Attach  attach     `cmd:"" help:"Show an agent in this terminal."`
	Send    sendPrompt `cmd:"" help:"Give a prompt to a running agent."`
	Answer  reply      `cmd:"" help:"Answer what an agent's client asks, such as for permission."`
	Wait    wait       `cmd:"" help:"Wait until agents are in a status, by default until they wait."`
	Doctor  doctor     `cmd:"" help:"Find what is wrong with the agents, with the command that mends it; changes nothing."`
	Notify  notifier   `cmd:"" help:"Run a command of yours when an agent begins to wait."`
	Ack     ack        `cmd:"" help:"Note that you have seen a waiting agent; it counts as idle then."`
	Pack    pack       `cmd:"" help:"Stop an agent, and print all that it needs to continue on another machine."`
	Unpack  unpack     `cmd:"" help:"Add an agent that another machine has packed."`
	Accept  accept     `cmd:"" help:"Show what an agent from another machine could run or permit here, and start it."`
	Rename  rename     `cmd:"" help:"Give an agent another name."`
	Move    move       `cmd:"" help:"Put an agent into a group."`
	Rm      rm         `cmd:"" help:"Remove a stopped agent from the list."`
	Group   groupOf    `cmd:"" help:"List, make, rename or remove groups."`
	Revive  revive     `cmd:"" hidden:"" help:"Start an agent that crashed."`
	Wake    wake       `cmd:"" hidden:"" help:"Tell agents that wait for a prompt of a note."`
	Outlive outlive    `cmd:"" hidden:"" help:"Run until a process has ended, and some time longer."`
	Export  export     `cmd:"" help:"Print the agents as JSON, for another machine or for agent-deck."`
	Import  imports    `cmd:"" help:"Add the agents of an export, or of agent-deck's sessions.json."`
}

type profile struct {
	Profile string `type:"given" short:"p" placeholder:"NAME" help:"Use the agents of this profile, a list of its own; the first 'new' makes it."`
}

type agentSelection struct {
	profile
	Names []string `arg:"" optional:"" name:"name" help:"Names of agents."`
	All   bool     `help:"All agents."`
	Group string   `short:"g" placeholder:"GROUP" help:"The agents of a group and of those below it."`

	archived bool // --all and --group mean those that are archived, not the others
}

func (s agentSelection) Validate() error {
	given := countIf([]bool{len(s.Names) > 0, s.All, s.Group != ""}, func(is bool) bool { return is })
	switch {
	case given == 0:
		return errors.New("no agent is named (give names, --group or --all)")
	case given > 1:
		return errors.New("give names, --group or --all, only one of them")
	}
	return nil
}

// selectInstances returns the selected instances. For a group or --all, unread reports instances
// that could not be read.
func (s agentSelection) selectInstances(at scope) (found []*instance.Instance, unread, err error) {
	all, unread := at.Store.ReadInstances()
	for _, name := range s.Names {
		in, err := s.findByName(at, all, unread, name)
		if err != nil {
			return nil, nil, err
		}
		if !slices.Contains(found, in) {
			found = append(found, in)
		}
	}
	if len(s.Names) > 0 {
		return found, nil, nil
	}
	var others int
	archived := archivedOf(at, all)
	for _, in := range all {
		switch {
		case !s.All && !instance.IsInGroup(in.Group, s.Group):
		case archived[in] == s.archived:
			found = append(found, in)
		default:
			others++
		}
	}
	if len(found) == 0 && unread == nil && s.Group != "" {
		err := fmt.Errorf("no agent is in the group '%.80s'", s.Group)
		switch {
		case others > 0 && s.archived:
			err = fmt.Errorf("no agent in the group '%.80s' is archived", s.Group)
		case others > 0:
			err = fmt.Errorf("all agents in the group '%.80s' are archived (%d)", s.Group, others)
		}
		return nil, nil, cli.Fail(cli.AnswerNo, err, "gt-session group lists the groups")
	}
	return found, unread, nil
}

// findByName returns the instance that a name means: an archived one if the command is about those.
func (s agentSelection) findByName(at scope, all []*instance.Instance, unread error, name string) (*instance.Instance, error) {
	if s.archived {
		archived := slices.DeleteFunc(slices.Clone(all), func(in *instance.Instance) bool { return !in.IsArchived() })
		if found := findMeant(at, archived, name); len(found) > 0 {
			return singleMatch(found, name)
		}
	}
	return findByName(at, all, unread, name)
}

// archivedOf returns the instances that are archived and do not run. A person can have gone on with
// the conversation of one by hand.
func archivedOf(at scope, all []*instance.Instance) map[*instance.Instance]bool {
	marked := slices.DeleteFunc(slices.Clone(all), func(in *instance.Instance) bool { return !in.IsArchived() })
	archived := map[*instance.Instance]bool{}
	if len(marked) > 0 {
		for _, m := range at.Members(marked) {
			archived[m.Instance] = roster.IsArchived(m)
		}
	}
	return archived
}

// forEachSelected calls do for each selected instance, a few at a time, prints the results and goes on
// after a failure.
func (s agentSelection) forEachSelected(at scope, do func(*instance.Instance) (string, error)) error {
	all, unread, err := s.selectInstances(at)
	if err != nil {
		return err
	}
	if len(all) == 0 && unread == nil {
		hintNoneListed(at, s.archived)
	}
	return errors.Join(unread, forEachInstance(at.Env, all, do))
}

// hintNoneListed hints why a list is empty, the one of archived agents or the one of the others.
func hintNoneListed(at scope, archived bool) {
	all, _ := at.Store.ReadInstances()
	switch {
	case archived:
		at.Env.Hint("no agent is archived")
	case len(all) > 0:
		at.Env.Hint("all agents are archived (%d); gt-session list --archived shows them", len(all))
	default:
		hintNoneYet(at)
	}
}

// hintNoneYet hints that there are no agents yet, and that an agent in tmux can be adopted.
func hintNoneYet(at scope) {
	at.Env.Hint("%s", roster.NoneYet(at.Profile))
	if found, err := unlistedAgents(at, tmux.CurrentServer()); err == nil && len(found) > 0 {
		at.Env.Hint("%s runs in pane %s of tmux, and gt-session did not start it; gt-session import --tmux adopts all such agents", found[0].Client.Name, found[0].Pane.ID)
	}
}

// withExitCode adds an exit code and a hint to an error of the store. in is the instance's name.
func withExitCode(in string, err error) error {
	switch {
	case errors.Is(err, flock.ErrBusy):
		return cli.Fail(cli.Busy, fmt.Errorf("another command of gt is working on %s", in), "try again; a worktree that is being made can take long")
	case errors.Is(err, instance.ErrNone):
		return cli.Failf(cli.AnswerNo, "%s was removed", in)
	case errors.Is(err, instance.ErrTaken):
		return cli.Fail(cli.AnswerNo, err, "choose another with -n NAME")
	case errors.Is(err, instance.ErrInItself):
		return cli.Fail(cli.Usage, err)
	case errors.Is(err, instance.ErrNotEmpty), errors.Is(err, instance.ErrNoGroup), errors.Is(err, instance.ErrIsGroup):
		return cli.Fail(cli.AnswerNo, err, "gt-session group lists the groups")
	}
	return err
}

// findFolder returns the real path of a person's folder; without a name it is the current one.
func findFolder(env *cli.Env, dir string) (string, error) {
	if env.DirDeleted && !filepath.IsAbs(dir) { // env.Dir is a parent, which nobody means
		return "", cli.Fail(cli.Usage, errors.New("the current folder was deleted"), "go to another one, or give the whole path of one")
	}
	if dir = env.Abs(cmp.Or(dir, ".")); !utf8.ValidString(dir) || strings.ContainsRune(dir, utf8.RuneError) { // kong makes RuneError of other bytes
		return "", cli.Fail(cli.Usage, fmt.Errorf("the folder's name is not UTF-8: '%s'", dir), "rename it: gt keeps names in JSON")
	}
	info, err := os.Stat(dir)
	switch {
	case err == nil && info.IsDir():
		return place.Real(dir), nil
	case err == nil:
		return "", cli.Failf(cli.Usage, "'%s' is not a folder", dir)
	}
	failed := fmt.Errorf("cannot use the folder '%s': %w", dir, errors.Unwrap(err))
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return "", cli.Fail(cli.Usage, failed, "make it first, or name another; without a folder, it is the current one")
	}
	return "", cli.Fail(cli.IO, failed)
}

type scope = roster.Scope

// ProvideScope returns the scope of the named profile, or else of the surrounding town, or else
// the person's own. kong passes it to a command whose Run takes one.
func (p profile) ProvideScope(env *cli.Env) (scope, error) {
	return roster.FindScope(env, p.Profile)
}

type everywhereFlag struct {
	profile
	Everywhere bool `short:"A" name:"everywhere" help:"The agents of all profiles and workspaces."`
}

func (e everywhereFlag) Validate() error {
	if e.Everywhere && e.Profile != "" {
		return fmt.Errorf("-A means all profiles (leave -p %s out)", e.Profile)
	}
	return nil
}

func (e everywhereFlag) scopes(env *cli.Env) ([]scope, error) {
	return roster.ChosenScopes(env, e.Profile, e.Everywhere)
}
