// Command sizing writes the tables of docs/SIZING.md. go generate runs it in the
// directory of package cost.
package main

import (
	"fmt"
	"os"
	"path/filepath"

	"outboxrelay/cmd/outbox-relay/cost"
)

func main() {
	if err := run(filepath.Join("..", "..", "..", "docs", "SIZING.md")); err != nil {
		fmt.Fprintln(os.Stderr, "sizing:", err)
		os.Exit(1)
	}
}

func run(path string) error {
	page, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	written, err := cost.WriteTables(string(page))
	if err != nil {
		return err
	}
	return os.WriteFile(path, []byte(written), 0o644) //nolint:gosec // a page of the documentation
}
