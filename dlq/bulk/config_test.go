package bulk

import (
	"strings"
	"testing"

	"outboxrelay/dlq/sibling"
)

func TestConfigSaysAllThatIsWrong(t *testing.T) {
	c := Config{Config: sibling.Config{Poll: -1}, Ask: -1}
	err := c.Validate()
	for _, want := range []string{"poll", "requests of bulk replays"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want it to name %s", err, want)
		}
	}
}
