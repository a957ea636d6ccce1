package hookscmd

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"gt/lib/cli"
	"gt/lib/client/sandbox"
	"gt/lib/place"
	"gt/lib/place/git"
	"gt/lib/place/town"
	"gt/lib/reconcile/config"
	"gt/lib/text/term"
)

type trust struct {
	Dir  string `arg:"" optional:"" help:"The town's folder (default: the nearest at or above this one that has town.toml or mayor/town.json)."`
	List bool   `help:"List the towns that you trust."`
	Mail bool   `help:"Let agents start on work in the town's mail even if gt did not put it there."`
	Yes  bool   `help:"Do not ask."`
	JSON bool   `name:"json" help:"With --list: one JSON object per line."`
}

func (c *trust) Validate() error {
	switch {
	case c.List && (c.Dir != "" || c.Mail || c.Yes):
		return cli.Failf(cli.Usage, "--list can be combined only with --json")
	case c.JSON && !c.List:
		return cli.Failf(cli.Usage, "--json needs --list")
	}
	return nil
}

// Run says what trust in a folder allows, asks the person, and records the trust.
func (c *trust) Run(env *cli.Env) error {
	state := place.StateOf(env.Getenv)
	if err := state.CheckOwner(); err != nil {
		return err
	}
	if c.List {
		return listTrust(env, state, c.JSON)
	}
	if err := sandbox.RefuseBelowAgent(env, "an agent cannot decide what its person trusts"); err != nil {
		return err
	}
	root, err := townAt(env, c.Dir)
	if err != nil {
		return err
	}
	if state.IsInside(root) {
		return cli.Fail(cli.AnswerNo, fmt.Errorf("'%s' cannot be trusted: gt's own state lies inside", root), "set XDG_STATE_HOME to a folder outside")
	}
	t, err := surveyTown(root)
	if err != nil {
		return err
	}
	if t.Owner != os.Geteuid() && t.Owner != 0 {
		return cli.Fail(cli.AnswerNo, fmt.Errorf("'%s' belongs to another user, who can change what is in it", root))
	}
	if t.GitShows, err = repositoryShows(root); err != nil {
		return err
	}
	t.Mail, t.Since = c.Mail, env.Now().UTC().Truncate(time.Second)
	old, err := state.TrustOf(root)
	if err != nil && !errors.Is(err, place.ErrUntrusted) {
		env.WarnError(err) // it is replaced
	}
	if err := env.Print(term.CleanText(env.Redact(describeTrust(t, old)))); err != nil {
		return err
	}
	if old != nil && maps.Equal(old.Files, t.Files) && old.Mail == t.Mail && old.GitShows == t.GitShows {
		return env.Println("trusted already; nothing has changed")
	}
	if !c.Yes {
		if err := env.Confirm("Trust this town? It counts as it is now. [y/N] ", "nothing was trusted", "--yes"); err != nil {
			return err
		}
	}
	if err := copyShared(env, state, t); err != nil {
		return err
	}
	if err := state.RecordTrust(t); err != nil {
		return err
	}
	return env.Println(term.Clean("trusted: " + t.Path))
}

// townAt returns the folder dir, or the nearest one that claims to be a town if dir is "".
func townAt(env *cli.Env, dir string) (string, error) {
	if dir != "" {
		dir = env.Abs(dir)
		if info, err := os.Stat(dir); err != nil || !info.IsDir() {
			return "", cli.Fail(cli.AnswerNo, fmt.Errorf("there is no folder '%s'", dir))
		}
		return place.Real(dir), nil
	}
	for d := place.Real(env.Dir); ; d = filepath.Dir(d) {
		if town.HasTownFile(d) {
			return d, nil
		}
		if d == filepath.Dir(d) {
			return "", cli.Fail(cli.AnswerNo, fmt.Errorf("no folder at or above '%s' has town.toml or mayor/town.json", env.Dir),
				"gt-hooks trust DIR names one")
		}
	}
}

// sharedFiles lists files that gt shares with other programs of a town; x stands for any name.
var sharedFiles = []string{".events.jsonl", ".events.jsonl.lock", "mail/x", ".sessions/x", ".krc.yaml", ".runtime/pids/x"}

