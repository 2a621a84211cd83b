package promql

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestRead(t *testing.T) {
	for name, c := range map[string]struct {
		expr string
		want Query
	}{
		"name":        {"up", Query{Selectors: []Selector{{Metric: "up"}}}},
		"aggregation": {"sum by (lane) (relay_x)", Query{[]Selector{{Metric: "relay_x"}}, []string{"lane"}}},
		"matchers": {
			`rate(x_total{a="1",b=~"2|3"}[5m]) > 0.5`,
			Query{Selectors: []Selector{{"x_total", []Matcher{{"a", "=", "1"}, {"b", "=~", "2|3"}}}}},
		},
		"join": {
			"x / on (job) group_left (zone) y unless (max(z) == 1)",
			Query{[]Selector{{Metric: "x"}, {Metric: "y"}, {Metric: "z"}}, []string{"job", "zone"}},
		},
		"subquery": {"changes((x > 0)[30m:1m]) > 5", Query{Selectors: []Selector{{Metric: "x"}}}},
		"recorded": {`lane:x:ratio1h{lane="A"}`, Query{Selectors: []Selector{{"lane:x:ratio1h", []Matcher{{"lane", "=", "A"}}}}}},
		"number":   {"count(x) or vector(0) < 1e15", Query{Selectors: []Selector{{Metric: "x"}}}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := Read(c.expr)
			if diff := cmp.Diff(c.want, got); err != nil || diff != "" {
				t.Errorf("error %v, diff\n%s", err, diff)
			}
		})
	}
}

func TestReadTellsWhatDoesNotEnd(t *testing.T) {
	for _, expr := range []string{`x{a="1`, "x[5m", `x{a=1}`} {
		if q, err := Read(expr); err == nil {
			t.Errorf("Read(%q) = %v", expr, q)
		}
	}
}
