package contracts

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestHandlerSettings(t *testing.T) {
	text := "targets:\n  T: {kind: handler, ratePerSecond: 2.5}\n  U: {kind: handler}\n  V: {kind: pubsub, topic: the-topic}\n" +
		box("{type: E, lane: CRITICAL_LANE, tier: SAFE_AUTO, targets: [V, T], revokeTokens: true}", "{type: F, lane: CRITICAL_LANE, tier: SAFE_AUTO, targets: [U]}")
	cat, err := ParseCatalog("c.yaml", []byte(text), nil)
	if err != nil {
		t.Fatal(err)
	}
	roundTrip(t, cat)
	o := cat.Outboxes[0]
	got := []any{cat.Targets["T"].RatePerSecond, cat.Targets["U"].RatePerSecond, cat.Targets["V"].RatePerSecond, o.Route("E").RevokeTokens, o.Route("F").RevokeTokens}
	if diff := cmp.Diff([]any{2.5, 500.0, 0.0, true, false}, got); diff != "" {
		t.Error(diff)
	}
	standIn, err := cat.WithTopics(map[string]string{"T": "ier-t", "U": "ier-u"})
	if err != nil {
		t.Fatal(err)
	}
	var buf bytes.Buffer
	if err := standIn.Print(&buf); err != nil {
		t.Fatal(err)
	}
	if _, err := ParseCatalog("printed.yaml", buf.Bytes(), nil); err != nil {
		t.Errorf("a catalog with stand-ins does not load once printed: %v", err)
	}
}
