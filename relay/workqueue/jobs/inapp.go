package jobs

import (
	"context"

	"cloud.google.com/go/firestore"

	"outboxrelay/relay/workqueue"
)

// InAppMessages is the collection of the messages of channel in_app. A message's ID
// is its job's key.
const InAppMessages = "in_app_messages"

// ChannelInApp is the name of channel in_app, as jobs have it.
const ChannelInApp = "in_app"

// InApp is channel in_app: a document of InAppMessages, which the recipient's client
// reads and marks as read.
type InApp struct{ client *firestore.Client }

// NewInApp returns the channel.
func NewInApp(client *firestore.Client) *InApp { return &InApp{client} }

// Tells implements Channel: the document is created once, or it is there.
func (*InApp) Tells() bool { return true }

// Send implements Channel.
func (i *InApp) Send(_ context.Context, m Message) ([]workqueue.Create, error) {
	data := map[string]any{
		"orgId": m.OrgID, "recipientId": m.RecipientID, "title": m.Title, "body": m.Body, "read": false, "readAt": nil,
		"createdAt": firestore.ServerTimestamp,
	}
	for _, field := range []string{"eventId", "eventType", "entityType", "entityId", "templateId"} {
		data[field] = m.Job[field]
	}
	return []workqueue.Create{{Ref: i.client.Collection(InAppMessages).Doc(m.Key), Data: data}}, nil
}
