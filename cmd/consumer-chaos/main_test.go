package main

import (
	"strings"
	"testing"

	"go.uber.org/goleak"
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
		"an argument":     {[]string{"kill"}, `unexpected argument "kill"`},
	} {
		t.Run(name, func(t *testing.T) {
			var stderr strings.Builder
			if code := run(t.Context(), tc.args, &stderr, &stderr); code != exitUsage || !strings.Contains(stderr.String(), tc.want) {
				t.Errorf("exit code %d and %q; want %d and %q", code, stderr.String(), exitUsage, tc.want)
			}
		})
	}
}

// A consumer that cannot begin says so, and its run ends.
func TestConsumerWithoutATask(t *testing.T) {
	t.Setenv(taskVar, `{"Catalog": "nowhere.yaml"}`)
	var stderr strings.Builder
	if code := run(t.Context(), nil, &stderr, &stderr); code != exitBroken || !strings.Contains(stderr.String(), "nowhere.yaml") {
		t.Errorf("exit code %d and %q; want %d and the catalog that is missing", code, stderr.String(), exitBroken)
	}
}
