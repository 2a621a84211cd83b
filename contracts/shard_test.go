package contracts

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The published vectors of FNV-1a, 32 bits.
func TestShardOfIsFNV1a(t *testing.T) {
	for id, hash := range map[string]uint32{"": 0x811c9dc5, "a": 0xe40c292c, "b": 0xe70c2de5, "foobar": 0xbf9cf968} {
		for _, shards := range []int{2, 3, 7, 64} {
			if got, want := ShardOf(id, shards), int(hash%uint32(shards)); got != want {
				t.Errorf("ShardOf(%q, %d) = %d, want %d", id, shards, got, want)
			}
		}
		for _, shards := range []int{-1, 0, 1} {
			if got := ShardOf(id, shards); got != 0 {
				t.Errorf("ShardOf(%q, %d) = %d, want 0", id, shards, got)
			}
		}
	}
}

// TestShardsGolden keeps the table by which producers in other languages check
// theirs.
func TestShardsGolden(t *testing.T) {
	type row struct {
		AggregateID string `json:"aggregateId"`
		Shards      int    `json:"shards"`
		Shard       int    `json:"shard"`
	}
	var rows []row
	for _, id := range []string{
		"a", "foobar", "acc-1", "workspace/7", "价格-42", "Köln 🙂", "0b0e2a52-4f0b-4b0e-9d5c-1f6f6f1a2b3c", strings.Repeat("long-", 40),
	} {
		for _, shards := range []int{2, 3, 8, 64} {
			rows = append(rows, row{id, shards, ShardOf(id, shards)})
		}
	}
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetIndent("", "  ")
	if err := enc.Encode(rows); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join("testdata", "shards.json")
	if *update {
		if err := os.WriteFile(file, buf.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), buf.String()); diff != "" {
		t.Errorf("%s (go test ./contracts -update rewrites the file)", diff)
	}
}

// sharded is the default catalog, whose accOutbox has so many shards.
func sharded(t *testing.T, shards int) *Catalog {
	t.Helper()
	cat, err := DefaultCatalog() // one's own, to be changed
	if err != nil {
		t.Fatal(err)
	}
	cat.Outbox("accOutbox").Shards = shards
	return cat
}

func TestCheckJudgesTheShard(t *testing.T) {
	const want = "want an integer from 0 to 3 that is the same for every record of the aggregate, such as fnv1a32(aggregateId) % 4"
	for _, c := range []struct {
		name  string
		shard any // gone: without the field
		want  string
	}{
		{"the first", int64(0), ""},
		{"the last", int64(3), ""},
		{"one too many", int64(4), "shard is 4, " + want},
		{"negative", int64(-1), "shard is -1, " + want},
		{"huge", int64(1) << 40, "shard is 1099511627776, " + want},
		{"missing", gone, "shard is missing, " + want},
		{"null", nil, "shard is null, " + want},
		{"a double, though whole", 2.0, "shard is a double, " + want},
		{"text", "2", "shard is a string, " + want},
		{"a list", []any{int64(2)}, "shard is an array, " + want},
	} {
		t.Run(c.name, func(t *testing.T) {
			fields := changed(soundFields(t), map[string]any{FieldShard: c.shard})
			rec, faults := DecodeRecord("accOutbox", "doc", fields)
			checked := sharded(t, 4).Check(rec, faults)
			if got := checked.Faults.Error(); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
			if sound := c.want == ""; sound != (checked.Data != nil) || !sound && checked.Tier != ReviewRequired {
				t.Errorf("got tier %s, envelope %s", checked.Tier, checked.Data)
			}
			rec, faults = DecodeRecord("accOutbox", "doc", fields)
			if got := sharded(t, 1).Check(rec, faults).Faults; len(got) > 0 {
				t.Errorf("an outbox of one shard finds %q, want nothing", got)
			}
		})
	}
}

// What stands for a record whose document is not at hand.
func TestShardSurvivesWithoutTheDocument(t *testing.T) {
	rec, faults := DecodeRecord("accOutbox", "doc", changed(soundFields(t), map[string]any{FieldShard: int64(2)}))
	rec.Fields = nil
	if got := sharded(t, 4).Check(rec, faults).Faults; len(got) > 0 {
		t.Errorf("faults: %v", got)
	}
	if got := rec.ProducerFields()[FieldShard]; got != int64(2) {
		t.Errorf("a producer would write shard %v, want 2", got)
	}
}

func TestSamplesHaveTheirShard(t *testing.T) {
	for _, shards := range []int{1, 2, 16} {
		cat := sharded(t, shards)
		o := cat.Outbox("accOutbox")
		r := rand.New(rand.NewPCG(1, 2))
		seen := make(map[any]bool)
		for i := range 200 {
			aggregateID := fmt.Sprint("acc-", i)
			rec := cat.Sample(r, o, aggregateID, 1, sampleTime)
			shard, has := rec.ProducerFields()[FieldShard]
			if has != (shards > 1) || has && shard != int64(ShardOf(aggregateID, shards)) {
				t.Fatalf("of %d shards %s has %v", shards, aggregateID, shard)
			}
			if got := cat.Check(rec, nil).Faults; len(got) > 0 {
				t.Fatal(got)
			}
			seen[shard] = true
		}
		if len(seen) != shards {
			t.Errorf("200 aggregates are in %d shards, want %d", len(seen), shards)
		}
	}
}
