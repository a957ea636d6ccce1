package post

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"gt/lib/place"
	"gt/lib/state/instance"
	"gt/lib/state/lifecycle"
	"gt/lib/state/peer"
)

const mostNamed = 3

// WaitsFor returns why no host gets work of a template that any host may do, as far as this
// host knows: "" if there are sessions for it, which may be busy. stores is config.Stores.
func WaitsFor(state place.State, getenv func(string) string, template string, now time.Time,
	stores func(place.State, func(string) string, string) ([]instance.Store, error)) (string, error) {
	here, err := stores(state, getenv, template)
	if err != nil {
		return "", err
	}
	var idle, denied, away, unread []string
	for _, s := range here {
		all, err := s.All()
		if err != nil {
			return "", err
		}
		for _, in := range all {
			if m := in.Managed; m != nil && m.Template == template && m.State == lifecycle.Active {
				return "", nil
			}
		}
		idle = []string{"this host"}
	}
	hosts := peer.Of(state)
	all, err := hosts.All()
	for _, h := range all {
		if hosts.Blocked(h) != nil {
			continue
		}
		has, sessions, failed := hosts.Staff(h, template, now)
		switch {
		case failed != nil:
			err = errors.Join(err, failed)
			unread = append(unread, h.Name)
		case !has:
		case h.Denies(peer.Work):
			denied = append(denied, h.Name)
		case h.Away(now):
			away = append(away, h.Name)
		case slices.ContainsFunc(sessions, func(a peer.Agent) bool { return a.Runs() }):
			return "", err
		default:
			idle = append(idle, h.Name)
		}
	}
	var parts []string
	for _, p := range []struct {
		format string
		hosts  []string
	}{
		{"no session of " + template + " runs on %s", idle},
		{"this host may not give work on %s", denied},
		{"%s: away", away},
	} {
		if n := len(p.hosts); n > mostNamed {
			p.hosts = append(p.hosts[:mostNamed:mostNamed], fmt.Sprintf("%d more", n-mostNamed))
		}
		if len(p.hosts) > 0 {
			parts = append(parts, fmt.Sprintf(p.format, strings.Join(p.hosts, ", ")))
		}
	}
	if len(parts) == 0 && len(unread) == 0 {
		return fmt.Sprintf("no host that this host knows has a template '%s'", template), err
	}
	return strings.Join(parts, "; "), err
}
