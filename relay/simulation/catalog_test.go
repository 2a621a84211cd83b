package simulation

import (
	"fmt"
	"testing/fstest"
	"time"

	"outboxrelay/contracts"
)

// The catalog is small where the product's is large, so that windows fill, pages
// are cut and memory is full with a few dozen records.
const catalogText = `
lanes:
  CRITICAL_LANE: {sla: 500ms, workers: 6, run: 5, window: %[1]d, inFlight: %[2]d, settleLinger: 50ms}
  STANDARD_LANE: {sla: 2s, workers: 6, run: 5, window: %[1]d, inFlight: %[2]d, settleLinger: 100ms}
  BACKGROUND_LANE: {sla: 30s, workers: 3, run: 8, window: %[1]d, inFlight: %[2]d, settleLinger: 200ms}
targets:
  MAIL: {kind: pubsub, topic: mail}
  STOCK: {kind: pubsub, topic: stock}
  LEDGER: {kind: pubsub, topic: ledger}
  CLAIMS: {kind: pubsub, topic: claims}
retry: {maxAttempts: 3, initial: %[6]s, max: 40s, multiplier: 4}
replay: {delays: [2s, 10s, 30s], ratePerSecond: 20}
outboxes:
  - name: orders
    slice: orders
    shards: %[3]d
    onDelivered: %[4]s
    retention: %[5]s
    events:
      - {type: Placed, lane: STANDARD_LANE, tier: SAFE_AUTO, targets: [MAIL]}
      - {type: Shipped, lane: STANDARD_LANE, tier: REVIEW_REQUIRED, targets: [MAIL, STOCK]}
      - {type: Paid, lane: CRITICAL_LANE, tier: SAFE_AUTO, targets: [LEDGER]}
      - {type: Revoked, lane: STANDARD_LANE, tier: SECURITY_BLOCK, targets: [CLAIMS]}
      - {type: Noted, lane: BACKGROUND_LANE, tier: SAFE_AUTO, targets: [STOCK, LEDGER]}
  - name: accounts
    slice: accounts
    retention: %[5]s
    events:
      - {type: RoleSet, lane: CRITICAL_LANE, tier: SECURITY_BLOCK, targets: [CLAIMS]}
      - {type: Opened, lane: STANDARD_LANE, tier: SAFE_AUTO, targets: [MAIL, LEDGER]}
`

// eventTypes are those that producers append, by outbox.
var eventTypes = map[string][]string{
	"orders":   {"Placed", "Shipped", "Shipped", "Paid", "Noted"},
	"accounts": {"RoleSet", "Opened", "Opened"},
}

var targetNames = []string{"MAIL", "STOCK", "LEDGER", "CLAIMS"}

// size is how large the parts of the relay are.
type size struct {
	Window, InFlight, Page, Behind int
	Shards                         int
	Delete                         bool // delivered records of outbox orders are deleted
	Retention                      time.Duration
	Backoff                        time.Duration // after the first attempt
}

func (s size) catalog() (*contracts.Catalog, error) {
	end := contracts.MarkDelivered
	if s.Delete {
		end = contracts.DeleteDelivered
	}
	text := fmt.Sprintf(catalogText, s.Window, s.InFlight, s.Shards, end, s.Retention, s.Backoff)
	return contracts.ParseCatalog("simulation.yaml", []byte(text), fstest.MapFS{})
}
