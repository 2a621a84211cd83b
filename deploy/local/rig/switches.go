package rig

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"
)

// Switches are the fault switches of the embedded cloud.
type Switches struct{ admin string } // HOST:PORT

// Switches returns the cloud's fault switches, of which the embedded one alone has any.
func (c *Cloud) Switches() Switches { return Switches{c.Admin} }

// Fault is a rule, as the embedded cloud's admin address reads it.
type Fault struct {
	Method       string  `json:"method,omitempty"` // empty: any of Firestore's, or Pub/Sub's Publish
	Code         string  `json:"code,omitempty"`   // a gRPC code's name on the wire
	Share        float64 `json:"share,omitempty"`
	Seed         uint64  `json:"seed,omitempty"`
	Stall        bool    `json:"stall,omitempty"`
	LoseResponse bool    `json:"loseResponse,omitempty"`
	Delay        string  `json:"delay,omitempty"` // a duration: how long the call is held before it is handled
}

// drop ends the open streams with a code.
type drop struct {
	Code string `json:"code"`
}

// Firestore has Firestore suffer f until Clear.
func (s Switches) Firestore(ctx context.Context, f Fault) error {
	return s.ask(ctx, http.MethodPost, "/firestore/faults", f)
}

// PubSub has Pub/Sub suffer f for as long as it runs.
func (s Switches) PubSub(ctx context.Context, f Fault) error {
	return s.ask(ctx, http.MethodPost, "/pubsub/faults", f)
}

// DropListeners ends all open Listen streams with a code.
func (s Switches) DropListeners(ctx context.Context, code string) error {
	return s.ask(ctx, http.MethodPost, "/firestore/streams/drop", drop{Code: code})
}

// Clear removes every rule of Firestore.
func (s Switches) Clear(ctx context.Context) error {
	return s.ask(ctx, http.MethodDelete, "/firestore/faults", nil)
}

// switchWithin bounds one request.
const switchWithin = 10 * time.Second

func (s Switches) ask(ctx context.Context, method, path string, body any) error {
	ctx, cancel := context.WithTimeout(ctx, switchWithin)
	defer cancel()
	data, err := json.Marshal(body)
	if err != nil {
		return fmt.Errorf("encode fault: %w", err)
	}
	req, err := http.NewRequestWithContext(ctx, method, "http://"+s.admin+path, bytes.NewReader(data))
	if err != nil {
		return fmt.Errorf("switch faults: %w", err)
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return fmt.Errorf("switch faults: %w", err)
	}
	defer resp.Body.Close() //nolint:errcheck // only read
	if resp.StatusCode >= http.StatusBadRequest {
		return fmt.Errorf("switch faults: answer is %s", resp.Status)
	}
	return nil
}