// repositoryShows reports whether git shows or tracks any shared file in the town.
func repositoryShows(root string) (bool, error) {
	hidden, err := git.IgnoredPaths(root, gitWait, sharedFiles...)
	switch {
	case errors.Is(err, git.ErrNotRepository):
		return false, nil
	case errors.Is(err, git.ErrOthers):
		return true, nil // git cannot be asked, so assume it
	}
	return err == nil && len(hidden) < len(sharedFiles), err
}

const gitWait = 5 * time.Second // limits a run of git, which may be slow in a huge worktree

// describeTrust says what the trust t allows. It marks what differs from old, which may be nil.
func describeTrust(t, old *place.Trust) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n", t.Path)
	fmt.Fprintln(&b, "  sessions in it share its event log and mail, and have its roles")
	if t.GitShows {
		fmt.Fprintln(&b, "  git would show those files here, so gt keeps its own copies in its state instead;")
		fmt.Fprintln(&b, "  to share them: a .gitignore with .events.jsonl* .sessions/ .krc* mail/ .runtime/")
	}
	if t.Mail {
		fmt.Fprintln(&b, "  agents start on work in its mail, whoever put it there")
	}
	if len(t.Files) == 0 {
		fmt.Fprintln(&b, "  none of its files names a program, a variable or the text of a role")
	}
	for _, name := range slices.Sorted(maps.Keys(t.Files)) {
		what := "sets programs and variables of agents"
		switch base := path.Base(name); {
		case strings.HasPrefix(name, "roles/"):
			what = "is told to agents of that role"
		case base != "town.toml" && base != "config.json" && base != "accounts.json":
			what = "is told to agents, or run for them, as a template says"
		}
		switch {
		case old == nil || old.Files[name] == t.Files[name]:
		case old.Files[name] == "":
			what += " (new)"
		default:
			what += " (changed)"
		}
		fmt.Fprintf(&b, "  %-22s %s\n", name, what)
	}
	return b.String()
}

func listTrust(env *cli.Env, state place.State, asJSON bool) error {
	all, err := state.TrustedTowns()
	env.WarnError(err)
	if len(all) == 0 {
		return cli.Fail(cli.AnswerNo, errors.New("you trust no town"), "gt-hooks trust DIR trusts one; you need it only in Gas Town")
	}
	for _, t := range all {
		status := trustStatus(state, t)
		if asJSON {
			if err := env.JSON(struct {
				*place.Trust
				Status string `json:"status"`
			}{t, status}); err != nil {
				return err
			}
			continue
		}
		fmt.Fprintln(env.Stdout, term.Clean(t.Path+"  "+status))
	}
	return nil
}

// surveyTown is place.Survey with the files that the templates of town.toml name.
func surveyTown(root string) (*place.Trust, error) {
	t, err := place.Survey(root)
	if err != nil || t.Files["town.toml"] == "" {
		return t, err
	}
	read, err := t.Read("town.toml")
	if err != nil {
		return nil, err
	}
	return t, t.AddFiles(config.NamedFiles(read)...)
}

// trustStatus says in a word whether a town is still what the person trusted.
func trustStatus(state place.State, t *place.Trust) string {
	if _, err := os.Stat(t.Path); errors.Is(err, fs.ErrNotExist) {
		return "gone"
	}
	if _, err := state.TrustOf(t.Path); err != nil {
		return "replaced"
	}
	now, err := surveyTown(t.Path)
	if err != nil || !maps.Equal(now.Files, t.Files) {
		return "changed"
	}
	return "trusted"
}

type untrust struct {
	Dir string `arg:"" help:"The town's folder."`
}

func (c *untrust) Run(env *cli.Env) error {
	dir := place.Real(env.Abs(c.Dir))
	state := place.StateOf(env.Getenv)
	if err := state.CheckOwner(); err != nil {
		return err
	}
	switch err := state.Untrust(dir); {
	case errors.Is(err, place.ErrUntrusted):
		return cli.Fail(cli.AnswerNo, err, "gt-hooks trust --list shows the towns that you trust")
	case err != nil:
		return err
	}
	return env.Println(term.Clean("no longer trusted: " + dir))
}
