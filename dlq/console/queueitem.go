package console

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"time"

	"outboxrelay/dlq/admin"
)

// queueDetail is a document of a work queue as the API answers it. What it says stays as
// it came: its numbers may be larger than a float holds.
type queueDetail struct {
	admin.QueueItemDetail

	Document json.RawMessage `json:"document"`
}

// queueItemPage is what the screen of one document of a work queue shows.
type queueItemPage struct {
	*queueDetail

	Name     string
	Tone     string
	Verdict  string // class of the sentence
	Story    []piece
	Facts    []aboutFact
	Document recordView
	Act      act
}

// aboutFact is one of what a document is about.
type aboutFact struct{ Name, Value string }

// addQueueItem adds the screen of one document, with its requeue.
func addQueueItem(s *server) {
	on := s.screen("/queues/{queue}/items/{id}", "queueitem.html", s.queueItem)
	s.action("/queues/{queue}/items/{id}/requeue", on, s.requeue)
	s.mux.HandleFunc("GET "+Prefix+"/queueitem", func(w http.ResponseWriter, r *http.Request) {
		s.visited(w, r, func(v *visit) error { return s.findQueueItem(w, v) })
	})
}

// findQueueItem leads to a document by its path alone, as the audit has it.
func (s *server) findQueueItem(w http.ResponseWriter, v *visit) error {
	list, err := get[admin.WorkQueueList](v.Context(), v.ask, apiPath("queues"), nil)
	if err != nil {
		return err
	}
	path := v.URL.Query().Get("path")
	segments := strings.Split(path, "/")
	for _, q := range list.Items {
		if n := len(segments) - 2; n >= 0 && segments[n] == q.Collection {
			http.Redirect(w, v.Request, local(pathTo("queues", q.Queue, "items", path)), http.StatusSeeOther)
			return nil
		}
	}
	return &fault{http.StatusNotFound, "no work queue has such a document", "the audit has its path; the service may have lost the queue"}
}

func (s *server) queueItem(ctx context.Context, v *visit) (*page, error) {
	queue := v.PathValue("queue")
	d, err := get[queueDetail](ctx, v.ask, apiPath("queues", queue, "items", v.PathValue("id")), nil)
	if err != nil {
		return nil, err
	}
	list, err := get[admin.WorkQueueList](ctx, v.ask, apiPath("queues"), nil)
	if err != nil {
		return nil, err
	}
	status, known := statusOf(list, d.Queue, d.Status)
	now := time.Now()
	p := &queueItemPage{queueDetail: d, Name: itemName(d.QueueItem), Tone: "bad", Document: recordText(d.Document), Story: queueStory(d, status, known, now)}
	if known {
		p.Tone = toneOf(status)
	}
	switch {
	case !known || status.Bad || stale(d.QueueItem, now):
		p.Verdict = "wrong"
	case status.Open:
		p.Verdict = "doubt"
	default:
		p.Verdict = "well"
	}
	for name, value := range d.About {
		p.Facts = append(p.Facts, aboutFact{name, value})
	}
	slices.SortFunc(p.Facts, func(a, b aboutFact) int { return strings.Compare(a.Name, b.Name) })
	q := queueNamed(list, d.Queue)
	p.Act = p.requeueAct(v, q != nil && q.Here != nil)
	shown := &page{
		Title: brief(p.Name+" in queue "+d.Queue, maxName), Section: "queues", Follows: []string{topicQueueItems + ":" + d.ID}, Notice: doneNotice(v, requeueDone), Content: p,
	}
	if len(d.ID) > maxFollowed {
		shown.Follows = []string{topicQueueItems}
	}
	if status.Open {
		shown.Follows = append(shown.Follows, topicClock) // workers tell nobody of what they do
	}
	return shown, nil
}

// requeueDone tells of the decision.
var requeueDone = map[string]string{"requeue": "It is pending again, with all its attempts. While it is open, this page tells how it goes on, without a reload."}

// requeueAct is the act that has it tried again.
func (p *queueItemPage) requeueAct(v *visit, here bool) act {
	a := act{
		Name: "requeue", Label: "Requeue it", Post: pathTo("queues", p.Queue, "items", p.ID, "requeue"), Will: p.requeueWill(here),
		Allowed: p.Requeue.Allowed, Why: p.Requeue.Why, Hint: p.Requeue.Hint, Danger: p.Requeue.Warning != "",
		NeedsReason: true, Fields: map[string]string{fieldETag: p.ETag}, Command: requeueCommand(p.Queue, p.ID),
	}
	return a.retyped(v)
}

// requeueWill says beforehand what a requeue does.
func (p *queueItemPage) requeueWill(here bool) []string {
	var out []string
	if p.Requeue.Warning != "" {
		out = append(out, sentence(p.Requeue.Warning))
	}
	takes := "an instance that runs the queue takes it within seconds."
	if !here {
		takes = "an instance that runs the queue takes it. The one that answers does not run it."
	}
	out = append(out, "It becomes pending again, as if it had never been tried, and is due at once: "+takes)
	if p.Queue == "notifications" {
		out = append(out, "Who has the notification already gets no second one: it is known by its event.")
	}
	if by, to := p.About["channel"], p.About["recipientId"]; by != "" && to != "" {
		out = append(out, "It goes to "+brief(to, maxName)+" by "+brief(by, maxName)+".")
	}
	return append(out, "The audit says that you decided so, and why.")
}

// requeueCommand is the same on the command line; "" for an ID that cannot be pasted safely.
func requeueCommand(queue, id string) string {
	if strings.HasPrefix(id, "-") || !pastable(id) {
		return ""
	}
	return shell("outbox-relay", "queue", "requeue", queue, id) + " --reason '...'"
}

// requeue has the document tried again that the visitor saw.
func (s *server) requeue(ctx context.Context, v *visit) (string, error) {
	saw, err := v.saw()
	if err != nil {
		return "", err
	}
	queue, id := v.PathValue("queue"), v.PathValue("id")
	if _, err = post[admin.QueueRequeued](ctx, v.ask, apiPath("queues", queue, "items", id, "requeue"), admin.Why{Reason: v.reason()}, saw); err != nil {
		return "", err
	}
	return done(pathTo("queues", queue, "items", id), "requeue"), nil
}
