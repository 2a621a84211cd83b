package monitoring_test

import (
	"bytes"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"testing"

	"outboxrelay/contracts"
	"outboxrelay/deploy/monitoring"
)

func TestFilesAreUpToDate(t *testing.T) {
	files := generated(t)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		data, err := fs.ReadFile(repository, name)
		if err != nil || !bytes.Equal(data, files[name]) {
			t.Errorf("%s is not what is generated now (%v); run go generate ./deploy/monitoring", name, err)
		}
	}
	stale, err := monitoring.Stale(repository, files)
	if err != nil || len(stale) > 0 {
		t.Errorf("policies of no alert: %v (%v); run go generate ./deploy/monitoring", stale, err)
	}
}

func TestFilesAreTheSameEachTime(t *testing.T) {
	first := generated(t)
	for range 5 {
		for name, data := range generated(t) {
			if !bytes.Equal(data, first[name]) {
				t.Errorf("%s differs from one run to the next", name)
			}
		}
	}
}

// The SLAs of another catalog, and another place of the playbooks, show in the files.
func TestFilesFollowTheCatalog(t *testing.T) {
	catalog, err := contracts.DefaultCatalog()
	if err != nil {
		t.Fatal(err)
	}
	lane := catalog.Lanes[contracts.BackgroundLane]
	lane.SLA *= 20
	catalog.Lanes[contracts.BackgroundLane] = lane
	files, err := monitoring.Define(catalog).Files(repository, "https://example.com/playbooks")
	if err != nil {
		t.Fatal(err)
	}
	rules := string(files["deploy/monitoring/prometheus/rules.yaml"])
	for _, want := range []string{`relay_oldest_waiting_seconds{lane="BACKGROUND_LANE"}) > 12000`, "runbook_url: https://example.com/playbooks/RelayLaneStuck.md"} {
		if !strings.Contains(rules, want) {
			t.Errorf("the rules lack %q", want)
		}
	}
	if !strings.Contains(string(files["deploy/monitoring/grafana/dashboard.json"]), "BACKGROUND_LANE within 600 s") {
		t.Error("the dashboard has not the SLA of BACKGROUND_LANE")
	}
}
