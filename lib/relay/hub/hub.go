// Package hub is the server between the hosts of a fleet: NATS with JetStream, embedded,
// with each message synced to disk.
//
// Files in its store:
//
//	jetstream/           the messages
//	cert.pem, key.pem    its certificate, made on the first start
//	hosts/<key>          a host that may connect: its name
//	invited/<sha256>     an invitation that was not used: when it ends, in seconds since 1970
//	removed/<key>        a host that was removed, of which something may be left
//
// A host proves its key (nkeys) and may publish under its own subjects only.
package hub

import (
	"cmp"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"golang.org/x/time/rate"

	"gt/lib/cli"
	"gt/lib/relay/invite"
	"gt/lib/relay/seal"
	"gt/lib/relay/streams"
	"gt/lib/sys/atomicfile"
)

// Options of a hub.
type Options struct {
	Store string
	// Listen is the address for hosts with an invitation, host:port; "" for none.
	Listen string
	// MaxStore bounds what the hub keeps on disk, in bytes.
	MaxStore int64
	Now      func() time.Time
	Warn     func(error) // is called with nil, too
}

// Hub is a running hub.
type Hub struct {
	Options
	server     *server.Server
	nc         *nats.Conn
	js         jetstream.JetStream
	cert       tls.Certificate
	clients    atomic.Int64
	lastSeen   atomic.Int64 // nanoseconds since 1970
	storage    server.JetStreamConfig
	listener   net.Listener // nil without Options.Listen
	shareCount int          // into how many parts the room for letters is divided

	mu             sync.Mutex
	allowances     map[string]map[string]bool // see mayTell
	consumersMade  map[string]consumerCount
	letterLimiters map[string]*rate.Limiter // of letters, by key
	gates          []*gate                  // the oldest first
	diskFull       atomic.Bool              // the disk was full, and streams take no more
}

// InviteFor is how long an invitation can be used.
const InviteFor = 15 * time.Minute

// Start starts a hub. Its store belongs to one process at a time; the caller holds a lock.
func Start(o Options) (h *Hub, err error) {
	h = &Hub{Options: o, allowances: map[string]map[string]bool{}, consumersMade: map[string]consumerCount{}, letterLimiters: map[string]*rate.Limiter{}}
	h.lastSeen.Store(o.Now().UnixNano())
	for _, dir := range []string{"", "jetstream", "hosts", "invited", "removed"} {
		path := filepath.Join(o.Store, dir)
		if err := atomicfile.EnsurePrivateDir(path); err != nil {
			return nil, err
		}
		if info, err := os.Lstat(path); err != nil || atomicfile.CheckPrivate(info) != nil {
			return nil, atomicfile.Error("use", path, cmp.Or(err, atomicfile.CheckPrivate(info)))
		}
	}
	opts := &server.Options{
		ServerName: "gt-hub", DontListen: true, NoSigs: true, NoLog: true, NoSystemAccount: false,
		JetStream: true, StoreDir: filepath.Join(o.Store, "jetstream"), SyncAlways: true,
		JetStreamMaxMemory: 64 << 20, JetStreamMaxStore: o.MaxStore,
		JetStreamLimits: server.JSLimitOpts{DefaultMaxConsumers: -1}, // each host reads from a place of its own
		MaxPayload:      streams.MaxPayload, MaxPending: maxPending,
		MaxSubs:                    256, // a relay has five
		CustomClientAuthentication: h, AlwaysEnableNonce: true, AuthTimeout: gateWait.Seconds(),
	}
	if o.Listen != "" {
		if h.cert, err = certificate(o.Store, o.Now()); err != nil {
			return nil, err
		}
	}
	if h.server, err = server.NewServer(opts); err != nil {
		return nil, err
	}
	h.server.SetLoggerV2(logger{h}, false, false, false)
	h.server.Start()
	if !h.server.ReadyForConnections(20 * time.Second) {
		h.server.Shutdown()
		return nil, errors.New("the hub does not start")
	}
	if err := h.setUpStreams(); err != nil {
		h.server.Shutdown()
		return nil, err
	}
	h.storage = *h.server.JetStreamConfig()
	h.storage.StoreDir = opts.StoreDir
	if o.Listen != "" {
		if h.listener, err = net.Listen("tcp", o.Listen); err != nil {
			h.Close()
			return nil, err
		}
		cli.Go(func() {
			h.acceptHosts(h.listener, &tls.Config{Certificates: []tls.Certificate{h.cert}, MinVersion: tls.VersionTLS13})
		})
	}
	return h, nil
}

