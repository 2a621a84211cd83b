package requirements

import (
	"slices"
	"strings"

	"outboxrelay/contracts"
)

// Topic is a topic that the service publishes to.
type Topic struct {
	Name         string       `json:"name"`
	Purpose      string       `json:"purpose"`
	Targets      []string     `json:"targets"` // of the catalog, that publish to it, sorted; empty for the service's own
	Subscription Subscription `json:"subscription"`
}

func topicsOf(catalog *contracts.Catalog) []Topic {
	var out []Topic
	for _, name := range catalog.Topics() {
		out = append(out, topicOf(catalog, name))
	}
	return out
}

func topicOf(catalog *contracts.Catalog, name string) Topic {
	switch name {
	case contracts.TopicMetrics:
		return Topic{name, "relay_lag samples, as JSON lines", []string{}, samples(name)}
	case contracts.TopicErrors:
		return Topic{name, "alerts of SECURITY_BLOCK", []string{}, alerts(name)}
	case contracts.TopicRefreshSignal:
		return Topic{name, "token refresh signals, in the order of each account", []string{}, records(name)}
	}
	targets := []string{}
	for _, t := range catalog.Targets {
		if t.Topic == name {
			targets = append(targets, t.Name)
		}
	}
	if len(targets) == 0 {
		return Topic{name, "messages of jobs, over channel pubsub", targets, records(name)}
	}
	slices.Sort(targets)
	return Topic{name, "records for " + strings.Join(targets, ", "), targets, records(name)}
}
