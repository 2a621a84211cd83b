package outbox

import (
	"strings"
)

// Collections that Emit writes.
const (
	DomainEvents = "domain_events" // an event's ID is its document's
	Jobs         = "outbox"        // a job's key is its document's ID
)

// NotificationDispatch is the one type of job that there is.
const NotificationDispatch = "notification_dispatch"

// MaxJobAttempts is after how many attempts a job is dead that does not say otherwise.
const MaxJobAttempts = 5

// Statuses of a job.
const (
	JobPending    = "pending"    // waits until nextAttemptAt
	JobProcessing = "processing" // an instance has it
	JobSent       = "sent"
	JobFailed     = "failed" // whether it was sent nobody can know: a person decides
	JobDead       = "dead"   // its attempts are used up, or none would help
)

// Job is something to be done about a domain event, for one recipient.
type Job struct {
	Type        string // "": NotificationDispatch
	RecipientID string
	Channel     string // such as "in_app", "email", "pubsub"
	TemplateID  string
	MaxAttempts int // 0: MaxJobAttempts
}

// JobKey returns the key of an event's job, which is its document's ID:
//
//	<jobType>:<orgId>:<eventType>:<entityType>:<entityId>:<recipientId>:<channel>:<templateId>
//
// In each part "%", ":", "/" and "#" are escaped as in a URL, so that no two lists of parts
// have one key, and Firestore takes it as an ID. An event with a Revision has
// "#<revision>" at the end of its entityId.
func JobKey(e *DomainEvent, j *Job) string {
	entity := jobKeyEscapes.Replace(e.EntityID)
	if e.Revision != "" {
		entity += "#" + jobKeyEscapes.Replace(e.Revision)
	}
	esc := jobKeyEscapes.Replace
	return strings.Join([]string{
		esc(j.kind()), esc(e.OrgID), esc(e.Type), esc(e.EntityType), entity, esc(j.RecipientID), esc(j.Channel), esc(j.TemplateID),
	}, ":")
}

var jobKeyEscapes = strings.NewReplacer("%", "%25", ":", "%3A", "/", "%2F", "#", "%23")

func (j *Job) kind() string {
	if j.Type == "" {
		return NotificationDispatch
	}
	return j.Type
}