// logger takes what the server logs: that the disk is full, once. A stranger could fill a log
// with the rest.
type logger struct{ h *Hub }

func (l logger) Errorf(format string, args ...any) {
	err := fmt.Errorf(format, args...)
	if strings.Contains(err.Error(), "no space left on device") && !l.h.diskFull.Swap(true) {
		l.h.Warn(err)
	}
}

func (l logger) Fatalf(format string, args ...any) { l.Errorf(format, args...) }
func (logger) Noticef(string, ...any)              {}
func (logger) Warnf(string, ...any)                {}
func (logger) Debugf(string, ...any)               {}
func (logger) Tracef(string, ...any)               {}

// minFree is what has to be free on the disk before a hub that had none goes on, in bytes.
const minFree = 8 << 20

// resumeStreams makes the streams take messages again once there is room. NATS itself does that
// with its next start.
func (h *Hub) resumeStreams() error {
	probe := filepath.Join(h.Store, "room")
	err := atomicfile.Write(probe, make([]byte, minFree), atomicfile.Synced)
	if err := errors.Join(err, atomicfile.Remove(probe)); err != nil {
		return err
	}
	h.diskFull.Store(false)
	if err := h.server.ShutdownJetStream(); err != nil {
		return err
	}
	storage := h.storage // which the server changes
	if err := h.server.EnableJetStream(&storage); err != nil {
		return err
	}
	return h.disconnectHosts(func(string) bool { return true }) // their consumers are gone
}

// disconnectHosts ends the connections of those hosts for whose key which returns true.
func (h *Hub) disconnectHosts(which func(key string) bool) error {
	conns, err := h.server.Connz(&server.ConnzOptions{Username: true, Limit: 100_000})
	if err != nil {
		return err
	}
	for _, c := range conns.Conns {
		if which(c.AuthorizedUser) {
			_ = h.server.DisconnectClientByID(c.Cid)
		}
	}
	return nil
}

// setUpStreams connects to the server in this process, makes the streams that all hosts share, drops the
// consumers that are there, and answers hosts that join by an invitation.
func (h *Hub) setUpStreams() (err error) {
	// Whoever has an invitation hears _INBOX.>.
	if h.nc, err = nats.Connect("", nats.InProcessServer(h.server), nats.MaxReconnects(-1), nats.CustomInboxPrefix("_INBOX_HUB")); err != nil {
		return err
	}
	if h.js, err = jetstream.New(h.nc); err != nil {
		return err
	}
	ctx, done := context.WithTimeout(context.Background(), 10*time.Second)
	defer done()
	h.Warn(h.divideRoom(ctx, 0))
	for _, cfg := range streams.SharedStreams(h.MaxStore) { // no host may make them, nor change those of an older version
		_, err := h.js.CreateOrUpdateStream(ctx, cfg)
		h.Warn(err)
	}
	h.Warn(h.dropConsumers(ctx))
	_, err = h.nc.Subscribe(invite.Subject, func(m *nats.Msg) {
		answer := "ok"
		if err := h.admitInvited(m); err != nil {
			answer = err.Error()
		}
		_ = m.Respond([]byte(answer))
	})
	return err
}

// dropConsumers removes what reads from the streams before any host is connected. No relay comes
// back to its consumer; a host may have made one that an older version did not refuse.
func (h *Hub) dropConsumers(ctx context.Context) error {
	names := h.js.StreamNames(ctx)
	for name := range names.Name() {
		s, err := h.js.Stream(ctx, name)
		if err != nil {
			return err
		}
		consumers := s.ConsumerNames(ctx)
		for consumer := range consumers.Name() {
			if err := s.DeleteConsumer(ctx, consumer); err != nil {
				return err
			}
		}
		if err := consumers.Err(); err != nil {
			return err
		}
	}
	return names.Err()
}

