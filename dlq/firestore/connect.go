package firestore

import (
	"context"
	"os"

	"cloud.google.com/go/firestore"
	"google.golang.org/api/option"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
)

// Connect opens a client of the project's default database as Google's own clients do:
// FIRESTORE_EMULATOR_HOST leads it to an emulator. The caller closes it.
func Connect(ctx context.Context, project string) (*Client, error) {
	var opts []option.ClientOption
	if host := os.Getenv("FIRESTORE_EMULATOR_HOST"); host != "" {
		opts = []option.ClientOption{
			option.WithEndpoint("passthrough:///" + host), option.WithoutAuthentication(),
			option.WithGRPCDialOption(grpc.WithTransportCredentials(insecure.NewCredentials())),
			option.WithGRPCDialOption(grpc.WithPerRPCCredentials(owner{})),
		}
	}
	return Open(ctx, project, firestore.DefaultDatabaseID, opts...)
}

// owner is the token that an emulator takes for the administrator's, whom security rules do
// not bind.
type owner struct{}

func (owner) GetRequestMetadata(context.Context, ...string) (map[string]string, error) {
	return map[string]string{"authorization": "Bearer owner"}, nil
}

func (owner) RequireTransportSecurity() bool { return false }
