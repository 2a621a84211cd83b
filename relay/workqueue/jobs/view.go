package jobs

import (
	"outboxrelay/contracts/outbox"
	"outboxrelay/relay/workqueue/desk"
)

// View is how people look at jobs. A job that came to a bad end may be tried again, also
// one of which nobody knows whether it was sent: the view warns of that.
func View() desk.View {
	return desk.View{
		Vocabulary: Vocabulary(),
		Statuses: []desk.Status{
			{Name: outbox.JobPending, Open: true, Refusal: "it is pending already", Hint: "an instance that runs the queue takes it when it is due"},
			{Name: outbox.JobProcessing, Open: true},
			{Name: outbox.JobSent, Refusal: "it is sent already", Hint: "emit another event for another message"},
			{Name: outbox.JobFailed, Requeues: true},
			{Name: outbox.JobDead, Requeues: true},
		},
		About:    []string{"jobType", "eventId", "eventType", "entityType", "entityId", "recipientId", "channel", "templateId"},
		OfID:     outbox.JobFieldsOfKey,
		ClosedAt: "sentAt",
		Warning:  warning,
	}
}

func warning(fields map[string]any) string {
	if status, _ := fields["status"].(string); status == outbox.JobFailed {
		return "nobody knows whether it was sent: the recipient may have it twice then"
	}
	return ""
}
