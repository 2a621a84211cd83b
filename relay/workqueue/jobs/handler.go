package jobs

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"

	"cloud.google.com/go/firestore"
	"go.uber.org/zap"

	"outboxrelay/contracts"
	"outboxrelay/contracts/outbox"
	"outboxrelay/relay/firestore/readable"
	"outboxrelay/relay/workqueue"
)

// Codes of failures, as lastErrorCode has them.
const (
	codeUnknown   = "MAYBE_SENT"      // whether it was sent nobody can know
	codeNoEvent   = "NO_EVENT"        // the job's domain event is not there
	codeChannel   = "UNKNOWN_CHANNEL" // no such channel is configured
	codeTemplate  = "TEMPLATE"        // there is no such template, it does not fit the event, or the channel needs one and there is none
	codeRecipient = "NO_RECIPIENT"    // the recipient cannot be reached over the channel
	codeRefused   = "REFUSED"         // the other end will not take it
	codeFailed    = "NOT_SENT"        // it was not sent, and may be later
	// CodeRestored is of a job that came back open with an import: whether it was sent
	// since the export nobody can know.
	CodeRestored = "RESTORED"
)

// FieldChannel is the field of a job that names its channel.
const FieldChannel = "channel"

// Message is what is to be sent.
type Message struct {
	Key         string // the job's
	Job         map[string]any
	Event       map[string]any // the domain event's fields
	OrgID       string
	RecipientID string
	Title, Body string // of the template; empty if Bare
	// Bare tells that the catalog has no templates at all: who shows the message makes
	// its text, of the template's ID and the event.
	Bare bool
}

// Channel sends messages. Several goroutines use it at once.
type Channel interface {
	// Send sends a message, or returns documents that are created by the commit that
	// marks the job sent: then it is sent by these. An error means that nothing was sent,
	// unless it is one of MaybeSent; one of workqueue.Permanent that no further attempt would help.
	Send(ctx context.Context, m Message) ([]workqueue.Create, error)
	// Tells reports whether a second Send of a message adds nothing, so that one that
	// was interrupted may be sent again.
	Tells() bool
}

// MaybeSent returns an error that says that nobody can know whether the message was
// sent.
func MaybeSent(err error) error { return &maybeSentError{err} }

type maybeSentError struct{ error }

func (e *maybeSentError) Unwrap() error { return e.error }

// Handler does jobs.
type Handler struct {
	client    *firestore.Client
	templates Templates
	channels  map[string]Channel
}

// NewHandler returns a handler with channels by their names, as jobs have them.
func NewHandler(client *firestore.Client, templates Templates, channels map[string]Channel) *Handler {
	return &Handler{client, templates, channels}
}

var (
	_ workqueue.Handler   = (*Handler)(nil)
	_ workqueue.Abandoner = (*Handler)(nil)
)

func fieldsOf(c *workqueue.Claim) map[string]any { return Complete(c.Data, c.Ref.ID) }

// Handle implements workqueue.Handler.
func (h *Handler) Handle(ctx context.Context, c *workqueue.Claim) (workqueue.Outcome, error) {
	if out, ok := h.Abandoned(c); ok && c.Reclaimed {
		return out, nil
	}
	job := fieldsOf(c)
	name, _ := job[FieldChannel].(string)
	channel, ok := h.channels[name]
	switch {
	case name == "":
		return workqueue.Outcome{}, workqueue.Permanent(codeChannel, errors.New("the job names no channel, and its ID is no key that does"))
	case !ok:
		return workqueue.Outcome{}, workqueue.Permanent(codeChannel, fmt.Errorf("channel %q is not configured", name))
	}
	m, err := h.message(ctx, c, job)
	if err != nil {
		return workqueue.Outcome{}, err
	}
	creates, err := send(ctx, c, channel, m)
	if maybe, ok := errors.AsType[*maybeSentError](err); ok {
		return unknown("nobody can know whether it was sent: " + maybe.Error()), nil
	}
	if err != nil {
		return workqueue.Outcome{}, err
	}
	out := sent()
	out.Creates = creates
	return out, nil
}

// Abandoned implements workqueue.Abandoner: a job whose worker died over a channel that does not
// tell may have been sent, be it the last attempt or not. So may one of a channel that is
// not configured here, as it may have been where the worker died.
func (h *Handler) Abandoned(c *workqueue.Claim) (workqueue.Outcome, bool) {
	name, _ := fieldsOf(c)[FieldChannel].(string)
	if channel, ok := h.channels[name]; ok && channel.Tells() {
		return workqueue.Outcome{}, false
	}
	return unknown("a worker died while it had the job: nobody can know whether it was sent"), true
}

// send has a channel send. A panic of one that does not tell leaves open whether it has sent.
func send(ctx context.Context, c *workqueue.Claim, channel Channel, m Message) (_ []workqueue.Create, err error) {
	defer func() {
		if channel.Tells() {
			return // the engine contains the panic
		}
		if p := recover(); p != nil {
			c.Log.Error("panic of a channel", zap.String("panic", contracts.PanicText(p)), zap.ByteString("stack", debug.Stack()))
			err = MaybeSent(errors.New("the channel panicked"))
		}
	}()
	return channel.Send(ctx, m)
}

// message makes a job's message out of its event and its template.
func (h *Handler) message(ctx context.Context, c *workqueue.Claim, job map[string]any) (Message, error) {
	text := func(field string) string { s, _ := job[field].(string); return s }
	eventID := text("eventId")
	if eventID == "" {
		return Message{}, workqueue.Permanent(codeNoEvent, errors.New("the job names no event"))
	}
	if !contracts.IsDocumentID(eventID) {
		return Message{}, workqueue.Permanent(codeNoEvent, errors.New("the job's eventId is no ID"))
	}
	ref := h.client.Collection(outbox.DomainEvents).Doc(eventID)
	snaps, err := h.client.GetAll(ctx, []*firestore.DocumentRef{ref})
	if err != nil {
		return Message{}, workqueue.Coded(codeFailed, fmt.Errorf("read the event: %w", err))
	}
	if !snaps[0].Exists() {
		return Message{}, workqueue.Permanent(codeNoEvent, errors.New("the job's event is not there"))
	}
	event, err := readable.Fields(snaps[0], nil)
	if err != nil {
		return Message{}, workqueue.Permanent(codeNoEvent, fmt.Errorf("the job's event: %w", err))
	}
	m := Message{Key: c.Ref.ID, Job: job, Event: event, OrgID: text("orgId"), RecipientID: text("recipientId")}
	if m.Bare = h.templates.none(); m.Bare {
		return m, nil
	}
	if m.Title, m.Body, err = h.templates.render(text("templateId"), m); err != nil {
		return Message{}, workqueue.Permanent(codeTemplate, err)
	}
	return m, nil
}
