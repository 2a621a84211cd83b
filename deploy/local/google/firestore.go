package google

import (
	"context"
	"io"

	"cloud.google.com/go/firestore/apiv1/firestorepb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
)

var firestoreComponent = component{
	name: "cloud-firestore-emulator",
	jars: "platform/cloud-firestore-emulator/cloud-firestore-emulator.jar",
}

// StartFirestore starts Google's Firestore emulator and returns once it answers.
// What it prints goes to log; nil drops it. ctx bounds the start alone; the
// caller owns the emulator and calls Stop.
func StartFirestore(ctx context.Context, log io.Writer) (*Emulator, error) {
	return startFirestore(ctx, log)
}

// StartFirestoreFrom is StartFirestore with the documents of an export: the path
// of its ".overall_export_metadata", as the emulator's own :export writes it.
func StartFirestoreFrom(ctx context.Context, export string, log io.Writer) (*Emulator, error) {
	return startFirestore(ctx, log, "--seed_from_export="+export)
}

func startFirestore(ctx context.Context, log io.Writer, flags ...string) (*Emulator, error) {
	found, err := Locate(ctx)
	if err != nil {
		return nil, err
	}
	jar, err := found.jar(firestoreComponent)
	if err != nil {
		return nil, err
	}
	return start(ctx, program{
		name: firestoreComponent.name,
		command: func(host, port string) []string {
			return append([]string{
				found.Java,
				// All data is on the heap. Left alone it grows to a quarter of the machine.
				"-Xmx2g",
				// The emulator words its errors in English only.
				"-Duser.language=en",
				"-cp", jar, "com.google.cloud.datastore.emulator.firestore.CloudFirestore",
				"start", "--host=" + host, "--port=" + port,
			}, flags...)
		},
		probe: overGRPC(probeFirestore),
	}, log)
}

func probeFirestore(ctx context.Context, conn *grpc.ClientConn) error {
	// The emulator takes this token for the administrator's, whom no rule binds.
	ctx = metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer owner")
	_, err := firestorepb.NewFirestoreClient(conn).ListCollectionIds(ctx, &firestorepb.ListCollectionIdsRequest{
		Parent: "projects/probe/databases/(default)/documents", PageSize: 1,
	})
	return err
}
