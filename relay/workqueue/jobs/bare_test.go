package jobs

import "testing"

// Where there are no templates, who shows a message makes its text; a mail has nobody
// who would.
func TestWithoutTemplatesMessagesHaveNoText(t *testing.T) {
	r := onEmbedded(t)
	r.bare = true
	shown := r.emit("m-1", "in_app", "ann", "matter-created")
	mailed := r.emit("m-2", "email", "ann@example.com", "matter-created")
	r.run()
	r.untilStatus(shown, "sent")
	snap, err := r.client.Collection(InAppMessages).Doc(shown.ID).Get(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if m := snap.Data(); m["title"] != "" || m["body"] != "" || m["templateId"] != "matter-created" || m["eventId"] == "" {
		t.Errorf("message is %v", m)
	}
	if got := r.untilStatus(mailed, "dead"); got["lastErrorCode"] != codeTemplate {
		t.Errorf("job is %v", got)
	}
	if mails := r.post.messages(); len(mails) != 0 {
		t.Errorf("mails are %q", mails)
	}
}
