package appender

import (
	"context"

	"cloud.google.com/go/firestore"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"outboxrelay/contracts"
)

// atOnce is the number of records in one transaction. All of them get
// the same createdAt; large transactions cost latency.
const atOnce = 100

// atOnceBytes bounds a transaction of several records, well under gRPC's 4 MiB,
// which Google's emulator takes, and Firestore's 10.
const atOnceBytes = 3 << 20

// Write creates the documents of records, in their order. A document
// that exists already is left as it is and counted as repeated. On an error the
// counts say how far it came.
func Write(ctx context.Context, client *firestore.Client, records []Record) (written, repeated int, err error) {
	for len(records) > 0 {
		chunk := records[:fitting(records)]
		records = records[len(chunk):]
		err := createAll(ctx, client, chunk)
		if err == nil {
			written += len(chunk)
			continue
		}
		if status.Code(err) != codes.AlreadyExists {
			return written, repeated, err
		}
		// Some are there: find out which, one by one.
		for i := range chunk {
			switch err := createAll(ctx, client, chunk[i:i+1]); {
			case err == nil:
				written++
			case status.Code(err) == codes.AlreadyExists:
				repeated++
			default:
				return written, repeated, err
			}
		}
	}
	return written, repeated, nil
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
	return client.RunTransaction(ctx, func(_ context.Context, tx *firestore.Transaction) error {
		for _, r := range records {
			r.Fields[contracts.FieldCreatedAt] = firestore.ServerTimestamp
			if err := tx.Create(client.Collection(r.Outbox).Doc(r.ID), r.Fields); err != nil {
				return err
			}
		}
		return nil
	})
}
