package main

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	pb "cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"

	"outboxrelay/cmd/outbox-relay/shell"
	"outboxrelay/contracts"
	"outboxrelay/deploy/local/thorough"
	"outboxrelay/deploy/monitoring"
	"outboxrelay/deploy/monitoring/promql"
)

// drillMinutes is how long each of the two scrapes of a drill stands.
const drillMinutes = 90

// drill hands promtool what a service told before and after its faults, as if it had
// told so for a while, and lets it check what fires.
func drill(t *testing.T, catalog *contracts.Catalog, before, after scraped, checks []monitoring.Check) {
	t.Helper()
	tool := os.Getenv("OUTBOX_RELAY_PROMTOOL")
	if tool == "" {
		tool = "promtool"
	}
	tool, err := exec.LookPath(tool)
	if err != nil {
		if os.Getenv("CI") != "" {
			t.Fatalf("promtool is missing: %v", err)
		}
		t.Skipf("promtool is not installed (Debian's package prometheus has it): %v", err)
	}
	d := monitoring.Define(catalog)
	watched := make(map[string]bool)
	for _, expr := range d.Expressions() {
		q, err := promql.Read(expr)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range q.Selectors {
			watched[s.Metric] = true
		}
	}
	c := monitoring.Case{Name: "a drill", Series: make(map[string]string), Checks: checks}
	for _, text := range slices.Sorted(maps.Keys(after)) {
		metric, labels := series(t, text)
		if !watched[metric] {
			continue
		}
		labels["job"], labels["instance"] = "relay", "a"
		var pairs []string
		for _, label := range slices.Sorted(maps.Keys(labels)) {
			pairs = append(pairs, label+"="+strconv.Quote(labels[label]))
		}
		was, ok := before[text]
		if !ok {
			was = "_"
		}
		c.Series[metric+"{"+strings.Join(pairs, ",")+"}"] = was + "x" + strconv.Itoa(drillMinutes) + " " + after[text] + "x" + strconv.Itoa(drillMinutes)
	}
	dir := t.TempDir()
	rules, err := d.Rules(monitoring.PlaybookDir)
	if err != nil {
		t.Fatal(err)
	}
	test, err := d.TestOf([]monitoring.Case{c}, "1m", monitoring.PlaybookDir)
	if err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string][]byte{"rules.yaml": rules, "test.yaml": test} {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.CommandContext(t.Context(), tool, "test", "rules", "test.yaml")
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	t.Logf("%d series of a real service, %d checks", len(c.Series), len(checks))
}

// TestE2EAlertsFire: faults of a running service fire the alerts that are meant for
// them, by what its own /metrics tells: a topic that is gone, a SECURITY_BLOCK dead
// letter with its freeze, and a lane that somebody paused. Before them nothing fires.
func TestE2EAlertsFire(t *testing.T) {
	thorough.Long(t)
	thorough.NotOnGoogle(t)
	at, env := anyCloud(t)
	c := openClinicAt(t, at, env)
	c.serveWithin()
	addr := strings.TrimPrefix(c.url, "http://")
	proven := func(s scraped) bool { // a machine that stands still has leases lapse
		for text, value := range s {
			switch metric, labels := series(t, text); {
			case metric == "relay_lease_held" && value != "1",
				metric == "relay_canary_seconds_count" && value == "0" && labels["listener"] != "":
				return false
			}
		}
		return true
	}
	eventually(t, "every outbox is owned, and its listeners are proven alive", func() bool {
		return proven(scrape(t, addr))
	})
	before := scrape(t, addr)

	client, err := at.DialPubSub(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	topic := "projects/" + at.Project + "/topics/" + c.catalog.Targets["ORG_SCHEDULE"].Topic
	if err := client.TopicAdminClient.DeleteTopic(t.Context(), &pb.DeleteTopicRequest{Topic: topic}); err != nil {
		t.Fatal(err)
	}
	for n := range 3 {
		c.append(c.recordOf("schedOutbox", "ScheduleProposed", c.aggregate("schedule-"+strconv.Itoa(n)), 1))
	}
	c.dead(contracts.SecurityBlock, c.aggregate("account"), 1)
	if got := runProgram(t, map[string]string{"OUTBOX_RELAY_URL": c.url, "OUTBOX_RELAY_TOKEN": "dev-operator"}, "",
		"lanes", "pause", "BACKGROUND_LANE", "--reason", "a drill"); got.code != shell.ExitOK {
		t.Fatalf("lanes pause: %+v", got)
	}
	above := func(s scraped, text string) bool {
		v, err := strconv.ParseFloat(s[text], 64)
		return err == nil && v > 0
	}
	var after scraped
	patiently(t, "the metrics tell of all of it", 2*testPatience, 200*time.Millisecond, func() bool {
		after = scrape(t, addr)
		return proven(after) && above(after, `relay_dlq_items{state="blocked",tier="SECURITY_BLOCK"}`) && above(after, "relay_frozen_aggregates") &&
			above(after, `relay_breaker_state{target="ORG_SCHEDULE"}`) && above(after, `relay_target_waiting_records{target="ORG_SCHEDULE"}`) &&
			above(after, `relay_lane_paused{lane="BACKGROUND_LANE"}`)
	})

	critical := func(label, value string) map[string]string {
		return map[string]string{"severity": "critical", label: value}
	}
	var checks []monitoring.Check
	for _, a := range monitoring.Define(c.catalog).Alerts {
		checks = append(checks, monitoring.Check{Alert: a.Name, At: "85m"})
	}
	checks = append(
		checks,
		monitoring.Check{Alert: "RelaySecurityBlock", At: "92m", Firing: []monitoring.Firing{{Labels: critical("state", "blocked"), Value: "1"}}},
		monitoring.Check{Alert: "RelayBreakerOpen", At: "99m", Firing: []monitoring.Firing{{Labels: critical("target", "ORG_SCHEDULE")}}},
		monitoring.Check{Alert: "RelayAggregateFrozen", At: "100m"},
		monitoring.Check{Alert: "RelayAggregateFrozen", At: "155m", Firing: []monitoring.Firing{{Labels: map[string]string{"severity": "warning"}, Value: "1"}}},
		monitoring.Check{Alert: "RelayLanePaused", At: "155m", Firing: []monitoring.Firing{{Labels: map[string]string{"severity": "warning", "lane": "BACKGROUND_LANE"}}}},
		monitoring.Check{Alert: "RelayShareUnowned", At: "155m"},
		monitoring.Check{Alert: "RelayAbsent", At: "155m"},
	)
	drill(t, c.catalog, before, after, checks)
}
