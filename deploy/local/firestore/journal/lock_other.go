//go:build !unix

package journal

import (
	"errors"
	"io"
)

func lockDirectory(string) (io.Closer, error) {
	return nil, errors.New("a data directory needs a Unix-like system; run in memory instead")
}
