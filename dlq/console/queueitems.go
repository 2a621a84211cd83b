package console

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"outboxrelay/dlq/admin"
)

// queueItemsPage is one page of a queue's documents. It stands still: it does not follow
// what changes, and says when it was read.
type queueItemsPage struct {
	Queue, Collection string
	Status, Tenant    string
	Tabs              []statusTally
	All               tab
	Rows              []queueRow
	Read              time.Time
	Fresh             string // address of the first page as it is now
	Clear             string // address without any filter
	Later             bool   // it is not the first page
	Next              string // address of the next page; "" at the end
	Fault             *fault // what the filter is refused for
	Lost              *fault // the page that the address asks for is none of this list
	Command           string
}

// Narrow reports whether a filter is set.
func (p *queueItemsPage) Narrow() bool { return p.Status != "" || p.Tenant != "" }

// queueRow is one document of the list.
type queueRow struct {
	admin.QueueItem

	Key    string // unique on the page, whatever the ID holds
	Name   string
	About  string
	Tone   string
	Stale  bool
	Waits  bool   // its next attempt is due later
	Mine   string // address of the list of its tenant
	Detail string // its own
}

// queueItems loads one page of a queue's documents.
func (s *server) queueItems(ctx context.Context, v *visit) (*page, error) {
	list, err := get[admin.WorkQueueList](ctx, v.ask, apiPath("queues"), nil)
	if err != nil {
		return nil, err
	}
	queue := queueNamed(list, v.PathValue("queue"))
	if queue == nil {
		return nil, noQueue(v.PathValue("queue"))
	}
	q := v.URL.Query()
	p := &queueItemsPage{Queue: queue.Queue, Collection: queue.Collection, Status: strings.TrimSpace(q.Get("status")), Tenant: strings.TrimSpace(q.Get("tenant")), Read: time.Now()}
	token := q.Get("pageToken")
	p.Later, p.Clear, p.Fresh = token != "", Prefix+queuePath(p.Queue), at(queuePath(p.Queue), "status", p.Status, "tenant", p.Tenant)
	p.All = tab{"All", at(queuePath(p.Queue), "tenant", p.Tenant), p.Status == ""}
	for _, st := range queue.Statuses {
		p.Tabs = append(p.Tabs, standingOf(p.Queue, p.Tenant, st))
	}
	p.Command = p.command()
	shown := &page{Title: brief("Queue "+p.Queue, maxName), Section: "queues", Content: p}
	asked := url.Values{"limit": {strconv.Itoa(listed)}}
	for name, value := range map[string]string{"status": p.Status, "tenant": p.Tenant, "pageToken": token} {
		if value != "" {
			asked.Set(name, value)
		}
	}
	items, err := get[admin.QueueItemList](ctx, v.ask, apiPath("queues", p.Queue, "items"), asked)
	if problem, ok := errors.AsType[*admin.Problem](err); ok && (problem.Status == http.StatusUnprocessableEntity || problem.Status == http.StatusRequestURITooLong) {
		if p.Fault = faultOf(problem); token != "" {
			p.Lost, p.Fault = p.Fault, nil
		}
		return shown, nil
	}
	if err != nil {
		return nil, err
	}
	for _, i := range items.Items {
		p.Rows = append(p.Rows, rowOfQueue(list, i, p.Read))
	}
	if items.NextPageToken != "" {
		p.Next = at(queuePath(p.Queue), "status", p.Status, "tenant", p.Tenant, "pageToken", items.NextPageToken)
	}
	return shown, nil
}

func rowOfQueue(list *admin.WorkQueueList, i admin.QueueItem, now time.Time) queueRow {
	sum := sha256.Sum256([]byte(i.ID))
	r := queueRow{
		QueueItem: i, Key: hex.EncodeToString(sum[:8]), Name: itemName(i), About: itemAbout(i), Tone: "bad", Stale: stale(i, now), Waits: i.DueAt.After(now),
		Detail: pathTo("queues", i.Queue, "items", i.ID),
	}
	if i.Tenant != "" {
		r.Mine = at(queuePath(i.Queue), "tenant", i.Tenant)
	}
	if st, ok := statusOf(list, i.Queue, i.Status); ok {
		r.Tone = toneOf(st)
	}
	return r
}

// itemName is what a document is called: its event type, else its kind or its ID.
func itemName(i admin.QueueItem) string {
	for _, field := range []string{"eventType", "jobType"} {
		if name := i.About[field]; name != "" {
			return name
		}
	}
	return i.ID[strings.LastIndexByte(i.ID, '/')+1:]
}

// itemAbout says what a document is about: the entity, and who gets it by what.
func itemAbout(i admin.QueueItem) string {
	var parts []string
	add := func(before, field string) {
		if value := i.About[field]; value != "" {
			parts = append(parts, before+brief(value, maxName))
		}
	}
	add("", "entityType")
	add("", "entityId")
	add("for ", "recipientId")
	add("by ", "channel")
	add("module ", "module")
	return strings.Join(parts, " ")
}

// command lists the same on the command line; "" for what cannot be pasted safely.
func (p *queueItemsPage) command() string {
	return shellWith([]string{"outbox-relay", "queue", "list", p.Queue}, []flag{{"--status", p.Status}, {"--tenant", p.Tenant}})
}
