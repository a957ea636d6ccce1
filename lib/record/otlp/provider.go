package otlp

import "strings"

// Provider returns the provider of a model in the conventions' terms, as far as the
// model's name tells. A gateway's prefix is ignored.
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
