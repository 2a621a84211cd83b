package program

import (
	"math"
	"runtime"
	"runtime/debug"

	"github.com/KimMachineGun/automemlimit/memlimit"
	"go.uber.org/zap"

	"outboxrelay/cmd/outbox-relay/shell"
)

// How a process is told what it may use.
const (
	EnvMemoryLimit = "GOMEMLIMIT" // the Go runtime's own variable
	EnvProcessors  = "GOMAXPROCS" // likewise
	// HeapShare of the container's memory is the garbage collector's. The rest is
	// for what it does not know: the binary, stacks of the system, files.
	HeapShare = 0.9
)

// LimitMemory gives the garbage collector its share of the container's memory,
// which the runtime does not look up by itself, unlike the number of CPUs. It
// does nothing where GOMEMLIMIT is set, or nothing limits the container.
func LimitMemory(container memlimit.Provider) error {
	_, err := memlimit.Set(memlimit.WithProvider(container), memlimit.WithRatio(HeapShare))
	return err
}

// Resources are log fields of what the process may use, and who says so.
func Resources(env shell.Lookup) []zap.Field {
	from := "none"
	limit := debug.SetMemoryLimit(-1) // a negative one only asks
	switch {
	case env.Get(EnvMemoryLimit) != "":
		from = EnvMemoryLimit
	case limit != math.MaxInt64:
		from = "container"
	}
	fields := []zap.Field{zap.Int("cpus", runtime.GOMAXPROCS(0)), zap.String("memoryLimitFrom", from)}
	if limit != math.MaxInt64 {
		fields = append(fields, zap.Int64("memoryLimitMiB", limit>>20))
	}
	return fields
}
