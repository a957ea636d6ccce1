package wiring

import "fmt"

// Plugin is the scope of the hooks of a client's plugin or extension.
const Plugin = "plugin"

// Plugin returns the hooks of a plugin in a file, if some are ours. command is that which the
// client manages plugins with.
func (c Client) Plugin(file, name, command, remove string) []Source {
	s := c.Read(Plugin, file)
	s.Removal, s.Repair = fmt.Sprintf("%s %s %s", command, remove, name), fmt.Sprintf("%s update %s", command, name)
	if len(s.OwnHandlers()) == 0 {
		return nil
	}
	return []Source{s}
}
