package relay_test

import (
	"testing"
	"time"

	"outboxrelay/contracts"
)

// A lane that is behind from its start on is read in pages, and its listener is not
// about to start: nothing is wrong with what waits for room, as behind a pause.
func TestALaneThatStartsBehindIsPaging(t *testing.T) {
	f := setup(t, newCloud(t))
	f.shrink(outageWindow, outageInFlight)
	f.withQueue(nil)
	r := f.run()
	f.pause(r, contracts.StandardLane)
	r.stop()
	f.appendEach(f.records("wsOutbox", 8*outageInFlight, 8*outageInFlight), time.Now().Add(-time.Hour))
	r = f.run()
	f.eventually("the lane has no more room", func() bool { return r.lane(contracts.StandardLane).Queued >= outageInFlight })
	f.eventually("its listener is told as paging", func() bool {
		return r.listener("wsOutbox", string(contracts.StandardLane)).State == "paging"
	})
	f.resume(r, contracts.StandardLane)
	f.eventually("its listener is alive", func() bool {
		return r.listener("wsOutbox", string(contracts.StandardLane)).State == "alive"
	})
}
