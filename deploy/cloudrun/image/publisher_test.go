package image

import (
	"slices"
	"testing"
)

func TestImageOfThePublisher(t *testing.T) {
	config := Spec{Package: Publisher}.config()
	if !slices.Equal(config.Entrypoint, []string{"/usr/bin/outbox-publisher"}) || !slices.Equal(config.Cmd, []string{"run"}) || config.User != user {
		t.Errorf("it runs %v %v as %s", config.Entrypoint, config.Cmd, config.User)
	}
	if title := config.Labels["org.opencontainers.image.title"]; title != "outbox-publisher" {
		t.Errorf("its title is %s", title)
	}
}
