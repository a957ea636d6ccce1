package process

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// Nothing that git itself counts as a repository's own reaches another agent.
func TestWithoutRepository(t *testing.T) {
	out, err := exec.Command("git", "rev-parse", "--local-env-vars").Output()
	if err != nil {
		t.Fatal(err)
	}
	for name := range strings.FieldsSeq(string(out)) {
		if got := WithoutRepository([]string{"HOME=/h", name + "=x", "GIT_PREFIX="}); !slices.Equal(got, []string{"HOME=/h"}) {
			t.Errorf("%s: %q", name, got)
		}
	}
	hook := []string{"GIT_INDEX_FILE=.git/index", "GIT_AUTHOR_DATE=@1 +0000", "GIT_EDITOR=:", "GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=a.b", "GIT_CONFIG_VALUE_0=c"}
	own := []string{"GIT_CONFIG_GLOBAL=/g", "GIT_SSH_COMMAND=ssh -i k", "GIT_EXEC_PATH=/e"}
	if got := WithoutRepository(slices.Concat(hook, own)); !slices.Equal(got, own) {
		t.Errorf("a hook's: %q", got)
	}
	own = []string{"GIT_EDITOR=vim", "GIT_AUTHOR_NAME=me", "GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=safe.directory", "GIT_CONFIG_VALUE_0=*"}
	if got := WithoutRepository(own); !slices.Equal(got, own) {
		t.Errorf("a person's own: %q", got)
	}
}

func TestInherited(t *testing.T) {
	own := []string{"HOME=/h", "GT_ROOT=/h/gt", "GIT_AUTHOR_EMAIL=me@example.com", "TMUX_PANE=%3"}
	agent := []string{"GT_INSTANCE=instances/1:2", "GT_ROLE=gastown/crew/max", "GT_SESSION_NAME=w-1", "GT_TEMPLATE=w", "BD_ACTOR=gastown/crew/max", "BEADS_ACTOR=w-1"}
	for name, more := range map[string][]string{
		"": nil, "its name as author": {"GIT_AUTHOR_NAME=gastown/crew/max"}, "in short": {"GIT_AUTHOR_NAME=max"}, "its town's issues": {"BEADS_DIR=/h/gt/gastown/.beads"},
	} {
		if got := Inherited(slices.Concat(own, agent, more)); !slices.Equal(got, own) {
			t.Errorf("%s: %q", name, got)
		}
	}
	person := append(slices.Clone(own), "GIT_AUTHOR_NAME=Max Moe", "BEADS_DIR=/h/issues")
	if got := Inherited(slices.Concat(person, agent)); !slices.Equal(got, person) {
		t.Errorf("the person's: %q", got)
	}
	if got := Inherited(person); !slices.Equal(got, person) {
		t.Errorf("without an agent: %q", got)
	}
}
