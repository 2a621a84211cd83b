package contracttest_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"outboxrelay/contracts"
	"outboxrelay/contracts/contracttest"
)

// A consumer that lets anything pass as long as it is JSON.
func ExampleCases() {
	catalog, err := contracts.LoadCatalog("../catalogs/matching.yaml")
	if err != nil {
		fmt.Println(err)
		return
	}
	fresh := func() contracttest.Consumer {
		decisions := make(map[string]bool)
		return contracttest.Consumer{
			Handle: func(_ context.Context, m *contracts.Message) error {
				var e contracts.Envelope
				err := json.Unmarshal(m.Data, &e)
				decisions[e.EventID] = true
				return err
			},
			Effects: func() any { return slices.Sorted(maps.Keys(decisions)) },
		}
	}
	cases, err := contracttest.Cases(catalog, "auth")
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, c := range cases {
		if c.Name == "missing/trustSafetyOutbox.safety.moderation_decided.v1/payload.subject_user_id" && c.Run(context.Background(), fresh) != nil {
			fmt.Println("it accepts a decision about nobody")
		}
	}
	// Output: it accepts a decision about nobody
}