// Close ends the hub. What it acknowledged is on disk.
func (h *Hub) Close() {
	if h.listener != nil {
		h.listener.Close()
	}
	h.nc.Close()
	h.server.Shutdown()
	h.server.WaitForShutdown()
}

// Addr returns the address that the hub listens on.
func (h *Hub) Addr() string {
	if h.listener == nil {
		return ""
	}
	return h.listener.Addr().String()
}

// InProcessConn connects a client in this process, which may do everything.
func (h *Hub) InProcessConn() (net.Conn, error) { return h.server.InProcessConn() }

// ServeLocal takes connections of the same user, such as those of a socket in a private folder,
// until the listener is closed. They may do everything.
func (h *Hub) ServeLocal(l net.Listener) {
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		to, err := h.server.InProcessConn()
		if err != nil {
			c.Close()
			continue
		}
		h.clients.Add(1)
		cli.Go(func() {
			JoinConns(c, to)
			h.lastSeen.Store(h.Now().UnixNano())
			h.clients.Add(-1)
		})
	}
}

// Idle returns for how long nobody has been connected through ServeLocal.
func (h *Hub) Idle() time.Duration {
	if h.clients.Load() > 0 {
		return 0
	}
	return h.Now().Sub(time.Unix(0, h.lastSeen.Load()))
}

// JoinConns copies between two connections until one of them ends.
func JoinConns(a, b io.ReadWriteCloser) {
	done := make(chan struct{}, 2)
	for _, pair := range [][2]io.ReadWriteCloser{{a, b}, {b, a}} {
		cli.Go(func() {
			_, _ = io.Copy(pair[0], pair[1])
			done <- struct{}{}
		})
	}
	<-done
	a.Close()
	b.Close()
}

// Check decides whether a client may connect, and what it may do: all for one of this machine, only
// ask to be admitted for one with an invitation, and what a host may for one that proves its key.
func (h *Hub) Check(c server.ClientAuthentication) bool {
	o := c.GetOpts()
	if o.Username == "" { // of this machine: from outside, each gate sets one
		return true
	}
	if o.Username == invite.User {
		if h.checkInvitation(o.Password) == nil {
			c.RegisterUser(&server.User{Username: invite.User, Permissions: &server.Permissions{
				Publish:   &server.SubjectPermission{Allow: []string{invite.Subject}},
				Subscribe: &server.SubjectPermission{Allow: []string{"_INBOX.>"}},
			}, ConnectionDeadline: h.Now().Add(time.Minute)})
			return true
		}
		return false
	}
	if seal.CheckKey(o.Nkey) != nil || !h.KnowsHost(o.Nkey) {
		return false
	}
	if sig, err := base64.RawURLEncoding.DecodeString(o.Sig); err != nil || seal.Verify(o.Nkey, c.GetNonce(), sig) != nil {
		return false
	}
	if number, ok := strings.CutPrefix(o.Username, gatedUser); ok {
		h.markProved(number)
	}
	publish, subscribe := streams.Permissions(o.Nkey)
	c.RegisterUser(&server.User{Username: o.Nkey, Permissions: &server.Permissions{
		Publish:   &server.SubjectPermission{Allow: publish},
		Subscribe: &server.SubjectPermission{Allow: subscribe},
	}})
	return true
}

// KnowsHost reports whether a host with this key may connect.
func (h *Hub) KnowsHost(key string) bool {
	return atomicfile.Exists(filepath.Join(h.Store, "hosts", key))
}

// Admit lets a host connect, and makes room for what is for it.
func (h *Hub) Admit(key, name string) error {
	if err := seal.CheckKey(key); err != nil {
		return err
	}
	ctx, done := context.WithTimeout(context.Background(), time.Minute)
	defer done()
	if err := h.clearHost(ctx, key); err != nil { // it was removed before
		return err
	}
	if err := h.divideRoom(ctx, 1); err != nil {
		return err
	}
	if _, err := h.js.CreateOrUpdateStream(ctx, streams.InboxConfig(key, h.hostRoom())); err != nil {
		return fmt.Errorf("no room for one more host: %w", err)
	}
	return atomicfile.Write(filepath.Join(h.Store, "hosts", key), []byte(name+"\n"), atomicfile.Synced)
}

// hostRoom returns how many bytes of letters the hub keeps for a host.
func (h *Hub) hostRoom() int64 { return h.MaxStore / 2 / int64(h.shareCount) }

