package firestore_test

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/firestore"
	"github.com/google/go-cmp/cmp"

	"outboxrelay/contracts"
	localfirestore "outboxrelay/deploy/local/firestore"
	"outboxrelay/deploy/local/firestore/firestoretest"
	"outboxrelay/deploy/requirements"
	dlqfirestore "outboxrelay/dlq/firestore"
	"outboxrelay/relay"
	relayfirestore "outboxrelay/relay/firestore"
)

// embedded returns a client of an embedded Firestore, which has the indexes of
// an outbox "box" in shards.
func embedded(t *testing.T) *dlqfirestore.Client {
	t.Helper()
	declared := requirements.IndexesOf(&contracts.Catalog{Outboxes: []*contracts.Outbox{{Name: "box", Shards: shards}}})
	_, address := firestoretest.Start(t, localfirestore.Options{Indexes: &declared})
	return firestoretest.Client(t, address)
}

// google returns a client of Google's emulator, or skips the test where none
// runs.
func google(t *testing.T) *dlqfirestore.Client {
	t.Helper()
	return firestoretest.Client(t, firestoretest.OnGoogle(t))
}

func TestScans(t *testing.T)         { testScans(t, embedded(t)) }
func TestScansOnGoogle(t *testing.T) { testScans(t, google(t)) }

func testScans(t *testing.T, client *dlqfirestore.Client) {
	for id, fields := range zoo() {
		if _, err := client.Collection("box").Doc(id).Create(t.Context(), fields); err != nil {
			t.Fatal(err)
		}
	}
	store := relayfirestore.New(client, client)
	for _, c := range scans {
		t.Run(c.name, func(t *testing.T) {
			want := strings.Fields(c.want)
			c.scan.Outbox, c.scan.Limit = "box", 100
			page, err := store.Page(t.Context(), c.scan)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, ids(page)); diff != "" {
				t.Errorf("page (-want +got):\n%s", diff)
			}
			if c.scan.AfterID == "" && c.scan.After.Zero() {
				if n, err := store.Count(t.Context(), c.scan); err != nil || n[0] != int64(len(want)) {
					t.Errorf("count is %d, %v; want %d", n, err, len(want))
				}
			}
			if c.watch {
				watch(t, store, c.scan, want)
			}
		})
	}
}

// watch expects a listener's first snapshot to hold what a page does.
func watch(t *testing.T, store *relayfirestore.Store, scan relay.Scan, want []string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	stream, err := store.Watch(ctx, scan)
	if err != nil {
		t.Fatal(err)
	}
	snap, err := stream.Next()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(sorted(want), sorted(ids(snap.Changed))); diff != "" {
		t.Errorf("snapshot (-want +got):\n%s", diff)
	}
}

func ids(docs []relay.Doc) []string {
	out := make([]string, len(docs))
	for i, d := range docs {
		out[i] = d.ID
	}
	return out
}

func sorted(ids []string) []string { return slices.Sorted(slices.Values(ids)) }

// TestEveryPendingRecordIsFound adds up what the relay counts: each pending
// record is found by the scans of one shard, by one of those outside of all
// shards, or by counting what is left.
func TestEveryPendingRecordIsFound(t *testing.T)         { testEveryPending(t, embedded(t)) }
func TestEveryPendingRecordIsFoundOnGoogle(t *testing.T) { testEveryPending(t, google(t)) }

func testEveryPending(t *testing.T, client *dlqfirestore.Client) {
	left := make(map[string]bool)
	for id, fields := range zoo() {
		if _, err := client.Collection("box").Doc(id).Create(t.Context(), fields); err != nil {
			t.Fatal(err)
		}
		left[id] = fields[contracts.FieldStatus] == "pending"
	}
	store := relayfirestore.New(client, client)
	outbox := &contracts.Outbox{Name: "box", Shards: shards}
	kinds := []relay.Scan{{Kind: relay.ScanShardBelow, Shards: shards}, {Kind: relay.ScanShardAbove, Shards: shards}}
	for _, share := range outbox.Shares() {
		kinds = append(kinds, relay.Scan{Kind: relay.ScanUnordered, Shard: share.Shard, Shards: share.Of})
	}
	for _, scan := range kinds {
		scan.Outbox, scan.Limit = "box", 100
		page, err := store.Page(t.Context(), scan)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range page {
			if !left[d.ID] {
				t.Errorf("%s is found twice", d.ID)
			}
			left[d.ID] = false
			share, found := outbox.ShareWith(d.Fields()[contracts.FieldShard])
			if inShard := scan.Kind == relay.ScanUnordered; found != inShard || found && share.Shard != scan.Shard {
				t.Errorf("shard %d finds %s, ShareWith says %v, %v", scan.Shard, d.ID, share, found)
			}
		}
	}
	var rest []string
	for id, is := range left {
		if is {
			rest = append(rest, id)
			if share, found := outbox.ShareWith(zoo()[id][contracts.FieldShard]); found {
				t.Errorf("%s is found by no scan, ShareWith says %v", id, share)
			}
		}
	}
	if diff := cmp.Diff([]string{"between", "no-shard", "odd-lost"}, sorted(rest)); diff != "" {
		t.Errorf("left for counting (-want +got):\n%s", diff)
	}
}

