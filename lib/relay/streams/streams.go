// Package streams names the subjects and JetStream streams of a fleet.
//
//	gt.<from>.beat           it is there; the last one is kept for some hours
//	gt.<from>.hello          who a host is: name and public key; the last one is kept
//	gt.<from>.states         its agents; the last one is kept
//	gt.<from>.allows.<to>    what another host may do there; the last one is kept
//	gt.<from>.feed           what was appended to its logs
//	gt.<from>.to.<to>        a letter
//	gt.<from>.receipt.<to>   a letter has arrived
//	gt.<from>.ask.<to>       a copy lacks something; not kept
//	gt.<from>.chunk.<to>     the answer; not kept
//
// <from> and <to> are public keys. A host may only publish under its own key. No
// message has a Nats-Msg-Id: receivers know what they have, and nobody can take an ID
// from another host.
//
// Here and Fleet are key-value buckets, a key for each subject. They have no $KV in it: that
// passes no leaf node, and a bucket of that kind can be emptied by whoever may write a key.
package streams

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// Prefix begins each subject.
const Prefix = "gt."

// Names of the streams that all hosts share.
const (
	PresenceStream = "GT_HERE"
	Fleet          = "GT_FLEET"
	Feeds          = "GT_FEEDS"
)

// InboxStream returns the name of the stream of what is for a host.
func InboxStream(key string) string { return "GT_IN_" + key }

// KeepBeats is how long the hub keeps a host's word that it is there.
const KeepBeats = 3 * time.Hour

// DefaultStore is how many bytes a hub has by default.
const DefaultStore = 8 << 30

// SharedStreams returns the streams of the fleet. Each drops its oldest messages when it is full:
// nothing is only there. Together they have under half of the hub's store, so that no log takes
// the room of who is there, of what hosts do and of letters.
func SharedStreams(store int64) []jetstream.StreamConfig {
	return []jetstream.StreamConfig{
		{Name: PresenceStream, Subjects: []string{"gt.*.beat"}, MaxMsgsPerSubject: 1, MaxAge: KeepBeats, MaxMsgSize: MaxMessage / 4, MaxBytes: store / 16},
		{Name: Fleet, Subjects: []string{"gt.*.hello", "gt.*.states", "gt.*.allows.*"}, MaxMsgsPerSubject: 1, MaxAge: 60 * 24 * time.Hour, MaxMsgSize: MaxMessage, MaxBytes: store / 8},
		{Name: Feeds, Subjects: []string{"gt.*.feed"}, MaxMsgsPerSubject: 8192, MaxAge: 14 * 24 * time.Hour, MaxMsgSize: MaxMessage, MaxBytes: store / 4},
	}
}

// Limits of letters: the bytes of one that is kept, sealed, and how many of a sender are. So a host
// has less than InboxRoom at another one.
const (
	MaxLetter  = 96 << 10
	MaxLetters = 64
)

// InboxRoom is how many bytes a hub keeps for a host that makes its stream itself.
const InboxRoom = 8 << 20

// InboxConfig returns the stream of what is for a host. The limit for each sender keeps one
// from filling it.
func InboxConfig(key string, room int64) jetstream.StreamConfig {
	return jetstream.StreamConfig{
		Name: InboxStream(key), Subjects: []string{"gt.*.to." + key, "gt.*.receipt." + key},
		MaxMsgsPerSubject: MaxLetters, MaxAge: 14 * 24 * time.Hour, MaxMsgSize: MaxLetter, MaxBytes: room,
	}
}

// MaxMessage bounds a message, in bytes. NATS servers accept up to 1 MiB unless they are
// told otherwise.
const MaxMessage = 1 << 20

// MaxPayload bounds a message with what it needs besides its body, in bytes.
const MaxPayload = MaxMessage + 64<<10

// MakeStreams creates the streams of the fleet and that of a host, if they are missing. A host
// whose server allows it no such thing finds them there. On a small server or account they are
// as large as fits.
func MakeStreams(ctx context.Context, js jetstream.JetStream, key string) error {
	var missing []string
	for _, cfg := range append(SharedStreams(DefaultStore), InboxConfig(key, InboxRoom)) {
		if _, err := js.Stream(ctx, cfg.Name); errors.Is(err, jetstream.ErrStreamNotFound) {
			missing = append(missing, cfg.Name)
		} else if err != nil {
			return err
		}
	}
	createAll := func(store int64) (err error) { // creates the missing, or gives them the new size
		for _, cfg := range append(SharedStreams(store), InboxConfig(key, InboxRoom)) {
			if err == nil && slices.Contains(missing, cfg.Name) {
				err = createStream(ctx, js, cfg)
			}
		}
		return err
	}
	const least = 64 << 20
	store := int64(DefaultStore)
	err := createAll(store)
	for isFull(err) && store > least {
		store /= 2
		err = createAll(store)
	}
	if err == nil && store < DefaultStore { // other hosts need room for their letters
		err = createAll(store / 2)
	}
	return err
}

// isFull reports whether a server or its account has no room for so large a stream.
func isFull(err error) bool {
	const accountIsFull = 10002 // resource limits exceeded for account
	var refused *jetstream.APIError
	return errors.As(err, &refused) && (refused.ErrorCode == accountIsFull || strings.Contains(refused.Description, "insufficient storage"))
}

