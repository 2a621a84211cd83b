package main

import (
	"maps"
	"strings"
	"testing"

	"outboxrelay/contracts"
)

// A handler target goes to this program's handler, or to its stand-in.
func TestStandIns(t *testing.T) {
	catalog, err := loadCatalog("")
	if err != nil {
		t.Fatal(err)
	}
	other := *catalog
	other.Targets = maps.Clone(catalog.Targets)
	other.Targets["BILLING"] = contracts.TargetSpec{Name: "BILLING", Kind: contracts.KindHandler}
	for _, tc := range []struct {
		name    string
		catalog *contracts.Catalog
		pairs   []string
		want    map[string]contracts.TargetKind
		wantErr string
	}{
		{"claims are set", catalog, nil, map[string]contracts.TargetKind{claimsTarget: contracts.KindHandler}, ""},
		{"a topic stands in for them", catalog, []string{claimsTarget + "=some-topic"}, map[string]contracts.TargetKind{claimsTarget: contracts.KindPubSub}, ""},
		{
			"a handler of the catalog's own", &other,
			[]string{"BILLING=some-topic"},
			map[string]contracts.TargetKind{claimsTarget: contracts.KindHandler, "BILLING": contracts.KindPubSub},
			"",
		},
		{"one without a stand-in", &other, nil, nil, "target BILLING is a handler, and none is registered: give it a topic with --stand-in BILLING=TOPIC"},
		{"one for a target on Pub/Sub", catalog, []string{"FUNNEL=some-topic"}, nil, "it is no handler"},
		{"one for a target that is not there", catalog, []string{"BILLING=some-topic"}, nil, "the catalog does not declare it"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := standInFlags{StandIn: tc.pairs}.apply(tc.catalog)
			if tc.wantErr != "" {
				if err == nil || !strings.Contains(err.Error(), tc.wantErr) {
					t.Errorf("error %v, want %q", err, tc.wantErr)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			for name, kind := range tc.want {
				if got.Targets[name].Kind != kind {
					t.Errorf("target %s is of kind %s, want %s", name, got.Targets[name].Kind, kind)
				}
			}
		})
	}
}
