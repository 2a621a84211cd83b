package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	"outboxrelay/deploy/local/firestore"
)

// bill is what the cloud has billed so far for the outboxes alone.
func (s *stage) bill(ctx context.Context) (operations, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+s.cloud.Admin+"/billing", nil)
	if err != nil {
		return operations{}, fmt.Errorf("read bill: %w", err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return operations{}, fmt.Errorf("read bill: %w", err)
	}
	defer resp.Body.Close() //nolint:errcheck // only read
	if resp.StatusCode != http.StatusOK {
		return operations{}, fmt.Errorf("read bill: answer is %s", resp.Status)
	}
	var billing firestore.Billing
	if err := json.NewDecoder(resp.Body).Decode(&billing); err != nil {
		return operations{}, fmt.Errorf("read bill: %w", err)
	}
	var sum operations
	for _, name := range s.outboxes() {
		of := billing.Collections[name]
		sum = sum.plus(operations{reads: float64(of.Reads), writes: float64(of.Writes), deletes: float64(of.Deletes)})
	}
	return sum, nil
}
