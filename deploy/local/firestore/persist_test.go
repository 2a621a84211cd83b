package firestore_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	gcp "cloud.google.com/go/firestore"
	"github.com/google/go-cmp/cmp"

	"outboxrelay/deploy/local/crashtest"
	"outboxrelay/deploy/local/firestore"
)

func all(t *testing.T, c *gcp.Client, collection string) map[string]map[string]any {
	t.Helper()
	snaps, err := c.Collection(collection).Documents(t.Context()).GetAll()
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]map[string]any{}
	for _, s := range snaps {
		out[s.Ref.ID] = s.Data()
	}
	return out
}

func TestKilledProcessLosesNoAcknowledgedCommit(t *testing.T) {
	dir := t.TempDir()
	server := crashtest.StartChild(t, dir)
	client := dial(t, server.Addr)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()

	var mu sync.Mutex
	acknowledged := map[string]int{} // ID to the last round that was acknowledged
	enough := make(chan struct{})
	var once sync.Once
	var writers sync.WaitGroup
	writing, stop := context.WithCancel(ctx)
	for w := range 4 {
		writers.Go(func() {
			for i := 0; ; i++ {
				b := batch(client)
				for j := range 3 {
					b.Set(client.Collection("k").Doc(fmt.Sprintf("w%d-%d", w, j)), map[string]any{"round": i})
				}
				if _, err := b.Commit(writing); err != nil {
					return
				}
				mu.Lock()
				for j := range 3 {
					acknowledged[fmt.Sprintf("w%d-%d", w, j)] = i
				}
				if i == 50 {
					once.Do(func() { close(enough) })
				}
				mu.Unlock()
			}
		})
	}
	select {
	case <-enough:
	case <-ctx.Done():
		t.Fatal("writers were too slow")
	}
	server.Kill()
	stop()
	writers.Wait()

	again := dial(t, crashtest.StartChild(t, dir).Addr)
	got := all(t, again, "k")
	for id, round := range acknowledged {
		if found, ok := got[id]["round"].(int64); !ok || int(found) < round {
			t.Errorf("%s: want round %d or later, got %v", id, round, got[id])
		}
	}
	for w := range 4 { // a commit is whole or not at all
		first := got[fmt.Sprintf("w%d-0", w)]
		for j := range 3 {
			if d := cmp.Diff(first, got[fmt.Sprintf("w%d-%d", w, j)]); d != "" {
				t.Errorf("writer %d: a commit is there in part:\n%s", w, d)
			}
		}
	}
}

func TestTornTailIsCut(t *testing.T) {
	dir := t.TempDir()
	write := func(id string) {
		s, err := firestore.Open(firestore.Options{DataDir: dir})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		addr, err := s.Start("127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := dial(t, addr).Collection("c").Doc(id).Set(t.Context(), map[string]any{"id": id}); err != nil {
			t.Fatal(err)
		}
	}
	write("first")
	write("second")
	logs, err := filepath.Glob(filepath.Join(dir, "*.log"))
	if err != nil || len(logs) != 1 {
		t.Fatalf("want one log, got %v, %v", logs, err)
	}
	info, err := os.Stat(logs[0])
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(logs[0], info.Size()-3); err != nil {
		t.Fatal(err)
	}
	write("third") // on top of what was sound
	_, addr := start(t, firestore.Options{DataDir: dir})
	want := map[string]map[string]any{"first": {"id": "first"}, "third": {"id": "third"}}
	if d := cmp.Diff(want, all(t, dial(t, addr), "c")); d != "" {
		t.Fatalf("-want +got:\n%s", d)
	}
}

func TestDirectoryOpensOnce(t *testing.T) {
	dir := t.TempDir()
	c := crashtest.StartChild(t, dir)
	_, err := firestore.Open(firestore.Options{DataDir: dir})
	if want := fmt.Sprintf("in use by process %d", c.PID()); err == nil || !strings.Contains(err.Error(), want) {
		t.Fatalf("want an error that says %q, got %v", want, err)
	}
	c.Kill()
	s, err := firestore.Open(firestore.Options{DataDir: dir})
	if err != nil {
		t.Fatalf("want the lock to end with its holder, got %v", err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestTimesSurvive(t *testing.T) {
	dir := t.TempDir()
	now := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	open := func(now time.Time) (*firestore.Server, *gcp.Client) {
		s, err := firestore.Open(firestore.Options{DataDir: dir, Now: func() time.Time { return now }})
		if err != nil {
			t.Fatal(err)
		}
		addr, err := s.Start("127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		return s, dial(t, addr)
	}
	s, c := open(now)
	first, err := c.Doc("c/d").Set(t.Context(), map[string]any{"n": 1})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s, c = open(now.Add(-time.Hour)) // the wall clock went back
	defer s.Close()
	snap, err := c.Doc("c/d").Get(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if !snap.UpdateTime.Equal(first.UpdateTime) || !snap.CreateTime.Equal(first.UpdateTime) {
		t.Errorf("want the times of %v, got %v and %v", first.UpdateTime, snap.CreateTime, snap.UpdateTime)
	}
	second, err := c.Doc("c/d").Set(t.Context(), map[string]any{"n": 2})
	if err != nil {
		t.Fatal(err)
	}
	if !second.UpdateTime.After(first.UpdateTime) {
		t.Errorf("want a commit after %v, got %v", first.UpdateTime, second.UpdateTime)
	}
}
