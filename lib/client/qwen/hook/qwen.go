// Package hook describes Qwen Code to the hooks.
package hook

import (
	"iter"
	"path/filepath"
	"strings"

	"gt/lib/client/contract"
	"gt/lib/client/names"
)

var Client = contract.Client{
	Client:   &names.Qwen,
	Accounts: accounts,
	Dialect: contract.Dialect{
		MaxContext: 10000, Shape: contract.Nested, Compaction: true, MaxCompaction: 4000, SystemMessage: true,
		Headless: headless, EndsSilently: true,
	},
}

// folders are those that have conversations.
var folders = []string{"projects", "tmp"}

func accounts(getenv func(string) string) iter.Seq[contract.Place] {
	return contract.OnlyAbsolute(
		contract.Place{Dir: getenv(names.QwenRuntime), By: contract.Named, Folders: folders},
		contract.Place{Dir: getenv(names.QwenHome), By: contract.Named, Folders: folders},
		contract.Place{Dir: filepath.Join(getenv("HOME"), ".qwen"), By: contract.Usual, Folders: folders},
	)
}

// headless reports whether a Qwen Code with these arguments runs without a person: they have a
// prompt, as a flag's value or as a word. A word that can be the value of another flag counts only
// if it is a sentence at the end.
func headless(r contract.Run) bool {
	words, alone := r.Words(), false
	for i, word := range words {
		switch name, _, _ := strings.Cut(word, "="); name {
		case "-i", "--prompt-interactive", "--acp":
			return false // a first prompt, but with a person
		case "-p", "--prompt":
			alone = true
			continue
		}
		switch {
		case strings.HasPrefix(word, "-"):
		case i == 0 || isSwitch(words[i-1]) || strings.ContainsAny(word, " \t\n") && i == len(words)-1:
			alone = true
		}
	}
	return alone
}

// isSwitch reports whether a flag takes no value, so that the next word is the prompt.
func isSwitch(word string) bool {
	switch word {
	case "-y", "--yolo", "-c", "--continue", "-d", "--debug", "-s", "--sandbox":
		return true
	}
	return false
}
