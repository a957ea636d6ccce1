package catalog

// clientWords are reasons of an end as Claude Code says them, in a person's words; "" says
// nothing that the outcome does not.
var clientWords = map[string]string{"prompt_input_exit": "the person left it", "logout": "the person logged out", "other": ""}

// Why is the reason of an end for a person to read.
func Why(reason string) string {
	if said, own := clientWords[reason]; own {
		return said
	}
	return reason
}
