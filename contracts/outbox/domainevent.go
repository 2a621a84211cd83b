package outbox

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"outboxrelay/contracts"
)

// DomainEvent says what happened to an entity of an organization.
type DomainEvent struct {
	Type       string // one of DomainEventTypes
	OrgID      string
	EntityType string
	EntityID   string
	// Revision tells apart what happens to an entity more than once, such as
	// matter.updated: its version, or the request's ID. It becomes part of the event's ID
	// and of its jobs' keys. Without it, an event of a type happens to an entity once.
	Revision string
	// ID is the event's. "": derived from organization, type, entity and revision, so that
	// the same event has one ID however often a request is tried again.
	ID         string
	Actor      string    // who did it; "": "system"
	Visibility string    // who may see it; "": "org"
	Timestamp  time.Time // when it happened; zero: the server's time of the commit
	Payload    any       // as Event.Payload; nil: empty
}

var domainEventTypes = []string{
	"matter.created", "matter.updated",
	"task.created", "task.assigned", "task.completed",
	"document.uploaded",
	"invoice.created", "invoice.sent",
	"payment.received", "payment.failed",
	"user.invited", "user.joined",
}

// DomainEventTypes returns the types of event that Emit takes.
func DomainEventTypes() []string { return slices.Clone(domainEventTypes) }

// accept fills in what e leaves out and returns its payload, or names the faults of the event and its jobs.
func (e *DomainEvent) accept(jobs []Job) (map[string]any, *InvalidError) {
	e.Actor, e.Visibility = cmp.Or(e.Actor, "system"), cmp.Or(e.Visibility, "org")
	if e.ID == "" {
		name := strings.Join([]string{DomainEvents, e.OrgID, e.Type, e.EntityType, e.EntityID, e.Revision}, "\x00")
		e.ID = uuid.NewSHA1(eventNamespace, []byte(name)).String()
	}
	if e.Payload == nil {
		e.Payload = map[string]any{}
	}
	var p plain
	payload := p.payload(e.Payload)
	faults := sorted(p.faults)
	fault := func(field, problem string) { faults = append(faults, contracts.Fault{Field: field, Problem: problem}) }
	if !slices.Contains(domainEventTypes, e.Type) {
		fault("eventType", "is none that domain events are emitted for")
	}
	required := [][2]string{{"orgId", e.OrgID}, {"entityType", e.EntityType}, {"entityId", e.EntityID}}
	for i, j := range jobs {
		at := fmt.Sprintf("jobs[%d].", i)
		required = append(required, [2]string{at + "recipientId", j.RecipientID}, [2]string{at + "channel", j.Channel}, [2]string{at + "templateId", j.TemplateID})
		if problem := idProblem(JobKey(e, &jobs[i])); problem != "" {
			fault(at+"id", problem)
		}
		if j.MaxAttempts < 0 {
			fault(at+"maxAttempts", "is negative")
		}
	}
	for _, r := range required {
		if r[1] == "" {
			fault(r[0], "is missing")
		}
	}
	if strings.Contains(e.ID, "/") {
		fault("eventId", "holds a /, which Firestore forbids")
	} else if problem := idProblem(e.ID); problem != "" {
		fault("eventId", problem)
	}
	limits, size := FirestoreFaults(DomainEvents, cmp.Or(e.ID, "-"), map[string]any{"payload": payload, "actor": e.Actor, "visibility": e.Visibility})
	faults = append(faults, sorted(limits)...)
	faults = append(faults, sorted(e.storableFaults(payload, jobs))...)
	if size > maxDocument {
		fault("payload", "is too large for a document")
	}
	if len(faults) > 0 {
		return nil, &InvalidError{Of: 1, Events: []InvalidEvent{{Type: e.Type, Outbox: DomainEvents, Faults: faults}}}
	}
	return payload, nil
}
