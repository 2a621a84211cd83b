package relay

import "outboxrelay/contracts"

// scan returns a scan of this share's documents.
func (o *outbox) scan(kind ScanKind) Scan {
	return Scan{Outbox: o.spec.Name, Kind: kind, Shard: o.share.Shard, Shards: o.share.Of}
}

// whole returns a scan of the collection, whatever the shard.
func (o *outbox) whole(kind ScanKind) Scan { return Scan{Outbox: o.spec.Name, Kind: kind} }

func (o *outbox) laneScan(in *intake) Scan {
	s := o.scan(ScanLane)
	s.Lane = in.lane
	return s
}

// strayScans are what is listened to for records that no feed brings: those of a
// lane that is not read, and, as the first share of several, of a shard that there
// is not.
func (o *outbox) strayScans() []Scan {
	scans := []Scan{o.current(o.scan(ScanStrays))}
	if o.share.Of > 1 && o.share.First() {
		scans = append(scans, o.scan(ScanShardBelow), o.scan(ScanShardAbove))
	}
	return scans
}

// scans are all that the share listens to.
func (o *outbox) scans() []Scan {
	var scans []Scan
	for _, in := range o.intakes {
		if in.isRead() {
			scans = append(scans, o.laneScan(in))
		}
	}
	return append(scans, o.strayScans()...)
}

// Listeners that are not a lane's.
const (
	listenerStrays     = "strays"
	listenerShardBelow = "shardBelow"
	listenerShardAbove = "shardAbove"
)

// listenerName is the bounded word for a scan's listener.
func listenerName(s Scan) string {
	switch s.Kind {
	case ScanLane:
		return string(s.Lane)
	case ScanShardBelow:
		return listenerShardBelow
	case ScanShardAbove:
		return listenerShardAbove
	}
	return listenerStrays
}

// listenerNames are those of a share.
func listenerNames(share contracts.Share, spec *contracts.Outbox) []string {
	var names []string
	for _, l := range spec.Lanes() {
		names = append(names, string(l))
	}
	names = append(names, listenerStrays)
	if share.Of > 1 && share.First() {
		names = append(names, listenerShardBelow, listenerShardAbove)
	}
	return names
}
