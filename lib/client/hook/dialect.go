package hook

import (
	"gt/lib/client/contract"
	"gt/lib/client/registry"
)

func HasDialect(name string) bool {
	c := registry.FindClient(name)
	return c != nil && c.Dialect.MaxContext > 0
}

var unknown = contract.Dialect{MaxContext: 10_000, Shape: contract.Plain}

// DialectOf returns the dialect of a client, which for an unknown one is plain text.
func DialectOf(agent string) contract.Dialect {
	if HasDialect(agent) {
		return registry.FindClient(agent).Dialect
	}
	return unknown
}

// Agent returns the client that runs the hook. It is the one that the wiring names,
// except that some clients also run the hooks of the default client, with dialects of
// their own.
func Agent(named string, getenv func(string) string) string {
	if named != "" && named != contract.Default {
		return named
	}
	if c := foreign(getenv, named != ""); c != nil {
		return c.Name
	}
	return contract.Default
}
