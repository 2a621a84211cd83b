package monitoring

func deadLetterCases() []Case {
	blocked := func(state, instance string) string {
		return `relay_dlq_items{tier="SECURITY_BLOCK",state="` + state + `",instance="` + instance + `"}`
	}
	oldest := func(instance string) string {
		return `relay_dlq_oldest_seconds{tier="REVIEW_REQUIRED",state="awaiting_review",instance="` + instance + `"}`
	}
	review := func(severity, value string) Firing { return Firing{of("severity", severity), value} }
	outbox := func(dead, delivered string) map[string]string {
		return map[string]string{
			`relay_dead_letters_total{outbox="wsOutbox",tier="SAFE_AUTO",reason="ATTEMPTS_EXHAUSTED",instance="a"}`: dead,
			`relay_settlements_total{outbox="wsOutbox",kind="delivered",instance="a"}`:                              "0x120",
			`relay_settlements_total{outbox="wsOutbox",kind="delivered",instance="b"}`:                              delivered,
		}
	}
	dying := func(severity, value string) Firing {
		return Firing{of("outbox", "wsOutbox", "severity", severity), value}
	}
	return []Case{
		{
			"a SECURITY_BLOCK dead letter is there, told by the instance that leads",
			map[string]string{
				blocked("blocked", "a"): "0x3 2x20", blocked("blocked", "b"): "0x23",
				blocked("authorized", "a"): "0x23", blocked("authorized", "b"): "0x23",
				`relay_dlq_items{tier="REVIEW_REQUIRED",state="awaiting_review",instance="a"}`: "9x23",
			},
			[]Check{
				{"RelaySecurityBlock", "3m", nil},
				{"RelaySecurityBlock", "4m", []Firing{{of("state", "blocked", "severity", "critical"), "2"}}},
			},
		},
		{
			"an aggregate is frozen for more than an hour",
			map[string]string{`relay_frozen_aggregates{instance="a"}`: "0x5 1x80", `relay_frozen_aggregates{instance="b"}`: "0x5 1x80"},
			[]Check{{"RelayAggregateFrozen", "60m", nil}, {"RelayAggregateFrozen", "67m", []Firing{{of("severity", "warning"), "1"}}}},
		},
		{
			"an aggregate is frozen for half an hour",
			map[string]string{`relay_frozen_aggregates{instance="a"}`: "0x5 1x30 0x50"},
			[]Check{{"RelayAggregateFrozen", "67m", nil}},
		},
		{
			"a review waits for hours, then for more than a day",
			map[string]string{oldest("a"): "14000x9 15000x9 90000x9", oldest("b"): "0x30"},
			[]Check{
				{"RelayReviewQueueOld", "9m", nil},
				{"RelayReviewQueueOld", "15m", []Firing{review("warning", "4h 10m 0s")}},
				{"RelayReviewQueueOld", "25m", []Firing{review("critical", "1d 1h 0m 0s"), review("warning", "1d 1h 0m 0s")}},
			},
		},
		{"one record of twenty dies", outbox("0+1x120", "0+19x120"), []Check{{"RelayDeadLetterRate", "60m", []Firing{dying("warning", "5%")}}}},
		{
			"every second record dies",
			outbox("0+10x120", "0+10x120"),
			[]Check{{"RelayDeadLetterRate", "60m", []Firing{dying("critical", "50%"), dying("warning", "50%")}}},
		},
		{
			"every record dies, and nothing else is there",
			map[string]string{
				`relay_dead_letters_total{outbox="wsOutbox",tier="SAFE_AUTO",reason="CONTRACT_VIOLATION",instance="a"}`: "0+1x120",
				`relay_settlements_total{outbox="wsOutbox",kind="delivered",instance="a"}`:                              "0x120",
			},
			[]Check{{"RelayDeadLetterRate", "60m", []Firing{dying("critical", "100%"), dying("warning", "100%")}}},
		},
		{"one record of a thousand dies", outbox("0+1x120", "0+999x120"), []Check{{"RelayDeadLetterRate", "60m", nil}}},
		{"three records of ten die", outbox("0x30 3x90", "0x30 7x90"), []Check{{"RelayDeadLetterRate", "35m", nil}}},
		{
			"a bulk replay stops by itself, another is done",
			map[string]string{
				`relay_dlq_bulk_ends_total{state="stopped",instance="a"}`: "0x60 1x90",
				`relay_dlq_bulk_ends_total{state="done",instance="a"}`:    "0x30 1x120",
			},
			[]Check{
				{"RelayBulkReplayStopped", "45m", nil},
				{"RelayBulkReplayStopped", "90m", []Firing{{of("severity", "warning"), "1"}}},
				{"RelayBulkReplayStopped", "122m", nil},
			},
		},
	}
}
