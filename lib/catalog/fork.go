package catalog

// ExternalFork returns the session of which this one is a fork, if its conversation
// refers to that one's instead of copying it, as in Codex. It returns nil if the
// conversation is complete.
func (c Catalog) ExternalFork(s *Session) *Session {
	if s.ForkOf == "" || s.first == "" {
		return nil
	}
	for o := range c.met() {
		if o.ID == s.ForkOf && o != s && o.Agent == s.Agent && o.first != s.first {
			return o
		}
	}
	return nil
}
