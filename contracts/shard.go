package contracts

import (
	"fmt"
	"hash/fnv"
)

// ShardOf returns the shard, from 0, that an aggregate's records have in an
// outbox of so many: the FNV-1a hash, of 32 bits, of the ID's UTF-8 bytes,
// modulo shards. Producers may use another function of the aggregate, as long
// as all records of an aggregate have the same shard: only then is their order
// kept.
func ShardOf(aggregateID string, shards int) int {
	if shards <= 1 {
		return 0
	}
	h := fnv.New32a()
	_, _ = h.Write([]byte(aggregateID)) // a hash takes everything
	return int(h.Sum32() % uint32(shards))
}

// shard judges the field by which an outbox of several shards is shared out.
// With one shard it is a field like any that the contract does not name.
func (j *judge) shard(o *Outbox) {
	if o == nil || o.Shards <= 1 {
		return
	}
	want := fmt.Sprintf("want an integer from 0 to %d that is the same for every record of the aggregate, such as fnv1a32(aggregateId) %% %d", o.Shards-1, o.Shards)
	switch v, there := j.rec.Fields[FieldShard]; {
	case j.rec.Shard != nil && *j.rec.Shard >= 0 && *j.rec.Shard < int64(o.Shards):
	case j.rec.Shard != nil:
		j.fault(FieldShard, fmt.Sprintf("is %d, %s", *j.rec.Shard, want))
	case !there:
		j.fault(FieldShard, "is missing, "+want)
	default:
		j.fault(FieldShard, "is "+typeName(v)+", "+want)
	}
}