// TestListenersTellOfOddShards appends to an outbox that is being listened to.
func TestListenersTellOfOddShards(t *testing.T)         { testOddShards(t, embedded(t)) }
func TestListenersTellOfOddShardsOnGoogle(t *testing.T) { testOddShards(t, google(t)) }

func testOddShards(t *testing.T, client *dlqfirestore.Client) {
	store := relayfirestore.New(client, client)
	for kind, values := range map[relay.ScanKind][]any{
		relay.ScanShardBelow: {nil, false, math.NaN(), -7},
		relay.ScanShardAbove: {shards, 2.25, "0", time.Unix(5, 0), []byte("k"), []any{}, map[string]any{}},
	} {
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
		defer cancel()
		stream, err := store.Watch(ctx, relay.Scan{Outbox: "box", Kind: kind, Shards: shards, Limit: len(values)})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := stream.Next(); err != nil {
			t.Fatal(err)
		}
		for i, value := range values {
			id := fmt.Sprintf("odd-%d-%d", kind, i)
			if _, err := client.Collection("box").Doc(id).Create(ctx, record("shard", value)); err != nil {
				t.Fatal(err)
			}
			snap, err := stream.Next()
			if err != nil {
				t.Fatalf("after shard %v: %v", value, err)
			}
			if diff := cmp.Diff([]string{id}, ids(snap.Changed)); diff != "" {
				t.Errorf("after shard %v (-want +got):\n%s", value, diff)
			}
		}
		if _, err := client.Collection("box").Doc("sound").Set(ctx, record()); err != nil {
			t.Fatal(err)
		}
		if _, err := client.Collection("box").Doc(fmt.Sprintf("odd-%d-0", kind)).Update(ctx, []firestore.Update{{Path: relay.FieldCanary, Value: "n"}}); err != nil {
			t.Fatal(err)
		}
		snap, err := stream.Next()
		if err != nil {
			t.Fatal(err)
		}
		if len(snap.Changed) != 1 || snap.Changed[0].Nonce != "n" {
			t.Errorf("after a touch the window told of %v", ids(snap.Changed))
		}
	}
}

func TestCountsOfOneMoment(t *testing.T)         { testCountsOfOneMoment(t, embedded(t)) }
func TestCountsOfOneMomentOnGoogle(t *testing.T) { testCountsOfOneMoment(t, google(t)) }

// Documents that go while several scans are counted are in all counts or in none.
func testCountsOfOneMoment(t *testing.T, client *dlqfirestore.Client) {
	const documents, rounds = 100, 20
	for i := range documents {
		if _, err := client.Collection("box").Doc(fmt.Sprint(i)).Create(t.Context(), record()); err != nil {
			t.Fatal(err)
		}
	}
	going := make(chan error, 1)
	go func() {
		for i := range documents {
			if _, err := client.Collection("box").Doc(fmt.Sprint(i)).Delete(t.Context()); err != nil {
				going <- err
				return
			}
		}
		going <- nil
	}()
	store := relayfirestore.New(client, client)
	all, with := relay.Scan{Outbox: "box", Kind: relay.ScanEverything}, relay.Scan{Outbox: "box", Kind: relay.ScanWithStatus}
	for range rounds {
		n, err := store.Count(t.Context(), all, with, all, with)
		if err != nil {
			t.Fatal(err)
		}
		if n[0] != n[1] || n[0] != n[2] || n[0] != n[3] {
			t.Errorf("counted %v, want the same four times", n)
		}
	}
	if err := <-going; err != nil {
		t.Fatal(err)
	}
}

// A page of large documents ends where it has so many bytes, and says so.
func TestPageEndsByItsBytes(t *testing.T)         { testPageBytes(t, embedded(t)) }
func TestPageEndsByItsBytesOnGoogle(t *testing.T) { testPageBytes(t, google(t)) }

func testPageBytes(t *testing.T, client *dlqfirestore.Client) {
	const documents, size = 10, 10_000
	for i := range documents {
		fields := map[string]any{
			contracts.FieldStatus: string(contracts.Pending), contracts.FieldLane: string(contracts.StandardLane),
			contracts.FieldCreatedAt: time.Unix(int64(i), 0), contracts.FieldShard: 0, contracts.FieldPayload: map[string]any{"text": strings.Repeat("x", size)},
		}
		if _, err := client.Collection("box").Doc(fmt.Sprint("large-", i)).Create(t.Context(), fields); err != nil {
			t.Fatal(err)
		}
	}
	store := relayfirestore.New(client, client)
	scan := relay.Scan{Outbox: "box", Shards: shards, Kind: relay.ScanLane, Lane: contracts.StandardLane, Limit: 100, Bytes: 3 * size}
	var pages []int
	read := 0
	for {
		page, err := store.Page(t.Context(), scan)
		if err != nil {
			t.Fatal(err)
		}
		pages, read = append(pages, len(page)), read+len(page)
		if len(page) == 0 || !page[len(page)-1].More {
			break
		}
		last := page[len(page)-1]
		scan.After = relay.Position{At: last.CreatedAt, ID: last.ID}
	}
	if want := []int{3, 3, 3, 1}; !slices.Equal(pages, want) || read != documents {
		t.Errorf("pages of %v, %d documents; want %v", pages, read, want)
	}
}
