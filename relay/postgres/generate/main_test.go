package main

import (
	"strings"
	"testing"
)

func TestGenerateRefuses(t *testing.T) {
	for name, c := range map[string]struct{ list, want string }{
		"a value twice":    {"aggregate_type: [ad]\nevent_type: [ad_created, ad_created]", `"ad_created" is there twice`},
		"no word":          {"aggregate_type: [ad]\nevent_type: ['it''s']", `want small letters`},
		"none at all":      {"event_type: [ad_created]", "aggregate_type has no values"},
		"an unknown field": {"aggregate_type: [ad]\nevent_type: [ad_created]\nlanes: []", "lanes"},
	} {
		if _, err := generate([]byte(c.list)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error is %v, want %q", name, err, c.want)
		}
	}
}
