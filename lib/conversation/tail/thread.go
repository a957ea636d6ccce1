package tail

import (
	"cmp"
	"time"

	"gt/lib/conversation/summary"
	"gt/lib/place/home"
	"gt/lib/state/session"
	"gt/lib/state/thread"
	"gt/lib/sys/atomicfile"
)

// Carry adds a session's conversation to the thread of its chain.
type Carry struct {
	Home   home.Home
	Record *session.Record
	Beside *thread.Background // what works beside the session; nil if it is not the end of a turn
	Now    time.Time
	Warn   func(error)
}

// Add adds what the fold has, and returns the thread.
func (c Carry) Add(fold *summary.Fold) (*thread.Thread, error) {
	p := c.part(fold)
	return thread.Update(c.Home.Town.State, c.Record.Chain(), atomicfile.Unsynced, c.Warn, func(t *thread.Thread) { t.Take(p) })
}

// Preview returns the thread as Add would make it, and writes nothing.
func (c Carry) Preview(fold *summary.Fold) *thread.Thread {
	t, err := thread.Read(c.Home.Town.State, c.Record.Chain(), c.Warn)
	if err != nil {
		t = &thread.Thread{ChainID: c.Record.Chain()}
	}
	t.Take(c.part(fold))
	return t
}

func (c Carry) part(fold *summary.Fold) thread.Part {
	p := thread.Part{
		Session: c.Record.ID, Agent: c.Record.Agent, Beside: c.Beside, Time: c.Now.UTC().Truncate(time.Second),
		First: thread.Quote{Text: cmp.Or(fold.Origin, fold.First.Text), Time: fold.First.Time},
	}
	s := summary.Summarize(fold)
	for _, q := range fold.Typed {
		p.Prompts = append(p.Prompts, thread.Quote{Text: q.Text, Time: q.Time, Reply: q.Reply})
	}
	for _, q := range fold.TakenBack {
		p.TakenBack = append(p.TakenBack, thread.Quote{Text: q.Text, Time: q.Time})
	}
	for _, c := range fold.Concluded {
		p.Answers = append(p.Answers, thread.Quote{Text: c.Text, Time: c.Time, Asked: c.Asked})
	}
	for _, c := range fold.Ran {
		p.Actions = append(p.Actions, thread.Quote{Text: c.Text, Time: c.Time})
	}
	p.Files = s.Files
	for _, t := range s.Todos {
		p.Todos = append(p.Todos, thread.Todo{Text: t.Text, Status: t.Status})
	}
	p.Done = s.Done
	return p
}
