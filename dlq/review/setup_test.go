package review_test

import (
	"testing"

	"outboxrelay/dlq/dlqtest"
)

// fixture is a queue on the embedded Firestore, with lanes that tests drive.
type fixture struct{ *dlqtest.Fixture }

func setup(t *testing.T) *fixture {
	t.Helper()
	return &fixture{dlqtest.Setup(t)}
}
