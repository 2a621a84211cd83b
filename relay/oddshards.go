package relay

import (
	"context"

	"outboxrelay/contracts"
)

// oddShards looks for records of a sharded outbox that are of none of its
// shards: without the field, or left from when the catalog had more of them.
func (s *sweeper) oddShards(ctx context.Context) error {
	o := s.outbox
	if o.share.Of < 2 {
		return nil
	}
	for _, kind := range []ScanKind{ScanUnordered, ScanRetrying, ScanHeld} {
		if s.none && kind != ScanUnordered {
			delete(s.searches, searched{kind, foundShard})
			continue
		}
		odd, err := s.beyondShards(ctx, kind)
		if err != nil {
			return err
		}
		if odd <= 0 {
			delete(s.searches, searched{kind, foundShard})
			continue
		}
		err = s.search(ctx, o.whole(kind), foundShard, func(fields map[string]any) bool {
			_, found := o.spec.ShareWith(fields[contracts.FieldShard])
			return !found
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// beyondShards counts the documents of a kind that no shard's scan finds, the
// canaries of the listeners for such apart.
func (s *sweeper) beyondShards(ctx context.Context, kind ScanKind) (int64, error) {
	o := s.outbox
	var shards []Scan
	scan := o.whole(kind)
	for scan.Shard, scan.Shards = 0, o.share.Of; scan.Shard < scan.Shards; scan.Shard++ {
		shards = append(shards, scan)
	}
	_, odd, err := o.beyond(ctx, o.whole(kind), shards...)
	if err == nil && kind == ScanUnordered {
		odd -= int64(len(o.strayScans()) - 1)
	}
	return odd, err
}