// createStream makes a stream. A cluster has it three times, so that it can lose a server.
func createStream(ctx context.Context, js jetstream.JetStream, cfg jetstream.StreamConfig) error {
	if js.Conn().ConnectedClusterName() != "" {
		cfg.Replicas = 3
		if _, err := js.CreateOrUpdateStream(ctx, cfg); err == nil || isFull(err) {
			return err
		}
		cfg.Replicas = 1 // there are fewer servers
	}
	_, err := js.CreateOrUpdateStream(ctx, cfg)
	return err
}

// A hub says so often that a stream has nothing new. Whoever does not hear it twice reads the
// stream anew: in a cluster, a server that is lost takes the place in it along. Letters wait
// for that; what is lost of a log is missed with the next beat.
const (
	lettersIdle = time.Minute
	othersIdle  = 5 * time.Minute
)

// Limits of a question for what a stream has.
const (
	questionLife = 30 * time.Minute
	maxBatch     = 256
	// quickAnswer is how long an answer may take. What else a hub says waits behind it, a letter too.
	quickAnswer = time.Second
	// maxBatchBytes has room for the longest message and no more: whatever else a hub says waits behind an
	// answer, and a host waits 10 seconds for it. Over a line of 250 kB/s this passes in 4.5, 4 MiB
	// in 17.
	maxBatchBytes = MaxPayload
)

// OpenConsumer returns a place in a stream, which the hub forgets once nobody reads on from it. It is
// behind the message with the number after. If after is 0, it is at the time from, and if from is
// nil, at the beginning.
func OpenConsumer(ctx context.Context, js jetstream.JetStream, stream string, after uint64, from *time.Time, filter ...string) (jetstream.Consumer, error) {
	cfg := jetstream.ConsumerConfig{
		FilterSubjects: filter, AckPolicy: jetstream.AckNonePolicy,
		MemoryStorage: true, Replicas: 1, InactiveThreshold: 5 * time.Minute,
	}
	switch {
	case after != 0:
		cfg.DeliverPolicy, cfg.OptStartSeq = jetstream.DeliverByStartSequencePolicy, after+1
	case from != nil:
		cfg.DeliverPolicy, cfg.OptStartTime = jetstream.DeliverByStartTimePolicy, from
	}
	return js.CreateConsumer(ctx, stream, cfg)
}

// Follow gives take each message from a place on, until the context ends or the place is lost.
// last reports that with this message everything was read that was there when the place was
// opened. Messages are counted for that, too: a server that stores more of them meanwhile may say
// of the last one that another follows.
func Follow(ctx context.Context, c jetstream.Consumer, take func(m jetstream.Msg, last bool)) error {
	idle := othersIdle
	if strings.HasPrefix(c.CachedInfo().Stream, InboxStream("")) {
		idle = lettersIdle
	}
	unread := c.CachedInfo().NumPending // messages that are there already
	hasMore := unread > 0
	for batchSize := 1; ctx.Err() == nil; {
		began := time.Now()
		// A hub refuses a question that ends before two heartbeats, as ctx can in gt-relay sync. So
		// the question has a time of its own, and AfterFunc ends it with ctx.
		question, done := context.WithTimeout(context.WithoutCancel(ctx), questionLife)
		stop := context.AfterFunc(ctx, done)
		batch, err := c.Fetch(batchSize, jetstream.FetchContext(question), jetstream.FetchHeartbeat(idle), jetstream.FetchMaxBytes(maxBatchBytes))
		if err == nil {
			moreLeft := hasMore
			for m := range batch.Messages() {
				meta, err := m.Metadata()
				moreLeft = err == nil && meta.NumPending > 0
				last := unread == 1 || unread > 0 && err == nil && !moreLeft // mutant never: TestFollow
				if last {
					unread = 0
				} else if unread > 0 {
					unread--
				}
				take(m, last)
			}
			// The next batch is twice as large, or half as large if waiting messages came slowly.
			if batchSize = min(2*batchSize, maxBatch); hasMore && time.Since(began) > quickAnswer { // mutant never: ./lib/relay TestSmallBeforeLarge
				batchSize = max(batchSize/4, 1)
			}
			hasMore, err = moreLeft, batch.Error()
		}
		stop()
		done()
		if err != nil && !errors.Is(err, context.DeadlineExceeded) {
			return err
		}
	}
	return ctx.Err()
}

// Permissions are what a host with this key may publish and subscribe to.
func Permissions(key string) (publish, subscribe []string) {
	publish = []string{Prefix + key + ".>"}
	for _, stream := range []string{PresenceStream, Fleet, Feeds, InboxStream(key)} {
		publish = append(publish,
			"$JS.API.STREAM.INFO."+stream,
			"$JS.API.CONSUMER.CREATE."+stream+".>",
			"$JS.API.CONSUMER.DELETE."+stream+".*",
			"$JS.API.CONSUMER.INFO."+stream+".*",
			"$JS.API.CONSUMER.MSG.NEXT."+stream+".*",
		)
	}
	return append(publish, "$JS.API.INFO"), append(LiveSubjects(key), InboxPrefix(key)+".>")
}

// LiveSubjects returns the subjects that a host listens to, without reading them from a stream.
func LiveSubjects(key string) []string {
	return []string{"gt.*.beat", "gt.*.ask." + key, "gt.*.chunk." + key}
}

// InboxPrefix returns the prefix of a host's reply subjects.
func InboxPrefix(key string) string { return "_INBOX_" + key }
