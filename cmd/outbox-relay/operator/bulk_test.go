package operator

import (
	"testing"

	"outboxrelay/cmd/outbox-relay/adminapi"
)

func TestBulkBeginsWhatWasLookedAt(t *testing.T) {
	look := adminapi.BulkRequest{IDs: []string{"a"}, DryRun: true}
	for _, tc := range []struct {
		name string
		cmd  bulkCmd
		look adminapi.BulkRequest
		want string
	}{
		{"somebody was asked", bulkCmd{}, look, "seen"},
		{"nobody was", bulkCmd{Yes: true}, look, ""},
		{"a pin was given", bulkCmd{}, adminapi.BulkRequest{Pin: "given"}, "given"},
		{"a pin was given, and nobody was asked", bulkCmd{Yes: true}, adminapi.BulkRequest{Pin: "given"}, "given"},
	} {
		got := tc.cmd.order(tc.look, adminapi.Selection{Pin: "seen"})
		if got.Pin != tc.want || got.DryRun || got.RequestID == "" {
			t.Errorf("%s: ordered %+v, want the pin %q", tc.name, got, tc.want)
		}
	}
}
