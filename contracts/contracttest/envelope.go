package contracttest

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"outboxrelay/contracts"
)

// payloadField is where an envelope has its payload.
const payloadField = "payload"

// envelopeFields lists the fields that every envelope has.
func envelopeFields() []string {
	return []string{
		"event_id", "event_name", "event_version", "occurred_at", "producer", "trace_id", "idempotency_key", "aggregate_id", "aggregate_version", payloadField,
	}
}

// edited is m with another envelope. Its attributes stay.
func edited(m *contracts.Message, edit func(envelope map[string]any)) *contracts.Message {
	out := clone(m)
	envelope := open(m)
	edit(envelope)
	out.Data, _ = json.Marshal(envelope) // it was JSON
	return out
}

// open reads the envelope of a sound message.
func open(m *contracts.Message) map[string]any {
	dec := json.NewDecoder(bytes.NewReader(m.Data))
	dec.UseNumber() // so that it is written back digit by digit
	var envelope map[string]any
	_ = dec.Decode(&envelope) // the contract made it
	return envelope
}

// inside returns the object at a path of an envelope, or nil.
func inside(envelope map[string]any, path []string) map[string]any {
	for _, name := range path {
		envelope, _ = envelope[name].(map[string]any)
	}
	return envelope
}

// place is a field within an envelope.
type place struct {
	path []string // of the object that it is in
	name string
}

func (p place) String() string { return strings.Join(append(slices.Clone(p.path), p.name), ".") }

// objects lists the paths of the payload, and of the objects within it that its
// schema knows, each with its schemas.
func objects(payload map[string]any, schemas []*jsonschema.Schema, at []string, visit func(path []string, parts []*jsonschema.Schema)) {
	parts := contracts.SchemaParts(schemas...)
	visit(at, parts)
	for _, name := range slices.Sorted(maps.Keys(payload)) {
		within, ok := payload[name].(map[string]any)
		if !ok {
			continue
		}
		var next []*jsonschema.Schema
		for _, part := range parts {
			if property := part.Properties[name]; property != nil {
				next = append(next, property)
			}
		}
		objects(within, next, append(slices.Clip(at), name), visit)
	}
}