// fewShares is the number of hosts up to which each has the same room.
const fewShares = 64

// divideRoom divides half of the hub's room among the inboxes of the hosts and of more that will
// come. The number of shares only ever doubles or halves, so that inboxes seldom change in size.
func (h *Hub) divideRoom(ctx context.Context, more int) error {
	all, err := Hosts(h.Store)
	if err != nil {
		return err
	}
	shares := fewShares
	for shares < len(all)+more {
		shares *= 2
	}
	if shares == h.shareCount {
		return nil
	}
	h.shareCount = shares
	for key := range all {
		if _, err := h.js.CreateOrUpdateStream(ctx, streams.InboxConfig(key, h.hostRoom())); err != nil {
			return err
		}
	}
	return nil
}

// clearHost removes the messages of and for a host, if it was removed: Store has a mark of that.
func (h *Hub) clearHost(ctx context.Context, key string) error {
	mark := filepath.Join(h.Store, "removed", key)
	if !atomicfile.Exists(mark) {
		return nil
	}
	if err := h.js.DeleteStream(ctx, streams.InboxStream(key)); err != nil && !errors.Is(err, jetstream.ErrStreamNotFound) {
		return err
	}
	names := h.js.StreamNames(ctx)
	for name := range names.Name() {
		s, err := h.js.Stream(ctx, name)
		if err == nil {
			err = s.Purge(ctx, jetstream.WithPurgeSubject(streams.Prefix+key+".>"))
		}
		if err != nil && !errors.Is(err, jetstream.ErrStreamNotFound) {
			return err
		}
	}
	return errors.Join(names.Err(), atomicfile.Remove(mark))
}

// Hosts returns the names of the hosts that may connect, by key.
func Hosts(store string) (map[string]string, error) {
	keys, err := atomicfile.Files(filepath.Join(store, "hosts"))
	all := map[string]string{}
	for _, key := range keys {
		if seal.CheckKey(key) == nil {
			name, _ := atomicfile.Read(filepath.Join(store, "hosts", key), 1024)
			all[key] = strings.TrimSpace(string(name))
		}
	}
	return all, err
}

// RemoveHost keeps a host from connecting again. A hub that runs ends its connections, and removes
// what it has left there, within Sweep's interval.
func RemoveHost(store, key string) error {
	if err := seal.CheckKey(key); err != nil {
		return err
	}
	if err := atomicfile.EnsurePrivateDir(filepath.Join(store, "removed")); err != nil {
		return err
	}
	if err := atomicfile.Write(filepath.Join(store, "removed", key), nil, atomicfile.Synced); err != nil {
		return err
	}
	return atomicfile.Remove(filepath.Join(store, "hosts", key))
}

// Sweep ends the connections of hosts that were removed, removes old invitations, and goes on
// once there is room on a full disk. The caller calls it every few seconds.
func (h *Hub) Sweep() {
	h.Warn(h.disconnectHosts(func(key string) bool { return seal.CheckKey(key) == nil && !h.KnowsHost(key) }))
	if h.diskFull.Load() {
		h.Warn(h.resumeStreams())
	}
	removed, _ := atomicfile.Files(filepath.Join(h.Store, "removed"))
	for _, key := range removed {
		ctx, done := context.WithTimeout(context.Background(), time.Minute)
		h.Warn(h.clearHost(ctx, key))
		done()
	}
	dir := filepath.Join(h.Store, "invited")
	invited, _ := atomicfile.Files(dir)
	for _, name := range invited {
		if path := filepath.Join(dir, name); invitationEnded(path, h.Now()) {
			_ = atomicfile.Remove(path)
		}
	}
}

// invitationEnded reports whether the invitation whose end the file holds is no longer valid.
func invitationEnded(path string, now time.Time) bool {
	data, err := atomicfile.Read(path, 64)
	if err != nil {
		return true
	}
	until, err := strconv.ParseInt(strings.TrimSpace(string(data)), 10, 64)
	return err != nil || now.Unix() >= until || time.Unix(until, 0).Sub(now) > InviteFor
}

