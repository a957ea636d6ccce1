package place

import (
	"path/filepath"

	"gt/lib/place/identity"
)

// Scope is what an environment says of the person's folders and of the agent that it is of. A
// program resolves its own once and passes it on.
type Scope struct {
	State  State
	Home   string   // the home folder, or ""
	Config string   // the folder of gt's settings, or ""
	Roots  []string // what may be the folder of the town, the first that counts first
	Agent  Agent
}

// Agent is what an environment says of its agent. The zero Agent stands for another one.
type Agent struct {
	Workdir string // GT_HOME
	Session string // the session for which Workdir was set
	Project string // the client's project folder

	Identity identity.Identity
	Named    bool   // Identity is set
	Ignored  string // GT_ROLE, if it is invalid
}

// ScopeOf returns the scope of an environment.
func ScopeOf(getenv func(string) string) Scope { return ScopeIn(StateOf(getenv), getenv) }

// ScopeIn is ScopeOf with a given state folder.
func ScopeIn(state State, getenv func(string) string) Scope {
	s := Scope{State: state, Home: getenv("HOME"), Config: Config(getenv)}
	for _, key := range []string{"GT_ROOT", "GT_TOWN_ROOT"} {
		if root := getenv(key); filepath.IsAbs(root) {
			s.Roots = append(s.Roots, filepath.Clean(root))
		}
	}
	a := &s.Agent
	a.Workdir, a.Session, a.Project = getenv("GT_HOME"), getenv("GT_SESSION_UUID"), getenv("CLAUDE_PROJECT_DIR")
	var err error
	if a.Identity, a.Named, err = identity.FromEnv(getenv); err != nil {
		a.Ignored = getenv("GT_ROLE")
	}
	return s
}

// CheckPerson returns an OthersError if the person's home folder or state belongs to another
// user, as under sudo with that user's HOME.
func (s Scope) CheckPerson() error {
	if filepath.IsAbs(s.Home) {
		if err := State(s.Home).CheckOwner(); err != nil {
			return err
		}
	}
	return s.State.CheckOwner()
}
