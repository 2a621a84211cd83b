// Command gen writes the files of deploy that are made from the built-in catalog.
// go generate runs it in the directory of package requirements.
package main

import (
	"fmt"
	"os"
	"path/filepath"

	"outboxrelay/deploy/requirements"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "gen:", err)
		os.Exit(1)
	}
}

func run() error {
	files, err := requirements.Generated()
	if err != nil {
		return err
	}
	for path, content := range files {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, content, 0o644); err != nil { //nolint:gosec // a file of the repository, that everybody may read
			return err
		}
	}
	return nil
}
