package desk

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"cloud.google.com/go/firestore"

	"outboxrelay/dlq"
)

// Items reads one page of a queue's documents, those created last first.
func (d *Desk) Items(ctx context.Context, queue string, f Filter, p dlq.Page) (dlq.Paged[*Item], error) {
	none := dlq.Paged[*Item]{}
	v, err := d.view(queue)
	if err != nil {
		return none, err
	}
	query, err := d.query(v, f)
	if err != nil {
		return none, err
	}
	after, err := openPage(&p, queue, f)
	if err != nil {
		return none, err
	}
	if after.Path != "" {
		ref := d.document(v, after.Path)
		if ref == nil {
			return none, damaged("its position is no document of the queue")
		}
		if query, err = d.startAfter(ctx, query, after, ref); err != nil {
			return none, fmt.Errorf("list documents of queue %s: %w", queue, err)
		}
	}
	docs, err := query.Limit(p.Limit).Documents(ctx).GetAll()
	if err != nil {
		return none, fmt.Errorf("list documents of queue %s: %w", queue, err)
	}
	page := dlq.Paged[*Item]{Items: make([]*Item, len(docs))}
	for n, doc := range docs {
		page.Items[n] = v.item(doc)
	}
	if len(docs) == p.Limit {
		last := page.Items[len(docs)-1]
		page.Next = token(queue, f, position{At: last.CreatedAt, Path: last.ID})
	}
	return page, nil
}

// startAfter begins behind where a page ended. Of a document that was created at no time, as its
// producer wrote a text, a number or null there, its own value tells where that is.
func (d *Desk) startAfter(ctx context.Context, query firestore.Query, after position, ref *firestore.DocumentRef) (firestore.Query, error) {
	if !after.At.IsZero() {
		return query.StartAfter(after.At, ref), nil
	}
	snaps, err := d.client.GetAll(ctx, []*firestore.DocumentRef{ref})
	switch {
	case err != nil:
		return query, err
	case !snaps[0].Exists():
		return query, damaged("the document that its page ended with is gone")
	}
	return query.StartAfter(snaps[0]), nil
}

// query selects what f does, in the order of the list.
func (d *Desk) query(v *View, f Filter) (firestore.Query, error) {
	fields := &v.Vocabulary.Fields
	query := d.documents(v)
	if f.Tenant != "" {
		if v.Collection == nil {
			if faults := dlq.TextFaults("tenant", f.Tenant); len(faults) > 0 {
				return query, &dlq.Refusal{Kind: dlq.Invalid, Detail: strings.Join(faults, "; "), Hint: "a tenant is written as GET .../items shows it"}
			}
			query = query.Where(v.Vocabulary.TenantField, "==", f.Tenant)
		} else {
			path, ok := v.Collection(f.Tenant)
			if !ok {
				return query, &dlq.Refusal{Kind: dlq.Invalid, Detail: fmt.Sprintf("tenant %q is none of queue %s", f.Tenant, v.Vocabulary.Queue), Hint: "a tenant is written as GET .../items shows it"}
			}
			query = d.client.Collection(path).Query
		}
	}
	if f.Status == "" {
		query = query.Where(fields.Status, "in", v.names())
	} else {
		query = query.Where(fields.Status, "==", f.Status)
	}
	return query.OrderBy(fields.CreatedAt, firestore.Desc).OrderBy(firestore.DocumentID, firestore.Desc).Select(v.selected()...), nil
}

// selected are the fields that an item without Fields and History is read from.
func (v *View) selected() []string {
	f := &v.Vocabulary.Fields
	all := append([]string{
		f.Status, f.CreatedAt, f.Attempts, f.MaxAttempts, f.Due, f.LockedAt, f.LockUntil, f.Owner, f.LastError, f.LastErrorCode, v.Vocabulary.TenantField,
	}, v.About...)
	slices.Sort(all)
	return slices.DeleteFunc(slices.Compact(all), func(name string) bool { return name == "" })
}

// relative is a document's path below the database.
func relative(ref *firestore.DocumentRef) string {
	_, path, _ := strings.Cut(ref.Path, "/documents/")
	return path
}
