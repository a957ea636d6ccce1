package seancecmd

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"gt/lib/catalog"
	"gt/lib/catalog/scan"
	"gt/lib/cli"
	"gt/lib/conversation"
	"gt/lib/conversation/price"
	"gt/lib/place/town"
	"gt/lib/record"
	"gt/lib/state/session"
	"gt/lib/sys/atomicfile"
	"gt/lib/text/count"
	"gt/lib/text/term"
)

// usageNow is what a status line shows, and the cache of it.
type usageNow struct {
	Day      string                            `json:"day"` // 2026-01-17
	At       time.Time                         `json:"at"`
	Took     time.Duration                     `json:"took"` // to count, in nanoseconds
	Today    conversation.Usage                `json:"today"`
	Sessions map[session.ID]conversation.Usage `json:"sessions"` // those of today, from their beginning
}

const (
	maxStatus = 1 << 20
	// maxShare bounds what a status line costs: it counts anew only after so many times the time
	// that counting took.
	maxShare = 20
)

// line prints a line for a client's status line, which is asked for at every step of the agent:
// what the session used, and what all did today. The client says on standard input which
// session it is, and may state its cost.
func (c *usage) line(env *cli.Env) error {
	var said struct {
		Session session.ID `json:"session_id"`
		Cost    struct {
			Total float64 `json:"total_cost_usd"`
		} `json:"cost"`
	}
	if !term.IsTerminal(env.Stdin) {
		data, err := io.ReadAll(io.LimitReader(env.Stdin, maxStatus))
		if err == nil && len(data) > 0 {
			err = json.Unmarshal(data, &said)
		}
		if err != nil {
			return cli.Fail(cli.Usage, fmt.Errorf("invalid status on standard input: %w", err))
		}
	}
	id := session.ID(cmp.Or(c.ID, string(said.Session)))
	state := town.Personal(env.Getenv).State
	path := state.Path(".sessions", "usage.json")
	now, known := usageNow{}, false
	if data, err := atomicfile.Read(path, maxStatus); err == nil {
		known = json.Unmarshal(data, &now) == nil
	}
	_, has := now.Sessions[id]
	if c.ID != "" && !has {
		found, _, err := thoseOf(env, c.ID, c.selection)
		if err != nil {
			return err
		}
		id = found[0].ID
		_, has = now.Sessions[id]
	}
	if age := env.Now().Sub(now.At); !known || now.Day != env.Now().Local().Format(time.DateOnly) || age < 0 || age > maxShare*now.Took || !has && id != "" && age > now.Took {
		var err error
		if now, err = c.countNow(env, id); err != nil {
			return err
		}
		if data, err := json.Marshal(now); err == nil && state.CheckOwner() == nil {
			os.MkdirAll(state.Path(".sessions"), 0o700)
			atomicfile.Write(path, data, atomicfile.Unsynced) // without it the next line counts again
		}
	}
	var parts []string
	if own := now.Sessions[id]; own.HasTokens() || said.Cost.Total > 0 {
		money := count.Dollars(said.Cost.Total)
		if money == "" {
			money = price.Text(own)
		}
		parts = append(parts, lineOf("", own, money))
	}
	parts = append(parts, lineOf("today ", now.Today, price.Text(now.Today)))
	_, err := fmt.Fprintln(env.Stdout, strings.Join(parts, " · "))
	return err
}

func lineOf(name string, u conversation.Usage, money string) string {
	return strings.TrimRight(fmt.Sprintf("%s%s tokens %s", name, count.Compact(u.Tokens()), money), " ")
}

// countNow counts what a session used, and what all used since midnight.
func (c *usage) countNow(env *cli.Env, id session.ID) (now usageNow, err error) {
	began := env.Now()
	now = usageNow{Day: began.Local().Format(time.DateOnly), At: began, Sessions: map[session.ID]conversation.Usage{id: {}}}
	today := usage{}
	today.Since = "today"
	found, all, err := today.spenders(env)
	if cli.ExitCode(err) == cli.AnswerNo {
		err = nil
	}
	if err != nil {
		return now, err
	}
	if s := all.Get(id); s != nil && !slices.ContainsFunc(found, func(f *catalog.Session) bool { return f.ID == id }) {
		found = append(found, s)
	}
	today.Since = ""
	spent, _ := today.addUp(env, found, all)
	for _, s := range spent {
		own := now.Sessions[session.ID(s.Session)]
		own.Add(s.Usage)
		now.Sessions[session.ID(s.Session)] = own
		if s.Day == now.Day {
			now.Today.Add(s.Usage)
		}
	}
	now.Took = env.Now().Sub(began)
	return now, nil
}

// kept is the disk space that the conversations of an agent take.
type kept struct {
	Agent    string `json:"agent"` // or gt's own record, or its caches
	Sessions int    `json:"sessions,omitempty"`
	Bytes    int64  `json:"bytes"`
	Oldest   string `json:"oldest,omitempty"` // a day
}

// disk prints how much disk space the conversations take, the most first, and what gt adds. A
// subagent's counts, and is no session.
func (c *usage) disk(env *cli.Env) error {
	personal := town.Personal(env.Getenv)
	found, errs := scan.FindConversations(env.Getenv, env.Redact, personal.Transcripts(), nil)
	for _, err := range errs {
		env.Warn("%v", err)
	}
	by := map[string]*kept{}
	counted := diskSpace{}
	for _, one := range found {
		name := one.File.Client
		if name == record.Client { // those that the client has deleted; all are below
			continue
		}
		if by[name] == nil {
			by[name] = &kept{Agent: name}
		}
		k := by[name]
		if one.File.Parent == "" && one.Metadata.Parent == "" {
			k.Sessions++
		}
		if began := one.Metadata.Started; !began.IsZero() {
			if day := began.Local().Format(time.DateOnly); k.Oldest == "" || day < k.Oldest {
				k.Oldest = day
			}
		}
		k.Bytes += counted.addConversation(one.File)
	}
	all := make([]kept, 0, len(by)+1)
	for _, k := range by {
		all = append(all, *k)
	}
	slices.SortFunc(all, func(a, b kept) int { return cmp.Or(cmp.Compare(b.Bytes, a.Bytes), cmp.Compare(a.Agent, b.Agent)) })
	var records int64
	for _, store := range (record.Reader{}).Stores(env.Getenv) {
		records += counted.add(store)
	}
	for _, k := range []kept{{Agent: "gt-record", Bytes: records}, {Agent: "gt's caches", Bytes: counted.add(personal.State.Path(".sessions"))}} {
		if k.Bytes > 0 {
			all = append(all, k)
		}
	}
	if c.JSON {
		return cli.JSONLines(env, all)
	}
	if len(all) == 0 {
		return cli.Failf(cli.AnswerNo, noSessions)
	}
	sum := kept{Agent: "total"}
	for _, k := range all {
		sum.Sessions += k.Sessions
		sum.Bytes += k.Bytes
	}
	number := func(n int) string {
		if n == 0 {
			return ""
		}
		return thousands(int64(n))
	}
	return term.StyleFor(env.Stdout, env.Getenv).Table(env.Stdout, term.Width(env.Stdout, env.Getenv), term.Cells([]term.Column[kept]{
		{Heading: "AGENT", Cell: func(k kept) string { return k.Agent }},
		{Heading: "SESSIONS", Cell: func(k kept) string { return number(k.Sessions) }},
		{Heading: "SIZE", Cell: func(k kept) string { return term.Size(k.Bytes) }},
		{Heading: "OLDEST", Cell: func(k kept) string { return k.Oldest }},
	}, append(all, sum)), nil)
}
