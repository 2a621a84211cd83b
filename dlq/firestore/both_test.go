package firestore_test

import "testing"

// both are the tests that run on the embedded server and on Google's emulator.
var both = []struct {
	name string
	run  func(*testing.T, *fixture)
}{
	{"store reads what it wrote", testStoreReadsWhatItWrote},
	{"store applies all or nothing", testStoreAppliesAllOrNothing},
	{"store merges", testStoreMerges},
	{"store tells what a commit changed", testStoreTellsWhatACommitChanged},
	{"store watches", testStoreWatches},
	{"store watches many documents", testStoreWatchesManyDocuments},
	{"50 replays at once have one winner", testReplayRace},
	{"replay and discard race", testReplayDiscardRace},
	{"releases race", testReleaseRace},
	{"ends race", testEndRace},
	{"pauses race", testLaneRace},
	{"path of SAFE_AUTO", testPathOfSafeAuto},
	{"path of REVIEW_REQUIRED", testPathOfReviewRequired},
	{"path of SECURITY_BLOCK", testPathOfSecurityBlock},
	{"end without a record", testEndWithoutRecord},
	{"end deletes where the outbox says so", testEndDeletes},
	{"pages stay stable while items arrive", testStablePages},
	{"pages of a moving range", testPagesOfAMovingRange},
	{"groups", testGroups},
	{"a filter's matches are counted", testMatching},
	{"some are read by their IDs", testNamed},
	{"release and freezes", testRelease},
	{"lanes", testLanes},
	{"trace", testTrace},
	{"a covered payload", testUncover},
	{"records are found", testRecords},
	{"due", testDue},
	{"what a replay waits for", testWaits},
	{"order of an aggregate", testOrder},
	{"what comes before one, beside others' dead letters", testOlder},
	{"finding what comes before one", testOlderReads},
	{"the next of an aggregate is called", testYounger},
	{"counts", testCounts},
	{"counts of one moment", testCountsOfOneMoment},
}

func TestQueue(t *testing.T) {
	for _, tc := range both {
		t.Run(tc.name, func(t *testing.T) { tc.run(t, setup(t, newCloud(t))) })
	}
}

func TestGoogleQueue(t *testing.T) {
	for _, tc := range both {
		t.Run(tc.name, func(t *testing.T) { tc.run(t, setup(t, onGoogle(t))) })
	}
}
