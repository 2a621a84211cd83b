package terraform_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/zclconf/go-cty/cty"

	"outboxrelay/contracts"
	"outboxrelay/deploy/requirements"
)

// given are inputs that are well, as in inputCases.
func given(t *testing.T, more map[string]cty.Value) map[string]cty.Value {
	t.Helper()
	base, _ := readCases(t)
	maps.Copy(base, more)
	return base
}

// required is what the built-in catalog needs.
func required(t *testing.T) *requirements.Requirements {
	t.Helper()
	catalog, err := contracts.DefaultCatalog()
	if err != nil {
		t.Fatal(err)
	}
	return requirements.Of(catalog)
}

// TestPermissionsAreGranted: the service account gets what the calls of the service
// need, all of it and nothing else; that of Firebase Auth only where claims are
// handled.
func TestPermissionsAreGranted(t *testing.T) {
	c := load(t)
	needed := required(t).Permissions
	for _, tc := range []struct {
		name  string
		given map[string]cty.Value
		when  []string // the cases of a permission that apply
	}{
		{"claims are handled", nil, []string{"", "targets of kind handler"}},
		{"a stand-in takes them", map[string]cty.Value{
			"requirements_file": cty.StringVal("requirements.json"),
			"stand_ins":         cty.ObjectVal(map[string]cty.Value{"CLAIMS_HANDLER": cty.StringVal("claims")}),
		}, []string{""}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var want []string
			for _, p := range needed {
				if slices.Contains(tc.when, p.When) {
					want = append(want, p.Name)
				}
			}
			slices.Sort(want)
			var got []string
			for _, names := range local[map[string][]string](t, c.evaluator(t, given(t, tc.given)), "permissions_by_service") {
				got = append(got, names...)
			}
			slices.Sort(got)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("permissions of the account (-want +got):\n%s", diff)
			}
		})
	}
	for _, p := range needed {
		if !slices.Contains([]string{"", "targets of kind handler", "--ensure-topics"}, p.When) {
			t.Errorf("%s is needed %q, and requirements.tf does not know that case", p.Name, p.When)
		}
	}
}

// TestEveryRequirementIsMade: no topic, index or field override is lost on the way,
// as when two have one key.
func TestEveryRequirementIsMade(t *testing.T) {
	ctx := load(t).evaluator(t, given(t, nil))
	want := required(t)
	deadLetters := map[string]bool{}
	for _, topic := range want.Topics {
		if topic.Subscription.DeadLetterTopic != "" {
			deadLetters[topic.Subscription.DeadLetterTopic] = true
		}
	}
	for name, n := range map[string]int{
		"topics": len(want.Topics), "dead_letters": len(deadLetters), "indexes": len(want.Indexes), "fields": len(want.FieldOverrides),
	} {
		if got := len(local[map[string]any](t, ctx, name)); got != n || n == 0 {
			t.Errorf("%d %s are made, want %d", got, name, n)
		}
	}
}

// TestReadersOfDeadLetters: what keeps dead letters is as deploy/requirements has
// it, which the printed commands and doctor make too.
func TestReadersOfDeadLetters(t *testing.T) {
	made := load(t).plan(t, given(t, nil)).Variables["google_pubsub_subscription"].GetAttr("dead_letters").AsValueMap()
	for _, topic := range required(t).Topics {
		s := topic.Subscription
		if s.DeadLetterTopic == "" {
			continue
		}
		want := s.DeadLetterReader()
		got, ok := made[s.DeadLetterTopic]
		if !ok {
			t.Errorf("nothing reads %s", s.DeadLetterTopic)
			continue
		}
		for attribute, value := range map[string]cty.Value{
			"name":                       cty.StringVal(want.Name),
			"enable_message_ordering":    cty.BoolVal(want.Ordered),
			"ack_deadline_seconds":       cty.NumberIntVal(int64(want.AckDeadline / time.Second)),
			"message_retention_duration": cty.StringVal(fmt.Sprintf("%ds", want.RetainFor/time.Second)),
		} {
			if !got.GetAttr(attribute).RawEquals(value) {
				t.Errorf("%s: %s is %#v, want %#v", want.Name, attribute, got.GetAttr(attribute), value)
			}
		}
	}
}

// TestAlertsArePassedOn: monitoring.tf hands on every field that the files of
// deploy/monitoring hold.
func TestAlertsArePassedOn(t *testing.T) {
	known := []string{
		"displayName", "combiner", "severity", "enabled", "userLabels", "userLabels.*", "conditions",
		"conditions.displayName", "conditions.conditionPrometheusQueryLanguage",
		"conditions.conditionPrometheusQueryLanguage.query", "conditions.conditionPrometheusQueryLanguage.duration",
		"conditions.conditionPrometheusQueryLanguage.evaluationInterval", "conditions.conditionPrometheusQueryLanguage.labels",
		"conditions.conditionPrometheusQueryLanguage.labels.*", "conditions.conditionPrometheusQueryLanguage.ruleGroup",
		"conditions.conditionPrometheusQueryLanguage.alertRule", "conditions.conditionPrometheusQueryLanguage.disableMetricValidation",
		"documentation", "documentation.content", "documentation.mimeType", "documentation.subject",
		"documentation.links", "documentation.links.displayName", "documentation.links.url",
		"alertStrategy", "alertStrategy.autoClose", "alertStrategy.notificationPrompts",
	}
	alerts := local[map[string]any](t, load(t).evaluator(t, given(t, nil)), "alerts")
	if len(alerts) == 0 {
		t.Fatal("there are no alert policies in deploy/monitoring/cloudmonitoring/alerts")
	}
	for name, alert := range alerts {
		for _, field := range fields("", alert) {
			if !slices.Contains(known, field) {
				t.Errorf("%s: monitoring.tf does not pass on %s", name, field)
			}
		}
	}
	data, err := os.ReadFile("../monitoring/cloudmonitoring/dashboard.json")
	if err != nil || !json.Valid(data) {
		t.Errorf("the dashboard is no JSON: %v", err)
	}
}

// fields lists the fields of a decoded JSON value, those of maps with free keys as *.
func fields(at string, value any) []string {
	var out []string
	switch v := value.(type) {
	case map[string]any:
		for key, inner := range v {
			if at == "userLabels." || at == "conditions.conditionPrometheusQueryLanguage.labels." {
				key = "*"
			}
			out = append(out, at+key)
			out = append(out, fields(at+key+".", inner)...)
		}
	case []any:
		for _, inner := range v {
			out = append(out, fields(at, inner)...)
		}
	}
	return out
}
