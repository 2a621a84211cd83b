package operator

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"outboxrelay/cmd/outbox-relay/adminapi"
	"outboxrelay/dlq"
)

func TestProgressOnATerminal(t *testing.T) {
	var out strings.Builder
	p := &progress{w: &out, terminal: true}
	p.show(adminapi.Bulk{State: dlq.BulkRunning, Phase: "ramp", Total: 4, Delivered: 2})
	p.end()
	want := "\r\x1b[K[###############...............] 2 of 4: 2 delivered, 0 failed, 0 passed over, 0 in delivery; ramp\n"
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("bar (-want +got):\n%s", diff)
	}
}
