package main

import (
	stdcmp "cmp"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"outboxrelay/cmd/relay-bench/postgres"
	"outboxrelay/cmd/relay-bench/table"
	"outboxrelay/deploy/local/rig"
)

func TestParseOptions(t *testing.T) {
	for name, c := range map[string]struct {
		args string
		want options
		fail string // part of the error
	}{
		"none":   {"", options{cloud: "embedded", rounds: 2, page: 300, scale: full}, ""},
		"google": {"-cloud google", options{cloud: "google", rounds: 2, page: 300, scale: full.onGoogle()}, ""},
		"some":   {"-only drain,flood -rounds 3", options{cloud: "embedded", rounds: 3, page: 300, only: []string{"drain", "flood"}, scale: full}, ""},
		"short":  {"-short", options{cloud: "embedded", rounds: 1, page: 300, short: true, scale: smoke}, ""},
		"before": {"-before old -floor-page 50", options{cloud: "embedded", rounds: 2, page: 50, before: "old", scale: full}, ""},
		"scales": {
			"-drain 10000 -backlogs 10,2000 -deliver 300 -large 4 -rate 50", options{cloud: "embedded", rounds: 2, page: 300, scale: full.with(scale{
				drain: 10_000, backlogs: []int{10, 2000}, deliver: 300, large: 4, steadyRate: 50,
			})}, "",
		},
		"rate on google": {"-cloud google -rate 20", options{cloud: "google", rounds: 2, page: 300, scale: full.onGoogle().with(scale{steadyRate: 20})}, ""},
		"postgres": {
			"-source postgres -drain 300 -only lead", options{
				source: "postgres", cloud: "embedded", rounds: 2, page: 300, only: []string{"lead"}, scale: full.with(scale{drain: 300}),
				postgres: postgres.Scale{Drain: 300, Publishers: []int{1, 2, 4}, Lead: 10_000, Rate: 200, For: 30 * time.Second},
			}, "",
		},
		"unknown source":  {"-source tape", options{}, `-source is "tape"`},
		"of the other":    {"-source postgres -cloud google", options{}, "-cloud has no meaning with -source postgres"},
		"of the one":      {"-lead 5", options{}, "-lead has no meaning with -source firestore"},
		"no lead":         {"-source postgres -lead -1", options{}, "-lead is -1"},
		"measure of one":  {"-source postgres -only flood", options{}, `-only names "flood", want some of drain, lead, latency`},
		"no page":         {"-floor-page 0", options{}, "-floor-page is 0"},
		"negative drain":  {"-drain -1", options{}, "-drain is -1"},
		"back in time":    {"-distance -1s", options{}, "-distance is -1s"},
		"far emulators":   {"-cloud google -distance 20ms", options{}, "-distance needs -cloud embedded"},
		"empty backlog":   {"-backlogs 1000,0", options{}, "-backlogs is 0"},
		"strange backlog": {"-backlogs 1000,many", options{}, `-backlogs: "many" is no number`},
		"unknown cloud":   {"-cloud moon", options{}, `-cloud is "moon"`},
		"unknown measure": {"-only drain,speed", options{}, `-only names "speed"`},
		"short soak":      {"-only soak -soak 1s", options{}, "-soak is 1s"},
		"no rounds":       {"-rounds 0", options{}, "-rounds is 0"},
		"window":          {"-floor-window -1", options{}, "-floor-window is -1"},
		"argument":        {"drain", options{}, `unexpected argument "drain"`},
		"all at once":     {"-rounds 0 -cloud moon", options{}, "-rounds is 0"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := parseOptions(strings.Fields(c.args), io.Discard)
			if c.fail != "" {
				if err == nil || !strings.Contains(err.Error(), c.fail) {
					t.Fatalf("error = %v, want one with %q", err, c.fail)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			c.want.source = stdcmp.Or(c.want.source, sourceFirestore)
			if diff := cmp.Diff(c.want, got, cmp.AllowUnexported(options{}, scale{})); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestWants(t *testing.T) {
	some := options{only: []string{"drain"}}
	soak := options{only: []string{"soak"}}
	memory := options{only: []string{"memory"}}
	drain, apart := measure{name: "drain"}, measure{name: "soak", apart: true}
	got := map[string]bool{
		"any": options{}.wants(drain), "named": some.wants(drain), "not named": soak.wants(drain),
		"apart, any": options{}.wants(apart), "apart, named": soak.wants(apart),
		"bill, on Google's": options{cloud: rig.CloudGoogle}.wants(measure{name: "billing", embeddedOnly: true}),
		"floor for any":     options{}.listens(), "floor for soak": soak.listens(), "floor for memory": memory.listens(),
		"table for any": options{}.compares(), "table for soak": soak.compares(), "table for memory": memory.compares(),
	}
	want := map[string]bool{
		"any": true, "named": true, "not named": false,
		"apart, any": false, "apart, named": true,
		"bill, on Google's": false,
		"floor for any":     true, "floor for soak": false, "floor for memory": false,
		"table for any": true, "table for soak": false, "table for memory": true,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestBeforeIsASideWhereItIsNamed(t *testing.T) {
	m := measure{sides: []table.Side{sideFloor, sideBefore, sideRelay}}
	got := [][]table.Side{options{}.sides(m), options{before: "old"}.sides(m)}
	if diff := cmp.Diff([][]table.Side{{sideFloor, sideRelay}, m.sides}, got); diff != "" {
		t.Error(diff)
	}
}

func TestWrongUseExitsWithUsage(t *testing.T) {
	var stderr strings.Builder
	code := run(t.Context(), []string{"-cloud", "moon"}, io.Discard, &stderr)
	if code != exitUsage || !strings.Contains(stderr.String(), "moon") {
		t.Errorf("code %d, stderr %q; want %d and the reason", code, &stderr, exitUsage)
	}
}
