package monitoring

import "slices"

// cases are the tests of every alert: that it fires when it should, and does not
// when it should not, whatever restarts, several instances and metrics that are
// not there do to it.
func cases() []Case {
	return slices.Concat(
		[]Case{nothingWrong(), nothingThere()}, laneCases(), ownershipCases(), deliveryCases(), deadLetterCases(), queueCases(), postgresCases(), processCases(),
	)
}

// everyAlert are all of them.
var everyAlert = []string{
	"RelayLaneBurnsFast", "RelayLaneBurnsSlowly", "RelayLaneStuck", "RelayLanePaused",
	"RelayAbsent", "RelayShareUnowned", "RelayLeaseFlapping", "RelayListenerNotProven", "RelaySweepFoundMissed", "RelayRecordsMisplaced",
	"RelayBreakerOpen", "RelayMarksFailing", "RelayOutboxUnsettled",
	"RelaySecurityBlock", "RelayAggregateFrozen", "RelayReviewQueueOld", "RelayDeadLetterRate", "RelayBulkReplayStopped",
	"RelayQueueNotWatched", "RelayQueueStuck", "RelayQueueLocksStale", "RelayQueueDeadLetters",
	"RelayRowsParked", "RelayTableNotRead",
	"RelayAdminErrors", "RelayMemoryHigh", "RelayReadsDrift",
}

// silent checks that nothing fires but what is named.
func silent(at string, but ...string) []Check {
	var checks []Check
	for _, a := range everyAlert {
		if !slices.Contains(but, a) {
			checks = append(checks, Check{Alert: a, At: at})
		}
	}
	return checks
}

// nothingWrong is a service of two instances that does well, rolled out anew
// after an hour.
func nothingWrong() Case {
	return Case{
		Name: "two instances do well, and one of them restarts",
		Series: map[string]string{
			`relay_lane_done_total{lane="CRITICAL_LANE",instance="a"}`:                                              "0+100x60 0+100x120",
			`relay_lane_done_total{lane="CRITICAL_LANE",instance="b"}`:                                              "0+100x180",
			`relay_lane_sla_breaches_total{lane="CRITICAL_LANE",instance="a"}`:                                      "1x60 0x120",
			`relay_lane_sla_breaches_total{lane="CRITICAL_LANE",instance="b"}`:                                      "7x180",
			`relay_overdue_records{outbox="accOutbox",lane="CRITICAL_LANE",instance="a"}`:                           "0x180",
			`relay_oldest_waiting_seconds{outbox="accOutbox",lane="CRITICAL_LANE",instance="a"}`:                    "0.2x180",
			`relay_lane_paused{lane="CRITICAL_LANE",instance="a"}`:                                                  "0x180",
			`relay_lease_held{share="accOutbox",job="relay",instance="a"}`:                                          "1x60 0x120",
			`relay_lease_held{share="accOutbox",job="relay",instance="b"}`:                                          "0x60 1x120",
			`relay_lease_since_timestamp_seconds{share="accOutbox",instance="a"}`:                                   "1000x60 0x120",
			`relay_lease_since_timestamp_seconds{share="accOutbox",instance="b"}`:                                   "0x60 5000x120",
			`relay_listener_proof_overdue_seconds{outbox="accOutbox",listener="strays",instance="a"}`:               "0x180",
			`relay_listener_proof_overdue_seconds{outbox="accOutbox",listener="strays",instance="b"}`:               "0.3x180",
			`relay_sweep_found_total{outbox="accOutbox",found="missed",instance="a"}`:                               "4x60 0x120",
			`relay_sweep_found_total{outbox="accOutbox",found="unplaced",instance="a"}`:                             "4x60 0x120",
			`relay_breaker_state{target="FUNNEL",instance="a"}`:                                                     "0x30 2x2 0x150",
			`relay_target_waiting_records{target="FUNNEL",instance="a"}`:                                            "0x30 9x2 0x150",
			`relay_unsettled_records{outbox="accOutbox",instance="a"}`:                                              "0x30 9x2 0x150",
			`relay_commit_seconds_count{lane="CRITICAL_LANE",result="done",instance="a"}`:                           "0+100x60 0+100x120",
			`relay_commit_seconds_count{lane="CRITICAL_LANE",result="failed",instance="a"}`:                         "50x60 0x120",
			`relay_dlq_items{tier="SECURITY_BLOCK",state="blocked",instance="a"}`:                                   "0x180",
			`relay_dlq_oldest_seconds{tier="REVIEW_REQUIRED",state="awaiting_review",instance="a"}`:                 "600x180",
			`relay_frozen_aggregates{instance="a"}`:                                                                 "0x180",
			`relay_dead_letters_total{outbox="accOutbox",tier="SAFE_AUTO",reason="PERMANENT_FAILURE",instance="a"}`: "30x60 0x120",
			`relay_settlements_total{outbox="accOutbox",kind="delivered",instance="a"}`:                             "0+100x60 0+100x120",
			`relay_settlements_total{outbox="accOutbox",kind="delivered",instance="b"}`:                             "0+100x180",
			`relay_reads_total{outbox="accOutbox",by="listener",instance="a"}`:                                      "0+150x60 0+150x120",
			`relay_reads_total{outbox="accOutbox",by="listener",instance="b"}`:                                      "0+150x180",
			`relay_dlq_bulk_ends_total{state="done",instance="a"}`:                                                  "0x30 1x150",
			`relay_dlq_bulk_ends_total{state="stopped",instance="a"}`:                                               "2x60 0x120",
			`relay_admin_requests_total{route="/dlq",method="GET",class="2xx",instance="a"}`:                        "0+10x60 0+10x120",
			`relay_admin_requests_total{route="/dlq",method="GET",class="5xx",instance="a"}`:                        "3x60 0x120",
			`workqueue_last_round_timestamp_seconds{queue="jobs",job="relay",instance="a"}`:                         "0+60x180",
			`workqueue_overdue_seconds{queue="jobs",job="relay",instance="a"}`:                                      "0x30 60 0x149",
			`workqueue_stale_documents{queue="jobs",job="relay",instance="a"}`:                                      "0x30 1 0x149",
			`workqueue_claims_total{queue="jobs",result="reclaimed",instance="a"}`:                                  "2x60 0x120",
			`workqueue_outcomes_total{queue="jobs",outcome="sent",instance="a"}`:                                    "0+20x60 0+20x120",
			`workqueue_outcomes_total{queue="jobs",outcome="failed",instance="a"}`:                                  "3x60 0x120",
			`process_resident_memory_bytes{job="relay",instance="a"}`:                                               "2e8x180",
			`go_gc_gomemlimit_bytes{job="relay",instance="a"}`:                                                      "4.8e8x180",
		},
		Checks: slices.Concat(silent("20m"), silent("62m"), silent("125m")),
	}
}

func nothingThere() Case {
	return Case{
		Name:   "no metric is there",
		Series: map[string]string{`up{job="another"}`: "1x60"},
		Checks: append(silent("30m", "RelayAbsent"),
			Check{"RelayAbsent", "2m", nil},
			Check{"RelayAbsent", "4m", []Firing{{Labels: map[string]string{"severity": "critical"}}}},
		),
	}
}

// of are labels in pairs.
func of(pairs ...string) map[string]string {
	labels := make(map[string]string, len(pairs)/2)
	for i := 0; i+1 < len(pairs); i += 2 {
		labels[pairs[i]] = pairs[i+1]
	}
	return labels
}
