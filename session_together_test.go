package gt_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"gt/lib/sys/process"
)

// Many that start, restart and stop one agent at once: at no moment two agents of the
// instance run, each command says what it did, and afterwards the instance's file tells
// what runs.
func TestTogetherOnOneInstance(t *testing.T) {
	rounds := 20
	if testing.Short() {
		rounds = 6
	}
	c := newCrowd(t)
	c.mustRun("gt-session", "new", "-n", "one")

	// The agents of the instance that run now.
	running := func() (pids []int) {
		found := map[int]bool{}
		for _, p := range process.FindByName("claude") {
			environ, _ := p.Environ() // of one that is gone nothing is known
			if slices.Contains(environ, "WORK="+c.Root) && slices.ContainsFunc(environ, func(kv string) bool { return strings.HasPrefix(kv, "GT_INSTANCE=") }) {
				found[p.PID] = true
			}
		}
		for pid := range found {
			if up := process.Ancestors(pid); len(up) > 0 && !found[up[0]] { // else it is about to run a hook
				pids = append(pids, pid)
			}
		}
		return pids
	}
	over, sampled := make(chan bool), make(chan int)
	go func() {
		most := 0
		for {
			select {
			case <-over:
				sampled <- most
				return
			default:
				most = max(most, len(running()))
				time.Sleep(time.Millisecond)
			}
		}
	}()

	var each []func()
	var mu sync.Mutex
	said := map[string]int{}
	for i := range rounds {
		each = append(each, func() {
			command := []string{"gt-session", "restart", "one"}
			switch i % 4 {
			case 1:
				command = []string{"gt-session", "stop", "--now", "one"}
			case 3:
				command = []string{"gt-session", "start", "one"}
			}
			r := job{Args: command, Env: c.Env, Dir: c.Path("repo")}.Run()
			c.fine(strings.Join(command, " "), r)
			mu.Lock()
			said[strings.TrimSpace(r.Out)]++
			mu.Unlock()
		})
	}
	runTogether(each...)
	close(over)
	if most := <-sampled; most != 1 {
		t.Errorf("%d agents of one instance ran at once", most)
	}
	if said["restarted one"] != (rounds+1)/2 {
		t.Errorf("the commands said %v", said)
	}

	for _, last := range []string{"restart", "stop"} {
		c.mustRun("gt-session", last, "one")
		var told struct{ Status, Pane, Desired string }
		if err := json.Unmarshal([]byte(c.mustRun("gt-session", "list", "--json")), &told); err != nil {
			t.Fatal(err)
		}
		switch n := len(running()); {
		case last == "restart" && (n != 1 || told.Desired != "running" || told.Pane == ""):
			t.Errorf("after a restart %d run: %+v", n, told)
		case last == "stop" && (n != 0 || told.Status != "stopped" || told.Desired != "stopped"):
			t.Errorf("after a stop %d run: %+v", n, told)
		}
	}
	if left := c.mustRun("sh", "-c", "tmux list-buffers 2>/dev/null | wc -l"); strings.TrimSpace(left) != "0" {
		t.Error(fmt.Sprint(left, " buffers are left"))
	}
}
