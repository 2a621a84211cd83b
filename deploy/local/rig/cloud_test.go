package rig

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestReadVars(t *testing.T) {
	for name, c := range map[string]struct {
		in   string
		want map[string]string
	}{
		"all":                 {"A=1\nB=x:2\n", map[string]string{"A": "1", "B": "x:2"}},
		"others between":      {"hello\nA=1\nC=3\nB=2\n", map[string]string{"A": "1", "B": "2"}},
		"ends before it does": {"A=1\n", map[string]string{"A": "1"}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, readVars(strings.NewReader(c.in), "A", "B")); diff != "" {
				t.Error(diff)
			}
		})
	}
}
