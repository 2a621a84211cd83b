package monitoring

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
)

// Case is a stretch of metrics, with steady steps from one sample to the next, and
// which alerts fire when.
type Case struct {
	Name   string
	Series map[string]string // values by series, in promtool's notation
	Checks []Check
}

// Check is what fires of an alert at a time: everything in Firing, and nothing
// else.
type Check struct {
	Alert, At string
	Firing    []Firing
}

// Firing is one alert as it fires.
type Firing struct {
	Labels map[string]string
	Value  string // as the summary writes it
}

type (
	rulesTest struct {
		RuleFiles          []string    `yaml:"rule_files"`
		EvaluationInterval string      `yaml:"evaluation_interval"`
		GroupOrder         []string    `yaml:"group_eval_order"` // what is recorded comes before what asks for it
		Tests              []testGroup `yaml:"tests"`
	}
	testGroup struct {
		Name     string       `yaml:"name"`
		Interval string       `yaml:"interval"`
		Series   []testSeries `yaml:"input_series"`
		Alerts   []alertTest  `yaml:"alert_rule_test"`
	}
	testSeries struct {
		Series string `yaml:"series"`
		Values string `yaml:"values"`
	}
	alertTest struct {
		EvalTime string          `yaml:"eval_time"`
		Alert    string          `yaml:"alertname"`
		Expected []expectedAlert `yaml:"exp_alerts"`
	}
	expectedAlert struct {
		Labels      map[string]string `yaml:"exp_labels"`
		Annotations map[string]string `yaml:"exp_annotations"`
	}
)

// RulesTest writes the tests of the rules for promtool, with a sample and an
// evaluation each minute.
func (d *Definition) RulesTest(base string) ([]byte, error) {
	return d.TestOf(cases(), "1m", base)
}

// DaysTest writes those that need days, with rarer samples and evaluations.
func (d *Definition) DaysTest(base string) ([]byte, error) {
	return d.TestOf(dayCases(), "30m", base)
}

// TestOf writes cases as tests of the rules file beside it, for promtool.
func (d *Definition) TestOf(cases []Case, step, base string) ([]byte, error) {
	file := rulesTest{RuleFiles: []string{"rules.yaml"}, EvaluationInterval: step, GroupOrder: []string{recordingGroup}}
	for _, a := range d.Alerts {
		if !slices.Contains(file.GroupOrder, a.Group) {
			file.GroupOrder = append(file.GroupOrder, a.Group)
		}
	}
	for _, c := range cases {
		group, err := d.testGroup(c, step, base)
		if err != nil {
			return nil, fmt.Errorf("case %q: %w", c.Name, err)
		}
		file.Tests = append(file.Tests, group)
	}
	return encodeYAML(file)
}

func (d *Definition) testGroup(c Case, step, base string) (testGroup, error) {
	group := testGroup{Name: c.Name, Interval: step, Series: []testSeries{}}
	for _, name := range slices.Sorted(maps.Keys(c.Series)) {
		group.Series = append(group.Series, testSeries{name, c.Series[name]})
	}
	for _, check := range c.Checks {
		i := slices.IndexFunc(d.Alerts, func(a Alert) bool { return a.Name == check.Alert })
		if i < 0 {
			return testGroup{}, fmt.Errorf("there is no alert %s", check.Alert)
		}
		test := alertTest{EvalTime: check.At, Alert: check.Alert, Expected: []expectedAlert{}}
		for _, f := range check.Firing {
			annotations := d.Alerts[i].annotations(base)
			annotations["summary"] = f.render(d.Alerts[i].Summary)
			test.Expected = append(test.Expected, expectedAlert{f.Labels, annotations})
		}
		group.Alerts = append(group.Alerts, test)
	}
	return group, nil
}

var (
	labelTemplate = regexp.MustCompile(`\{\{ \$labels\.(\w+) \}\}`)
	valueTemplate = regexp.MustCompile(`\{\{ \$value[^}]*\}\}`)
)

// render fills a summary in as Prometheus does.
func (f Firing) render(summary string) string {
	summary = labelTemplate.ReplaceAllStringFunc(summary, func(t string) string {
		return f.Labels[labelTemplate.FindStringSubmatch(t)[1]]
	})
	return valueTemplate.ReplaceAllLiteralString(summary, f.Value)
}
