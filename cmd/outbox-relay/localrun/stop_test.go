package localrun

import (
	"context"
	"io"
	"net"
	"strings"
	"testing"

	"go.uber.org/zap"

	"outboxrelay/cmd/outbox-relay/demo"
	"outboxrelay/cmd/outbox-relay/gcp"
	"outboxrelay/cmd/outbox-relay/shell"
	"outboxrelay/contracts"
	"outboxrelay/ier"
	"outboxrelay/relay"
)

// atRest is a service that relays nothing.
type atRest struct{}

func (atRest) Health() relay.Health                    { return relay.Health{} }
func (atRest) Run(context.Context, net.Listener) error { return nil }
func (atRest) Close() error                            { return nil }

// A run that counts its records fails when the promise is broken, so that a
// script need not read the summary. One that was interrupted waited for nothing,
// and blames nobody, but says what it did not deliver of what was asked for.
func TestCountedRunFailsWhenThePromiseIsBroken(t *testing.T) {
	catalog, err := contracts.DefaultCatalog()
	if err != nil {
		t.Fatal(err)
	}
	run, err := Open(t.Context(), Config{
		Catalog: catalog, Log: zap.NewNop(),
		OpenService: func(context.Context, gcp.Place, func(ier.Target) ier.Target) (Service, error) { return atRest{}, nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := run.close(); err != nil {
			t.Error(err)
		}
	}()
	appended := func(l *demo.Ledger, key string) {
		l.Expect(key, contracts.CriticalLane, []string{"FUNNEL"})
		l.Appended(key)
	}
	arrived := func(l *demo.Ledger, key string, version int64) {
		l.Arrive(demo.Arrival{Target: "FUNNEL", Outbox: "accOutbox", Lane: contracts.CriticalLane, Aggregate: "a", Version: version, Key: key})
	}
	for _, tc := range []struct {
		name    string
		happens func(*demo.Ledger)
		says    string // "": the promise is kept
	}{
		{"kept", func(l *demo.Ledger) { appended(l, "1"); arrived(l, "1", 1) }, ""},
		{"lost", func(l *demo.Ledger) { appended(l, "1") }, "1 records lost, 0 messages out of order, 0 tokens without their claims"},
		{"out of order", func(l *demo.Ledger) {
			appended(l, "1")
			appended(l, "2")
			arrived(l, "2", 2)
			arrived(l, "1", 1)
		}, "0 records lost, 1 messages out of order, 0 tokens without their claims"},
		{"a token without its claims", func(l *demo.Ledger) {
			l.WatchClaims()
			l.TokenRefreshed("event-1", false)
		}, "0 records lost, 0 messages out of order, 1 tokens without their claims"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			run.ledger = demo.NewLedger()
			tc.happens(run.ledger)
			want := shell.ExitOK
			if tc.says != "" {
				want = shell.ExitBroken
			}
			var out strings.Builder
			err := run.judge(&out, true)
			if shell.Code(err) != want || err != nil && !strings.Contains(err.Error(), "the promise is broken: "+tc.says) {
				t.Errorf("a counted run ends with exit code %d, %v; want %d, %q", shell.Code(err), err, want, tc.says)
			}
			if err := run.judge(&out, false); err != nil {
				t.Errorf("an interrupted run ends with %v", err)
			}
		})
	}
	run.ledger, run.cfg.Records = demo.NewLedger(), 3
	appended(run.ledger, "1")
	appended(run.ledger, "2")
	arrived(run.ledger, "1", 1)
	err = run.judge(io.Discard, false)
	if shell.Code(err) != shell.ExitStopped || !strings.Contains(err.Error(), "2 of 3 records were not delivered") {
		t.Errorf("interrupted, with one of 3 records delivered: %v", err)
	}
	run.cfg.Records = 1
	appended(run.ledger, "3")
	arrived(run.ledger, "2", 2)
	arrived(run.ledger, "3", 3)
	if err := run.judge(io.Discard, false); err != nil {
		t.Errorf("interrupted, with all delivered: %v", err)
	}
}
