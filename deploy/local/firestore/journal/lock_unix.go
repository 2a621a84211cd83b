//go:build unix

package journal

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// lockDirectory holds an advisory lock that ends with the process, however it ends.
func lockDirectory(dir string) (io.Closer, error) {
	f, err := os.OpenFile(filepath.Join(dir, "LOCK"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open lock: %w", err)
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		holder, _ := io.ReadAll(io.LimitReader(f, 32))
		if errors.Is(err, syscall.EWOULDBLOCK) {
			err = fmt.Errorf("data directory %s is in use by process %s", dir, strings.TrimSpace(string(holder)))
		}
		return nil, errors.Join(err, f.Close())
	}
	err = errors.Join(f.Truncate(0), writePID(f))
	if err != nil {
		return nil, errors.Join(fmt.Errorf("write lock: %w", err), f.Close())
	}
	return f, nil
}

func writePID(f *os.File) error {
	_, err := fmt.Fprintln(f, os.Getpid())
	return err
}
