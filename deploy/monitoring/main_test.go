package monitoring_test

import (
	"os"
	"testing"

	"outboxrelay/contracts"
	"outboxrelay/deploy/monitoring"
)

// repository is its root, seen from the tests.
var repository = os.DirFS("../..")

func define(t *testing.T) *monitoring.Definition {
	t.Helper()
	catalog, err := contracts.DefaultCatalog()
	if err != nil {
		t.Fatal(err)
	}
	return monitoring.Define(catalog)
}

// generated are the files as they would be written now.
func generated(t *testing.T) map[string][]byte {
	t.Helper()
	files, err := define(t).Files(repository, monitoring.PlaybookDir)
	if err != nil {
		t.Fatal(err)
	}
	return files
}
