package outbox

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

func (j *Job) kind() string {
	if j.Type == "" {
		return NotificationDispatch
	}
	return j.Type
}
