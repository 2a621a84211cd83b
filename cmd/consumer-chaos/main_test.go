package main

import (
	"strings"
	"testing"

	"go.uber.org/goleak"

	"outboxrelay/deploy/local/ordeal"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m,
		// The SDK's tracing starts one for good.
		goleak.IgnoreTopFunction("go.opencensus.io/stats/view.(*worker).start"))
}

func TestUsageMistakes(t *testing.T) {
	for name, tc := range map[string]struct {
		args []string
		want string
	}{
		"unknown cloud":   {[]string{"-cloud", "other"}, `-cloud is "other"`},
		"negative events": {[]string{"-events", "-1"}, "-events is -1"},
		"negative kills":  {[]string{"-kills", "-1"}, "-kills is -1"},
		"too much":        {[]string{"-rate", "1001"}, "-rate is 1001"},
		"too many rounds": {[]string{"-kills", "3", "-rounds", "4"}, "-rounds is 4, want 1 to 3"},
		"an argument":     {[]string{"kill"}, `unexpected argument "kill"`},
	} {
		t.Run(name, func(t *testing.T) {
			var stderr strings.Builder
			if code := run(t.Context(), tc.args, &stderr, &stderr); code != ordeal.ExitUsage || !strings.Contains(stderr.String(), tc.want) {
				t.Errorf("exit code %d and %q; want %d and %q", code, stderr.String(), ordeal.ExitUsage, tc.want)
			}
		})
	}
}

func TestRoundsDealAll(t *testing.T) {
	o, err := parseOptions([]string{"-cloud", "google"}, t.Output())
	if err != nil {
		t.Fatal(err)
	}
	events, kills := 0, 0
	for _, round := range o.dealt() {
		if round.events != 2500 || round.kills < 12 || round.kills > 13 {
			t.Errorf("a round has %d events and %d kills", round.events, round.kills)
		}
		events, kills = events+round.events, kills+round.kills
	}
	if events != longEvents || kills != longKills {
		t.Errorf("the rounds have %d events and %d kills, want %d and %d", events, kills, longEvents, longKills)
	}
}

// A consumer that cannot begin says so, and its run ends.
func TestConsumerWithoutATask(t *testing.T) {
	t.Setenv(taskVar, `{"Catalog": "nowhere.yaml"}`)
	var stderr strings.Builder
	if code := run(t.Context(), nil, &stderr, &stderr); code != ordeal.ExitBroken || !strings.Contains(stderr.String(), "nowhere.yaml") {
		t.Errorf("exit code %d and %q; want %d and the catalog that is missing", code, stderr.String(), ordeal.ExitBroken)
	}
}
