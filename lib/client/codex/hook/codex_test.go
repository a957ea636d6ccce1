package hook

import (
	"strings"
	"testing"
)

// printsAnswers tells a window of Codex from the server and from a Codex that runs its
// own conversation.
func TestShows(t *testing.T) {
	for args, want := range map[string]bool{
		"codex": true, "codex resume ID": true, "codex -m o3 say-hello": true, "codex fork ID": true,
		"codex app-server --listen unix://": false, "codex exec hello": false, "codex e hello": false,
		"codex --no-daemon": false, "codex -c a=b hello": false, "codex --profile=x": false, "codex mcp-server": false, "": true,
	} {
		if got := printsAnswers(strings.Fields(args)); got != want {
			t.Errorf("'%s': %v", args, got)
		}
	}
}
