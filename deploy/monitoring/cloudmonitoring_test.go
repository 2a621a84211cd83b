package monitoring_test

import (
	"strings"
	"testing"

	"cloud.google.com/go/monitoring/apiv3/v2/monitoringpb"
	"cloud.google.com/go/monitoring/dashboard/apiv1/dashboardpb"
	"google.golang.org/protobuf/encoding/protojson"
)

// The policies are what Cloud Monitoring's own API describes: a field that it does not
// know fails the decoding. Its documented limits are kept.
func TestPoliciesAreOfTheAPI(t *testing.T) {
	policies := 0
	for name, data := range generated(t) {
		if !strings.HasPrefix(name, "deploy/monitoring/cloudmonitoring/alerts/") {
			continue
		}
		policies++
		var p monitoringpb.AlertPolicy
		if err := protojson.Unmarshal(data, &p); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		doc := p.GetDocumentation()
		if n := len(doc.GetContent()); n == 0 || n > 8192 || doc.GetMimeType() != "text/markdown" || strings.Contains(doc.GetContent(), "${") {
			t.Errorf("%s: documentation of %d bytes, %s, which may hold no variable of Cloud Monitoring's by mistake", name, n, doc.GetMimeType())
		}
		if n := len(p.GetConditions()); n == 0 || n > 6 {
			t.Errorf("%s has %d conditions, want 1 to 6", name, n)
		}
		if p.GetSeverity() == monitoringpb.AlertPolicy_SEVERITY_UNSPECIFIED || p.GetCombiner() != monitoringpb.AlertPolicy_OR || !p.GetEnabled().GetValue() {
			t.Errorf("%s: severity %v, combiner %v, enabled %v", name, p.GetSeverity(), p.GetCombiner(), p.GetEnabled())
		}
		for _, c := range p.GetConditions() {
			q := c.GetConditionPrometheusQueryLanguage()
			switch every := q.GetEvaluationInterval().AsDuration().Seconds(); {
			case q.GetQuery() == "", strings.Contains(q.GetQuery(), "lane:relay_"):
				t.Errorf("%s: query %q is empty, or asks for what nobody records there", name, q.GetQuery())
			case every <= 0 || int(every)%30 != 0:
				t.Errorf("%s is evaluated every %v s, want a multiple of 30", name, every)
			case int(q.GetDuration().AsDuration().Seconds())%30 != 0:
				t.Errorf("%s: duration %v", name, q.GetDuration().AsDuration())
			}
		}
	}
	if alerts := len(define(t).Alerts); policies < alerts {
		t.Errorf("%d policies for %d alerts", policies, alerts)
	}
}

func TestCloudDashboardIsOfTheAPI(t *testing.T) {
	var d dashboardpb.Dashboard
	if err := protojson.Unmarshal(generated(t)["deploy/monitoring/cloudmonitoring/dashboard.json"], &d); err != nil {
		t.Fatal(err)
	}
	mosaic := d.GetMosaicLayout()
	if n := mosaic.GetColumns(); n < 1 || n > 48 {
		t.Errorf("%d columns, want 1 to 48", n)
	}
	taken := map[[2]int32]string{}
	queries := 0
	for _, tile := range mosaic.GetTiles() {
		title := tile.GetWidget().GetTitle()
		for x := tile.GetXPos(); x < tile.GetXPos()+tile.GetWidth(); x++ {
			for y := tile.GetYPos(); y < tile.GetYPos()+tile.GetHeight(); y++ {
				if other := taken[[2]int32{x, y}]; other != "" || x >= mosaic.GetColumns() {
					t.Fatalf("%s stands on %q, or outside, at %d, %d", title, other, x, y)
				}
				taken[[2]int32{x, y}] = title
			}
		}
		if c := tile.GetWidget().GetScorecard(); c != nil {
			queries++
			if c.GetTimeSeriesQuery().GetPrometheusQuery() == "" {
				t.Errorf("%s has no query", title)
			}
		}
		for _, s := range tile.GetWidget().GetXyChart().GetDataSets() {
			queries++
			if s.GetTimeSeriesQuery().GetPrometheusQuery() == "" {
				t.Errorf("%s has an empty query", title)
			}
		}
	}
	want := 0
	for _, s := range define(t).Dashboard.Sections {
		for _, p := range s.Panels {
			want += len(p.Queries)
		}
	}
	if queries != want {
		t.Errorf("%d queries, want the definition's %d", queries, want)
	}
}
