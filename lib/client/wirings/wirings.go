// Package wirings lists the clients' wirings.
package wirings

import (
	antigravity "gt/lib/client/antigravity/wiring"
	claude "gt/lib/client/claude/wiring"
	cline "gt/lib/client/cline/wiring"
	codex "gt/lib/client/codex/wiring"
	copilot "gt/lib/client/copilot/wiring"
	cursor "gt/lib/client/cursor/wiring"
	gemini "gt/lib/client/gemini/wiring"
	kimi "gt/lib/client/kimi/wiring"
	opencode "gt/lib/client/opencode/wiring"
	pi "gt/lib/client/pi/wiring"
	qwen "gt/lib/client/qwen/wiring"
	"gt/lib/client/wiring"
)

// Clients returns the clients that gt can be wired into, in the table's order.
func Clients() []wiring.Client {
	return []wiring.Client{
		claude.Client(), codex.Client(), gemini.Client(), qwen.Client(),
		copilot.Client(), cursor.Client(), opencode.Client(), pi.Client(), kimi.Client(), cline.Client(),
		antigravity.Client(),
	}
}

func FindClient(name string) (c wiring.Client, known bool) {
	for _, c := range Clients() {
		if c.Name == name {
			return c, true
		}
	}
	return wiring.Client{}, false
}
