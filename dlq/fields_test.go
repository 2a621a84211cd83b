package dlq

import "testing"

func TestItemWithoutVersionStaysSo(t *testing.T) {
	for _, test := range []struct {
		name string
		item Item
		want any
	}{
		{"with a version", Item{AggregateVersion: 3}, int64(3)},
		{"version zero", Item{}, int64(0)},
		{"without", Item{Versionless: true}, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			fields := test.item.Fields()
			if got := fields["aggregateVersion"]; got != test.want {
				t.Errorf("aggregateVersion is %v, want %v", got, test.want)
			}
			if got := DecodeItem(Doc{Fields: fields}); got.Versionless != test.item.Versionless || got.AggregateVersion != test.item.AggregateVersion {
				t.Errorf("read back as version %d, versionless %v", got.AggregateVersion, got.Versionless)
			}
		})
	}
	if DecodeItem(Doc{Fields: map[string]any{"tier": "SAFE_AUTO"}}).Versionless {
		t.Error("a version that was not read is taken for none")
	}
}
