package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cloud.google.com/go/firestore/apiv1/firestorepb"
	"github.com/google/go-cmp/cmp"
)

func TestCatalogValidate(t *testing.T) {
	if got := runProgram(t, nil, "", "catalog", "validate"); got.code != exitOK || !strings.Contains(got.stdout, "valid: 6 outboxes") {
		t.Errorf("default catalog: %+v", got)
	}
	file := filepath.Join(t.TempDir(), "bad.yaml")
	if err := os.WriteFile(file, []byte("outboxes:\n  - name: x\n    nonsense: 1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, args := range map[string][]string{
		"as an argument": {"catalog", "validate", file},
		"as a flag":      {"catalog", "validate", "--catalog", file},
	} {
		t.Run(name, func(t *testing.T) {
			got := runProgram(t, nil, "", args...)
			if got.code != exitUsage || !strings.Contains(got.stderr, "bad.yaml:3") {
				t.Errorf("bad catalog: %+v; want exit code %d and the line", got, exitUsage)
			}
		})
	}
}

func TestCatalogPrintIsReadBack(t *testing.T) {
	printed := runProgram(t, nil, "", "catalog", "print")
	if printed.code != exitOK {
		t.Fatalf("print: %+v", printed)
	}
	if got := strings.Count(printed.stdout, "topic: ier-funnel-standard"); got != 1 {
		t.Errorf("the topic of FUNNEL stands %d times in:\n%s", got, printed.stdout)
	}
}

func TestCatalogTopics(t *testing.T) {
	got := runProgram(t, nil, "", "catalog", "topics")
	want := `domain-errors
domain-metrics
ier-audit-collector
ier-claims-handler
ier-funnel-critical
ier-funnel-standard
ier-notif-router
ier-org-context-acl
ier-org-schedule
ier-tag-subscriber
token-refresh-signal
`
	if diff := cmp.Diff(result{stdout: want}, got, cmp.AllowUnexported(result{})); diff != "" {
		t.Errorf("topics (-want +got):\n%s", diff)
	}
}

func TestCatalogIndexes(t *testing.T) {
	printed := runProgram(t, nil, "", "catalog", "indexes")
	var got firestoreIndexes
	if err := json.Unmarshal([]byte(printed.stdout), &got); err != nil {
		t.Fatal(err)
	}
	var first firestoreIndexes
	for _, index := range got.Indexes {
		if index.CollectionGroup == "tagOutbox" {
			first.Indexes = append(first.Indexes, index)
		}
	}
	for _, field := range got.FieldOverrides {
		if field.CollectionGroup == "tagOutbox" {
			first.FieldOverrides = append(first.FieldOverrides, field)
		}
	}
	want := firestoreIndexes{
		Indexes: []compositeIndex{{CollectionGroup: "tagOutbox", QueryScope: "COLLECTION", Fields: []indexField{
			{"status", "ASCENDING"}, {"lane", "ASCENDING"}, {"createdAt", "ASCENDING"},
		}}},
		FieldOverrides: []fieldOverride{
			{CollectionGroup: "tagOutbox", FieldPath: "payload", Indexes: []indexField{}},
			{CollectionGroup: "tagOutbox", FieldPath: "expireAt", TTL: true, Indexes: []indexField{}},
		},
	}
	if diff := cmp.Diff(want, first); diff != "" {
		t.Errorf("indexes of tagOutbox (-want +got):\n%s", diff)
	}
	if got, want := len(got.Indexes), 6; got != want {
		t.Errorf("%d indexes, want one for each of %d outboxes", got, want)
	}
}

func TestRequireIndex(t *testing.T) {
	indexes := firestoreIndexes{Indexes: []compositeIndex{ascending("out", "status", "lane", "createdAt")}}
	field := func(name string) *firestorepb.StructuredQuery_FieldReference {
		return &firestorepb.StructuredQuery_FieldReference{FieldPath: name}
	}
	where := func(name string, op firestorepb.StructuredQuery_FieldFilter_Operator) *firestorepb.StructuredQuery_Filter {
		return &firestorepb.StructuredQuery_Filter{FilterType: &firestorepb.StructuredQuery_Filter_FieldFilter{
			FieldFilter: &firestorepb.StructuredQuery_FieldFilter{Field: field(name), Op: op},
		}}
	}
	const equal, notIn = firestorepb.StructuredQuery_FieldFilter_EQUAL, firestorepb.StructuredQuery_FieldFilter_NOT_IN
	for _, tc := range []struct {
		name    string
		filters []*firestorepb.StructuredQuery_Filter
		order   []string
		served  bool
	}{
		{"one equality", []*firestorepb.StructuredQuery_Filter{where("status", equal)}, nil, true},
		{"one equality by name", []*firestorepb.StructuredQuery_Filter{where("status", equal)}, []string{"__name__"}, true},
		{"two equalities", []*firestorepb.StructuredQuery_Filter{where("status", equal), where("lane", equal)}, nil, true},
		{"the lane's query", []*firestorepb.StructuredQuery_Filter{where("status", equal), where("lane", equal)}, []string{"createdAt", "__name__"}, true},
		{"the strays' query", []*firestorepb.StructuredQuery_Filter{where("status", equal), where("lane", notIn)}, []string{"lane", "createdAt"}, true},
		{"an order without its index", []*firestorepb.StructuredQuery_Filter{where("status", equal)}, []string{"nextAttemptAt"}, false},
		{"an order that ends early", []*firestorepb.StructuredQuery_Filter{where("status", equal)}, []string{"lane"}, false},
		{"an equality that comes late", []*firestorepb.StructuredQuery_Filter{where("createdAt", equal)}, []string{"status", "lane"}, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			q := &firestorepb.StructuredQuery{
				From: []*firestorepb.StructuredQuery_CollectionSelector{{CollectionId: "out"}},
				Where: &firestorepb.StructuredQuery_Filter{FilterType: &firestorepb.StructuredQuery_Filter_CompositeFilter{
					CompositeFilter: &firestorepb.StructuredQuery_CompositeFilter{Filters: tc.filters},
				}},
			}
			for _, name := range tc.order {
				q.OrderBy = append(q.OrderBy, &firestorepb.StructuredQuery_Order{Field: field(name)})
			}
			if err := indexes.require(q); (err == nil) != tc.served {
				t.Errorf("require = %v, want it served: %v", err, tc.served)
			}
		})
	}
}
