package contracttest_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"outboxrelay/contracts"
	"outboxrelay/contracts/contracttest"
)

// defect is what a consumer does wrong.
type defect int

const (
	nothing defect = iota
	putsAside
	forgetsEvents
	racesItself
	knowsAllFields
	keepsAllFields
	checksNothing
	dropsTheBroken
	ignoresVersions
	actsOnAll
	refusesOthers
	lastComesWins
	refusesAll
	panics
	hidesEffects
	tellsAFunction
)

// consumer keeps a line for each event, and the newest version of each aggregate.
type consumer struct {
	catalog *contracts.Catalog
	name    string
	defect  defect

	mu      sync.Mutex
	handled map[string]bool
	lines   []string
	newest  map[string]int64
	aside   int
}

func newConsumer(catalog *contracts.Catalog, name string, d defect) *consumer {
	return &consumer{catalog: catalog, name: name, defect: d, handled: make(map[string]bool), newest: make(map[string]int64)}
}

func (c *consumer) tested() contracttest.Consumer {
	out := contracttest.Consumer{Handle: c.handle, Effects: c.effects}
	if c.defect == putsAside {
		out.Refused = func() int { return c.aside }
	}
	return out
}

func (c *consumer) effects() any {
	switch c.defect {
	case hidesEffects:
		return nil
	case tellsAFunction:
		return func() {}
	}
	slices.Sort(c.lines)
	return map[string]any{"lines": c.lines, "newest": c.newest}
}

func (c *consumer) handle(_ context.Context, m *contracts.Message) error {
	switch c.defect {
	case refusesAll:
		return errors.New("no")
	case panics:
		panic("no")
	}
	envelope, mine, err := c.read(m)
	switch {
	case err != nil && c.defect == dropsTheBroken:
		return nil
	case err != nil && c.defect == putsAside:
		c.aside++
		return nil
	case err != nil:
		return err
	case !mine && c.defect == refusesOthers:
		return errors.New("not mine")
	case !mine && c.defect != actsOnAll:
		return nil
	}
	if c.defect == racesItself {
		return c.race(envelope)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.handled[envelope.EventID] && c.defect != forgetsEvents {
		return nil
	}
	c.act(envelope)
	return nil
}

// race looks whether the event was handled, and acts when it has let others look.
func (c *consumer) race(envelope *contracts.Envelope) error {
	c.mu.Lock()
	handled := c.handled[envelope.EventID]
	c.mu.Unlock()
	if handled {
		return nil
	}
	time.Sleep(time.Millisecond) // of a bubble's time
	c.mu.Lock()
	defer c.mu.Unlock()
	c.act(envelope)
	return nil
}

func (c *consumer) act(envelope *contracts.Envelope) {
	c.handled[envelope.EventID] = true
	line := envelope.EventName + " " + envelope.EventID
	if c.defect == keepsAllFields {
		line += " " + string(envelope.Payload)
	}
	c.lines = append(c.lines, line)
	if envelope.AggregateVersion > c.newest[envelope.AggregateID] || c.defect == lastComesWins {
		c.newest[envelope.AggregateID] = envelope.AggregateVersion
	}
}

// read judges a message by the catalog. mine: its event names the consumer.
func (c *consumer) read(m *contracts.Message) (envelope *contracts.Envelope, mine bool, err error) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(m.Data, &fields); err != nil {
		return nil, false, err
	}
	known := []string{
		"event_id", "event_name", "event_version", "occurred_at", "producer", "trace_id", "idempotency_key", "aggregate_id", "aggregate_version", "payload",
	}
	for _, name := range known {
		if _, ok := fields[name]; !ok && c.defect != checksNothing {
			return nil, false, fmt.Errorf("no %s", name)
		}
	}
	if c.defect == knowsAllFields && bytes.Contains(m.Data, []byte("x_of_tomorrow")) {
		return nil, false, errors.New("no field of that name")
	}
	envelope = &contracts.Envelope{EventVersion: 1, EventName: m.Attributes[contracts.AttrEventType]}
	if err := json.Unmarshal(m.Data, envelope); err != nil {
		return nil, false, err
	}
	outbox := c.catalog.Outbox(m.Attributes[contracts.AttrOutbox])
	route := outbox.RouteOf(envelope.EventName, envelope.EventVersion)
	if c.defect == ignoresVersions {
		return envelope, true, nil
	}
	if route == nil {
		return nil, false, fmt.Errorf("no version %d", envelope.EventVersion)
	}
	mine = c.name == "" || slices.Contains(route.Consumers, c.name)
	if route.Schema == nil || c.defect == checksNothing {
		return envelope, mine, nil
	}
	payload, err := jsonschema.UnmarshalJSON(bytes.NewReader(envelope.Payload))
	if err != nil {
		return nil, false, err
	}
	return envelope, mine, route.Schema.Validate(payload)
}
