package firestore

import (
	"context"
	"fmt"

	"cloud.google.com/go/firestore"
	vkit "cloud.google.com/go/firestore/apiv1"
	"google.golang.org/api/option"
	"google.golang.org/grpc/metadata"

	"outboxrelay/dlq/firestore/lastanswer"
)

// Client is Firestore's own client together with the generated one below it, which
// takes and gives protobuf. Both use one connection.
type Client struct {
	*firestore.Client
	generated *vkit.Client
	database  string // projects/PROJECT/databases/DATABASE
}

// Open opens a client with a connection of its own, which the caller closes. It is
// dialled from now on, and not waited for, so that several connect side by side.
// opts say where Firestore is; they bring no connection, and no variable of the
// environment is looked at for an emulator.
func Open(ctx context.Context, project, database string, opts ...option.ClientOption) (*Client, error) {
	generated, err := vkit.NewClient(ctx, append([]option.ClientOption{readHere, heard, lastanswer.Heard()}, opts...)...)
	if err != nil {
		return nil, err
	}
	// The connection is one, not one of a pool, as no option asks for a pool.
	conn := generated.Connection() //nolint:staticcheck // see above
	conn.Connect()
	client, err := firestore.NewClientWithDatabase(ctx, project, database, option.WithGRPCConn(conn))
	if err != nil {
		_ = generated.Close() // nothing was sent yet
		return nil, err
	}
	return &Client{Client: client, generated: generated, database: fmt.Sprintf("projects/%s/databases/%s", project, database)}, nil
}

// Generated returns the client for protobuf. Its calls take a context of Outgoing.
func (c *Client) Generated() *vkit.Client { return c.generated }

// Outgoing returns ctx with the headers that say which database a call is for, as
// the SDK sends them.
func (c *Client) Outgoing(ctx context.Context) context.Context {
	return metadata.AppendToOutgoingContext(ctx, "google-cloud-resource-prefix", c.database, "x-goog-is-transaction", "false")
}
