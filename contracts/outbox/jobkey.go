package outbox

import "strings"

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

var jobKeyUnescapes = strings.NewReplacer("%25", "%", "%3A", ":", "%2F", "/", "%23", "#")

// jobKeyFields are the fields of a job that its key tells of, in its order.
var jobKeyFields = []string{"jobType", "orgId", "eventType", "entityType", "entityId", "recipientId", "channel", "templateId"}

// JobFieldsOfKey returns what a job's key tells of its fields, as JobKey puts it there; nil for
// a text that is no such key. The revision is no part of the entityId.
func JobFieldsOfKey(key string) map[string]string {
	parts := strings.Split(key, ":")
	if len(parts) != len(jobKeyFields) {
		return nil
	}
	fields := make(map[string]string, len(parts))
	for i, name := range jobKeyFields {
		part := parts[i]
		if name == "entityId" {
			part, _, _ = strings.Cut(part, "#")
		}
		fields[name] = jobKeyUnescapes.Replace(part)
	}
	return fields
}
