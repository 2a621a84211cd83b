package contracts

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestShares(t *testing.T) {
	cat := &Catalog{Outboxes: []*Outbox{{Name: "a", Shards: 1}, {Name: "b", Shards: 3}, {Name: "c"}}}
	want := []Share{{"a", 0, 1}, {"b", 0, 3}, {"b", 1, 3}, {"b", 2, 3}, {"c", 0, 1}}
	got := cat.Shares()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	var names []string
	var first []bool
	for _, s := range got {
		names, first = append(names, s.String()), append(first, s.First())
	}
	if diff := cmp.Diff([]string{"a", "b.0", "b.1", "b.2", "c"}, names); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]bool{true, true, false, false, true}, first); diff != "" {
		t.Error(diff)
	}
}

func TestShareWith(t *testing.T) {
	o := &Outbox{Name: "box", Shards: 3}
	for _, c := range []struct {
		name  string
		value any
		shard int
		found bool
	}{
		{"the first", int64(0), 0, true},
		{"the last", int64(2), 2, true},
		{"a whole double", 2.0, 2, true},
		{"a negative zero", math.Copysign(0, -1), 0, true},
		{"too large", int64(3), 0, false},
		{"too large a double", 3.0, 0, false},
		{"a huge double", 1e300, 0, false},
		{"negative", int64(-1), 0, false},
		{"a fraction", 1.5, 0, false},
		{"no number", math.NaN(), 0, false},
		{"nothing or null", nil, 0, false},
		{"text", "1", 0, false},
		{"a timestamp", time.Unix(1, 0), 0, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, found := o.ShareWith(c.value)
			if want := (Share{"box", c.shard, 3}); got != want || found != c.found {
				t.Errorf("got %v, %v; want %v, %v", got, found, want, c.found)
			}
			if got, found := (&Outbox{Name: "one", Shards: 1}).ShareWith(c.value); got != (Share{"one", 0, 1}) || !found {
				t.Errorf("an outbox of one shard: %v, %v", got, found)
			}
		})
	}
}

func TestCatalogFaultsOfShares(t *testing.T) {
	sound := soundTargets + box(soundEvent)
	for _, c := range []struct{ name, yaml, want string }{
		{"outbox called as the queue's share", strings.Replace(sound, "name: box", "name: queue", 1), `4: outbox "queue" is a name of the service's own among its leases; rename it`},
		{"outbox called as an instance", strings.Replace(sound, "name: box", "name: instance.a", 1), `4: outbox "instance.a" is a name of the service's own among its leases; rename it`},
		{"too many shards", strings.Replace(sound, "slice: s", "slice: s\n  shards: 65", 1), "6: outbox box: shards is 65, out of range; use 1 to 64"},
		{"shards are a word", strings.Replace(sound, "slice: s", "slice: s\n  shards: many", 1), "6: outbox box: shards is text, want an integer; write digits"},
		{"shards are a fraction", strings.Replace(sound, "slice: s", "slice: s\n  shards: 1.5", 1), "6: outbox box: shards is a number, want an integer; write digits"},
		{"outbox called as another's shard", strings.Replace(sound, "slice: s", "slice: s\n  shards: 3", 1) + "- name: box.2\n  slice: s\n  events: [" + soundEvent + "]\n", "9: outbox box.2 and outbox box would both have a share box.2; rename one"},
		{"outbox whose shard is called as another", strings.Replace(sound, "name: box", "name: box.0", 1) + "- name: box\n  slice: s\n  shards: 2\n  events: [" + soundEvent + "]\n", "8: outbox box and outbox box.0 would both have a share box.0; rename one"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := ParseCatalog("c.yaml", []byte(c.yaml), nil)
			if err == nil || err.Error() != "c.yaml:"+c.want {
				t.Errorf("got %v, want %s", err, c.want)
			}
		})
	}
}

func TestOutboxesOf(t *testing.T) {
	for share, want := range map[string][]string{
		"accOutbox":                  {"accOutbox"},
		"box.0":                      {"box.0", "box"},
		"my.box.63":                  {"my.box.63", "my.box"},
		"box.64":                     {"box.64"}, // more shards than an outbox has
		"box.01":                     {"box.01"},
		"box.+1":                     {"box.+1"},
		"box.":                       {"box."},
		".5":                         {".5"},
		CollectionDeadLetters + ".1": {CollectionDeadLetters + ".1"},
		ShareQueue + ".1":            {ShareQueue + ".1"},
		ShareQueue:                   nil,
		InstancePrefix + "a":         nil,
		CollectionFrozen:             nil,
		"users/x/outbox":             nil,
		"__reserved__":               nil,
		"..":                         nil,
		"":                           nil,
		"a\x00b":                     nil,
		strings.Repeat("a", 1025):    nil,
	} {
		if diff := cmp.Diff(want, OutboxesOf(share)); diff != "" {
			t.Errorf("share %q (-want +got):\n%s", share, diff)
		}
	}
}
