package demo

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"cloud.google.com/go/firestore"
	"cloud.google.com/go/firestore/apiv1/firestorepb"

	"outboxrelay/dlq/console"
	"outboxrelay/relay/workqueue/notifications"
)

const (
	// bellPeople is how many people are offered, and bellNotes how many notifications of one are shown.
	bellPeople = 50
	bellNotes  = 20
)

// Bells are the notifications of the people of all condominiums, for the console of a local run. A
// person's ID is the path of their document.
type Bells struct{ Client *firestore.Client }

// People are those of all condominiums, admins first: events are for them.
func (b *Bells) People(ctx context.Context) ([]console.Person, error) {
	docs, err := b.Client.CollectionGroup(notifications.CollectionUsers).Limit(bellPeople).Documents(ctx).GetAll()
	if err != nil {
		return nil, fmt.Errorf("list people: %w", err)
	}
	type ranked struct {
		console.Person

		admin bool
	}
	var found []ranked
	for _, doc := range docs {
		parts := strings.Split(pathOf(doc.Ref), "/")
		if len(parts) != 6 {
			continue // of another collection of that name
		}
		role, _ := doc.Data()["role"].(string)
		name := fmt.Sprintf("%s (%s of %s/%s)", doc.Ref.ID, role, parts[1], parts[3])
		found = append(found, ranked{console.Person{ID: pathOf(doc.Ref), Name: name}, role == "admin"})
	}
	slices.SortStableFunc(found, func(a, b ranked) int {
		if a.admin != b.admin {
			if a.admin {
				return -1
			}
			return 1
		}
		return strings.Compare(a.ID, b.ID)
	})
	people := make([]console.Person, len(found))
	for n, f := range found {
		people[n] = f.Person
	}
	return people, nil
}

// Bell reads the notifications of one of People.
func (b *Bells) Bell(ctx context.Context, id string) (*console.Bell, error) {
	all := b.Client.Collection(id + "/" + notifications.CollectionBells)
	docs, err := all.OrderBy("createdAt", firestore.Desc).Limit(bellNotes + 1).Documents(ctx).GetAll()
	if err != nil {
		return nil, fmt.Errorf("read notifications of %s: %w", id, err)
	}
	unread := all.Where("read", "==", false)
	count, err := unread.NewAggregationQuery().WithCount("n").Get(ctx)
	if err != nil {
		return nil, fmt.Errorf("count notifications of %s: %w", id, err)
	}
	bell := &console.Bell{More: len(docs) > bellNotes}
	if n, ok := count["n"].(*firestorepb.Value); ok {
		bell.Unread = int(n.GetIntegerValue())
	}
	tenant, _, _ := strings.Cut(id, "/"+notifications.CollectionUsers+"/")
	for _, doc := range docs[:min(len(docs), bellNotes)] {
		fields := doc.Data()
		text := func(name string) string { s, _ := fields[name].(string); return s }
		read, _ := fields["read"].(bool)
		bell.Notes = append(bell.Notes, console.Note{
			ID: doc.Ref.ID, Title: text("title"), Body: text("body"), About: text("module"), At: doc.CreateTime, Read: read,
			Event: tenant + "/" + notifications.CollectionEvents + "/" + doc.Ref.ID,
		})
	}
	return bell, nil
}

func pathOf(ref *firestore.DocumentRef) string {
	_, path, _ := strings.Cut(ref.Path, "/documents/")
	return path
}
