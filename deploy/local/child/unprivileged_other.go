//go:build !unix

package child

import (
	"os"
	"syscall"
)

// Unprivileged makes dir, where it is missing. A server runs as this process here.
func Unprivileged(dir string) (*syscall.SysProcAttr, error) {
	return nil, os.MkdirAll(dir, 0o700)
}
