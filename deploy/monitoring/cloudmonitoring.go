package monitoring

import (
	"fmt"
	"strings"
	"time"
)

// A dashboard of Cloud Monitoring, as far as it is used here. Tiles stand on a
// grid of 48 columns.
type (
	cloudDashboard struct {
		DisplayName  string      `json:"displayName"`
		MosaicLayout cloudMosaic `json:"mosaicLayout"`
	}
	cloudMosaic struct {
		Columns int         `json:"columns"`
		Tiles   []cloudTile `json:"tiles"`
	}
	cloudTile struct {
		XPos   int         `json:"xPos,omitempty"`
		YPos   int         `json:"yPos,omitempty"`
		Width  int         `json:"width"`
		Height int         `json:"height"`
		Widget cloudWidget `json:"widget"`
	}
	cloudWidget struct {
		Title         string              `json:"title"`
		XYChart       *cloudChart         `json:"xyChart,omitempty"`
		Scorecard     *cloudScorecard     `json:"scorecard,omitempty"`
		SectionHeader *cloudSectionHeader `json:"sectionHeader,omitempty"`
	}
	cloudSectionHeader struct {
		Subtitle     string `json:"subtitle,omitempty"`
		DividerBelow bool   `json:"dividerBelow"`
	}
	cloudChart struct {
		DataSets []cloudDataSet `json:"dataSets"`
		YAxis    cloudAxis      `json:"yAxis"`
	}
	cloudAxis struct {
		Label string `json:"label"`
		Scale string `json:"scale"`
	}
	cloudDataSet struct {
		TimeSeriesQuery cloudQuery `json:"timeSeriesQuery"`
		PlotType        string     `json:"plotType"`
		LegendTemplate  string     `json:"legendTemplate,omitempty"`
		TargetAxis      string     `json:"targetAxis"`
	}
	cloudQuery struct {
		PrometheusQuery string `json:"prometheusQuery"`
		UnitOverride    string `json:"unitOverride,omitempty"`
	}
	cloudScorecard struct {
		TimeSeriesQuery cloudQuery       `json:"timeSeriesQuery"`
		SparkChartView  cloudSpark       `json:"sparkChartView"`
		Thresholds      []cloudThreshold `json:"thresholds"`
	}
	cloudSpark struct {
		SparkChartType string `json:"sparkChartType"`
	}
	cloudThreshold struct {
		Value     float64 `json:"value"`
		Color     string  `json:"color"`
		Direction string  `json:"direction"`
	}
)

// An alert policy of Cloud Monitoring, as far as it is used here.
type (
	cloudPolicy struct {
		DisplayName   string             `json:"displayName"`
		Documentation cloudDocumentation `json:"documentation"`
		UserLabels    map[string]string  `json:"userLabels"`
		Conditions    []cloudCondition   `json:"conditions"`
		Combiner      string             `json:"combiner"`
		Enabled       bool               `json:"enabled"`
		AlertStrategy cloudStrategy      `json:"alertStrategy"`
		Severity      string             `json:"severity"`
	}
	cloudDocumentation struct {
		Content  string `json:"content"`
		MIMEType string `json:"mimeType"`
		Subject  string `json:"subject"`
	}
	cloudCondition struct {
		DisplayName string      `json:"displayName"`
		PromQL      cloudPromQL `json:"conditionPrometheusQueryLanguage"`
	}
	cloudPromQL struct {
		Query                   string `json:"query"`
		Duration                string `json:"duration"`
		EvaluationInterval      string `json:"evaluationInterval"`
		RuleGroup               string `json:"ruleGroup"`
		AlertRule               string `json:"alertRule"`
		DisableMetricValidation bool   `json:"disableMetricValidation"`
	}
	cloudStrategy struct {
		AutoClose           string   `json:"autoClose"`
		NotificationPrompts []string `json:"notificationPrompts"`
	}
)

// cloudScale is how many of Cloud Monitoring's columns are one of Grafana's.
const cloudScale = 2

