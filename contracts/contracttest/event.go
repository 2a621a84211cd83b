package contracttest

import (
	"fmt"
	"hash/fnv"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	"outboxrelay/contracts"
)

// goldenTime is when all golden events happened.
var goldenTime = time.Date(2026, time.February, 19, 12, 0, 0, 0, time.UTC)

// event is one version of an event type of the catalog.
type event struct {
	catalog *contracts.Catalog
	outbox  *contracts.Outbox
	route   *contracts.EventRoute
	mine    bool // it names the consumer
}

// goldenEvents are the events that the consumer is told of: those that name it, and
// those that come by the same targets.
func goldenEvents(catalog *contracts.Catalog, consumer string) ([]*event, error) {
	var all []*event
	var targets []string
	for _, o := range catalog.Outboxes {
		for _, route := range o.Events {
			e := &event{catalog, o, route, consumer == "" || slices.Contains(route.Consumers, consumer)}
			if e.mine {
				targets = append(targets, route.Targets...)
			}
			all = append(all, e)
		}
	}
	if len(targets) == 0 {
		return nil, fmt.Errorf("the catalog names no event for consumer %q", consumer)
	}
	all = slices.DeleteFunc(all, func(e *event) bool {
		return !slices.ContainsFunc(e.route.Targets, func(t string) bool { return slices.Contains(targets, t) })
	})
	for _, e := range all {
		for i := range e.examples() {
			if _, err := e.message(i, 1, "aggregate"); err != nil {
				return nil, err
			}
		}
	}
	return all, nil
}

// name is fit for a test's name.
func (e *event) name() string {
	name := e.outbox.Name + "." + e.route.Type
	if e.route.Version != 0 {
		name += fmt.Sprintf(".v%d", e.route.Version)
	}
	return name
}

// examples is how many there are; one is made where the schema has none.
func (e *event) examples() int { return max(1, len(e.route.Examples())) }

// message is the event after an example, as its version of an aggregate. The same is
// the same each time.
func (e *event) message(example int, version int64, aggregate string) (*contracts.Message, error) {
	route := *e.route
	if e.route.Schema != nil && len(e.route.Schema.Examples) > 0 {
		schema := *e.route.Schema
		schema.Examples = schema.Examples[example : example+1]
		route.Schema = &schema
	}
	only := *e.outbox
	only.Events = []*contracts.EventRoute{&route}
	seed := fnv.New64a()
	fmt.Fprintf(seed, "%s %d %s", e.name(), version, aggregate) // a hash takes everything
	r := rand.New(rand.NewPCG(seed.Sum64(), uint64(example)))
	rec := e.catalog.Sample(r, &only, contracts.SampleAggregate(e.outbox, aggregate), version, goldenTime)
	checked := e.catalog.Check(rec, nil)
	if err := checked.Faults.Err(); err != nil {
		return nil, fmt.Errorf("example %d of %s is not sound: %w; give its schema an example that is", example, e.name(), err)
	}
	return contracts.NewMessage(rec, checked.Data, checked.Lane, e.route.Targets[0], ""), nil
}

// sound is message where it is known to be sound.
func (e *event) sound(example int, version int64, aggregate string) *contracts.Message {
	m, err := e.message(example, version, aggregate)
	if err != nil {
		panic(err) // goldenEvents made one before
	}
	return m
}

func clone(m *contracts.Message) *contracts.Message {
	return &contracts.Message{Data: slices.Clone(m.Data), Attributes: maps.Clone(m.Attributes), OrderingKey: m.OrderingKey}
}

// named are those that name the consumer, or those that do not.
func named(events []*event, mine bool) []*event {
	return slices.DeleteFunc(slices.Clone(events), func(e *event) bool { return e.mine != mine })
}
