package notifications

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"cloud.google.com/go/firestore"
	"go.uber.org/zap"
	"google.golang.org/grpc/codes"

	"outboxrelay/relay/workqueue"
)

// Handler dispatches events that a queue has claimed.
type Handler struct {
	client   *firestore.Client
	settings Settings
	metrics  *Metrics
	log      *zap.Logger
}

var _ workqueue.Handler = (*Handler)(nil)

// New returns a handler over client, which the caller closes once the queue has stopped.
// metrics and log may be nil.
func New(client *firestore.Client, settings Settings, metrics *Metrics, log *zap.Logger) (*Handler, error) {
	if err := settings.Check(); err != nil {
		return nil, err
	}
	if metrics == nil {
		metrics = NewMetrics(nil)
	}
	if log == nil {
		log = zap.NewNop()
	}
	return &Handler{client, settings, metrics, log.Named(Queue)}, nil
}

// Handle implements workqueue.Handler.
func (h *Handler) Handle(ctx context.Context, c *workqueue.Claim) (workqueue.Outcome, error) {
	a := attempt{ref: c.Ref, fields: c.Data, number: c.Attempt, token: c.Token}
	sum, err := h.attempt(ctx, a)
	if err != nil {
		return workqueue.Outcome{}, err
	}
	return workqueue.Outcome{Word: string(sum.result), Status: StatusEmitted, ClosedAt: sum.at}, nil
}

// attempt is an event as it was claimed.
type attempt struct {
	ref    *firestore.DocumentRef
	fields map[string]any
	number int // from 1
	token  string
}

// attempt dispatches an event and logs what came of it. The event is closed unless there
// is an error, which is workqueue.ErrLost or has a code.
func (h *Handler) attempt(ctx context.Context, a attempt) (sum progress, err error) {
	began, ended := time.Now(), false
	path := relative(a.ref)
	e, err := h.read(path, a.fields)
	line := func() {
		if err != nil || !ended { // it panics
			sum.result = h.after(err, a.number)
		}
		word, _ := code(err)
		h.tell(path, e, a.number, sum, time.Since(began), word, err)
	}
	defer func() {
		if !errors.Is(err, workqueue.ErrLost) {
			line()
		}
	}()
	if err == nil {
		sum, err = h.dispatch(ctx, e, a)
	}
	ended = true
	return sum, coded(err)
}

// read reads and checks an event.
func (h *Handler) read(path string, fields map[string]any) (event, error) {
	_, id := cutLast(path)
	tenant, err := tenantIn(path)
	if err != nil {
		return event{id: id}, err
	}
	return parse(tenant, id, fields)
}

func (h *Handler) dispatch(ctx context.Context, e event, a attempt) (progress, error) {
	created, _ := a.fields[fieldCreatedAt].(time.Time)
	d := dispatch{
		client: h.client, settings: h.settings, event: e, ref: a.ref, createdAt: created, token: a.token,
		committed: func(did progress) {
			h.metrics.written.Add(float64(did.written))
			if h.settings.LogVerbose {
				h.log.Info("notifications written", zap.String("eventId", e.id), zap.String("clientId", e.tenant.ClientID),
					zap.String("condominiumId", e.tenant.CondominiumID), zap.Int("written", did.written), zap.Int("recipientsCount", did.recipients))
			}
		},
	}
	sum, err := d.run(ctx)
	if err == nil {
		h.metrics.latency.Observe(sum.latency.Seconds())
		h.metrics.recipients.Observe(float64(sum.recipients))
	}
	return sum, err
}

// after is what follows on an attempt that failed: another one, or the end.
func (h *Handler) after(err error, number int) Result {
	if _, permanent := code(err); permanent || number >= h.settings.MaxRetries {
		return Failed
	}
	return Retry
}

// tell writes the run's log line, without anything of what the event says to people.
func (h *Handler) tell(path string, e event, number int, sum progress, took time.Duration, word string, err error) {
	fields := []zap.Field{
		zap.String("eventId", e.id), zap.String("clientId", e.tenant.ClientID), zap.String("condominiumId", e.tenant.CondominiumID),
		zap.String("dedupeKey", workqueue.Clip(e.dedupeKey, 200)), zap.Int("attempts", number), zap.Int("recipientsCount", sum.recipients),
		zap.Int64("latencyMs", took.Milliseconds()), zap.String("result", string(sum.result)),
	}
	if sum.result == Emitted || sum.result == Deduped {
		h.log.Info("event dispatched", append(fields, zap.Int64("ageMs", sum.latency.Milliseconds()))...)
		return
	}
	h.log.Warn("event not dispatched", append(fields, zap.String("path", path), zap.String("errorCode", word), zap.Error(err))...)
}

// coded gives an error its code, for the engine.
func coded(err error) error {
	if err == nil || errors.Is(err, workqueue.ErrLost) {
		return err
	}
	word, permanent := code(err)
	if permanent {
		return workqueue.Permanent(word, err)
	}
	return workqueue.Coded(word, fmt.Errorf("dispatch event: %w", err))
}

// statusWord writes a gRPC code as Google's documentation does: DEADLINE_EXCEEDED.
func statusWord(c codes.Code) string {
	var b strings.Builder
	for i, r := range c.String() {
		if i > 0 && r >= 'A' && r <= 'Z' && c != codes.OK {
			b.WriteByte('_')
		}
		b.WriteRune(r)
	}
	return strings.ToUpper(b.String())
}
