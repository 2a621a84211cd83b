package cost

import (
	"math"
	"slices"

	"outboxrelay/contracts"
)

const (
	// cpuOfRecord is the processor time of one record with one target, in seconds,
	// that is planned with: what was measured where an instance that has caught up
	// takes in 2,000 a second, see measuredCPU, and some more for TLS, which was not
	// measured. Smaller batches cost more for each record, where there is processor
	// time to spare.
	cpuOfRecord = 250e-6
	// cpuOfTarget is that of each further target of a record: assumed.
	cpuOfTarget = 50e-6
	// utilisation is how much of an instance's processor is planned with: the rest
	// is for catching up, and for the outboxes of an instance that is gone.
	utilisation = 0.5
	// fewestInstances: one to take over from the other.
	fewestInstances = 2

	mebibyte = 1 << 20
	gibibyte = 1 << 30
	tebibyte = 1 << 40

	// What memory holds, in bytes. A document in a listener's window takes so much
	// beside its payload: measured with Firestore's client. A relay at rest, and a
	// record in memory, which is its message and what surrounds it: assumed.
	memoryAtRest    = 40 * mebibyte
	memoryOfWindow  = 1900
	memoryOfPending = 2048
	// overshoot is how far a lane's records may go beyond inFlightMiB, while those
	// of one outbox stay and the others take their shares.
	overshoot = 2
	// garbage is the heap that Go's collector lets grow before it collects, as a
	// multiple of what is alive.
	garbage = 2
)

// measuredCPU is the processor time of a record in µs, one figure for each round, of
// relays on two cores that they shared with a cloud and a benchmark, without TLS.
var measuredCPU = []struct {
	what   string
	micros []float64
}{
	{"a drain of 20,000 on the embedded cloud", []float64{77, 66}},
	{"a drain of 10,000 on Google's emulators", []float64{103, 109}},
	{"caught up at 2,000/s, embedded cloud", []float64{218, 224, 167}},
	{"caught up at 1,000/s, embedded cloud", []float64{320}},
	{"caught up at 200/s, embedded cloud", []float64{612}},
}

// Compute is the processor and memory that a rate needs.
type Compute struct {
	Processors float64 `json:"busyProcessors"` // of all instances together
	Instances  int     `json:"instances"`
	Needed     int     `json:"instancesNeeded"` // by the processor time, two at least
	CPU        float64 `json:"cpuOfInstance"`
	Memory     float64 `json:"memoryOfInstance"` // GiB, allocated
	// Peak is what an instance may come to need with all of its windows and lanes
	// full, while another one is gone.
	Peak float64 `json:"peakMemoryOfInstance"` // GiB
}

// computeOf sizes instances with so many processors; 0 instances or GiB: as many
// as are needed.
func computeOf(c *contracts.Catalog, rate, targets, payload float64, instances int, cpu, memory float64) Compute {
	each := cpuOfRecord + cpuOfTarget*max(0, targets-1)
	out := Compute{Processors: rate * each, CPU: cpu, Instances: instances, Memory: memory}
	out.Needed = max(fewestInstances, int(math.Ceil(out.Processors/(cpu*utilisation))))
	if out.Instances == 0 {
		out.Instances = out.Needed
	}
	alive := 0.0
	others := float64(max(1, out.Instances-1)) // one is gone: the others have its outboxes
	for _, lane := range contracts.Lanes() {
		policy := c.Lanes[lane]
		bound := float64(policy.InFlightMiB) * mebibyte
		var records, windows float64
		for _, o := range c.Outboxes {
			if slices.Contains(o.Lanes(), lane) {
				shards := float64(max(o.Shards, 1))
				records += shards * float64(policy.InFlight) * (payload + memoryOfPending)
				windows += shards * min(float64(policy.Window)*(payload+memoryOfWindow), bound)
			}
		}
		alive += min(records/others, overshoot*bound) + windows/others
	}
	out.Peak = garbage * (memoryAtRest + alive) / gibibyte
	if out.Memory == 0 {
		out.Memory = allocation(out.Peak)
	}
	return out
}

// allocation is a usual size of an instance's memory that has room for so many
// GiB.
func allocation(peak float64) float64 {
	size := 0.5
	for size < peak {
		size *= 2
	}
	return size
}
