package desk

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"cloud.google.com/go/firestore"
	"github.com/google/uuid"
	"go.uber.org/zap"

	"outboxrelay/contracts"
	"outboxrelay/dlq"
	"outboxrelay/relay/workqueue"
)

// Config is what a desk is made of.
type Config struct {
	Client *firestore.Client // the caller's
	Views  []View
	// Here are the queues that this instance runs, by their names.
	Here map[string]Instance
	Log  *zap.Logger      // nil: none
	Now  func() time.Time // nil: time.Now
	// NewID makes IDs of decisions; nil: time-ordered UUIDs.
	NewID func() string
}

// Instance is this instance's end of a queue; *workqueue.Queue is.
type Instance interface{ Health() workqueue.Health }

// Desk shows queues and has documents tried again. It implements admin.Queues.
type Desk struct {
	client *firestore.Client
	views  []View // by name
	here   map[string]Instance
	log    *zap.Logger
	now    func() time.Time
	newID  func() string
}

// New returns a desk.
func New(c Config) (*Desk, error) {
	if c.Client == nil {
		return nil, errors.New("make desk of the work queues: a client is required")
	}
	d := &Desk{client: c.Client, views: slices.Clone(c.Views), here: c.Here, log: c.Log, now: c.Now, newID: c.NewID}
	slices.SortFunc(d.views, func(a, b View) int { return strings.Compare(a.Vocabulary.Queue, b.Vocabulary.Queue) })
	if d.log == nil {
		d.log = zap.NewNop()
	}
	if d.now == nil {
		d.now = time.Now
	}
	if d.newID == nil {
		d.newID = func() string { return uuid.Must(uuid.NewV7()).String() }
	}
	return d, nil
}

// Here tells how this instance does with a queue.
func (d *Desk) Here(queue string) (workqueue.Health, bool) {
	if i := d.here[queue]; i != nil {
		return i.Health(), true
	}
	return workqueue.Health{}, false
}

func (d *Desk) view(queue string) (*View, error) {
	names := make([]string, len(d.views))
	for n := range d.views {
		if names[n] = d.views[n].Vocabulary.Queue; names[n] == queue {
			return &d.views[n], nil
		}
	}
	return nil, &dlq.Refusal{Kind: dlq.NotFound, Detail: fmt.Sprintf("there is no work queue %q", queue), Hint: "the queues are " + strings.Join(names, ", ")}
}

// documents is the query of all of a queue's.
func (d *Desk) documents(v *View) firestore.Query {
	if v.Vocabulary.Group {
		return d.client.CollectionGroup(v.Vocabulary.Collection).Query
	}
	return d.client.Collection(v.Vocabulary.Collection).Query
}

// document returns the document of that path; nil where none of the queue's can have it.
func (d *Desk) document(v *View, path string) *firestore.DocumentRef {
	parts := strings.Split(path, "/")
	if len(parts)%2 != 0 || len(parts) > 2 && !v.Vocabulary.Group || parts[len(parts)-2] != v.Vocabulary.Collection {
		return nil
	}
	for _, part := range parts {
		if !contracts.IsDocumentID(part) {
			return nil
		}
	}
	return d.client.Doc(path)
}

func noDocument(v *View, id string) *dlq.Refusal {
	return &dlq.Refusal{Kind: dlq.NotFound, Detail: fmt.Sprintf("queue %s has no document %q", v.Vocabulary.Queue, id), Hint: "list the queue's documents to find its path"}
}

// QueueItem reads one document with all that is known of it.
func (d *Desk) QueueItem(ctx context.Context, queue, id string) (*Item, error) {
	v, err := d.view(queue)
	if err != nil {
		return nil, err
	}
	ref := d.document(v, id)
	if ref == nil {
		return nil, noDocument(v, id)
	}
	refs := []*firestore.DocumentRef{ref}
	if v.DeadLetter != nil {
		if letter := d.client.Doc(v.DeadLetter(id)); letter != nil {
			refs = append(refs, letter)
		}
	}
	snaps, err := d.client.GetAll(ctx, refs)
	if err != nil {
		return nil, fmt.Errorf("read document of queue %s: %w", queue, err)
	}
	if !snaps[0].Exists() {
		return nil, noDocument(v, id)
	}
	i := v.whole(snaps[0])
	i.History = v.history(i, snaps[0], snaps[1:])
	return i, nil
}
