package roster

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"gt/lib/cli"
	"gt/lib/live/status"
	"gt/lib/place/town"
	"gt/lib/state/peer"
	"gt/lib/text/term"
)

// Hosted is an agent in a list of all hosts. Its Member is nil if it is another host's.
type Hosted struct {
	Row
	Host, Name, StatusText, Agent, Group, Folder string // StatusText is the status with its reason

	Status  status.Status
	Reason  status.Reason
	WhyBusy string    // what its end would cut off, "" if that is nothing
	Since   time.Time // zero if the agent does not run, or if that is unknown

	title string // of an agent of another host
}

// Topic returns what the agent is about, "" if that is unknown.
func (h *Hosted) Topic() string {
	if h.Member == nil {
		return h.title
	}
	return h.Member.Topic()
}

// Peers returns what is known of the other hosts.
func Peers(env *cli.Env) peer.Hosts { return peer.NewHosts(town.Personal(env.Getenv).State) }

// OwnHost returns what other hosts call this one, or "".
func OwnHost(env *cli.Env) (string, error) {
	own, err := Peers(env).LocalHost()
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return own.Name, err
}

// HostedRow returns an agent of this host, which others call own.
func HostedRow(env *cli.Env, own string, r Row) Hosted {
	return Hosted{
		Row: r, Host: own, Name: r.Name, StatusText: ListText(*r.Member), Agent: r.Agent, Group: r.Group, Folder: term.Tilde(r.WorksIn(), env.Getenv("HOME")),
		Status: r.Status, Reason: r.Reason, WhyBusy: r.WhyBusy(), Since: r.Since,
	}
}

// HostedAgent returns an agent of another host.
func HostedAgent(a peer.Agent) Hosted {
	h := Hosted{title: a.Title, Host: a.Host, Name: a.Name, StatusText: PeerStatus(a), Agent: a.Agent, Group: a.Group, Folder: cmp.Or(a.WorksIn, a.Path), Status: status.Status(a.Status), Reason: status.Reason(a.Reason)}
	h.WhyBusy = status.WhyBusy(h.Status, h.Reason, a.Background)
	if a.Since != nil && a.Runs() {
		h.Since = *a.Since
	}
	return h
}

// PeerStatus returns the status of an agent of another host as ListText does.
func PeerStatus(a peer.Agent) string {
	if a.Moved != nil && !a.Runs() {
		return a.Moved.String()
	}
	if a.Reason == "" || status.Status(a.Status) != status.Waiting {
		return a.Status
	}
	return fmt.Sprintf("%s (%s)", a.Status, a.Reason)
}
