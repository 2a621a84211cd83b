package program

import (
	"errors"
	"math"
	"os"
	"runtime/debug"
	"testing"

	"github.com/KimMachineGun/automemlimit/memlimit"
	"go.uber.org/zap/zapcore"

	"outboxrelay/cmd/outbox-relay/shell"
)

// fieldsOf encodes log fields into a map.
func fieldsOf(env map[string]string) map[string]any {
	enc := zapcore.NewMapObjectEncoder()
	for _, f := range Resources(shell.LookupIn(env)) {
		f.AddTo(enc)
	}
	return enc.Fields
}

func TestMemoryLimitIsTheContainers(t *testing.T) {
	if _, set := os.LookupEnv(EnvMemoryLimit); set {
		t.Skip(EnvMemoryLimit + " is set, and wins")
	}
	before := debug.SetMemoryLimit(-1)
	defer debug.SetMemoryLimit(before)
	for _, tc := range []struct {
		name      string
		container memlimit.Provider
		want      int64
		from      string
		fails     bool
	}{
		{"512 MiB", func() (uint64, error) { return 512 << 20, nil }, 512 << 20 * 9 / 10, "container", false},
		{"none", func() (uint64, error) { return 0, memlimit.ErrNoLimit }, math.MaxInt64, "none", false},
		{"not to be told", func() (uint64, error) { return 0, errors.New("no cgroup") }, math.MaxInt64, "none", true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			debug.SetMemoryLimit(math.MaxInt64)
			if err := LimitMemory(tc.container); (err != nil) != tc.fails {
				t.Errorf("LimitMemory = %v", err)
			}
			if got := debug.SetMemoryLimit(-1); got/1024 != tc.want/1024 {
				t.Errorf("limit %d, want %d", got, tc.want)
			}
			if got := fieldsOf(nil)["memoryLimitFrom"]; got != tc.from {
				t.Errorf("said to come from %v, want %s", got, tc.from)
			}
		})
	}
}

// GOMEMLIMIT, which the Go runtime has read at the start, is left alone.
func TestGivenMemoryLimitWins(t *testing.T) {
	const given = 300 << 20
	t.Setenv(EnvMemoryLimit, "300MiB")
	before := debug.SetMemoryLimit(given)
	defer debug.SetMemoryLimit(before)
	if err := LimitMemory(func() (uint64, error) { return 512 << 20, nil }); err != nil {
		t.Error(err)
	}
	if got := debug.SetMemoryLimit(-1); got != given {
		t.Errorf("limit %d, want %d", got, given)
	}
	if got := fieldsOf(map[string]string{EnvMemoryLimit: "300MiB"}); got["memoryLimitFrom"] != EnvMemoryLimit || got["memoryLimitMiB"] != int64(300) {
		t.Errorf("told: %v", got)
	}
}
