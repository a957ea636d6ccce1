package catalog

// clientWords are Claude Code's reasons for an end in a person's words; "" adds nothing
// to the outcome.
var clientWords = map[string]string{"prompt_input_exit": "the person left it", "logout": "the person logged out", "other": ""}

// Why returns the reason of an end as text for a person.
func Why(reason string) string {
	if said, own := clientWords[reason]; own {
		return said
	}
	return reason
}
