package admin_test

import "net/http"

// endpoint is one operation with a request that fits it.
type endpoint struct {
	method, pattern string
	target, body    string
	role            string // the least
	status          int    // of a success
}

const because = `{"reason":"because"}`

// endpoints lists every operation of the contract.
var endpoints = []endpoint{
	{http.MethodGet, "/dlq", "/dlq?tier=REVIEW_REQUIRED", "", "viewer", 200},
	{http.MethodGet, "/dlq/count", "/dlq/count?tier=REVIEW_REQUIRED", "", "viewer", 200},
	{http.MethodGet, "/dlq/named", "/dlq/named?ids=%5B%227f0c:acc-1:3%22%5D", "", "viewer", 200},
	{http.MethodGet, "/dlq/groups", "/dlq/groups", "", "viewer", 200},
	{http.MethodGet, "/dlq/{id}", "/dlq/7f0c:acc-1:3", "", "viewer", 200},
	{http.MethodPost, "/dlq/{id}/replay", "/dlq/7f0c:acc-1:3/replay", because, "operator", 202},
	{http.MethodPost, "/dlq/{id}/discard", "/dlq/7f0c:acc-1:3/discard", because, "operator", 200},
	{http.MethodPost, "/dlq/{id}/withdraw", "/dlq/7f0c:acc-1:3/withdraw", because, "operator", 200},
	{http.MethodPost, "/dlq/{id}/notes", "/dlq/7f0c:acc-1:3/notes", because, "operator", 200},
	{http.MethodPost, "/dlq/{id}/authorize", "/dlq/7f0c:acc-1:3/authorize", because, "security", 200},
	{http.MethodPost, "/replays", "/replays", `{"filter":{"outbox":"accOutbox"},"ratePerSecond":5}`, "operator", 202},
	{http.MethodGet, "/replays", "/replays", "", "operator", 200},
	{http.MethodGet, "/replays/{id}", "/replays/b", "", "operator", 200},
	{http.MethodPost, "/replays/{id}/cancel", "/replays/b/cancel", "", "operator", 200},
	{http.MethodGet, "/freezes", "/freezes", "", "viewer", 200},
	{http.MethodGet, "/freezes/{aggregateId}", "/freezes/acc-1", "", "viewer", 200},
	{http.MethodPost, "/freezes/{aggregateId}/release", "/freezes/acc-1/release", because, "security", 202},
	{http.MethodGet, "/lanes", "/lanes", "", "viewer", 200},
	{http.MethodGet, "/outboxes", "/outboxes", "", "viewer", 200},
	{http.MethodGet, "/targets", "/targets", "", "viewer", 200},
	{http.MethodGet, "/dlq/summary", "/dlq/summary", "", "viewer", 200},
	{http.MethodPost, "/lanes/{lane}/pause", "/lanes/BACKGROUND_LANE/pause", "", "operator", 200},
	{http.MethodPost, "/lanes/{lane}/resume", "/lanes/BACKGROUND_LANE/resume", "", "operator", 200},
	{http.MethodGet, "/trace/{traceId}", "/trace/trace-1", "", "viewer", 200},
	{http.MethodPost, "/dlq/{id}/uncover", "/dlq/7f0c:acc-1:3/uncover", because, "security", 200},
	{http.MethodGet, "/records", "/records?aggregateId=acc-1", "", "viewer", 200},
	{http.MethodGet, "/audit", "/audit?actor=alice", "", "viewer", 200},
	{http.MethodGet, "/queues", "/queues", "", "viewer", 200},
	{http.MethodGet, "/queues/{queue}/items", "/queues/jobs/items?status=failed", "", "viewer", 200},
	{http.MethodGet, "/queues/{queue}/items/{id}", "/queues/jobs/items/outbox%2Fk", "", "viewer", 200},
	{http.MethodPost, "/queues/{queue}/items/{id}/requeue", "/queues/jobs/items/outbox%2Fk/requeue", because, "operator", 200},
	{http.MethodGet, "/openapi.json", "/openapi.json", "", "viewer", 200},
}
