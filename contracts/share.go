package contracts

import (
	"math"
	"strconv"
	"strings"
)

// Share is what one relay instance at a time owns: an outbox, or one shard of
// an outbox that has several.
type Share struct {
	Outbox string
	Shard  int // from 0; 0 when the outbox has one shard
	Of     int // shards of the outbox, 1 or more
}

// String is the share's name: "outbox", or "outbox.shard" where there are
// several. No two shares of a catalog have the same.
func (s Share) String() string {
	if s.Of <= 1 {
		return s.Outbox
	}
	return s.Outbox + "." + strconv.Itoa(s.Shard)
}

// First reports whether s is its outbox's first share, the one that answers for
// what no share's queries find.
func (s Share) First() bool { return s.Shard == 0 }

// Names in the collection of leases that no share of a catalog has.
const (
	// ShareQueue is the share beside those of the catalog: what one instance at a
	// time does for the dead-letter queue.
	ShareQueue = "queue"
	// InstancePrefix starts the IDs of the documents in which instances register.
	InstancePrefix = "instance."
)

// Fields of the documents in the collection of leases that tell who relays what. The ID of
// a lease is the name of its share.
const (
	LeaseFieldKind   = "kind"       // of any
	LeaseKind        = "lease"      // a value of it
	LeaseFieldOwner  = "owner"      // of a lease: an instance; "" means that the share is free
	LeaseFieldTerm   = "termMillis" // for which it stands without being renewed
	LeaseFieldShares = "shares"     // of a registration: what the instance can own
)

// OutboxesOf names the outboxes that a share of that name may be of in a catalog that is
// not known: one of the name itself, and one of which it is a shard. There are none for a
// name that no share of a catalog has.
func OutboxesOf(share string) []string {
	var out []string
	names := []string{share}
	if dot := strings.LastIndexByte(share, '.'); dot >= 0 {
		shard := share[dot+1:]
		if k, err := strconv.Atoi(shard); err == nil && k >= 0 && k < maxShards && strconv.Itoa(k) == shard {
			names = append(names, share[:dot])
		}
	}
	for _, name := range names {
		if name != "" && collectionProblem(name) == "" {
			out = append(out, name)
		}
	}
	return out
}

// Shares lists what there is to own, in the order of the file.
func (c *Catalog) Shares() []Share {
	var out []Share
	for _, o := range c.Outboxes {
		out = append(out, o.Shares()...)
	}
	return out
}

// Shares lists the outbox's shares, by shard.
func (o *Outbox) Shares() []Share {
	out := make([]Share, max(o.Shards, 1))
	for k := range out {
		out[k] = Share{Outbox: o.Name, Shard: k, Of: len(out)}
	}
	return out
}

// ShareWith returns the share whose queries find a record that has value in
// FieldShard; nil is no value. found is false for one that no share's find, and
// the share is then the first. An outbox of one shard finds every record.
//
// Firestore's queries compare numbers, not types: the double 2 is found by shard
// 2, although it breaks the contract there.
func (o *Outbox) ShareWith(value any) (s Share, found bool) {
	s = Share{Outbox: o.Name, Of: max(o.Shards, 1)}
	if s.Of == 1 {
		return s, true
	}
	k := int64(-1)
	switch v := value.(type) {
	case int64:
		k = v
	case float64:
		if v == math.Trunc(v) && v >= 0 && v < float64(s.Of) {
			k = int64(v)
		}
	}
	if k < 0 || k >= int64(s.Of) {
		return s, false
	}
	s.Shard = int(k)
	return s, true
}
