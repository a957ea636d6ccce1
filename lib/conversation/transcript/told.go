package transcript

import (
	"slices"
	"strings"
)

// Told is one thing of a session as another client than Claude Code has it in a
// transcript of its own. What is empty was not said.
type Told struct {
	Request   Request
	Answer    string   // what the agent said
	Command   string   // that it ran in a shell
	Tool      string   // another one that it used
	Failed    string   // what went wrong with either
	Files     []string // that it changed
	Plan      []Todo   // its whole list, the finished items with the status completed
	Compacted string   // what the client put in place of the conversation before
}

// Sum puts together what was told of a session, the oldest first: the beginning
// of it, and what it did last. The texts are cut and cleaned as Tail does it.
func Sum(cwd string, first Request, told []Told, clean func(string) string) Summary {
	r := reader{clean: cleaned(clean), first: first, cwd: cwd}
	for _, t := range slices.Backward(told) {
		r.ask(t.Request)
		r.say(t.Answer)
		switch {
		case t.Command != "":
			r.command(t.Command, t.Failed, true)
		case t.Failed != "":
			r.fail(t.Tool, t.Failed)
		}
		for _, path := range t.Files {
			if t.Failed == "" && len(r.files) < maxFiles && !slices.Contains(r.files, path) {
				r.files = append(r.files, path)
			}
		}
		if len(t.Plan) > 0 && !r.whole {
			r.whole = true
			for _, item := range t.Plan[:min(len(t.Plan), maxTasks)] {
				r.items = append(r.items, todo{text: item.Text, status: item.Status})
			}
		}
		if r.compacted == "" {
			r.compacted = strings.TrimSpace(t.Compacted)
		}
	}
	return r.summary()
}
