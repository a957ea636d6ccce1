package scan

import (
	"slices"

	"gt/lib/client/readers"
	"gt/lib/conversation"
	"gt/lib/place"
)

// Locate sets the folder of conversations that do not name theirs, if the client's
// encoding can be compared: with the folders of all other conversations, this machine's
// homes, and dirs.
func Locate(state place.State, all []conversation.Conversation, dirs ...string) {
	var lost []*conversation.Conversation
	for i := range all {
		if _, ok := ReaderOf(all[i].File.Client).(conversation.Placer); ok && all[i].Metadata.ID != "" && all[i].Metadata.CWD == "" {
			lost = append(lost, &all[i])
		}
	}
	if len(lost) == 0 {
		return
	}
	for _, c := range all {
		dirs = append(dirs, c.Metadata.CWD)
	}
	homes, _ := state.Homes() // ignores unreadable ones
	for _, h := range homes {
		dirs = append(dirs, h.Path)
	}
	slices.Sort(dirs)
	dirs = slices.DeleteFunc(slices.Compact(dirs), func(dir string) bool { return dir == "" })
	placed := map[string]func(conversation.File) string{}
	for _, c := range lost {
		of, ok := placed[c.File.Client]
		if !ok {
			of = readers.Of(c.File.Client).(conversation.Placer).Placed(dirs)
			placed[c.File.Client] = of
		}
		c.Metadata.CWD = of(c.File)
	}
}
