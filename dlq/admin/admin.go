package admin

import (
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"outboxrelay/contracts"
	"outboxrelay/dlq"
	"outboxrelay/relay/workqueue/desk"
)

// Prefix is the path below which the API answers. The handler expects to see it:
// it is mounted without stripping anything.
const Prefix = "/admin/v1"

// api holds the operations and what they work on.
type api struct {
	config Config
	huma   huma.API
	routes map[string]*route // by the mux's pattern

	problems map[int]*huma.Response // what documents an error, by status: one for all routes

	controls *shared[map[contracts.Lane]dlq.LaneControl]
	counts   *shared[*dlq.Counts]
	queues   *shared[[]desk.Overview]
}

// namesAsDocumented lets a field of a body have its documented name alone. Huma takes it in
// any case elsewise, and knows the choice by a variable of its own.
var namesAsDocumented = sync.OnceFunc(func() { huma.ValidateStrictCasing = true })

// New makes the API's handler. It starts nothing.
func New(c Config) (http.Handler, error) {
	if err := c.Validate(); err != nil {
		return nil, fmt.Errorf("make admin API: %w", err)
	}
	c = c.withDefaults()
	namesAsDocumented()
	mux := http.NewServeMux()
	a := &api{
		config: c, huma: humago.NewWithPrefix(mux, Prefix, humaConfig()),
		routes: make(map[string]*route), problems: make(map[int]*huma.Response),
	}
	a.controls = &shared[map[contracts.Lane]dlq.LaneControl]{
		read: c.Lanes.LaneControls, now: c.Now, good: func(map[contracts.Lane]dlq.LaneControl) time.Duration { return controlsGood },
	}
	a.counts = &shared[*dlq.Counts]{read: c.Letters.Count, now: c.Now, good: countsGood}
	a.queues = &shared[[]desk.Overview]{read: a.overviews, now: c.Now, good: overviewsGood}
	a.deadLetters()
	a.listing()
	a.decisions()
	a.replays()
	a.freezes()
	a.lanes()
	a.targets()
	a.summary()
	a.workQueues()
	a.traces()
	a.document()
	metrics, err := newMetrics(c.Registerer, a.routes)
	if err != nil {
		return nil, fmt.Errorf("make admin API: %w", err)
	}
	return newGuard(c, mux, a.routes, metrics), nil
}
