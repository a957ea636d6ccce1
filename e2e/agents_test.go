//go:build e2e

package e2e

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"gt/lib/client/agent"
)

// instance is what gt-session lists of an agent.
type instance struct {
	Name, Agent, Status, Reason, Pane, Path string
	SessionID                               string `json:"session_id"`
	Until                                   time.Time
}

// agents are those that gt-session keeps in the world's own tmux server.
type agents struct {
	*world
	around []string // the environment of somebody in that server
}

// agents starts the server.
func (w *world) agents() agents {
	w.Helper()
	w.open("keep", "sleep", "3600")
	socket := filepath.Join(w.Path("tmux"), fmt.Sprintf("tmux-%d", os.Getuid()), "e2e")
	return agents{w, []string{"TMUX=" + socket + ",1,0", "TMUX_PANE=%0"}}
}

// exits runs gt-session in the project, which has to exit with a code, and returns what it
// prints.
func (a agents) exits(code int, args ...string) string {
	a.Helper()
	out, err := a.run(a.project, a.around, "gt-session", args...)
	got := 0
	if exit := new(exec.ExitError); errors.As(err, &exit) {
		got = exit.ExitCode()
	}
	if got != code || err != nil && got == 0 {
		a.Fatalf("gt-session %.300q: %v\n%s", args, err, out)
	}
	return string(out)
}

// fails is exits, and returns the error.
func (a agents) fails(code int, args ...string) string {
	a.Helper()
	_, err := a.run(a.project, a.around, "gt-session", args...)
	if exit := new(exec.ExitError); !errors.As(err, &exit) || exit.ExitCode() != code {
		a.Fatalf("gt-session %.300q: %v", args, err)
	}
	return err.Error()
}

// session runs gt-session in the project.
func (a agents) session(args ...string) string {
	a.Helper()
	return a.exits(0, args...)
}

// findListed returns what is listed of an agent.
func (a agents) findListed(name string) (in instance) {
	a.Helper()
	if err := json.Unmarshal([]byte(a.session("show", name, "--json")), &in); err != nil {
		a.Fatal(err)
	}
	return in
}

// becomes waits until an agent has a status, and returns what is listed of it.
func (a agents) becomes(name, status string) (is instance) {
	a.Helper()
	defer func() {
		if is.Status != status {
			a.Logf("the status of %s was %s", name, is.Status)
		}
	}()
	a.waitFor(name+" is "+status, func() bool {
		is = a.findListed(name)
		return is.Status == status
	})
	return is
}

// awaits waits until an agent waits, and returns what is listed of it.
func (a agents) awaits(name string) instance {
	a.Helper()
	return a.becomes(name, "waiting")
}

// awaitBox waits until an agent that has just been started shows that it takes a prompt: what
// is sent before is refused after two seconds.
func (a agents) awaitBox(name string) {
	a.Helper()
	a.waitFor(name+" takes a prompt", func() bool {
		is := a.findListed(name)
		screen := (&pane{a.world, "gt-" + name, is.Pane}).screen()
		return agent.Builtin().FindClient(is.Agent).ScreenState(screen) == agent.Waiting
	})
}

// pane is the pane of an agent.
func (a agents) pane(name string) *pane { return &pane{a.world, "gt-" + name, a.findListed(name).Pane} }