// CloudDashboard writes the dashboard for Cloud Monitoring.
func (d *Definition) CloudDashboard() ([]byte, error) {
	out := cloudDashboard{DisplayName: d.Dashboard.Title, MosaicLayout: cloudMosaic{Columns: cloudScale * gridWidth}}
	tile := func(x, y, w, h int, widget cloudWidget) {
		out.MosaicLayout.Tiles = append(out.MosaicLayout.Tiles, cloudTile{cloudScale * x, cloudScale * y, cloudScale * w, cloudScale * h, widget})
	}
	y := 0
	for i, s := range d.Dashboard.Sections {
		header := &cloudSectionHeader{DividerBelow: true}
		if i == 0 {
			header.Subtitle = d.Dashboard.Description
		}
		tile(0, y, gridWidth, 2, cloudWidget{Title: s.Title, SectionHeader: header})
		y += 2
		x, h := 0, 0
		for _, p := range s.Panels {
			w, ph := p.size()
			if x+w > gridWidth {
				x, y = 0, y+h
			}
			h = ph
			tile(x, y, w, ph, p.cloud())
			x += w
		}
		y += h
	}
	return encodeJSON(out)
}

// cloudUnits are in the code of units that Cloud Monitoring uses.
var cloudUnits = map[Unit]string{Count: "1", PerSecond: "1/s", Seconds: "s", Share: "10^2.%", Bytes: "By"}

func (p Panel) cloud() cloudWidget {
	query := func(q Query) cloudQuery { return cloudQuery{PrometheusQuery: q.Expr, UnitOverride: cloudUnits[p.Unit]} }
	if p.Number {
		direction := "ABOVE"
		if p.BadLow {
			direction = "BELOW"
		}
		return cloudWidget{Title: p.Title, Scorecard: &cloudScorecard{
			TimeSeriesQuery: query(p.Queries[0]), SparkChartView: cloudSpark{"SPARK_LINE"},
			Thresholds: []cloudThreshold{{*p.Bad, "RED", direction}},
		}}
	}
	chart := &cloudChart{YAxis: cloudAxis{Scale: "LINEAR"}}
	for _, q := range p.Queries {
		chart.DataSets = append(chart.DataSets, cloudDataSet{
			TimeSeriesQuery: query(q), PlotType: "LINE", LegendTemplate: cloudLegend(q.Legend), TargetAxis: "Y1",
		})
	}
	return cloudWidget{Title: p.Title, XYChart: chart}
}

// cloudLegend turns {{label}} into the form of Cloud Monitoring's templates.
func cloudLegend(legend string) string {
	return strings.NewReplacer("{{", "${", "}}", "}").Replace(legend)
}

// Policies writes an alert policy of Cloud Monitoring for each alert and
// severity, by file name. A policy carries its playbook with it: playbook returns
// the text of an alert's.
func (d *Definition) Policies(playbook func(Alert) (string, error)) (map[string][]byte, error) {
	files := make(map[string][]byte)
	for _, a := range d.Alerts {
		text, err := playbook(a)
		if err != nil {
			return nil, err
		}
		bySeverity := make(map[Severity][]Rule)
		for _, r := range a.Rules {
			bySeverity[r.Severity] = append(bySeverity[r.Severity], r)
		}
		for severity, rules := range bySeverity {
			name := a.Name
			if len(bySeverity) > 1 {
				name += "-" + string(severity)
			}
			data, err := encodeJSON(a.policy(name, severity, rules, text))
			if err != nil {
				return nil, fmt.Errorf("encode policy %s: %w", name, err)
			}
			files[name+".json"] = data
		}
	}
	return files, nil
}

// autoClose is when an incident without data closes.
const autoClose = 30 * time.Minute

func (a Alert) policy(name string, severity Severity, rules []Rule, playbook string) cloudPolicy {
	out := cloudPolicy{
		DisplayName:   "outbox-relay/" + name,
		Documentation: cloudDocumentation{Content: playbook, MIMEType: "text/markdown", Subject: "outbox-relay: " + a.Name},
		UserLabels:    map[string]string{"service": "outbox-relay", "severity": string(severity)},
		Combiner:      "OR", Enabled: true, Severity: strings.ToUpper(string(severity)),
		AlertStrategy: cloudStrategy{AutoClose: cloudDuration(autoClose), NotificationPrompts: []string{"OPENED", "CLOSED"}},
	}
	for _, r := range rules {
		title := a.Name
		if r.Title != "" {
			title += ": " + r.Title
		}
		out.Conditions = append(out.Conditions, cloudCondition{title, cloudPromQL{
			Query: r.Expr.Whole, Duration: cloudDuration(r.For), EvaluationInterval: cloudDuration(2 * evaluated),
			RuleGroup: a.Group, AlertRule: a.Name, DisableMetricValidation: true, // a fresh project has no metric yet
		}})
	}
	return out
}

// cloudDuration writes a duration as JSON of protocol buffers does.
func cloudDuration(d time.Duration) string { return fmt.Sprintf("%ds", int(d.Seconds())) }
