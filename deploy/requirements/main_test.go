package requirements_test

import (
	"testing"

	"go.uber.org/goleak"

	"outboxrelay/contracts"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("go.opencensus.io/stats/view.(*worker).start"))
}

func defaultCatalog(t *testing.T) *contracts.Catalog {
	t.Helper()
	catalog, err := contracts.DefaultCatalog()
	if err != nil {
		t.Fatal(err)
	}
	return catalog
}
