package monitoring

func laneCases() []Case {
	lane := func(done, late, overdue, paused string) map[string]string {
		return map[string]string{
			`relay_lane_done_total{lane="CRITICAL_LANE",instance="a"}`:                    "0x300",
			`relay_lane_done_total{lane="CRITICAL_LANE",instance="b"}`:                    done,
			`relay_lane_sla_breaches_total{lane="CRITICAL_LANE",instance="a"}`:            "0x300",
			`relay_lane_sla_breaches_total{lane="CRITICAL_LANE",instance="b"}`:            late,
			`relay_overdue_records{outbox="accOutbox",lane="CRITICAL_LANE",instance="a"}`: "0x300",
			`relay_overdue_records{outbox="accOutbox",lane="CRITICAL_LANE",instance="b"}`: overdue,
			`relay_lane_paused{lane="CRITICAL_LANE",instance="a"}`:                        paused,
			`relay_lane_paused{lane="CRITICAL_LANE",instance="b"}`:                        paused,
		}
	}
	fast := func(window, value string) Firing {
		return Firing{of("lane", "CRITICAL_LANE", "severity", "critical", "window", window), value}
	}
	both := []Firing{fast("1h", "10%"), fast("6h", "10%")}
	return []Case{
		{"a tenth of a lane's records is late", lane("0+100x300", "0+10x300", "0x300", "0x300"), []Check{{"RelayLaneBurnsFast", "2h", both}}},
		{
			"a restart in the middle hides nothing",
			lane("0+100x100 0+100x200", "0+10x100 0+10x200", "0x300", "0x300"),
			[]Check{{"RelayLaneBurnsFast", "2h", both}},
		},
		{
			"late records that are over wake nobody",
			lane("0+100x300", "0+10x60 600x240", "0x300", "0x300"),
			[]Check{
				{"RelayLaneBurnsFast", "1h", both},
				{"RelayLaneBurnsFast", "1h40m", nil},
			},
		},
		{"one in two thousand is within the budget", lane("0+2000x300", "0+1x300", "0x300", "0x300"), []Check{{"RelayLaneBurnsFast", "2h", nil}}},
		{"four late records of a quiet hour wake nobody", lane("0x60 0+1x8 8x230", "0x60 0+1x4 4x235", "0x300", "0x300"), []Check{{"RelayLaneBurnsFast", "64m", nil}}},
		{
			"records that are stuck burn though nothing is delivered",
			lane("0x300", "0x300", "0x60 20x240", "0x300"),
			[]Check{
				{"RelayLaneBurnsFast", "59m", nil},
				{"RelayLaneBurnsFast", "62m", []Firing{fast("1h", "100%"), fast("6h", "100%")}},
			},
		},
		{"a paused lane burns in silence", lane("0x300", "0x300", "0x60 20x240", "0x60 1x240"), []Check{{"RelayLaneBurnsFast", "2h", nil}}},
		{
			"a record waits, at the instance that owns its outbox",
			map[string]string{
				`relay_oldest_waiting_seconds{outbox="accOutbox",lane="CRITICAL_LANE",instance="a"}`:   "0x60",
				`relay_oldest_waiting_seconds{outbox="accOutbox",lane="CRITICAL_LANE",instance="b"}`:   "0+60x60",
				`relay_oldest_waiting_seconds{outbox="orgOutbox",lane="STANDARD_LANE",instance="b"}`:   "0+60x60",
				`relay_oldest_waiting_seconds{outbox="tagOutbox",lane="BACKGROUND_LANE",instance="b"}`: "500x60",
			},
			[]Check{
				{"RelayLaneStuck", "5m", nil},
				{"RelayLaneStuck", "7m", nil},
				{"RelayLaneStuck", "9m", []Firing{
					{of("outbox", "accOutbox", "lane", "CRITICAL_LANE", "severity", "critical"), "9m 0s"},
					{of("outbox", "orgOutbox", "lane", "STANDARD_LANE", "severity", "warning"), "9m 0s"},
				}},
			},
		},
		{
			"a record that waits in a paused lane is meant to",
			map[string]string{
				`relay_oldest_waiting_seconds{outbox="accOutbox",lane="CRITICAL_LANE",instance="b"}`: "0+60x60",
				`relay_lane_paused{lane="CRITICAL_LANE",instance="a"}`:                               "0x60",
				`relay_lane_paused{lane="CRITICAL_LANE",instance="b"}`:                               "1x60",
			},
			[]Check{{"RelayLaneStuck", "20m", nil}},
		},
		{
			"the commits of one outbox fail among many that do not",
			map[string]string{
				`relay_commit_seconds_count{lane="STANDARD_LANE",result="failed",instance="a"}`:      "0+6x60",
				`relay_commit_seconds_count{lane="STANDARD_LANE",result="done",instance="a"}`:        "0+600x60",
				`relay_oldest_waiting_seconds{outbox="accOutbox",lane="STANDARD_LANE",instance="a"}`: "0.2x60",
				`relay_oldest_waiting_seconds{outbox="orgOutbox",lane="STANDARD_LANE",instance="a"}`: "0+60x60",
			},
			[]Check{
				{"RelayMarksFailing", "20m", nil},
				{"RelayLaneStuck", "20m", []Firing{{of("outbox", "orgOutbox", "lane", "STANDARD_LANE", "severity", "warning"), "20m 0s"}}},
			},
		},
		{
			"a lane is paused for more than an hour, another for less",
			map[string]string{
				`relay_lane_paused{lane="BACKGROUND_LANE",instance="a"}`: "1x70",
				`relay_lane_paused{lane="STANDARD_LANE",instance="a"}`:   "1x50 0x20",
			},
			[]Check{
				{"RelayLanePaused", "55m", nil},
				{"RelayLanePaused", "61m", []Firing{{of("lane", "BACKGROUND_LANE", "severity", "warning"), ""}}},
			},
		},
	}
}

// dayCases are those of days, with a sample every half an hour.
func dayCases() []Case {
	standard := func(late string) map[string]string {
		return map[string]string{
			`relay_lane_done_total{lane="STANDARD_LANE",instance="a"}`:                    "0+30000x150",
			`relay_lane_sla_breaches_total{lane="STANDARD_LANE",instance="a"}`:            late,
			`relay_overdue_records{outbox="accOutbox",lane="STANDARD_LANE",instance="a"}`: "0x150",
		}
	}
	slow := func(window, value string) Firing {
		return Firing{of("lane", "STANDARD_LANE", "severity", "warning", "window", window), value}
	}
	return []Case{
		{
			"two in a hundred for a day",
			standard("0+600x150"),
			[]Check{
				{"RelayLaneBurnsSlowly", "25h", []Firing{slow("1d", "2%"), slow("3d", "2%")}},
				{"RelayLaneBurnsFast", "25h", nil},
			},
		},
		{"eight in a thousand for days", standard("0+240x150"), []Check{{"RelayLaneBurnsSlowly", "73h", []Firing{slow("3d", "0.8%")}}}},
		{"four in a thousand are within the budget", standard("0+120x150"), []Check{{"RelayLaneBurnsSlowly", "73h", nil}}},
		{"a day that is over is no reason", standard("0+600x48 28800x102"), []Check{{"RelayLaneBurnsSlowly", "32h", nil}}},
	}
}
