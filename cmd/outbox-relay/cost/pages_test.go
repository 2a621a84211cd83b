package cost_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"outboxrelay/cmd/outbox-relay/cost"
)

// What README.md and deploy/terraform say that one idle instance costs on Firestore is what is computed.
func TestPagesSayWhatAnIdleRelayCosts(t *testing.T) {
	e := estimate(t, func(w *cost.Workload) { w.Rate, w.Instances = 0.001, 1 })
	price := make(map[cost.Article]float64)
	for _, l := range e.Lines {
		if strings.HasPrefix(l.What, "idle: ") {
			price[l.Article] += l.Cost
		}
	}
	reads, writes := price[cost.FirestoreReads], price[cost.FirestoreWrites]
	for page, want := range map[string]string{
		"README.md":                  fmt.Sprintf("| US dollars a month in europe-west1 | %.2f | %.2f |", reads, writes),
		"deploy/terraform/README.md": fmt.Sprintf("An idle instance reads and writes for about %.0f:", reads+writes),
	} {
		text, err := os.ReadFile("../../../" + page)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(text), want) {
			t.Errorf("%s does not say %q", page, want)
		}
	}
}
