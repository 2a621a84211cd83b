package requirements_test

import (
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	deployed "outboxrelay/deploy/firestore"
	"outboxrelay/deploy/requirements"
)

// TestGeneratedFilesAreCurrent: what is deployed is what the catalog and the code
// need now.
func TestGeneratedFilesAreCurrent(t *testing.T) {
	files, err := requirements.Generated()
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range files {
		got, err := os.ReadFile(path)
		if err != nil {
			t.Errorf("%v (go generate ./... writes it)", err)
			continue
		}
		if diff := cmp.Diff(string(want), string(got)); diff != "" {
			t.Errorf("%s has drifted (go generate ./... writes it again); -want +got:\n%s", path, diff)
		}
	}
}

// TestEmbeddedFirestoreReadsTheDeployedFile: the file that is deployed is the one
// that the embedded Firestore has by default.
func TestEmbeddedFirestoreReadsTheDeployedFile(t *testing.T) {
	if diff := cmp.Diff(requirements.IndexesOf(defaultCatalog(t)), deployed.Indexes()); diff != "" {
		t.Errorf("deploy/firestore.Indexes (-want +got):\n%s", diff)
	}
}
