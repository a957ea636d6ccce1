package recordcmd

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"gt/lib/cli"
	"gt/lib/place"
	"gt/lib/record"
	"gt/lib/state/instance"
	"gt/lib/state/peer"
	"gt/lib/text/lazyregexp"
	"gt/lib/text/term"
)

// source is a record that is read: of this host, or the copy of one of another host, which
// that host's person lets this one have. What a copy says is that host's claim.
type source struct {
	record.Store
	id   record.ID
	host string // another one, or ""
}

// missingError is the error for a name that no record or no conversation of this host has.
type missingError struct{ what, name string }

func (m missingError) Error() string { return fmt.Sprintf("no %s '%s'", m.what, m.name) }

// noneHereError returns missing with a hint: what the name may mean, or otherwise.
func noneHereError(env *cli.Env, m missingError, otherwise string) error {
	state := place.StateOf(env.Getenv)
	if _, host, ok := peer.SplitAddress(m.name); ok {
		if _, err := peer.NewHosts(state).Get(host); err == nil {
			return cli.Fail(cli.AnswerNo, m, fmt.Sprintf("%s keeps the records of its agents; gt-record show, tail, export and convert take a copy", host))
		}
	}
	return cli.Fail(cli.AnswerNo, m, instance.HintNamed(state, m.name, otherwise))
}

// findReadable finds a record by its name, also among the copies of other hosts' records.
func findReadable(env *cli.Env, name string) (source, error) {
	s, id, err := openRecord(env, name)
	return orFindCopy(env, source{s, id, ""}, name, err)
}

// findContinuable finds an updated record to continue, also among the copies of other hosts' records.
func findContinuable(env *cli.Env, name string) (source, error) {
	s, err := openStore(env)
	if err != nil {
		return source{}, err
	}
	id, err := findUpdated(env, s, name)
	return orFindCopy(env, source{s, id, ""}, name, err)
}

// findAgentRecords returns the records of what an agent's name means on another host.
func findAgentRecords(s record.Store, hosts peer.Hosts, h peer.Host, name string, now time.Time) (ids []record.ID, err error) {
	known, err := hosts.Agents(h, now)
	if err != nil {
		return nil, err
	}
	agents, _ := peer.FindAgents(known, name, "")
	for _, a := range agents {
		more, err := findMatching(s, a.SessionID)
		if err != nil {
			return nil, err
		}
		ids = append(ids, more...)
	}
	return ids, nil
}

// clientName is what a client is called. A copy could have anything in its place.
var clientName = lazyregexp.New(`^[a-zA-Z0-9][a-zA-Z0-9 ._-]{0,63}$`)

// orFindCopy returns own, the record of this host, if none is nil. If none says that this host has
// no record of that name, it returns a copy of another host's. Otherwise none is its error.
func orFindCopy(env *cli.Env, own source, name string, none error) (source, error) {
	if !errors.As(none, new(missingError)) {
		return own, none
	}
	name = term.TrimEllipsis(name)
	agent, on, _ := peer.SplitAddress(name)
	hosts := peer.NewHosts(place.StateOf(env.Getenv))
	known, err := hosts.ReadHosts()
	env.WarnError(err)
	var found source
	var size int64
	for _, h := range known {
		s := record.Store{Sessions: hosts.Records(h.Name), Contexts: hosts.Path(h.Name, "context")} // results are not copied
		ids, err := findMatching(s, name)
		if h.Name == on && len(ids) == 0 {
			none = cli.Fail(cli.AnswerNo, missingError{"record of", name}, h.Name+" has none here; gt-seance list --host "+h.Name+" lists what is known of its sessions")
			ids, err = findAgentRecords(s, hosts, h, agent, env.Now())
		}
		if err != nil {
			env.Warn("%s: %v", h.Name, err)
		}
		for _, id := range ids {
			i, err := s.Info(id)
			if err != nil || !clientName().MatchString(i.Agent) {
				continue
			}
			if found.id != "" && found.id != id {
				return own, cli.Fail(cli.AnswerNo, fmt.Errorf("'%s' means several records of other hosts", name), "gt-seance list --host HOST shows whole ids")
			}
			if found.id == "" || i.Size > size { // of a session that moved, the one that went on
				found, size = source{s, id, h.Name}, i.Size
			}
		}
	}
	if found.id == "" {
		return own, none
	}
	h, err := hosts.Get(found.host)
	how := ""
	if err == nil {
		if how = h.Stale(env.Now()); how != "" {
			how = " (" + how + ")"
		}
	}
	env.Hint("%s is the copy of a record of %s%s", found.id, found.host, how)
	return found, nil
}

// printLine prints a line of the record as it is. One of a copy is escaped, and left out if it is no JSON.
func (s source) printLine(out io.Writer, line []byte) error {
	if s.host != "" { // mutant never: ./ TestScripts/relay_records$
		var err error
		if line, err = term.JSON(json.RawMessage(line)); err != nil {
			return nil
		}
		_, err = out.Write(line)
		return err
	}
	_, err := out.Write(append(line, '\n'))
	return err
}
