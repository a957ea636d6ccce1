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
			looks: []look{{0, box, typed}, {50 * ms, gone, emptied}, {250 * ms, gone, emptied}, {251 * ms, gone, proven}}, proof: Screen,
		},
		"a hook is the proof, once the box stayed empty": {
			hooked: true, heard: 1 * ms,
			looks: []look{{50 * ms, gone, emptied}, {150 * ms, gone, emptied}, {151 * ms, gone, proven}}, proof: Hook,
		},
		"a hook that does not tell is waited for": {
			hooked: true, looks: []look{{0, gone, emptied}, {5 * s, gone, emptied}, {5*s + 1, gone, proven}}, proof: Screen,
		},
		"a hook that tells while the text is in the box is that of the prompt before": {
			hooked: true, heard: 1 * ms, looks: []look{{1 * s, box, typed}, {20*s + 1, box, failed}}, err: ErrNotSubmitted,
		},
		"a conversation is the proof where no hook tells": {
			hooked: true, reads: true, prompted: 7 * s,
			looks: []look{{0, gone, emptied}, {5*s + 1, gone, emptied}, {10 * s, gone, emptied}, {10*s + 2, gone, proven}}, proof: InConversation,
		},
		"a text that nothing shows is not taken": {
			hooked: true, reads: true,
			looks: []look{{0, gone, emptied}, {19 * s, gone, emptied}, {20 * s, gone, emptied}, {20*s + 1, gone, failed}}, err: ErrUntaken,
		},
		"a conversation is read once more before that": {
			hooked: true, reads: true, prompted: 20*s + 1,
			looks: []look{{0, gone, emptied}, {20 * s, gone, emptied}, {20*s + 1, gone, proven}}, proof: InConversation,
		},
		"a text that the screen has shown may be taken": {
			hooked: true, reads: true, shown: 1 * s, looks: []look{{0, gone, emptied}, {5 * s, gone, emptied}, {5*s + 1, gone, proven}}, proof: Screen,
		},
		"an agent that works has taken it": {
			hooked: true, reads: true, works: 1 * s, looks: []look{{0, gone, emptied}, {5 * s, gone, emptied}, {5*s + 1, gone, proven}}, proof: Screen,
		},
		"but not if a hook told of another prompt": {
			hooked: true, reads: true, works: 1 * s, another: 2 * s,
			looks: []look{{0, gone, emptied}, {1 * s, gone, emptied}, {5*s + 1, gone, emptied}, {20 * s, gone, emptied}, {20*s + 1, gone, failed}}, err: ErrUntaken,
		},
		"another agent's conversation with the text proves nothing, nor that it is lost": {
			hooked: true, reads: true, guessed: true, prompted: 7 * s,
			looks: []look{{0, gone, emptied}, {5*s + 1, gone, emptied}, {10*s + 2, gone, emptied}, {20 * s, gone, emptied}, {20*s + 1, gone, proven}}, proof: Screen,
		},
		"a conversation that is not known tells nothing": {
			hooked: true, reads: true, unseen: true, looks: []look{{0, gone, emptied}, {5*s + 1, gone, proven}}, proof: Screen,
		},
		"a hook that tells late is the proof": {
			hooked: true, reads: true, heard: 15 * s, looks: []look{{0, gone, emptied}, {14 * s, gone, emptied}, {15 * s, gone, proven}}, proof: Hook,
		},
		"a busy agent takes it later": {
			busy: true, hooked: true, looks: []look{{0, gone, emptied}, {200 * ms, gone, emptied}, {201 * ms, gone, proven}}, proof: Queued,
		},
		"Enter is pressed again after twice the time": {
			looks: []look{
				{2 * s, box, typed}, {2*s + 1, box, due}, {6*s + 1, box, typed}, {6*s + 2, box, due}, {14*s + 2, box, typed}, {14*s + 3, box, due},
				{20 * s, box, typed}, {20*s + 1, box, failed},
			}, err: ErrNotSubmitted,
		},
		"a box that shows the text again is not empty": {
			looks: []look{{0, gone, emptied}, {200 * ms, box, typed}, {250 * ms, gone, emptied}, {450 * ms, gone, emptied}, {451 * ms, gone, proven}}, proof: Screen,
		},
		"a screen without a box is drawn anew": {
			looks: []look{{0, none, typed}, {4 * s, none, typed}, {5 * s, none, emptied}, {5*s + 201*ms, none, proven}}, proof: Screen,
		},
		"a box that is gone for a moment stays empty": {
			looks: []look{{0, gone, emptied}, {100 * ms, none, emptied}, {201 * ms, gone, proven}}, proof: Screen,
		},
		"an agent that asks, of which no hook tells, may have thrown it away": {
			hooked: true, looks: []look{{0, gone, emptied}, {1 * s, asks, emptied}, {5 * s, asks, emptied}, {5*s + 1, asks, failed}}, err: ErrAskedFirst,
		},
		"an agent that asks at once has taken it": {
			looks: []look{{0, asks, emptied}, {201 * ms, asks, proven}}, proof: Screen,
		},
		"a client that waits to ask its model may have dropped it": {
			deaf: true, looks: []look{{0, box, typed}, {1 * ms, gone, failed}}, err: ErrLost,
		},
		"but not if a hook told": {
			deaf: true, hooked: true, heard: 1 * ms, looks: []look{{1 * ms, gone, emptied}, {102 * ms, gone, proven}}, proof: Hook,
		},
		"a client that notes what it drops is given the time for that": {
			notes: true, looks: []look{{0, gone, emptied}, {1 * s, gone, emptied}, {1*s + 1, gone, proven}}, proof: Screen,
		},
		"and is believed": {
			notes: true, refused: 500 * ms, looks: []look{{0, gone, emptied}, {500 * ms, gone, failed}}, err: ErrRefused,
		},
	} {
		t.Run(name, func(t *testing.T) {
			first := time.Now()
			sub := newSubmission(first, limits)
			sub.busy, sub.hooked = c.busy, c.hooked
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
					works: c.works > 0 && at >= c.works, another: c.another > 0 && at >= c.another,
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
