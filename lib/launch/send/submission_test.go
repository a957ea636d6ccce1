package send

import (
	"errors"
	"testing"
	"time"

	"gt/lib/client/agent"
)

// A text is submitted once its box stayed empty, with the proof that there is; until then
// Enter is pressed again, ever more rarely.
func TestSubmission(t *testing.T) {
	limits := Limits{Again: 2 * time.Second, Submit: 20 * time.Second, Hook: 5 * time.Second}
	type look struct {
		at    time.Duration // since the first Enter
		input agent.Input
		want  state
	}
	const box, gone, none, asks = agent.Draft, agent.EmptyInput, agent.NoInput, agent.Asks
	ms, s := time.Millisecond, time.Second
	for name, c := range map[string]struct {
		busy, hooked, deaf, notes bool
		heard, refused            time.Duration // since when; 0 for never
		reads, unseen, guessed    bool          // there is a conversation, which is not known, or perhaps another agent's
		prompted, shown           time.Duration // since when the conversation and the screen have it; 0 for never
		works, another            time.Duration // since when it works, and a hook has told of another prompt; 0 for never
		looks                     []look
		proof                     Proof
		err                       error
	}{
		"the screen alone is the proof": {
			looks: []look{{0, box, textTyped}, {50 * ms, gone, boxEmptied}, {250 * ms, gone, boxEmptied}, {251 * ms, gone, takenProven}}, proof: Screen,
		},
		"a hook is the proof, once the box stayed empty": {
			hooked: true, heard: 1 * ms,
			looks: []look{{50 * ms, gone, boxEmptied}, {150 * ms, gone, boxEmptied}, {151 * ms, gone, takenProven}}, proof: Hook,
		},
		"a hook that does not tell is waited for": {
			hooked: true, looks: []look{{0, gone, boxEmptied}, {5 * s, gone, boxEmptied}, {5*s + 1, gone, takenProven}}, proof: Screen,
		},
		"a hook that tells while the text is in the box is that of the prompt before": {
			hooked: true, heard: 1 * ms, looks: []look{{1 * s, box, textTyped}, {20*s + 1, box, sendFailed}}, err: ErrNotSubmitted,
		},
		"a conversation is the proof where no hook tells": {
			hooked: true, reads: true, prompted: 7 * s,
			looks: []look{{0, gone, boxEmptied}, {5*s + 1, gone, boxEmptied}, {10 * s, gone, boxEmptied}, {10*s + 2, gone, takenProven}}, proof: InConversation,
		},
		"a text that nothing shows is not taken": {
			hooked: true, reads: true,
			looks: []look{{0, gone, boxEmptied}, {19 * s, gone, boxEmptied}, {20 * s, gone, boxEmptied}, {20*s + 1, gone, sendFailed}}, err: ErrUntaken,
		},
		"a conversation is read once more before that": {
			hooked: true, reads: true, prompted: 20*s + 1,
			looks: []look{{0, gone, boxEmptied}, {20 * s, gone, boxEmptied}, {20*s + 1, gone, takenProven}}, proof: InConversation,
		},
		"a text that the screen has shown may be taken": {
			hooked: true, reads: true, shown: 1 * s, looks: []look{{0, gone, boxEmptied}, {5 * s, gone, boxEmptied}, {5*s + 1, gone, takenProven}}, proof: Screen,
		},
		"an agent that works has taken it": {
			hooked: true, reads: true, works: 1 * s, looks: []look{{0, gone, boxEmptied}, {5 * s, gone, boxEmptied}, {5*s + 1, gone, takenProven}}, proof: Screen,
		},
		"but not if a hook told of another prompt": {
			hooked: true, reads: true, works: 1 * s, another: 2 * s,
			looks: []look{{0, gone, boxEmptied}, {1 * s, gone, boxEmptied}, {5*s + 1, gone, boxEmptied}, {20 * s, gone, boxEmptied}, {20*s + 1, gone, sendFailed}}, err: ErrUntaken,
		},
		"another agent's conversation with the text proves nothing, nor that it is lost": {
			hooked: true, reads: true, guessed: true, prompted: 7 * s,
			looks: []look{{0, gone, boxEmptied}, {5*s + 1, gone, boxEmptied}, {10*s + 2, gone, boxEmptied}, {20 * s, gone, boxEmptied}, {20*s + 1, gone, takenProven}}, proof: Screen,
		},
		"a conversation that is not known tells nothing": {
			hooked: true, reads: true, unseen: true, looks: []look{{0, gone, boxEmptied}, {5*s + 1, gone, takenProven}}, proof: Screen,
		},
		"a hook that tells late is the proof": {
			hooked: true, reads: true, heard: 15 * s, looks: []look{{0, gone, boxEmptied}, {14 * s, gone, boxEmptied}, {15 * s, gone, takenProven}}, proof: Hook,
		},
		"a busy agent takes it later": {
			busy: true, hooked: true, looks: []look{{0, gone, boxEmptied}, {200 * ms, gone, boxEmptied}, {201 * ms, gone, takenProven}}, proof: Queued,
		},
		"Enter is pressed again after twice the time": {
			looks: []look{
				{2 * s, box, textTyped}, {2*s + 1, box, enterDue}, {6*s + 1, box, textTyped}, {6*s + 2, box, enterDue}, {14*s + 2, box, textTyped}, {14*s + 3, box, enterDue},
				{20 * s, box, textTyped}, {20*s + 1, box, sendFailed},
			}, err: ErrNotSubmitted,
		},
		"a box that shows the text again is not empty": {
			looks: []look{{0, gone, boxEmptied}, {200 * ms, box, textTyped}, {250 * ms, gone, boxEmptied}, {450 * ms, gone, boxEmptied}, {451 * ms, gone, takenProven}}, proof: Screen,
		},
		"a screen without a box is drawn anew": {
			looks: []look{{0, none, textTyped}, {4 * s, none, textTyped}, {5 * s, none, boxEmptied}, {5*s + 201*ms, none, takenProven}}, proof: Screen,
		},
		"a box that is gone for a moment stays empty": {
			looks: []look{{0, gone, boxEmptied}, {100 * ms, none, boxEmptied}, {201 * ms, gone, takenProven}}, proof: Screen,
		},
		"an agent that asks, of which no hook tells, may have thrown it away": {
			hooked: true, looks: []look{{0, gone, boxEmptied}, {1 * s, asks, boxEmptied}, {5 * s, asks, boxEmptied}, {5*s + 1, asks, sendFailed}}, err: ErrAskedFirst,
		},
		"an agent that asks at once has taken it": {
			looks: []look{{0, asks, boxEmptied}, {201 * ms, asks, takenProven}}, proof: Screen,
		},
		"a client that waits to ask its model may have dropped it": {
			deaf: true, looks: []look{{0, box, textTyped}, {1 * ms, gone, sendFailed}}, err: ErrLost,
		},
		"but not if a hook told": {
			deaf: true, hooked: true, heard: 1 * ms, looks: []look{{1 * ms, gone, boxEmptied}, {102 * ms, gone, takenProven}}, proof: Hook,
		},
		"a client that notes what it drops is given the time for that": {
			notes: true, looks: []look{{0, gone, boxEmptied}, {1 * s, gone, boxEmptied}, {1*s + 1, gone, takenProven}}, proof: Screen,
		},
		"and is believed": {
			notes: true, refused: 500 * ms, looks: []look{{0, gone, boxEmptied}, {500 * ms, gone, sendFailed}}, err: ErrRefused,
		},
	} {
		t.Run(name, func(t *testing.T) {
			first := time.Now()
			sub := newSubmission(first, limits)
			sub.busy, sub.hasHook = c.busy, c.hooked
			var at time.Duration
			if c.notes {
				sub.refused = func() bool { return c.refused > 0 && at >= c.refused }
			}
			if c.reads {
				sub.sight = func() Sight {
					switch {
					case c.unseen:
						return Unknown
					case c.prompted == 0 || at < c.prompted:
						return Absent
					case c.guessed:
						return Guessed
					}
					return Seen
				}
			}
			for _, l := range c.looks {
				at = l.at
				v := view{
					time: first.Add(at), input: l.input, deaf: c.deaf, hookReported: c.heard > 0 && at >= c.heard, shown: c.shown > 0 && at >= c.shown,
					works: c.works > 0 && at >= c.works, otherReported: c.another > 0 && at >= c.another,
				}
				if got := sub.takeView(v); got != l.want {
					t.Fatalf("after %v it is %d, not %d", at, got, l.want)
				}
			}
			if sub.proof != c.proof || !errors.Is(sub.err, c.err) {
				t.Errorf("proof %d and %v, not %d and %v", sub.proof, sub.err, c.proof, c.err)
			}
		})
	}
}
