package hookscmd

import (
	"cmp"
	"encoding/json"
	"io"
	"slices"
	"strings"
	"time"

	"gt/lib/catalog"
	"gt/lib/cli"
	"gt/lib/client/wiring"
	"gt/lib/client/wirings"
	"gt/lib/log/eventlog"
	"gt/lib/place/home"
	"gt/lib/place/town"
	"gt/lib/state/checkpoint"
	"gt/lib/state/keepalive"
	"gt/lib/state/session"
	"gt/lib/sys/atomicfile"
)

// sighting is when, and in which session, something was last seen.
type sighting struct {
	at      time.Time
	session session.ID
}

// complaint is an error that a hook logged.
type complaint struct {
	program string
	what    string
	sighting
}

// evidence is the traces that an agent's hooks have left.
type evidence struct {
	lastSeen   map[string]sighting // by duty, such as primeDuty
	complaints []complaint         // oldest first
}

// noteSight notes when a duty was seen to be done, unless that was seen later, too.
func (e *evidence) noteSight(program string, at time.Time, id session.ID) {
	if at.After(e.lastSeen[program].at) {
		e.lastSeen[program] = sighting{at, id}
	}
}

const (
	// recentSessions is how many sessions of an agent are examined in their homes.
	recentSessions = 20
	// logTail is how many bytes at the end of a log are read for events that are not in the index.
	logTail = 4 << 20
)

// gatherEvidence collects the traces of agents' hooks, by the agent's name, from the event logs of
// this town and of the person, and from the homes of the last sessions.
func gatherEvidence(env *cli.Env) map[string]*evidence {
	personal := town.Personal(env.Getenv)
	towns := []town.Town{home.Find(env.Getenv, env.Dir, "").Town, personal}
	if towns[0].Root == personal.Root {
		towns = towns[1:]
	}
	all := catalog.ReadTowns(towns, nil, env.WarnError)

	byAgent := map[string]*evidence{}
	evidenceOf := func(agent string) *evidence {
		if byAgent[agent] == nil {
			byAgent[agent] = &evidence{lastSeen: map[string]sighting{}}
		}
		return byAgent[agent]
	}
	agents := map[session.ID]string{}
	examined := map[string]int{}
	sessions := slices.Collect(all.Sessions())
	catalog.SortByActivity(sessions)
	for _, s := range sessions {
		e := evidenceOf(s.Agent)
		agents[s.ID] = s.Agent
		if s.Topic != "" { // without a topic, another hook recorded it
			e.noteSight(primeDuty, s.StartedAt, s.ID)
		}
		if s.Outcome == session.Done {
			e.noteSight(endDuty, s.EndedAt, s.ID)
		}
		if examined[s.Agent]++; examined[s.Agent] <= recentSessions {
			e.inspectHome(personal, s)
		}
	}
	for _, t := range towns {
		eachLogged(eventlog.Log(t.Events()), func(ev eventlog.Event) {
			var payload struct {
				SessionID                   session.ID `json:"session_id"`
				Agent, Kind, Program, Error string
			}
			if json.Unmarshal(ev.Payload, &payload) != nil {
				return
			}
			// A session whose start failed is not in the catalog.
			agent := cmp.Or(agents[payload.SessionID], payload.Agent)
			if agent == "" {
				return
			}
			switch e := evidenceOf(agent); {
			case ev.Type == eventlog.HookError:
				e.complaints = append(e.complaints, complaint{payload.Program, payload.Error, sighting{ev.Time.Time, payload.SessionID}})
			case payload.Kind == session.KindAuto:
				e.noteSight(saveDuty, ev.Time.Time, payload.SessionID)
			case ev.Type == eventlog.Handoff:
				e.noteSight(handDuty, ev.Time.Time, payload.SessionID)
			}
		})
	}
	return byAgent
}

func isTurnEnd(event string) bool {
	return slices.ContainsFunc(wirings.Clients(), func(c wiring.Client) bool { return slices.Contains(c.TurnEnds, event) })
}

// inspectHome notes when a session's hooks last ran, and when they last saved a checkpoint, by the files
// in its home. Another session may have used the home since, so each file's id is compared.
func (e *evidence) inspectHome(t town.Town, s *catalog.Session) {
	h, ok, _ := home.OfSession(t.State, string(s.ID))
	if !ok {
		return
	}
	if sign := keepalive.Read(h); sign != nil && sign.SessionID == s.ID && sign.LastCommand != "" {
		e.noteSight(touchDuty, sign.Timestamp, s.ID)
		// The end of a turn saves a checkpoint, which the end of the session removes.
		if sign.State == keepalive.Waiting || isTurnEnd(sign.LastCommand) {
			e.noteSight(writeDuty, sign.Timestamp, s.ID)
		}
	}
	all, _ := checkpoint.List(h) // a checkpoint that cannot be read proves nothing
	for _, c := range all {
		if c.SessionID == s.ID {
			e.noteSight(writeDuty, c.Timestamp, s.ID)
		}
	}
}

// eachLogged calls each with the hook errors and hand-overs in the last logTail bytes of a log.
func eachLogged(log eventlog.Log, each func(eventlog.Event)) {
	f, err := atomicfile.Open(string(log))
	if err != nil {
		return // as if it had no events
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return
	}
	at := max(0, info.Size()-logTail)
	eventlog.Scan(io.NewSectionReader(f, at, info.Size()-at), func(line []byte) bool {
		if at > 0 { // the first line may lack its beginning
			at = 0
			return true
		}
		var e eventlog.Event
		// Most lines have other types, which the beginning shows: do not parse them.
		if text := string(line[:min(len(line), 200)]); !strings.Contains(text, eventlog.HookError) && !strings.Contains(text, eventlog.Handoff) {
			return true
		}
		if json.Unmarshal(line, &e) == nil && (e.Type == eventlog.HookError || e.Type == eventlog.Handoff) {
			each(e)
		}
		return true
	})
}
