package contracts

import (
	"fmt"
	"io"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

// Print writes the catalog as YAML that ParseCatalog reads back to the same
// catalog, with every default spelled out but that of idempotencyKey: a build that
// does not know the key refuses it. Events that every outbox gets are written under
// each.
func (c *Catalog) Print(w io.Writer) error {
	enc := yaml.NewEncoder(w)
	enc.SetIndent(2)
	if err := enc.Encode(printed(c)); err != nil {
		return fmt.Errorf("print catalog: %w", err)
	}
	if err := enc.Close(); err != nil {
		return fmt.Errorf("print catalog: %w", err)
	}
	return nil
}

// The shapes of the file, in the order of its keys.
type (
	printedCatalog struct {
		Lanes struct {
			Critical   printedLane `yaml:"CRITICAL_LANE"`
			Standard   printedLane `yaml:"STANDARD_LANE"`
			Background printedLane `yaml:"BACKGROUND_LANE"`
		}
		Targets   map[string]printedTarget
		Retry     printedRetry
		Replay    printedReplay
		Outboxes  []printedOutbox
		Templates map[string]printedTemplate `yaml:",omitempty"`
	}
	printedTemplate struct{ Title, Body string }
	printedLane     struct {
		SLA          printedDuration `yaml:"sla"`
		Workers      int
		Run          int
		Window       int
		InFlight     int             `yaml:"inFlight"`
		InFlightMiB  int             `yaml:"inFlightMiB"`
		SettleLinger printedDuration `yaml:"settleLinger"`
	}
	printedTarget struct {
		Kind  TargetKind
		Topic string  `yaml:",omitempty"`
		Rate  float64 `yaml:"ratePerSecond,omitempty"`
	}
	printedRetry struct {
		MaxAttempts int `yaml:"maxAttempts"`
		Initial     printedDuration
		Max         printedDuration
		Multiplier  float64
	}
	printedReplay struct {
		Delays        []printedDuration `yaml:",flow"`
		RatePerSecond float64           `yaml:"ratePerSecond"`
	}
	printedOutbox struct {
		Name        string
		Slice       string
		OnDelivered OnDelivered `yaml:"onDelivered"`
		Retention   printedDuration
		Shards      int
		Events      []printedEvent
	}
	printedEvent struct {
		Type       string
		Version    printedVersion
		Deprecated printedDay `yaml:"deprecatedOn,omitempty"`
		Lane       Lane
		Tier       Tier
		Targets    []string    `yaml:",flow"`
		Consumers  []string    `yaml:",flow,omitempty"`
		Schema     string      `yaml:",omitempty"`
		Key        KeyTemplate `yaml:"idempotencyKey,omitempty"`
		Aggregate  KeyTemplate `yaml:"aggregateId,omitempty"`
		TwoPerson  bool        `yaml:"twoPersonRule,omitempty"`
		Revoke     bool        `yaml:"revokeTokens,omitempty"`
	}
)

func printed(c *Catalog) printedCatalog {
	var out printedCatalog
	out.Lanes.Critical = printLane(c.Lanes[CriticalLane])
	out.Lanes.Standard = printLane(c.Lanes[StandardLane])
	out.Lanes.Background = printLane(c.Lanes[BackgroundLane])
	out.Targets = make(map[string]printedTarget, len(c.Targets))
	for name, t := range c.Targets {
		out.Targets[name] = printedTarget{t.Kind, t.Topic, t.RatePerSecond}
	}
	out.Retry = printedRetry{c.Retry.MaxAttempts, printedDuration(c.Retry.Initial), printedDuration(c.Retry.Max), c.Retry.Multiplier}
	out.Replay = printedReplay{RatePerSecond: c.Replay.RatePerSecond}
	for _, d := range c.Replay.Delays {
		out.Replay.Delays = append(out.Replay.Delays, printedDuration(d))
	}
	for _, o := range c.Outboxes {
		out.Outboxes = append(out.Outboxes, printOutbox(c, o))
	}
	if len(c.Templates) > 0 {
		out.Templates = make(map[string]printedTemplate, len(c.Templates))
		for id, t := range c.Templates {
			out.Templates[id] = printedTemplate(t)
		}
	}
	return out
}

func printLane(l LanePolicy) printedLane {
	return printedLane{
		SLA: printedDuration(l.SLA), Workers: l.Workers, Run: l.Run, Window: l.Window, InFlight: l.InFlight, InFlightMiB: l.InFlightMiB,
		SettleLinger: printedDuration(l.SettleLinger),
	}
}

func printOutbox(c *Catalog, o *Outbox) printedOutbox {
	out := printedOutbox{
		Name: o.Name, Slice: o.Slice, OnDelivered: o.OnDelivered,
		Retention: printedDuration(o.Retention), Shards: o.Shards,
	}
	for _, e := range o.Events {
		out.Events = append(out.Events, printedEvent{
			e.Type, printedVersion(e.Version), printedDay(e.DeprecatedOn), e.Lane, e.Tier, e.Targets, e.Consumers, e.SchemaName, e.Key, e.Aggregate, e.TwoPersonRule,
			e.RevokeTokens && c.hasHandler(e), // a topic that stands in for the handler revokes nothing
		})
	}
	return out
}

// printedDuration is written as a person would: 10m, not 10m0s.
type printedDuration time.Duration

// MarshalYAML makes printedDuration a yaml.Marshaler.
func (d printedDuration) MarshalYAML() (any, error) {
	s := time.Duration(d).String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s, nil
}

// printedVersion is a number, or the word for any.
type printedVersion int64

// MarshalYAML makes printedVersion a yaml.Marshaler.
func (v printedVersion) MarshalYAML() (any, error) {
	if v == 0 {
		return anyVersion, nil
	}
	return int64(v), nil
}

// printedDay is a day without its time; left out when it is zero.
type printedDay time.Time

// IsZero makes an empty day one to be left out.
func (d printedDay) IsZero() bool { return time.Time(d).IsZero() }

// MarshalYAML makes printedDay a yaml.Marshaler.
func (d printedDay) MarshalYAML() (any, error) {
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!timestamp", Value: time.Time(d).Format(time.DateOnly)}, nil
}
