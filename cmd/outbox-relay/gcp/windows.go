package gcp

import (
	"google.golang.org/grpc"
	"google.golang.org/grpc/experimental"
	"google.golang.org/grpc/mem"
)

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
	experimental.WithBufferPool(frames()),
}

// frames is where what comes in waits for whoever reads it. A document of a page comes
// in a frame of its own, and gRPC's own pool has nothing between 1 and 4 KiB: what stands
// in the windows would take up some times what it is. The peak of a drain of 100,000
// records of 1 KiB is 7 MiB lower.
func frames() mem.BufferPool {
	pool, err := mem.NewBinaryTieredBufferPool(8, 9, 10, 11, 12, 13, 14, 15, 20)
	if err != nil {
		panic(err) // for sizes that are none
	}
	return pool
}
