package monitoring_test

import (
	"encoding/json"
	"testing"
)

// A dashboard that Grafana takes: each panel with an identity, a place of its own, a
// data source that is chosen above, and queries that are told apart.
func TestGrafanaDashboardIsWhole(t *testing.T) {
	type place struct{ H, W, X, Y int }
	type source struct{ Type, UID string }
	var d struct {
		UID, Title    string
		SchemaVersion int
		Templating    struct {
			List []struct{ Name, Type, Query string }
		}
		Panels []struct {
			ID          int
			Type, Title string
			GridPos     place
			Datasource  source
			Targets     []struct {
				RefID, Expr string
				Datasource  source
			}
			FieldConfig struct{ Defaults struct{ Unit string } }
		}
	}
	if err := json.Unmarshal(generated(t)["deploy/monitoring/grafana/dashboard.json"], &d); err != nil {
		t.Fatal(err)
	}
	if d.UID == "" || d.Title == "" || d.SchemaVersion < 36 || len(d.Templating.List) != 1 || d.Templating.List[0].Name != "datasource" ||
		d.Templating.List[0].Type != "datasource" || d.Templating.List[0].Query != "prometheus" {
		t.Errorf("dashboard: uid %q, title %q, schema version %d, variables %v", d.UID, d.Title, d.SchemaVersion, d.Templating.List)
	}
	ids := map[int]bool{}
	taken := map[[2]int]string{}
	for _, p := range d.Panels {
		if p.ID <= 0 || ids[p.ID] {
			t.Errorf("%s: id %d is no id, or taken", p.Title, p.ID)
		}
		ids[p.ID] = true
		for x := p.GridPos.X; x < p.GridPos.X+p.GridPos.W; x++ {
			for y := p.GridPos.Y; y < p.GridPos.Y+p.GridPos.H; y++ {
				if other := taken[[2]int{x, y}]; other != "" || x >= 24 {
					t.Fatalf("%s stands on %q, or outside, at %d, %d", p.Title, other, x, y)
				}
				taken[[2]int{x, y}] = p.Title
			}
		}
		if p.Type == "row" {
			continue
		}
		if (p.Type != "stat" && p.Type != "timeseries") || p.Title == "" || p.FieldConfig.Defaults.Unit == "" || len(p.Targets) == 0 {
			t.Errorf("panel %+v", p)
		}
		refs := map[string]bool{}
		for _, q := range p.Targets {
			if q.Expr == "" || refs[q.RefID] || q.Datasource != (source{"prometheus", "${datasource}"}) || q.Datasource != p.Datasource {
				t.Errorf("%s: target %+v", p.Title, q)
			}
			refs[q.RefID] = true
		}
	}
}
