package claims

import (
	"context"
	"fmt"
	"time"

	"go.uber.org/zap"

	"outboxrelay/contracts"
)

// Handler carries out role and policy changes. It may be called for several
// records at once.
type Handler struct {
	cfg     Config
	metrics *metrics
	calls   *calls
}

// New returns a Handler. It contacts nobody.
func New(cfg Config) (*Handler, error) {
	if err := cfg.Validate(); err != nil {
		return nil, fmt.Errorf("create claims handler: %w", err)
	}
	cfg = cfg.withDefaults()
	m := newMetrics(cfg.Registerer)
	return &Handler{
		cfg: cfg, metrics: m,
		calls: newCalls(cfg.Catalog.Targets[cfg.Target].RatePerSecond, m, cfg.Log),
	}, nil
}

// Handle carries one record out, whose envelope holds its payload. nil means
// that the account's claims hold it, or something newer, and that its clients
// were told. The error answers contracts.KindOf, contracts.CodeOf and
// contracts.ReasonOf. Handle returns within Config.Timeout.
func (h *Handler) Handle(ctx context.Context, rec *contracts.Record, envelope []byte) error {
	ctx, cancel := context.WithTimeout(ctx, h.cfg.Timeout)
	defer cancel()
	r := &refresh{
		handler: h, record: rec, account: rec.AggregateID,
		log: h.cfg.Log.With(zap.String("traceId", rec.TraceID), zap.String("eventId", rec.EventID), zap.String("account", rec.AggregateID), traceField(ctx)),
	}
	start := time.Now()
	outcome, err := r.run(ctx, envelope)
	if err != nil {
		failure := failed(rec.AggregateID, err)
		h.metrics.failed(failure.Code)
		return failure
	}
	h.metrics.records.WithLabelValues(outcome).Inc()
	level := zap.InfoLevel
	if outcome == outcomeUnchanged {
		level = zap.DebugLevel
	}
	r.log.Log(level, "claims refreshed", append(r.took, zap.String("outcome", outcome), zap.Int64("claimsVersion", r.docs.snapshot.ClaimsVersion),
		zap.Duration("took", time.Since(start)))...)
	return nil
}

// revokes reports whether rec's route asks to revoke tokens.
func (h *Handler) revokes(rec *contracts.Record) bool {
	outbox := h.cfg.Catalog.Outbox(rec.Outbox)
	if outbox == nil {
		return false
	}
	route := outbox.Route(rec.EventType)
	return route != nil && route.RevokeTokens
}
