package monitoring

func deliveryCases() []Case {
	const flutters = "0x5 2 1 2 1 2 2 1 2 1 2 1 2x30"
	commits := func(result string) string {
		return `relay_commit_seconds_count{lane="STANDARD_LANE",result="` + result + `",instance="a"}`
	}
	return []Case{
		{
			"a target is out, and every probe of it fails",
			map[string]string{
				`relay_breaker_state{target="FUNNEL",instance="a"}`:          "0x60",
				`relay_breaker_state{target="FUNNEL",instance="b"}`:          flutters,
				`relay_target_waiting_records{target="FUNNEL",instance="a"}`: "0x60",
				`relay_target_waiting_records{target="FUNNEL",instance="b"}`: "0x5 7x40",
			},
			[]Check{
				{"RelayBreakerOpen", "9m", nil},
				{"RelayBreakerOpen", "13m", []Firing{{Labels: of("target", "FUNNEL", "severity", "critical")}}},
			},
		},
		{
			"a target comes back within five minutes",
			map[string]string{
				`relay_breaker_state{target="FUNNEL",instance="b"}`:          "0x5 2x3 0x30",
				`relay_target_waiting_records{target="FUNNEL",instance="b"}`: "0x5 7x3 0x30",
			},
			[]Check{{"RelayBreakerOpen", "9m", nil}, {"RelayBreakerOpen", "13m", nil}},
		},
		{
			"a breaker that nobody probes, since its instance owns nothing any more",
			map[string]string{
				`relay_breaker_state{target="FUNNEL",instance="a"}`:          "0x5 2x40",
				`relay_target_waiting_records{target="FUNNEL",instance="a"}`: "0x5 7x2 0x40",
				`relay_target_waiting_records{target="FUNNEL",instance="b"}`: "0x45",
			},
			[]Check{{"RelayBreakerOpen", "30m", nil}},
		},
		{
			"three commits of ten fail",
			map[string]string{commits("done"): "0+7x40", commits("refused"): "0x40", commits("failed"): "0+3x40"},
			[]Check{
				{"RelayMarksFailing", "4m", nil},
				{"RelayMarksFailing", "10m", []Firing{{of("lane", "STANDARD_LANE", "severity", "critical"), "30%"}}},
			},
		},
		{
			"one outbox cannot be settled, and the commits of the others hide it",
			map[string]string{
				commits("done"): "0+90x60", commits("failed"): "0+1x60",
				`relay_unsettled_records{outbox="wsOutbox",instance="a"}`:    "0x5 400x40",
				`relay_unsettled_records{outbox="wsOutbox",instance="b"}`:    "0x45",
				`relay_unsettled_records{outbox="schedOutbox",instance="a"}`: "0x5 40x3 0x40",
			},
			[]Check{
				{"RelayOutboxUnsettled", "9m", nil},
				{"RelayOutboxUnsettled", "13m", []Firing{{of("outbox", "wsOutbox", "severity", "critical"), "400"}}},
				{"RelayMarksFailing", "30m", nil},
			},
		},
		{
			"one commit of ten fails, and an idle lane has none",
			map[string]string{
				commits("done"): "0+9x40", commits("failed"): "0+1x40",
				`relay_commit_seconds_count{lane="CRITICAL_LANE",result="failed",instance="a"}`: "4x40",
			},
			[]Check{{"RelayMarksFailing", "30m", nil}},
		},
	}
}

func processCases() []Case {
	requests := func(route, class string) string {
		return `relay_admin_requests_total{route="` + route + `",method="GET",class="` + class + `",instance="a"}`
	}
	memory := func(job, instance, used string) map[string]string {
		return map[string]string{
			`process_resident_memory_bytes{job="` + job + `",instance="` + instance + `"}`: used,
			`go_gc_gomemlimit_bytes{job="` + job + `",instance="` + instance + `"}`:        "500x60",
			`relay_lease_held{share="accOutbox",job="relay",instance="a"}`:                 "1x60",
			`relay_lease_held{share="orgOutbox",job="relay",instance="a"}`:                 "1x60",
		}
	}
	reads := func(reads, settled string) map[string]string {
		return map[string]string{
			`relay_reads_total{outbox="accOutbox",by="listener",instance="a"}`:          reads,
			`relay_reads_total{outbox="accOutbox",by="page",instance="a"}`:              "0x200",
			`relay_settlements_total{outbox="accOutbox",kind="delivered",instance="a"}`: settled,
			`relay_lease_held{share="accOutbox",job="relay",instance="a"}`:              "1x200",
			`relay_lease_held{share="accOutbox",job="relay",instance="b"}`:              "0x200",
		}
	}
	return []Case{
		{
			"a fifth of the requests fails",
			map[string]string{
				requests("/dlq", "2xx"): "0+4x60", requests("/dlq", "4xx"): "0x60", requests("/dlq", "5xx"): "0+1x60",
				requests("/lanes", "2xx"): "0+4x60", requests("/lanes", "5xx"): "0x60",
			},
			[]Check{{"RelayAdminErrors", "30m", []Firing{{of("route", "/dlq", "severity", "warning"), "20%"}}}},
		},
		{
			"two requests fail, and many are refused",
			map[string]string{requests("/dlq", "2xx"): "0x60", requests("/dlq", "4xx"): "0+9x60", requests("/dlq", "5xx"): "0x20 2x40"},
			[]Check{{"RelayAdminErrors", "25m", nil}, {"RelayAdminErrors", "29m", nil}},
		},
		{
			"an instance is near its memory limit",
			memory("relay", "a", "490x60"),
			[]Check{{"RelayMemoryHigh", "9m", nil}, {"RelayMemoryHigh", "12m", []Firing{{of("job", "relay", "instance", "a", "severity", "warning"), "98%"}}}},
		},
		{"an instance has room", memory("relay", "a", "400x60"), []Check{{"RelayMemoryHigh", "30m", nil}}},
		{"another program is near its limit", memory("other", "z", "490x60"), []Check{{"RelayMemoryHigh", "30m", nil}}},
		{
			"documents are read again and again",
			reads("0+10000x200", "0+10x200"),
			[]Check{{"RelayReadsDrift", "15m", nil}, {"RelayReadsDrift", "2h", []Firing{{of("severity", "warning"), "600k"}}}},
		},
		{"many records are read once or twice", reads("0+20000x200", "0+10000x200"), []Check{{"RelayReadsDrift", "2h", nil}}},
		{"an idle service reads little", reads("0+40x200", "0x200"), []Check{{"RelayReadsDrift", "2h", nil}}},
	}
}
