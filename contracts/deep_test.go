package contracts

import (
	"runtime"
	"strings"
	"testing"
)

// A body that is deep, and wide within, costs a reader what its size says: not the path to each of
// its values, 120 MB here.
func TestADeepBodyIsReadForWhatItHolds(t *testing.T) { // not parallel: it counts what the process allocates
	const depth, width = 1000, 2000
	body := []byte(`{"payload":` + strings.Repeat(`{"`+strings.Repeat("k", 60)+`":`, depth) +
		`[0` + strings.Repeat(",0", width) + `]` + strings.Repeat("}", depth) + `}`)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, _, err := DecodeEnvelope(body, nil)
	runtime.ReadMemStats(&after)
	if err != nil {
		t.Fatal(err)
	}
	if spent := after.TotalAlloc - before.TotalAlloc; spent > 100*uint64(len(body)) {
		t.Errorf("%d bytes of memory for a body of %d", spent, len(body))
	}
}

// What has no room is named by its place, of which a deep one is told in part.
func TestThePathOfWhatDoesNotFitIsBounded(t *testing.T) {
	_, err := Fields([]byte(strings.Repeat(`{"`+strings.Repeat("k", 60)+`":`, 5000) + `1e999` + strings.Repeat("}", 5000)))
	if err == nil || len(err.Error()) > maxFaultBytes || !strings.HasSuffix(err.Error(), "k... does not fit into a double") {
		t.Errorf("an error of %d bytes: %.200v", len(err.Error()), err)
	}
}
