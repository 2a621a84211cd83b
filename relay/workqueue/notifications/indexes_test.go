package notifications

import (
	"slices"
	"testing"
)

// The composite indexes that the contract recommends are all there.
func TestIndexesOfTheContract(t *testing.T) {
	t.Parallel()
	got := map[string][][]string{}
	for _, index := range Indexes().Indexes {
		var fields []string
		for _, f := range index.Fields {
			fields = append(fields, f.FieldPath)
		}
		got[index.CollectionGroup] = append(got[index.CollectionGroup], fields)
	}
	for collection, want := range map[string][]string{
		"notificationEvents": {"status", "nextRetryAt", "lockUntil", "createdAt"},
		"notificationQueue":  {"dedupeKey", "createdAt"},
		"users":              {"role", "active"},
	} {
		if !slices.ContainsFunc(got[collection], func(fields []string) bool { return slices.Equal(fields, want) }) {
			t.Errorf("%s has %v, and not %v", collection, got[collection], want)
		}
	}
}
