package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"
)

// switches are the fault switches of the embedded Firestore.
type switches struct{ admin string } // HOST:PORT

// fault is a rule of the embedded Firestore, as its admin address reads it.
type fault struct {
	Method       string  `json:"method"`
	Code         string  `json:"code,omitempty"` // a gRPC code's name on the wire
	Share        float64 `json:"share,omitempty"`
	Seed         uint64  `json:"seed,omitempty"`
	Stall        bool    `json:"stall,omitempty"`
	LoseResponse bool    `json:"loseResponse,omitempty"`
}

// drop ends the open streams with a code.
type drop struct {
	Code string `json:"code"`
}

func (s switches) add(ctx context.Context, f fault) error {
	return s.ask(ctx, http.MethodPost, "/firestore/faults", f)
}

func (s switches) dropListeners(ctx context.Context, code string) error {
	return s.ask(ctx, http.MethodPost, "/firestore/streams/drop", drop{Code: code})
}

// clear removes every rule.
func (s switches) clear(ctx context.Context) error {
	return s.ask(ctx, http.MethodDelete, "/firestore/faults", nil)
}

// switchWithin bounds one request.
const switchWithin = 10 * time.Second

func (s switches) ask(ctx context.Context, method, path string, body any) error {
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
