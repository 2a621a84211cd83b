package main

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"outboxrelay/contracts"
)

func setupRecords(t *testing.T) *records {
	t.Helper()
	catalog, err := contracts.DefaultCatalog()
	if err != nil {
		t.Fatal(err)
	}
	return newRecords(catalog)
}

func TestRecordsKeepTheContract(t *testing.T) {
	r := setupRecords(t)
	for _, rec := range r.take(2000, "") {
		if checked := r.catalog.Check(rec, nil); len(checked.Faults) > 0 {
			t.Fatalf("%s in %s: %v", rec.EventType, rec.Outbox, checked.Faults)
		}
	}
}

func TestRecordsAreTheSameForBothSides(t *testing.T) {
	if diff := cmp.Diff(setupRecords(t).take(500, ""), setupRecords(t).take(500, "")); diff != "" {
		t.Error(diff)
	}
}

func TestRecordsOfALane(t *testing.T) {
	for _, lane := range contracts.Lanes() {
		for _, rec := range setupRecords(t).take(200, lane) {
			if rec.Lane != lane {
				t.Fatalf("asked for %s, got %s of %s", lane, rec.EventType, rec.Lane)
			}
		}
	}
}

func TestRecordsAreSpread(t *testing.T) {
	outboxes, ids, last := map[string]int{}, map[string]bool{}, map[string]int64{}
	for _, rec := range setupRecords(t).take(6000, "") {
		outboxes[rec.Outbox]++
		ids[rec.AggregateID] = true
		if rec.AggregateVersion != last[rec.AggregateID]+1 {
			t.Fatalf("version %d of %s follows %d", rec.AggregateVersion, rec.AggregateID, last[rec.AggregateID])
		}
		last[rec.AggregateID] = rec.AggregateVersion
	}
	for name, n := range outboxes {
		if n != 1000 {
			t.Errorf("%s has %d records, want 1000", name, n)
		}
	}
	if n := len(ids); n != 498 { // 83 in each of six outboxes
		t.Errorf("%d aggregates, want 498", n)
	}
}

func TestPayloadsArePadded(t *testing.T) {
	r := setupRecords(t)
	for _, rec := range r.take(500, "") {
		body, err := json.Marshal(rec.Payload)
		if err != nil {
			t.Fatal(err)
		}
		judged := r.catalog.Outbox(rec.Outbox).Route(rec.EventType).Schema != nil
		if !judged && len(body) != payloadBytes {
			t.Fatalf("payload of %s has %d bytes, want %d", rec.EventType, len(body), payloadBytes)
		}
	}
}
