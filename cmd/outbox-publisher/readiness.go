package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	gpubsub "cloud.google.com/go/pubsub/v2"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"outboxrelay/cmd/outbox-relay/program"
	"outboxrelay/cmd/outbox-relay/web"
	"outboxrelay/ier"
	ierpubsub "outboxrelay/ier/pubsub"
	"outboxrelay/relay/postgres/publisher"
)

var alive = http.HandlerFunc(web.Alive)

const (
	// readyWithin bounds what the database and Pub/Sub are asked for.
	readyWithin = 3 * time.Second
	// readyFor is how long an answer stands, however many ask.
	readyFor = time.Second
)

// readiness tells whether the publisher can work now.
type readiness struct {
	publisher *publisher.Publisher
	client    *gpubsub.Client
	topic     string
	stopping  atomic.Bool

	mu    sync.Mutex
	asked time.Time
	state readyState
}

// readyState is what /readyz answers.
type readyState struct {
	Ready   bool              `json:"ready"`
	Reasons []string          `json:"reasons,omitempty"` // why not
	Breaker ier.BreakerStatus `json:"breaker"`           // of the topic
	Build   program.Build     `json:"build"`
}

func (r *readiness) stop() { r.stopping.Store(true) }

// ask is a web.HealthSource.
func (r *readiness) ask() (any, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if time.Since(r.asked) > readyFor {
		r.state = r.look()
		r.asked = time.Now()
	}
	state := r.state
	if r.stopping.Load() {
		state.Ready, state.Reasons = false, append([]string{"it is stopping"}, state.Reasons...)
	}
	return state, state.Ready
}

func (r *readiness) look() readyState {
	ctx, cancel := context.WithTimeout(context.Background(), readyWithin)
	defer cancel()
	state := readyState{Breaker: r.publisher.Breaker(), Build: thisBuild()}
	for _, err := range []error{r.publisher.Ready(ctx), r.topicThere(ctx)} {
		if err != nil {
			state.Reasons = append(state.Reasons, err.Error())
		}
	}
	state.Ready = len(state.Reasons) == 0
	return state
}

// topicThere asks for the topic. Who may publish need not have the right to look: then the breaker alone tells.
func (r *readiness) topicThere(ctx context.Context) error {
	missing, err := ierpubsub.MissingTopics(ctx, r.client, []string{r.topic})
	var denied interface{ GRPCStatus() *status.Status }
	switch {
	case errors.As(err, &denied) && denied.GRPCStatus().Code() == codes.PermissionDenied:
		return nil
	case err != nil:
		return fmt.Errorf("Pub/Sub: %w", err)
	case len(missing) > 0:
		return fmt.Errorf("topic %s is missing; create it, or start with --ensure-topic", r.topic)
	}
	return nil
}
