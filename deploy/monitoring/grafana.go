package monitoring

import (
	"bytes"
	"encoding/json"
)

// A dashboard of Grafana, as far as it is used here. Panels stand on a grid of
// 24 columns.
type (
	grafanaDashboard struct {
		UID           string          `json:"uid"`
		Title         string          `json:"title"`
		Description   string          `json:"description"`
		Tags          []string        `json:"tags"`
		SchemaVersion int             `json:"schemaVersion"`
		Version       int             `json:"version"`
		Editable      bool            `json:"editable"`
		GraphTooltip  int             `json:"graphTooltip"` // 1: one crosshair for all panels
		Timezone      string          `json:"timezone"`
		Refresh       string          `json:"refresh"`
		Time          grafanaRange    `json:"time"`
		Templating    grafanaVars     `json:"templating"`
		Annotations   grafanaNotes    `json:"annotations"`
		Panels        []*grafanaPanel `json:"panels"`
	}
	grafanaRange struct {
		From string `json:"from"`
		To   string `json:"to"`
	}
	grafanaVars struct {
		List []grafanaVar `json:"list"`
	}
	grafanaVar struct {
		Name  string `json:"name"`
		Label string `json:"label"`
		Type  string `json:"type"`
		Query string `json:"query"`
	}
	grafanaNotes struct {
		List []any `json:"list"`
	}
	grafanaPanel struct {
		ID          int             `json:"id"`
		Type        string          `json:"type"`
		Title       string          `json:"title"`
		Description string          `json:"description,omitempty"`
		Collapsed   *bool           `json:"collapsed,omitempty"` // rows alone
		Datasource  *grafanaSource  `json:"datasource,omitempty"`
		GridPos     grafanaPlace    `json:"gridPos"`
		Targets     []grafanaTarget `json:"targets,omitempty"`
		FieldConfig *grafanaFields  `json:"fieldConfig,omitempty"`
		Options     map[string]any  `json:"options,omitempty"`
		Panels      []any           `json:"panels,omitempty"`
	}
	grafanaSource struct {
		Type string `json:"type"`
		UID  string `json:"uid"`
	}
	grafanaPlace struct {
		H int `json:"h"`
		W int `json:"w"`
		X int `json:"x"`
		Y int `json:"y"`
	}
	grafanaTarget struct {
		RefID        string         `json:"refId"`
		Datasource   *grafanaSource `json:"datasource"`
		Expr         string         `json:"expr"`
		LegendFormat string         `json:"legendFormat"`
		Instant      bool           `json:"instant"`
		Range        bool           `json:"range"`
	}
	grafanaFields struct {
		Defaults  map[string]any `json:"defaults"`
		Overrides []any          `json:"overrides"`
	}
)

// source is the data source that the dashboard's variable names.
var source = &grafanaSource{Type: "prometheus", UID: "${datasource}"}

const (
	gridWidth    = 24
	numberWidth  = 3
	numberHeight = 4
	chartWidth   = 8
	chartHeight  = 8
)

// Grafana writes the dashboard for Grafana 9 or later.
func (d *Definition) Grafana() ([]byte, error) {
	out := grafanaDashboard{
		UID: "outbox-relay", Title: d.Dashboard.Title, Description: d.Dashboard.Description, Tags: []string{"outbox-relay"},
		SchemaVersion: 37, Version: 1, Editable: true, GraphTooltip: 1, Timezone: "browser", Refresh: "30s",
		Time:        grafanaRange{"now-3h", "now"},
		Templating:  grafanaVars{[]grafanaVar{{Name: "datasource", Label: "Data source", Type: "datasource", Query: "prometheus"}}},
		Annotations: grafanaNotes{[]any{}},
	}
	y, collapsed := 0, false
	for _, s := range d.Dashboard.Sections {
		row := &grafanaPanel{ID: len(out.Panels) + 1, Type: "row", Title: s.Title, Collapsed: &collapsed, GridPos: grafanaPlace{1, gridWidth, 0, y}}
		out.Panels = append(out.Panels, row)
		y++
		x, h := 0, 0
		for _, p := range s.Panels {
			w, ph := p.size()
			if x+w > gridWidth {
				x, y = 0, y+h
			}
			h = ph
			panel := p.grafana()
			panel.ID, panel.GridPos = len(out.Panels)+1, grafanaPlace{ph, w, x, y}
			out.Panels = append(out.Panels, panel)
			x += w
		}
		y += h
	}
	return encodeJSON(out)
}

// size is a panel's width and height.
func (p Panel) size() (w, h int) {
	if p.Number {
		return numberWidth, numberHeight
	}
	return chartWidth, chartHeight
}

func (p Panel) grafana() *grafanaPanel {
	out := &grafanaPanel{
		Type: "timeseries", Title: p.Title, Description: p.Help, Datasource: source,
		FieldConfig: &grafanaFields{Defaults: map[string]any{"unit": grafanaUnits[p.Unit], "min": 0}, Overrides: []any{}},
		Options: map[string]any{
			"legend":  map[string]any{"displayMode": "list", "placement": "bottom", "showLegend": true},
			"tooltip": map[string]any{"mode": "multi", "sort": "desc"},
		},
	}
	if p.Number {
		out.Type = "stat"
		out.FieldConfig.Defaults["thresholds"] = p.thresholds()
		out.FieldConfig.Defaults["noValue"] = "no records"
		if p.Unit == Share {
			out.FieldConfig.Defaults["decimals"] = 2
		}
		out.Options = map[string]any{
			"colorMode": "background", "graphMode": "area", "textMode": "value",
			"reduceOptions": map[string]any{"calcs": []string{"lastNotNull"}, "fields": "", "values": false},
		}
	}
	for i, q := range p.Queries {
		out.Targets = append(out.Targets, grafanaTarget{
			RefID: string(rune('A' + i)), Datasource: source, Expr: q.Expr, LegendFormat: q.Legend, Range: true,
		})
	}
	return out
}

var grafanaUnits = map[Unit]string{Count: "short", PerSecond: "cps", Seconds: "s", Share: "percentunit", Bytes: "bytes"}

// thresholds colour a number: the first step is for all that is less than the
// second one's value.
func (p Panel) thresholds() map[string]any {
	low, high := "green", "red"
	if p.BadLow {
		low, high = high, low
	}
	at := *p.Bad
	if !p.BadLow && at == 0 {
		at = 1 // counts: 1 is the first bad one, and a step holds from its value on
	}
	return map[string]any{"mode": "absolute", "steps": []map[string]any{{"color": low, "value": nil}, {"color": high, "value": at}}}
}

// encodeJSON writes a generated file, in which a query reads as it is.
func encodeJSON(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	err := enc.Encode(v)
	return b.Bytes(), err
}
