package agent

import (
	"slices"
	"strings"
)

// How much an agent does without asking the person, by the mode in a hook's input or by the agent's
// flags. An unknown word counts as asks.
const (
	plans      = iota // it changes nothing
	asks              // it asks
	edits             // it edits files without asking
	judges            // it decides itself what needs to be asked
	asksNobody        // it asks for nothing
)

// FreedomOfMode returns the freedom of a permission mode, in the words of any client.
func FreedomOfMode(mode string) int {
	switch strings.ToLower(strings.NewReplacer("-", "", "_", "").Replace(mode)) {
	case "plan":
		return plans
	case "acceptedits", "autoedit":
		return edits
	case "auto":
		return judges
	case "bypasspermissions", "yolo", "dangerfullaccess":
		return asksNobody
	}
	return asks
}

// FreedomOfArgs returns how much an agent with these arguments does without asking: the most
// that any of them allows.
func FreedomOfArgs(args []string) int {
	most := asks
	for i, a := range args {
		name, value, attached := strings.Cut(a, "=")
		if !attached && i+1 < len(args) {
			value = args[i+1]
		}
		switch name {
		case "--dangerously-skip-permissions", "--dangerously-bypass-approvals-and-sandbox", "--yolo", "-y",
			"--allow-all-tools", "--allow-all", "--trust-all-tools", "--dangerously-allow-all", "--force", "-f":
			if value != "false" || !attached {
				most = asksNobody
			}
		case "--permission-mode", "--approval-mode":
			// plans is less than asks, from which most starts, but the person chose it.
			if f := FreedomOfMode(value); f > most || f == plans && most == asks {
				most = f
			}
		case "-s", "--sandbox":
			most = max(most, FreedomOfMode(value)) // Codex's; for others it is a switch
		case "-c", "--config":
			if key, set, _ := strings.Cut(value, "="); key == "sandbox_mode" {
				most = max(most, FreedomOfMode(strings.Trim(set, `"'`)))
			}
		case "--approve-for-me", "--full-auto", "--enable-auto-mode":
			most = max(most, judges)
		}
	}
	return most
}

// FileArgs returns the words of a command line that can name what the agent runs or reads as
// settings: an interpreter's script, and values of flags that are paths or belong to a
// flag for a file. It leaves out the folders that the agent may work in.
func FileArgs(args []string) []string {
	var files []string
	program, rest := (Client{}).splitProgram(args)
	if len(program) > 1 {
		files = append(files, program[len(program)-1])
	}
	folder := []string{"--add-dir", "--include-directories", "--include-directory", "-C", "--cd", "--allow-dir", "--workspace"}
	flag := "" // the last one, to which the words after it can belong
	for _, a := range rest {
		value := a
		if isFlag(a) {
			var attached bool
			if flag, value, attached = strings.Cut(a, "="); !attached {
				continue
			}
		}
		if slices.Contains(folder, flag) {
			continue
		}
		named := slices.ContainsFunc([]string{"settings", "config", "plugin", "file", "extension", "mcp", "-e"}, func(s string) bool {
			return strings.Contains(flag, s)
		})
		if named || strings.Contains(value, "/") {
			files = append(files, value)
		}
	}
	return files
}
