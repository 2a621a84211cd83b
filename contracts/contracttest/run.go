package contracttest

import (
	"context"
	"testing"

	"outboxrelay/contracts"
)

// Run holds a consumer to its part of the catalog: the events that name it among
// their consumers, or all of them where consumer is "". fresh makes a new consumer
// without any history; it may be called several times in one case.
func Run(t *testing.T, catalog *contracts.Catalog, consumer string, fresh func(t *testing.T) Consumer) {
	t.Helper()
	cases, err := Cases(catalog, consumer)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range cases {
		t.Run(c.Name, func(t *testing.T) {
			if err := c.Run(t.Context(), func() Consumer { return fresh(t) }); err != nil {
				t.Error(err)
			}
		})
	}
}

// Case is one demand of the contract.
type Case struct {
	Name string // "duplicates/matchingOutbox.match.accepted.v1"
	// Run returns what the consumer does wrong.
	Run func(ctx context.Context, fresh func() Consumer) error
}

// Cases are all that Run runs, for a test without package testing. The error says why
// there are none: the catalog names no event for the consumer, or has no sound
// example of one.
func Cases(catalog *contracts.Catalog, consumer string) ([]Case, error) {
	events, err := goldenEvents(catalog, consumer)
	if err != nil {
		return nil, err
	}
	var cases []Case
	for _, part := range []func([]*event) []Case{golden, others, missing, unknown, versions, duplicates, disorder} {
		cases = append(cases, part(events)...)
	}
	return cases, nil
}
