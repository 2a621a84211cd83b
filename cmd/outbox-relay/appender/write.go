package appender

import (
	"context"
	"io"

	"cloud.google.com/go/firestore"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"outboxrelay/contracts"
	"outboxrelay/dlq/firestore/lastanswer"
)

// atOnce is the number of records in one transaction. All of them get
// the same createdAt; large transactions cost latency.
const atOnce = 100

// atOnceBytes bounds a transaction of several records, well under gRPC's 4 MiB,
// which Google's emulator takes, and Firestore's 10.
const atOnceBytes = 3 << 20

// Outcome is what became of records.
type Outcome struct {
	Written, Repeated int
	Collisions        []Collision
}

// Collision is a record that has the key of another one, which was left as it is.
type Collision struct {
	line int
	why  error
}

// Tell tells of it as of a bad record of the file of that name.
func (c Collision) Tell(w io.Writer, name string) { refuse(w, name, c.line, c.why) }

// Write creates the documents of records, in their order. A document
// that exists already is left as it is: it is a repeat, or another record of the same
// key. On an error the outcome says how far it came.
func Write(ctx context.Context, client *firestore.Client, records []Record) (Outcome, error) {
	var o Outcome
	for len(records) > 0 {
		chunk := records[:fitting(records)]
		records = records[len(chunk):]
		err := createAll(ctx, client, chunk)
		if err == nil {
			o.Written += len(chunk)
			continue
		}
		if status.Code(err) != codes.AlreadyExists {
			return o, err
		}
		// Some are there: find out which, one by one.
		for _, r := range chunk {
			switch err := createAll(ctx, client, []Record{r}); {
			case err == nil:
				o.Written++
			case status.Code(err) == codes.AlreadyExists:
				if err := o.compare(ctx, client, r); err != nil {
					return o, err
				}
			default:
				return o, err
			}
		}
	}
	return o, nil
}

// compare tells a repeat from a collision.
func (o *Outcome) compare(ctx context.Context, client *firestore.Client, r Record) error {
	if r.line == 0 {
		o.Repeated++
		return nil
	}
	found, err := client.Collection(r.Outbox).Doc(r.ID).Get(ctx)
	var collided error
	switch status.Code(err) {
	case codes.OK:
		collided = collision(r, r.Outbox, r.differs(found.Data()))
	case codes.NotFound: // it was delivered meanwhile, and removed
	default:
		return err
	}
	if collided != nil {
		o.Collisions = append(o.Collisions, Collision{r.line, collided})
	} else {
		o.Repeated++
	}
	return nil
}

// fitting returns how many of the records fit into a transaction: one at least.
func fitting(records []Record) (n int) {
	for bytes := 0; n < min(len(records), atOnce); n++ {
		if bytes += records[n].size; bytes > atOnceBytes {
			break
		}
	}
	return max(n, 1)
}

func createAll(ctx context.Context, client *firestore.Client, records []Record) error {
	ctx, last := lastanswer.Keep(ctx)
	return last.Explain(client.RunTransaction(ctx, func(_ context.Context, tx *firestore.Transaction) error {
		for _, r := range records {
			r.Fields[contracts.FieldCreatedAt] = firestore.ServerTimestamp
			if err := tx.Create(client.Collection(r.Outbox).Doc(r.ID), r.Fields); err != nil {
				return err
			}
		}
		return nil
	}))
}
