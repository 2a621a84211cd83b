package monitoring

func ownershipCases() []Case {
	held := func(share, instance string) string {
		return `relay_lease_held{share="` + share + `",instance="` + instance + `"}`
	}
	since := func(instance string) string {
		return `relay_lease_since_timestamp_seconds{share="accOutbox",instance="` + instance + `"}`
	}
	return []Case{
		{
			"the last instance goes",
			map[string]string{held("accOutbox", "a"): "1x10 stale"},
			[]Check{{"RelayAbsent", "10m", nil}, {"RelayAbsent", "15m", []Firing{{Labels: of("severity", "critical")}}}},
		},
		{
			"one share has no owner, another changes it in a minute",
			map[string]string{
				held("accOutbox", "a"): "1x5 0x30", held("accOutbox", "b"): "0x35",
				held("orgOutbox", "a"): "1x5 0x30", held("orgOutbox", "b"): "0x6 1x29",
				held("queue", "a"): "1x35", held("queue", "b"): "0x35",
			},
			[]Check{
				{"RelayShareUnowned", "5m", nil},
				{"RelayShareUnowned", "7m", nil},
				{"RelayShareUnowned", "10m", []Firing{{Labels: of("share", "accOutbox", "severity", "critical")}}},
			},
		},
		{
			"a share goes to and fro six times",
			map[string]string{
				since("a"): "1000x5 0x3 3000x3 0x3 5000x3 0x3 7000x30",
				since("b"): "0x5 2000x3 0x3 4000x3 0x3 6000x3 0x30",
			},
			[]Check{
				{"RelayLeaseFlapping", "20m", nil},
				{"RelayLeaseFlapping", "30m", []Firing{{of("share", "accOutbox", "severity", "warning"), "6"}}},
				{"RelayLeaseFlapping", "40m", nil},
			},
		},
		{
			"two rollouts within half an hour are none",
			map[string]string{since("a"): "1000x5 0x3 3000x30", since("b"): "0x5 2000x3 0x30", since("c"): "0x20 9000x20"},
			[]Check{{"RelayLeaseFlapping", "30m", nil}},
		},
		{
			"a listener owes its proof",
			map[string]string{
				`relay_listener_proof_overdue_seconds{outbox="accOutbox",listener="CRITICAL_LANE",instance="a"}`: "0x30",
				`relay_listener_proof_overdue_seconds{outbox="accOutbox",listener="CRITICAL_LANE",instance="b"}`: "0+30x30",
				`relay_listener_proof_overdue_seconds{outbox="accOutbox",listener="strays",instance="b"}`:        "0x2 90 0x28",
			},
			[]Check{
				{"RelayListenerNotProven", "2m", nil},
				{"RelayListenerNotProven", "3m", nil},
				{"RelayListenerNotProven", "5m", []Firing{{of("outbox", "accOutbox", "listener", "CRITICAL_LANE", "severity", "critical"), "2m 30s"}}},
			},
		},
		{
			"the sweep finds what a listener missed",
			map[string]string{
				`relay_sweep_found_total{outbox="accOutbox",found="missed",instance="a"}`:   "0x60 3x90",
				`relay_sweep_found_total{outbox="accOutbox",found="unplaced",instance="a"}`: "0x150",
			},
			[]Check{
				{"RelaySweepFoundMissed", "59m", nil},
				{"RelaySweepFoundMissed", "90m", []Firing{{of("outbox", "accOutbox", "severity", "warning"), "3"}}},
				{"RelaySweepFoundMissed", "122m", nil},
				{"RelayRecordsMisplaced", "90m", nil},
			},
		},
		{
			"the sweep finds what no listener can see",
			map[string]string{
				`relay_sweep_found_total{outbox="accOutbox",found="missed",instance="a"}`:   "0x150",
				`relay_sweep_found_total{outbox="accOutbox",found="unplaced",instance="a"}`: "0x60 3x90",
			},
			[]Check{
				{"RelayRecordsMisplaced", "59m", nil},
				{"RelayRecordsMisplaced", "90m", []Firing{{of("outbox", "accOutbox", "found", "unplaced", "severity", "warning"), "3"}}},
				{"RelaySweepFoundMissed", "90m", nil},
			},
		},
	}
}
