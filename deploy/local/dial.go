package local

import (
	"context"

	"google.golang.org/api/option"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
)

// ClientOptions lead one of Google's clients to a plain-text server at addr
// (HOST:PORT): a part of the embedded cloud, or an emulator.
func ClientOptions(addr string) []option.ClientOption {
	return []option.ClientOption{
		option.WithEndpoint("passthrough:///" + addr),
		option.WithoutAuthentication(),
		option.WithTelemetryDisabled(),
		option.WithGRPCDialOption(grpc.WithTransportCredentials(insecure.NewCredentials())),
	}
}

// FirestoreOptions are ClientOptions for a Firestore. Its security rules do not
// bind the client.
func FirestoreOptions(addr string) []option.ClientOption {
	return append(ClientOptions(addr), option.WithGRPCDialOption(grpc.WithPerRPCCredentials(owner{})))
}

// owner is the token that an emulator takes for the administrator's.
type owner struct{}

func (owner) GetRequestMetadata(context.Context, ...string) (map[string]string, error) {
	return map[string]string{"authorization": "Bearer owner"}, nil
}

func (owner) RequireTransportSecurity() bool { return false }
