// Package leasetest reads leases as they stand in Firestore, for what judges
// relays: tests and relay-chaos. It shares no code with package lease.
package leasetest

import (
	"context"
	"fmt"
	"slices"
	"time"

	"cloud.google.com/go/firestore"

	"outboxrelay/contracts"
)

// Lease is that of a share.
type Lease struct {
	Owner          string        // "": nobody
	Since, Updated time.Time     // server's: when it was taken, and renewed
	Age            time.Duration // since it was renewed, by the server's clock
	Term           time.Duration
}

// Leases are those of all shares, by share.
type Leases map[string]Lease

// Read returns the leases, and the ages of the instances that are not stopping.
func Read(ctx context.Context, db *firestore.Client) (Leases, map[string]time.Duration, error) {
	docs, err := db.Collection(contracts.CollectionLeases).Documents(ctx).GetAll()
	if err != nil {
		return nil, nil, fmt.Errorf("read leases: %w", err)
	}
	leases, instances := Leases{}, map[string]time.Duration{}
	for _, d := range docs {
		f, age := d.Data(), d.ReadTime.Sub(d.UpdateTime)
		switch f["kind"] {
		case "lease":
			owner, _ := f["owner"].(string)
			since, _ := f["since"].(time.Time)
			term, _ := f["termMillis"].(int64)
			leases[d.Ref.ID] = Lease{owner, since, d.UpdateTime, age, time.Duration(term) * time.Millisecond}
		case "instance":
			instance, _ := f["instance"].(string)
			if stopping, _ := f["stopping"].(bool); !stopping {
				instances[instance] = age
			}
		}
	}
	return leases, instances, nil
}

// Spread is how many shares each owner has, "" being nobody.
func (l Leases) Spread() map[string]int {
	out := map[string]int{}
	for _, lease := range l {
		out[lease.Owner]++
	}
	return out
}

// Of lists the shares of an owner, sorted.
func (l Leases) Of(owner string) []string {
	var out []string
	for share, lease := range l {
		if lease.Owner == owner {
			out = append(out, share)
		}
	}
	slices.Sort(out)
	return out
}
