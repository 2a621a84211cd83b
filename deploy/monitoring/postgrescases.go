package monitoring

func postgresCases() []Case {
	of1 := func(metric, instance string) string {
		return metric + `{outbox="outbox_events",job="publisher",instance="` + instance + `"}`
	}
	firing := func(severity, value string) Firing {
		return Firing{of("outbox", "outbox_events", "severity", severity), value}
	}
	return []Case{
		{
			"a row is parked, as both publishers tell, then eleven more, and all are retried",
			map[string]string{
				of1("relay_parked_records", "a"): "0x10 1x30 12x20 0x30",
				of1("relay_parked_records", "b"): "0x11 1x30 12x20 0x29",
			},
			[]Check{
				{"RelayRowsParked", "11m", nil},
				{"RelayRowsParked", "20m", []Firing{firing("warning", "1")}},
				{"RelayRowsParked", "50m", []Firing{firing("critical", "12"), firing("warning", "12")}},
				{"RelayRowsParked", "70m", nil},
			},
		},
		{
			"the database restarts, which a few rounds meet, and later is out",
			map[string]string{
				of1("relay_read_errors_total", "a"): "0x10 4x30 10+6x20 130x30",
				of1("relay_records_total", "a"):     "0+50x40 2000x20 2000+50x30",
			},
			[]Check{
				{"RelayTableNotRead", "14m", nil},
				{"RelayTableNotRead", "44m", nil},
				{"RelayTableNotRead", "52m", []Firing{firing("critical", "18")}},
				{"RelayTableNotRead", "70m", nil},
			},
		},
		{
			"one of two publishers cannot reach the database",
			map[string]string{
				of1("relay_read_errors_total", "a"): "0+6x90", of1("relay_records_total", "a"): "0x90",
				of1("relay_read_errors_total", "b"): "0x90", of1("relay_records_total", "b"): "0+50x90",
			},
			[]Check{{"RelayTableNotRead", "60m", nil}},
		},
	}
}
