package contracts

import (
	"fmt"
	"maps"
	"slices"
)

// Topics lists the IDs of all topics that the service publishes to, sorted:
// those of the targets and its own.
func (c *Catalog) Topics() []string {
	topics := []string{TopicMetrics, TopicErrors, TopicRefreshSignal}
	for _, t := range c.Targets {
		if t.Kind == KindPubSub {
			topics = append(topics, t.Topic)
		}
	}
	if c.JobsTopic != "" {
		topics = append(topics, c.JobsTopic)
	}
	slices.Sort(topics)
	return slices.Compact(topics)
}

// WithTopics returns a copy of c in which each handler target named is given a
// Pub/Sub topic in its place. A name that is no handler target is an error.
func (c *Catalog) WithTopics(standIns map[string]string) (*Catalog, error) {
	out := *c
	out.Targets = maps.Clone(c.Targets)
	for _, name := range slices.Sorted(maps.Keys(standIns)) {
		topic := standIns[name]
		spec, ok := c.Targets[name]
		switch {
		case !ok:
			return nil, fmt.Errorf("stand in for target %s: the catalog does not declare it", name)
		case spec.Kind != KindHandler:
			return nil, fmt.Errorf("stand in for target %s: it is no handler", name)
		}
		if problem := topicProblem(topic); problem != "" {
			return nil, fmt.Errorf("stand in for target %s: topic %q %s", name, topic, problem)
		}
		out.Targets[name] = TargetSpec{Name: name, Kind: KindPubSub, Topic: topic}
	}
	return &out, nil
}

// WithJobsTopic returns a copy of c whose jobs of channel pubsub go to a topic; "" returns
// c itself.
func (c *Catalog) WithJobsTopic(topic string) (*Catalog, error) {
	if topic == "" {
		return c, nil
	}
	if problem := topicProblem(topic); problem != "" {
		return nil, fmt.Errorf("topic of jobs %q %s", topic, problem)
	}
	out := *c
	out.JobsTopic = topic
	return &out, nil
}
