package main

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/trace"

	"outboxrelay/cmd/outbox-relay/tracing"
)

// flushShare of the stop budget is for sending the last spans.
const flushShare = 1.0 / 16

// openTracing makes the tracer that cfg asks for; nil when traces are off.
func (s *service) openTracing(ctx context.Context, cfg serviceConfig) (trace.Tracer, error) {
	tracer, flush, err := cfg.traces.Open(ctx, tracing.Service{
		Project: cfg.place.Project, Instance: cfg.instance, Revision: cfg.revision, Version: thisBuild().Version,
	}, s.registry, s.log.Named("traces"))
	if tracer == nil {
		return nil, err
	}
	budget := time.Duration(flushShare * float64(s.budget))
	s.cleanUp("traces", func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, budget)
		defer cancel()
		flush(ctx)
		return nil // spans that are lost are counted; they are no reason to call a stop failed
	})
	return tracer, nil
}
