package streams

import (
	"context"
	"fmt"
	"testing"

	"github.com/nats-io/nats.go/jetstream"
)

// place is a place in a stream whose server says of each message that another one follows, as
// NATS does now and then while more are stored.
type place struct {
	jetstream.Consumer
	unread, given uint64
}

func (p *place) CachedInfo() *jetstream.ConsumerInfo {
	return &jetstream.ConsumerInfo{NumPending: p.unread}
}

func (p *place) Fetch(most int, _ ...jetstream.FetchOpt) (jetstream.MessageBatch, error) {
	ch := make(chan jetstream.Msg, most)
	for range most {
		p.given++
		ch <- numbered{n: p.given}
	}
	close(ch)
	return batch{ch}, nil
}

type batch struct{ ch chan jetstream.Msg }

func (b batch) Messages() <-chan jetstream.Msg { return b.ch }
func (b batch) Error() error                   { return nil }

type numbered struct {
	jetstream.Msg
	n uint64
}

func (m numbered) Metadata() (*jetstream.MsgMetadata, error) {
	return &jetstream.MsgMetadata{NumPending: 1, Sequence: jetstream.SequencePair{Stream: m.n}}, nil
}

func TestFollow(t *testing.T) {
	for unread, want := range map[uint64]string{0: "[]", 1: "[1]", 2: "[2]", 9: "[9]"} {
		ctx, stop := context.WithCancel(t.Context())
		lasts := []uint64{}
		_ = Follow(ctx, &place{unread: unread}, func(m jetstream.Msg, last bool) {
			if last {
				lasts = append(lasts, m.(numbered).n)
			}
			if m.(numbered).n == 20 {
				stop()
			}
		})
		if fmt.Sprint(lasts) != want {
			t.Errorf("%d unread: messages %v were the last ones", unread, lasts)
		}
	}
}
