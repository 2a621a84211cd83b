package monitoring

func queueCases() []Case {
	of1 := func(metric, queue, instance string) string {
		return metric + `{queue="` + queue + `",job="relay",instance="` + instance + `"}`
	}
	rounds := func(instance string) string { return of1("workqueue_last_round_timestamp_seconds", "jobs", instance) }
	firing := func(severity, value string) Firing {
		return Firing{of("queue", "jobs", "severity", severity), value}
	}
	closed := func(sent, failed, dead string) map[string]string {
		outcome := func(word, instance string) string {
			return `workqueue_outcomes_total{queue="jobs",outcome="` + word + `",instance="` + instance + `"}`
		}
		return map[string]string{
			outcome("sent", "a"): "0x180", outcome("sent", "b"): sent,
			outcome("failed", "a"): failed, outcome("failed", "b"): "0x180",
			outcome("dead", "a"): "0x180", outcome("dead", "b"): dead,
			outcome("retry", "b"): "0+50x180", outcome("lost", "b"): "0+50x180",
		}
	}
	dead := func(severity, value string) Firing { return Firing{of("queue", "jobs", "severity", severity), value} }
	return []Case{
		{
			"the rounds of one instance end, then those of the other",
			map[string]string{rounds("a"): "0+60x10 600x80", rounds("b"): "0+60x30 1800x60", of1("workqueue_last_round_timestamp_seconds", "notifications", "b"): "0+60x90"},
			[]Check{
				{"RelayQueueNotWatched", "30m", nil},
				{"RelayQueueNotWatched", "40m", nil},
				{"RelayQueueNotWatched", "45m", []Firing{firing("critical", "15m 0s")}},
			},
		},
		{
			"a job waits, and one that waits at an instance whose rounds failed long ago is no news",
			map[string]string{
				rounds("a"): "0+60x90", rounds("b"): "0+60x3 180x87",
				of1("workqueue_overdue_seconds", "jobs", "a"):          "0x10 60+60x80",
				of1("workqueue_overdue_seconds", "jobs", "b"):          "9000x90",
				of1("workqueue_overdue_seconds", "notifications", "a"): "100x90",
			},
			[]Check{
				{"RelayQueueStuck", "15m", nil},
				{"RelayQueueStuck", "16m", nil},
				{"RelayQueueStuck", "20m", []Firing{firing("warning", "10m 0s")}},
				{"RelayQueueStuck", "50m", []Firing{firing("critical", "40m 0s"), firing("warning", "40m 0s")}},
			},
		},
		{
			"workers die again and again",
			map[string]string{
				`workqueue_claims_total{queue="jobs",result="reclaimed",instance="a"}`: "0x20 2x70",
				`workqueue_claims_total{queue="jobs",result="reclaimed",instance="b"}`: "0x30 2x60",
				`workqueue_claims_total{queue="jobs",result="won",instance="b"}`:       "0+9x90",
			},
			[]Check{
				{"RelayQueueLocksStale", "25m", nil},
				{"RelayQueueLocksStale", "40m", []Firing{firing("warning", "4")}},
				{"RelayQueueLocksStale", "70m", nil},
			},
		},
		{
			"leases run out and nobody claims again",
			map[string]string{
				rounds("a"): "0+60x90", rounds("b"): "0+60x90",
				of1("workqueue_stale_documents", "jobs", "a"):          "0x20 3x70",
				of1("workqueue_stale_documents", "jobs", "b"):          "0x21 2x69",
				of1("workqueue_stale_documents", "notifications", "a"): "0x10 5x3 0x77",
			},
			[]Check{
				{"RelayQueueLocksStale", "15m", nil},
				{"RelayQueueLocksStale", "24m", nil},
				{"RelayQueueLocksStale", "30m", []Firing{firing("critical", "3")}},
			},
		},
		{"one job of twenty is failed", closed("0+19x180", "0+1x180", "0x180"), []Check{{"RelayQueueDeadLetters", "90m", []Firing{dead("warning", "5%")}}}},
		{
			"every second job is dead",
			closed("0+10x180", "0x180", "0+10x180"),
			[]Check{{"RelayQueueDeadLetters", "90m", []Firing{dead("critical", "50%"), dead("warning", "50%")}}},
		},
		{
			"one job was failed, and it is over an hour ago",
			closed("0x180", "0x10 1x170", "0x180"),
			[]Check{
				{"RelayQueueDeadLetters", "30m", []Firing{dead("warning", "100%")}},
				{"RelayQueueDeadLetters", "80m", nil},
			},
		},
		{"jobs that are tried again are none", closed("0+10x180", "0x180", "0x180"), []Check{{"RelayQueueDeadLetters", "90m", nil}}},
	}
}
