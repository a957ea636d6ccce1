package catalog

// ExternalFork returns the session of which this one is a fork, where its conversation
// does not begin with a copy of that one's, but goes on from it: Codex keeps
// forks so. nil where all that was said stands in this one.
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
