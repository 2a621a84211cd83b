// The program generate writes what Prometheus, Grafana and Cloud Monitoring
// load, and the playbooks' list. It runs in deploy/monitoring.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"outboxrelay/contracts"
	"outboxrelay/deploy/monitoring"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "generate monitoring:", err)
		os.Exit(1)
	}
}

func run() error {
	root := flag.String("repository", "../..", "root of the repository")
	base := flag.String("playbooks", monitoring.PlaybookDir, "where alerts of Prometheus link to the playbooks: the address of docs/playbooks")
	file := flag.String("catalog", "", "catalog file; empty: the one that is built in")
	flag.Parse()
	catalog, err := contracts.LoadCatalog(*file)
	if err != nil {
		return err
	}
	files, err := monitoring.Define(catalog).Files(os.DirFS(*root), *base)
	if err != nil {
		return err
	}
	stale, err := monitoring.Stale(os.DirFS(*root), files)
	if err != nil {
		return err
	}
	for _, name := range stale {
		if err := os.Remove(filepath.Join(*root, name)); err != nil {
			return err
		}
	}
	for name, data := range files {
		path := filepath.Join(*root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, data, 0o644); err != nil { //nolint:gosec // everybody may read what git holds
			return err
		}
	}
	return nil
}
