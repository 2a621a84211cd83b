package firestore_test

import (
	"context"
	"net"
	"strings"
	"sync/atomic"
	"testing"

	gcp "cloud.google.com/go/firestore"
	pb "cloud.google.com/go/firestore/apiv1/firestorepb"
	"google.golang.org/grpc"

	"outboxrelay/deploy/local/firestore"
)

// place is where a server stands, for a client that stays when another takes its
// place. That one has another port: somebody may have taken the first meanwhile.
type place struct{ addr atomic.Value }

// start starts a server there.
func (p *place) start(t *testing.T, s *firestore.Server) {
	t.Helper()
	addr, err := s.Start("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p.addr.Store(addr)
}

func (p *place) dial(t *testing.T) *gcp.Client {
	t.Helper()
	return dial(t, "passthrough:///place", grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "tcp", p.addr.Load().(string))
	}))
}

// TestListenerOutlivesARestart keeps a real client's listener over a server that
// stops, changes and starts again.
func TestListenerOutlivesARestart(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name    string
		between []string // documents deleted while no client is served
		want    string   // changes of the next snapshot
		reads   int64
	}{
		{"nothing changed: the token stands", nil, "+e", 1},
		{"a change the new process knows of", []string{"a"}, "-a +e", 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			open := func() *firestore.Server {
				s, err := firestore.Open(firestore.Options{DataDir: dir})
				if err != nil {
					t.Fatal(err)
				}
				return s
			}
			first := open()
			var at place
			at.start(t, first)
			c := at.dial(t)
			for _, id := range []string{"a", "b", "d"} {
				if _, err := c.Collection("c").Doc(id).Set(t.Context(), map[string]any{}); err != nil {
					t.Fatal(err)
				}
			}
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			it := c.Collection("c").OrderBy(gcp.DocumentID, gcp.Asc).Snapshots(ctx)
			if _, err := it.Next(); err != nil {
				t.Fatal(err)
			}
			if err := first.Close(); err != nil {
				t.Fatal(err)
			}

			second := open()
			defer second.Close()
			write := func(w *pb.Write) {
				t.Helper()
				if _, err := second.Commit(t.Context(), &pb.CommitRequest{Database: testDatabase, Writes: []*pb.Write{w}}); err != nil {
					t.Fatal(err)
				}
			}
			for _, id := range tt.between {
				write(&pb.Write{Operation: &pb.Write_Delete{Delete: testDatabase + "/documents/c/" + id}})
			}
			write(&pb.Write{Operation: &pb.Write_Update{Update: &pb.Document{Name: testDatabase + "/documents/c/e"}}})
			at.start(t, second)
			if got := changes(t, it); got != tt.want {
				t.Errorf("want %q, got %q", tt.want, got)
			}
			if got := second.Billing().Reads; got != tt.reads {
				t.Errorf("want %d reads, got %d", tt.reads, got)
			}
		})
	}
}

// TestUnknownTokenResets restarts once too often for a token: what happened in the
// process between is not known to the last one.
func TestUnknownTokenResets(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	open := func() *firestore.Server {
		s, err := firestore.Open(firestore.Options{DataDir: dir})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	first := open()
	var at place
	at.start(t, first)
	c := at.dial(t)
	coll := c.Collection("c")
	if _, err := batch(c).Set(coll.Doc("a"), map[string]any{}).Set(coll.Doc("b"), map[string]any{}).Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	it := coll.Snapshots(ctx)
	if _, err := it.Next(); err != nil {
		t.Fatal(err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	between := open()
	for _, w := range []*pb.Write{
		{Operation: &pb.Write_Delete{Delete: testDatabase + "/documents/c/a"}},
		{Operation: &pb.Write_Update{Update: &pb.Document{Name: testDatabase + "/documents/c/d"}}},
	} {
		if _, err := between.Commit(t.Context(), &pb.CommitRequest{Database: testDatabase, Writes: []*pb.Write{w}}); err != nil {
			t.Fatal(err)
		}
	}
	if err := between.Close(); err != nil {
		t.Fatal(err)
	}
	last := open()
	defer last.Close()
	at.start(t, last)
	if got := changes(t, it); got != "-a +d" {
		t.Errorf("want a gone and d there, got %q", got)
	}
}

// changes awaits a snapshot and writes down what it changed.
func changes(t *testing.T, it *gcp.QuerySnapshotIterator) string {
	t.Helper()
	snap, err := it.Next()
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, ch := range snap.Changes {
		out = append(out, map[gcp.DocumentChangeKind]string{
			gcp.DocumentAdded: "+", gcp.DocumentModified: "~", gcp.DocumentRemoved: "-",
		}[ch.Kind]+ch.Doc.Ref.ID)
	}
	return strings.Join(out, " ")
}
