package dlq

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"outboxrelay/contracts"
)

func TestTokenKeepsItsPosition(t *testing.T) {
	for _, want := range []position{
		{At: time.Date(2026, 11, 21, 10, 0, 0, 123456000, time.UTC), ID: "event:agg:1"},
		{ID: "a%2Fb\u2028<&>"},
		{At: time.Date(2026, 11, 21, 10, 0, 0, 123456789, time.UTC), ID: strings.Repeat("\x01", MaxIDBytes)},
	} {
		got, err := parseToken(token("list", Filter{}, want))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got.position()); diff != "" {
			t.Errorf("position (-want +got):\n%s", diff)
		}
	}
}

func FuzzPageToken(f *testing.F) {
	f.Add(token("dead letters", Filter{Outbox: "x"}, position{At: time.Unix(1, 0), ID: "a:b:1"}))
	f.Add(token("freezes", nil, position{ID: "a"}))
	f.Add("")
	f.Add("e30")
	f.Add("eyJpZCI6IllTOWkifQ")
	byTime, byID := Query{OrderBy: latestDead}, Query{OrderBy: []Order{{FieldID, false}}}
	f.Fuzz(func(t *testing.T, s string) {
		parsed, err := parseToken(s)
		if err != nil {
			return
		}
		if !contracts.IsDocumentID(string(parsed.ID)) {
			t.Errorf("position %+v names no document", parsed)
		}
		_, one := parsed.position().startAfter(byTime)
		_, other := parsed.position().startAfter(byID)
		if one == other {
			t.Errorf("position %+v is of both orders, or of none", parsed)
		}
		for _, q := range []Query{byTime, byID} {
			if _, after, err := (Page{Token: s}).open("a list", Filter{Outbox: s}, q); err == nil {
				t.Errorf("a token of another list was taken: %v", after)
			}
		}
	})
}
