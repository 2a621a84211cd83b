package cost_test

import (
	"fmt"
	"math"
	"os"
	"strings"
	"testing"

	"outboxrelay/cmd/outbox-relay/cost"
)

// idle is what instances without any record cost on Firestore in a month, by what it is for.
func idle(t *testing.T, instances int, what string) map[cost.Article]float64 {
	t.Helper()
	e := estimate(t, func(w *cost.Workload) { w.Rate, w.Instances = 0.001, instances })
	price := make(map[cost.Article]float64)
	for _, l := range e.Lines {
		if strings.HasPrefix(l.What, "idle: "+what) {
			price[l.Article] += l.Cost
		}
	}
	return price
}

// What README.md and deploy/terraform say that idle instances cost on Firestore is what is computed.
func TestPagesSayWhatAnIdleRelayCosts(t *testing.T) {
	one, leasesOfTwo := idle(t, 1, ""), idle(t, 2, "leases")
	reads, writes := one[cost.FirestoreReads], one[cost.FirestoreWrites]
	aDay := (leasesOfTwo[cost.FirestoreReads] + leasesOfTwo[cost.FirestoreWrites]) * 12 / 365
	for want, page := range map[string]string{
		fmt.Sprintf("| US dollars a month in europe-west1 | %.2f | %.2f |", reads, writes):         "README.md",
		fmt.Sprintf("reads a day, some %.2f US dollars in europe-west1", aDay):                     "README.md",
		fmt.Sprintf("An idle instance reads and writes for about %.0f:", math.Round(reads+writes)): "deploy/terraform/README.md",
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
