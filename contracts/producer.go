package contracts

// ProducerFields returns the fields that a producer writes to append r: what a
// Firestore document is created with. Optional fields that are empty are left
// out. status is pending whatever r's is. A producer replaces createdAt by the
// server's timestamp.
func (r *Record) ProducerFields() map[string]any {
	version := r.EventVersion
	if version == 0 {
		version = 1
	}
	fields := map[string]any{
		FieldEventID:          r.EventID,
		FieldEventType:        r.EventType,
		FieldEventVersion:     version,
		FieldAggregateID:      r.AggregateID,
		FieldAggregateVersion: r.AggregateVersion,
		FieldIdempotencyKey:   r.IdempotencyKey,
		FieldTraceID:          r.TraceID,
		FieldLane:             string(r.Lane),
		FieldTier:             string(r.Tier),
		FieldOccurredAt:       r.OccurredAt,
		FieldCreatedAt:        r.CreatedAt,
		FieldPayload:          r.Payload,
		FieldStatus:           string(Pending),
	}
	if r.Shard != nil {
		fields[FieldShard] = *r.Shard
	}
	for name, value := range map[string]string{
		FieldAggregateType: r.AggregateType,
		FieldTraceparent:   r.Traceparent,
		FieldProducer:      r.Producer,
	} {
		if value != "" {
			fields[name] = value
		}
	}
	return fields
}
