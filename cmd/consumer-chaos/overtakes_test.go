package main

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestOvertakes(t *testing.T) {
	early := beginning{"a", "1", "x", 1, 5, 10}
	for name, tc := range map[string]struct {
		later    beginning
		effectAt int64 // of the early one; 0: it has none
		broken   []string
	}{
		"while the early one is handled":    {beginning{"a", "2", "x", 2, 11, 12}, 20, []string{"postgres: 1 events were handled while one before it in their aggregate was"}},
		"the early one is never handled":    {beginning{"a", "2", "x", 2, 11, 12}, 0, []string{"postgres: 1 events were handled while one before it in their aggregate was"}},
		"behind its effect":                 {beginning{"a", "2", "x", 2, 11, 21}, 20, nil},
		"it came before the other's claim":  {beginning{"a", "2", "x", 2, 9, 12}, 20, nil},
		"of another aggregate":              {beginning{"a", "2", "y", 2, 11, 12}, 20, nil},
		"of another consumer":               {beginning{"b", "2", "x", 2, 11, 12}, 20, nil},
		"an earlier one beside a later one": {beginning{"a", "0", "x", 0, 11, 12}, 20, nil},
		"the same once more":                {beginning{"a", "1", "x", 1, 11, 12}, 20, nil},
	} {
		t.Run(name, func(t *testing.T) {
			n := notes{beginnings: []beginning{tc.later, {"a", "1", "x", 1, 12, 14}, early}} // the early one again, after a kill
			if tc.effectAt > 0 {
				n.effects = []effect{{"a", "1", "x", 1, tc.effectAt + 5}, {"a", "1", "x", 1, tc.effectAt}}
			}
			f := judge(map[happening]bool{{"a", "1"}: tc.effectAt > 0}, map[string]end{"a": endPostgres, "b": endApart}, nil, n)
			f.of(endPostgres).extra, f.of(endPostgres).most, f.of(endPostgres).lost = 0, 0, 0 // which are TestJudge's
			if diff := cmp.Diff(tc.broken, f.broken()); diff != "" {
				t.Error(diff)
			}
		})
	}
}