// Invite makes an invitation for one host, which ends after InviteFor. address is where
// the hub is reached from outside.
func Invite(store, address string, now time.Time) (invite.Invitation, error) {
	var secret [24]byte
	rand.Read(secret[:])
	i := invite.Invitation{Address: address, Secret: base64.RawURLEncoding.EncodeToString(secret[:])}
	cert, err := certificate(store, now)
	if err != nil {
		return i, err
	}
	i.Fingerprint = invite.Fingerprint(cert.Certificate[0])
	if err := atomicfile.EnsurePrivateDir(filepath.Join(store, "invited")); err != nil {
		return i, err
	}
	until := strconv.FormatInt(now.Add(InviteFor).Unix(), 10)
	return i, atomicfile.Write(invitedFile(store, i.Secret), []byte(until+"\n"), atomicfile.Synced)
}

// invitedFile returns the file of an invitation. Its name has a hash, not the secret itself.
func invitedFile(store, secret string) string {
	sum := sha256.Sum256([]byte(secret))
	return filepath.Join(store, "invited", hex.EncodeToString(sum[:]))
}

func (h *Hub) checkInvitation(secret string) error {
	if invitationEnded(invitedFile(h.Store, secret), h.Now()) {
		return invite.ErrUsed
	}
	return nil
}

// admitInvited admits a host that has the secret of an invitation, which admits one host only.
func (h *Hub) admitInvited(m *nats.Msg) error {
	var q invite.Request
	if err := json.Unmarshal(m.Data, &q); err != nil {
		return err
	}
	if err := seal.CheckKey(q.Key); err != nil {
		return err
	}
	if err := h.checkInvitation(q.Secret); err != nil {
		return err
	}
	if err := q.Check(); err != nil { // mutant never: TestWhoMayConnect
		return err
	}
	// Whoever removes the file has the invitation: only one can.
	if err := os.Remove(invitedFile(h.Store, q.Secret)); err != nil {
		return invite.ErrUsed
	}
	return h.Admit(q.Key, q.Name)
}

// certificate returns the hub's certificate, and makes it if there is none.
func certificate(store string, now time.Time) (tls.Certificate, error) {
	certFile, keyFile := filepath.Join(store, "cert.pem"), filepath.Join(store, "key.pem")
	cert, err := atomicfile.Read(certFile, 64<<10)
	if err == nil {
		key, err := atomicfile.ReadIf(keyFile, 64<<10, atomicfile.CheckPrivate)
		if err != nil {
			return tls.Certificate{}, atomicfile.Error("read", keyFile, err)
		}
		return tls.X509KeyPair(cert, key)
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return tls.Certificate{}, atomicfile.Error("read", certFile, err)
	}
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, err
	}
	var serial [15]byte
	rand.Read(serial[:])
	template := &x509.Certificate{
		SerialNumber: new(big.Int).SetBytes(serial[:]), Subject: pkix.Name{CommonName: "gt-hub"}, DNSNames: []string{"gt-hub"},
		NotBefore: now.Add(-24 * time.Hour), NotAfter: now.AddDate(20, 0, 0),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	raw, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	if err != nil {
		return tls.Certificate{}, err
	}
	der, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		return tls.Certificate{}, err
	}
	cert = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: raw})
	key := pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})
	if err = atomicfile.EnsurePrivateDir(store); err == nil {
		err = atomicfile.Write(keyFile, key, atomicfile.Synced)
	}
	if err == nil {
		err = atomicfile.Write(certFile, cert, atomicfile.Synced)
	}
	if err != nil {
		return tls.Certificate{}, err
	}
	return tls.X509KeyPair(cert, key)
}

// ConnectIf returns a function that connects a relay in this process unless check fails.
func (h *Hub) ConnectIf(check func() error) func(context.Context, *seal.Keys) (*nats.Conn, error) {
	return func(ctx context.Context, keys *seal.Keys) (*nats.Conn, error) {
		if err := check(); err != nil {
			return nil, err
		}
		return h.Connect(ctx, keys)
	}
}

// Connect connects a relay in this process.
func (h *Hub) Connect(_ context.Context, keys *seal.Keys) (*nats.Conn, error) {
	return nats.Connect("", nats.InProcessServer(h.server), nats.NoReconnect(), nats.NoEcho(), nats.CustomInboxPrefix(streams.InboxPrefix(keys.Public())))
}
