package wiring

import "gt/lib/text/jsonedit"

// Exports for the tests, which are in an external package because they import the
// clients.

func (c Client) Rewire(text []byte, want []Handler) ([]byte, []Change, error) {
	return c.rewire(text, want)
}
func (c Client) HandlersOf(doc *jsonedit.Doc) []Handler { return c.handlers(doc) }
func (c Client) OursOf(doc *jsonedit.Doc) []Handler     { return c.ownHandlers(doc) }

var (
	Limits          = []string{"timeout", "timeoutSec"}
	Quote           = quoteShell
	QuotePowerShell = quotePowerShell
	IsScript        = isScript
)
