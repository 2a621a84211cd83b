package crashtest

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// LeaveRoom has the log of a data directory take no more than room bytes until lift,
// or the end of the test: what is written then ends in its midst, as on a full disk.
// It is for all files of the process, so nothing else may write larger ones meanwhile.
func LeaveRoom(t *testing.T, dir string, room int64) (lift func()) {
	t.Helper()
	info, err := os.Stat(Log(t, dir))
	if err != nil {
		t.Fatal(err)
	}
	var before syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &before); err != nil {
		t.Fatal(err)
	}
	set := func(limit syscall.Rlimit) {
		if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
			t.Error(err)
		}
	}
	set(syscall.Rlimit{Cur: uint64(info.Size() + room), Max: before.Max})
	lift = func() { set(before) }
	t.Cleanup(lift)
	return lift
}

// Log is the one log of a data directory.
func Log(t *testing.T, dir string) string {
	t.Helper()
	logs, err := filepath.Glob(filepath.Join(dir, "*.log"))
	if err != nil || len(logs) != 1 {
		t.Fatalf("want one log, got %v, %v", logs, err)
	}
	return logs[0]
}
