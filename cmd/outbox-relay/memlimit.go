package main

import (
	"math"
	"runtime"
	"runtime/debug"

	"github.com/KimMachineGun/automemlimit/memlimit"
	"go.uber.org/zap"

	"outboxrelay/cmd/outbox-relay/shell"
)

const (
	envMemoryLimit = "GOMEMLIMIT" // the Go runtime's own variable
	envProcessors  = "GOMAXPROCS" // likewise
	// heapShare of the container's memory is the garbage collector's. The rest is
	// for what it does not know: the binary, stacks of the system, files.
	heapShare = 0.9
)

// limitMemory gives the garbage collector its share of the container's memory,
// which the runtime does not look up by itself, unlike the number of CPUs. It
// does nothing where GOMEMLIMIT is set, or nothing limits the container.
func limitMemory(container memlimit.Provider) error {
	_, err := memlimit.Set(memlimit.WithProvider(container), memlimit.WithRatio(heapShare))
	return err
}

// resources are log fields of what the process may use, and who says so.
func resources(env shell.Lookup) []zap.Field {
	from := "none"
	limit := debug.SetMemoryLimit(-1) // a negative one only asks
	switch {
	case env.Get(envMemoryLimit) != "":
		from = envMemoryLimit
	case limit != math.MaxInt64:
		from = "container"
	}
	fields := []zap.Field{zap.Int("cpus", runtime.GOMAXPROCS(0)), zap.String("memoryLimitFrom", from)}
	if limit != math.MaxInt64 {
		fields = append(fields, zap.Int64("memoryLimitMiB", limit>>20))
	}
	return fields
}
