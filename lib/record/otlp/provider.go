package otlp

import "strings"

// Provider is whose model it is, in the words of the conventions, as far as its name tells;
// a gateway puts words of its own before it.
func Provider(model string) string {
	model = strings.ToLower(model)
	for _, of := range [...]struct{ part, provider string }{
		{"claude", "anthropic"}, {"gpt", "openai"}, {"codex", "openai"}, {"o1", "openai"}, {"o3", "openai"}, {"o4", "openai"},
		{"gemini", "gcp.gemini"}, {"deepseek", "deepseek"}, {"mistral", "mistral_ai"}, {"codestral", "mistral_ai"}, {"command-", "cohere"}, {"grok", "x_ai"},
	} {
		for word := range strings.FieldsFuncSeq(model, func(r rune) bool { return r == '/' || r == '.' || r == ':' }) {
			if strings.HasPrefix(word, of.part) {
				return of.provider
			}
		}
	}
	return ""
}
