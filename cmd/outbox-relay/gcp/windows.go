package gcp

import "google.golang.org/grpc"

// Windows of a connection to Firestore: how much of an answer is on its way, or waits
// for whoever reads it. gRPC's own grow with what the path carries, up to 16 MiB a
// stream, so that each page of a backlog would stand in memory once more, frame by
// frame, while those before it are decoded.
const (
	// streamWindow has a page of 300 records of 1 KiB come in three round trips.
	streamWindow = 128 << 10
	// connectionWindow is for all streams together, and no bound on memory: gRPC
	// opens it as data comes in, read or not.
	connectionWindow = 4 << 20
)

var windows = []grpc.DialOption{
	grpc.WithStaticStreamWindowSize(streamWindow), grpc.WithStaticConnWindowSize(connectionWindow),
}
