package process

import "os"

// AgentEnviron returns the environment with which the agent was started that runs
// this program (see Agent). It looks at as little as it can, for it is asked at every
// hook; an ancestor that ends meanwhile gives an error, or what it had.
func AgentEnviron() ([]string, error) {
	pid := os.Getppid()
	for range maxDepth {
		name, err := command(pid)
		switch {
		case err != nil:
			return nil, err
		case !IsShell(name) && name != "timeout":
			return startEnviron(pid)
		}
		st, err := stat(pid)
		if err != nil {
			return nil, err
		}
		pid = st.parent
	}
	return nil, os.ErrProcessDone
}
