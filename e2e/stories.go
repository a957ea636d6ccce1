package e2e

import (
	"regexp"
	"slices"
	"strings"
)

// Stories says which tests are those of one client.
type Stories struct {
	Client string
	Main   string         // the story that shows most: a hand-over to a successor
	All    *regexp.Regexp // the names of its tests
}

// Clients are the stories of each client. Those of nobody else are Claude's.
var Clients = []Stories{
	{"cline", "TestClineHooks/handover", regexp.MustCompile(`^TestCline`)},
	{"codex", "TestCodexHandover", regexp.MustCompile(`Codex`)},
	{"copilot", "TestCopilotHandover", regexp.MustCompile(`^TestCopilot`)},
	{"gemini", "TestGeminiHandover", regexp.MustCompile(`^TestGemini`)},
	{"kimi", "TestKimiHandover", regexp.MustCompile(`^TestKimi`)},
	{"opencode", "TestOpenCodeHooks/handover", regexp.MustCompile(`^TestOpenCode`)},
	{"pi", "TestPiHooks/handover", regexp.MustCompile(`^TestPi`)},
	{"qwen", "TestQwenHandover", regexp.MustCompile(`^TestQwen`)},
	{"claude", "TestHandover", regexp.MustCompile(``)},
}

// sharedStories are the stories in which each client has a part.
var sharedStories = []string{"TestConversions", "TestRecordOfKilled", "TestScreens", "TestProveRun", "TestSends", "TestSendsAtALimit", "TestSessionAsks", "TestSessions"}

// long are those that take minutes, of several for each client. They are not selected: they
// are told where all are.
var long = []string{"TestBeads", "TestClaudeVersions", "TestConversions", "TestFleet", "TestHandoverToOpenCodeWithConversation", "TestLaunchers", "TestMove", "TestOpenedByHand", "TestPool", "TestRecordOfKilled", "TestSends", "TestSendsAtALimit", "TestSessionAsks", "TestSessions"}

// ClientOfStory returns the client whose story a test is, and "" for one that is every
// client's.
func ClientOfStory(test string) string {
	test, _, _ = strings.Cut(test, "/")
	if slices.Contains(sharedStories, test) {
		return ""
	}
	for _, c := range Clients {
		if c.All.MatchString(test) {
			return c.Client
		}
	}
	return ""
}

// maxTouchedClients is how many clients a change may touch for all of their stories to be told.
const maxTouchedClients = 3

// turns is how many turns it takes until the stories of a large change have all been told.
const turns = 3

// Select returns those of the tests that are to be run where a change touches
// these clients: all of their stories, and the main one of each other. Of what
// every client has a part in it names the parts.
//
// Of a change that touches more than a few clients it returns the main story of each and a
// third of the rest: another third each turn. What a story consists of it does not know: see
// tellPluggedStories.
func Select(tests, touched []string, turn int) (chosen []string) {
	many := len(touched) > maxTouchedClients
	nth := map[string]int{}
	for _, test := range tests {
		switch client := ClientOfStory(test); {
		case slices.Contains(long, test):
		case client == "":
			for i, c := range touched {
				if !many || i%turns == turn%turns {
					chosen = append(chosen, test+"/"+c)
				}
			}
		case slices.Contains(touched, client):
			nth[client]++
			if !many || main(test) || nth[client]%turns == turn%turns {
				chosen = append(chosen, test)
			}
		}
	}
	for _, c := range Clients {
		if !slices.Contains(touched, c.Client) {
			chosen = append(chosen, c.Main)
		}
	}
	return chosen
}

// main reports whether a test is, or has in it, the main story of its client.
func main(test string) bool {
	return slices.ContainsFunc(Clients, func(c Stories) bool {
		story, _, _ := strings.Cut(c.Main, "/")
		return story == test
	})
}

// Touched returns the clients whose stories a change of these files can touch:
// those that the paths name. A file that every client's way leads through counts
// as Claude's, whose stories go that way, too; the main story of each other client
// is told in any case. Files of prose and of other tests touch nobody's.
func Touched(files []string) []string {
	var touched []string
	for _, file := range files {
		named := false
		for _, c := range Clients {
			if namesClient(file, c.Client) {
				named = true
				touched = append(touched, c.Client)
			}
		}
		if !named && counts(file) {
			touched = append(touched, "claude")
		}
	}
	slices.Sort(touched)
	return slices.Compact(touched)
}

// namesClient reports whether an element of a path is a client's name, or begins
// with it: lib/client/codex/hook, e2e/gemini_hooks_test.go.
func namesClient(file, client string) bool {
	return slices.ContainsFunc(strings.FieldsFunc(file, func(r rune) bool { return r == '/' || r == '_' || r == '.' }),
		func(word string) bool { return word == client })
}

// counts reports whether a client can meet what is in a file.
func counts(file string) bool {
	if strings.HasSuffix(file, ".md") || strings.HasSuffix(file, "_test.go") && !strings.HasPrefix(file, "e2e/") {
		return false
	}
	first, _, below := strings.Cut(file, "/")
	return below && slices.Contains([]string{"lib", "cmd", "hooks", "e2e"}, first) || file == "go.mod"
}
