package inbox_test

import (
	"testing"

	"outboxrelay/contracts/inbox"
	"outboxrelay/contracts/inbox/inboxtest"
)

func BenchmarkMemory(b *testing.B) {
	inboxtest.Benchmark(b, inbox.NewMemory(), inbox.Options{})
}

func BenchmarkMemoryWithCatalog(b *testing.B) {
	catalog, err := defaultCatalog()
	if err != nil {
		b.Fatal(err)
	}
	inboxtest.Benchmark(b, inbox.NewMemory(), inbox.Options{Catalog: catalog})
}
