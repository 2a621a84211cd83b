package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"outboxrelay/cmd/outbox-relay/cost"
	"outboxrelay/cmd/outbox-relay/shell"
)

func TestCostPrintsATable(t *testing.T) {
	got := runProgram(t, nil, "", "cost", "--rate", "200", "--size", "1KiB", "--fan-out", "1.2", "--on-delivered", "delete", "--claims", "1%",
		"--failing", "0.1%", "--dlq", "0.01%", "--instances", "2", "--region", "us-central1", "--split", "wsOutbox=3;accOutbox=1")
	if got.code != shell.ExitOK {
		t.Fatalf("cost: %+v", got)
	}
	for _, want := range []string{
		"200 records/s of 1 KiB payload, 1.2 targets each, 1 % role and policy changes", "list prices of 2026-09-30 in us-central1, USD",
		"Firestore writes  ", "the producers' appends", "Pub/Sub throughput", "instances  2 with 1 CPU", "wsOutbox", "measured", "published", "assumed", "total",
	} {
		if !strings.Contains(got.stdout, want) {
			t.Errorf("%q is not in the output:\n%s", want, got.stdout)
		}
	}
}

func TestCostOfWorkQueues(t *testing.T) {
	got := runProgram(t, nil, "", "cost", "--rate", "1", "--instances", "1", "--jobs", "10", "--jobs-of-event", "3", "--job-channel", "email",
		"--notifications", "5", "--recipients", "20")
	if got.code != shell.ExitOK {
		t.Fatalf("cost: %+v", got)
	}
	for _, want := range []string{
		"jobs: found, sent and closed", "notifications: found and dispatched", "idle: rounds and listeners of work queues",
		"jobs over email, 3 of each domain event", "notifications, of events for 20 people each",
	} {
		if !strings.Contains(got.stdout, want) {
			t.Errorf("%q is not in the output:\n%s", want, got.stdout)
		}
	}
}

func TestCostAsJSON(t *testing.T) {
	catalog := filepath.Join(t.TempDir(), "catalog.yaml")
	if err := os.WriteFile(catalog, []byte(`targets:
  A: {kind: pubsub, topic: a-topic}
outboxes:
  - name: onlyOutbox
    slice: only
    onDelivered: delete
    shards: 4
    events:
      - {type: Happened, lane: STANDARD_LANE, tier: SAFE_AUTO, targets: [A]}
`), 0o600); err != nil {
		t.Fatal(err)
	}
	got := runProgram(t, nil, "", "cost", "--json", "--rate", "1000", "--catalog", catalog)
	var estimate cost.Estimate
	if err := json.Unmarshal([]byte(got.stdout), &estimate); err != nil || got.code != shell.ExitOK {
		t.Fatalf("cost: %+v, %v", got, err)
	}
	if len(estimate.Shards) != 1 || estimate.Shards[0].Declared != 4 || estimate.Shards[0].Needed != 5 || estimate.Total <= 0 || estimate.FanOut != 1 {
		t.Errorf("estimate %+v", estimate)
	}
}

// The prices that it prints are a file that it takes.
func TestCostTakesItsOwnPrices(t *testing.T) {
	printed := runProgram(t, nil, "", "cost", "--print-prices")
	file := filepath.Join(t.TempDir(), "prices.yaml")
	if err := os.WriteFile(file, []byte(strings.ReplaceAll(printed.stdout, "2026-09-30", "2027-01-31")), 0o600); err != nil {
		t.Fatal(err)
	}
	got := runProgram(t, nil, "", "cost", "--prices", file)
	if got.code != shell.ExitOK || !strings.Contains(got.stdout, "list prices of 2027-01-31") {
		t.Errorf("cost: %+v", got)
	}
}

func TestCostRefusesWhatItCannotCount(t *testing.T) {
	for want, args := range map[string][]string{
		"rate is 0 records a second":         {"--rate", "0"},
		`"big" is no size`:                   {"--size", "big"},
		`"120%" is no share`:                 {"--failing", "120%"},
		"--fan-out is -1":                    {"--fan-out=-1"},
		`--retention is "week"`:              {"--retention", "week"},
		`have no region "moon"`:              {"--region", "moon"},
		`"nowhere", which is no outbox`:      {"--split", "nowhere=1"},
		"instances are -2":                   {"--instances=-2"},
		"must be one of":                     {"--on-delivered", "burn"},
		"recipients are 0":                   {"--notifications", "1", "--recipients", "0"},
		"open prices":                        {"--prices", "/does/not/exist"},
		"--lease-term is 1ms":                {"--lease-term", "1ms"},
		"--canary-interval is 0s, want more": {"--canary-interval", "0s"},
	} {
		got := runProgram(t, nil, "", append([]string{"cost"}, args...)...)
		if got.code != shell.ExitUsage || !strings.Contains(got.stderr, want) {
			t.Errorf("cost %v: %+v, want exit code %d and %q", args, got, shell.ExitUsage, want)
		}
	}
}
