package relay_test

import (
	"cmp"
	"context"
	"fmt"
	"gt/internal/testenv"
	"net"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"gt/lib/relay/seal"
	"gt/lib/relay/streams"
)

// serve starts a NATS server as a person or a provider runs one.
func (f *fleet) serve(o server.Options) *server.Server {
	f.t.Helper()
	o.Host, o.Port, o.NoSigs, o.NoLog, o.SyncAlways = "127.0.0.1", server.RANDOM_PORT, true, true, true
	o.MaxPayload = cmp.Or(o.MaxPayload, streams.MaxPayload)
	o.JetStreamMaxStore = cmp.Or(o.JetStreamMaxStore, 16<<30) // however full the disk of the tests is
	s, err := server.NewServer(&o)
	if err != nil {
		f.t.Fatal(err)
	}
	s.Start()
	f.t.Cleanup(s.Shutdown)
	if !s.ReadyForConnections(20 * time.Second) {
		f.t.Fatal("the server does not start")
	}
	return s
}

// connectTo has the host connect to one of some servers.
func (h *host) connectTo(all ...*server.Server) *host {
	var urls []string
	for _, s := range all {
		urls = append(urls, s.ClientURL())
	}
	o := h.options()
	o.Connect = func(_ context.Context, keys *seal.Keys) (*nats.Conn, error) {
		return nats.Connect(strings.Join(urls, ","), nats.NoReconnect(), nats.NoEcho(), nats.CustomInboxPrefix(streams.InboxPrefix(keys.Public())))
	}
	return h.upWith(o)
}

// TestCluster shows that three servers keep a note when one of them is lost, also while neither
// its sender nor its receiver is there.
func TestCluster(t *testing.T) {
	f := &fleet{t: t, root: t.TempDir()}
	var routes []*url.URL
	for range 3 {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		testenv.NoError(t, err)
		routes = append(routes, &url.URL{Scheme: "nats", Host: l.Addr().String()})
		l.Close()
	}
	var all []*server.Server
	for i := range 3 {
		port, err := strconv.Atoi(routes[i].Port())
		testenv.NoError(t, err)
		o := server.Options{
			ServerName: "s" + strconv.Itoa(i), JetStream: true, StoreDir: filepath.Join(f.root, "s"+strconv.Itoa(i)),
			Cluster: server.ClusterOpts{Name: "fleet", Host: "127.0.0.1", Port: port}, Routes: routes,
		}
		all = append(all, f.serve(o))
	}
	eventually(t, "the servers are a cluster", func() bool {
		return slices.ContainsFunc(all, func(s *server.Server) bool { return s.JetStreamIsLeader() && len(s.JetStreamClusterPeers()) == 3 })
	})
	a, b := f.host("a").connectTo(all...), f.host("b").connectTo(all...)
	meet(t, a, b)
	b.stopRelay()
	a.send("b", "kept")
	nc, err := nats.Connect(all[0].ClientURL() + "," + all[1].ClientURL() + "," + all[2].ClientURL())
	testenv.NoError(t, err)
	defer nc.Close()
	js, err := jetstream.New(nc)
	testenv.NoError(t, err)
	keys, err := seal.Load(b.state, false)
	testenv.NoError(t, err)
	leader := ""
	eventually(t, "the servers have the note", func() bool {
		stream, err := js.Stream(context.Background(), streams.InboxStream(keys.Public()))
		if err != nil {
			return false
		}
		info := stream.CachedInfo()
		leader = info.Cluster.Leader
		return info.State.Msgs > 0
	})
	a.stopRelay()
	i := slices.IndexFunc(all, func(s *server.Server) bool { return s.Name() == leader })
	all[i].Shutdown()
	all[i].WaitForShutdown()
	b.connectTo(all...)
	eventually(t, "the note is there", func() bool { return slices.Equal(b.notes(), []string{"kept"}) })
	a.connectTo(all...)
	a.event("one")
	a.send("b", "later")
	eventually(t, "what follows is there", func() bool {
		return slices.Equal(b.notes(), []string{"kept", "later"}) && b.copyOf(a, "a") && a.waiting() == 0
	})
}

// TestSmallServer shows that a fleet is on a server with little room, and on a small account.
func TestSmallServer(t *testing.T) {
	const room = 64 << 20
	for _, account := range []bool{false, true} {
		t.Run(fmt.Sprintf("account=%t", account), func(t *testing.T) {
			f := &fleet{t: t, root: t.TempDir()}
			o := server.Options{ServerName: "s", JetStream: true, StoreDir: filepath.Join(f.root, "s")}
			if !account {
				o.JetStreamMaxStore = room
			}
			s := f.serve(o)
			if account {
				limits := map[string]server.JetStreamAccountLimits{"": {MaxStore: room, MaxMemory: room, MaxStreams: -1, MaxConsumers: -1}}
				testenv.NoError(t, s.GlobalAccount().UpdateJetStreamLimits(limits))
			}
			a, b := f.host("a").connectTo(s), f.host("b").connectTo(s)
			meet(t, a, b)
			a.send("b", "to b")
			eventually(t, "the note is there", func() bool { return slices.Equal(b.notes(), []string{"to b"}) })
		})
	}
}

// TestLeaf shows that a host that reaches a leaf node alone, which keeps nothing, is one of the
// fleet.
func TestLeaf(t *testing.T) {
	f := &fleet{t: t, root: t.TempDir()}
	o := server.Options{ServerName: "main", JetStream: true, JetStreamDomain: "main", StoreDir: filepath.Join(f.root, "main")}
	o.LeafNode.Host, o.LeafNode.Port = "127.0.0.1", server.RANDOM_PORT
	middle := f.serve(o)
	varz, err := middle.Varz(nil)
	testenv.NoError(t, err)
	edge := server.Options{ServerName: "edge", JsAccDefaultDomain: map[string]string{"$G": "main"}}
	edge.LeafNode.Remotes = []*server.RemoteLeafOpts{{URLs: []*url.URL{{Scheme: "nats-leaf", Host: "127.0.0.1:" + strconv.Itoa(varz.LeafNode.Port)}}}}
	leaf := f.serve(edge)
	eventually(t, "the leaf is connected", func() bool { return leaf.NumLeafNodes() == 1 })
	a, b := f.host("a").connectTo(middle), f.host("b").connectTo(leaf)
	meet(t, a, b)
	a.event("one")
	a.send("b", "to b")
	b.send("a", "to a")
	eventually(t, "all is there", func() bool {
		return slices.Equal(a.notes(), []string{"to a"}) && slices.Equal(b.notes(), []string{"to b"}) && b.copyOf(a, "a")
	})
}
