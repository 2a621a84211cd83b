package contracts

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"time"
)

// samplePayload returns a small payload as the producers of an event write it.
func samplePayload(r *rand.Rand, route *EventRoute, eventType, aggregateID string, version int64, now time.Time) map[string]any {
	if examples := route.Examples(); len(examples) > 0 {
		v := variation{r: r, day: firstSampleDay.AddDate(0, 0, int(version%sampleDays)).Format(time.DateOnly), now: now, ids: make(map[string]string)}
		payload, _ := v.of(examples[r.IntN(len(examples))]).(map[string]any)
		if path, ok := route.Aggregate.path(); ok {
			put(payload, path, aggregateID)
		}
		return payload
	}
	payload := inventedPayload(r, eventType, aggregateID, now)
	for part, placeholder := range route.Key.parts() {
		if path, inPayload := strings.CutPrefix(part, payloadPrefix); placeholder && inPayload {
			provide(payload, path, sampleID(r, "key"))
		}
	}
	if path, ok := route.Aggregate.path(); ok {
		provide(payload, path, aggregateID)
	}
	return payload
}

func inventedPayload(r *rand.Rand, eventType, aggregateID string, now time.Time) map[string]any {
	switch eventType {
	case "RoleChanged":
		role := pick(r, "admin", "editor", "viewer")
		return map[string]any{
			"accountId": aggregateID, "role": role, "roles": []any{"member", role}, "previousRole": "member",
			"claims": map[string]any{"plan": pick(r, "free", "team")}, "changedBy": sampleID(r, "acc"),
		}
	case "PolicyChanged":
		return map[string]any{
			"accountId": aggregateID, "policyId": sampleID(r, "pol"),
			"policies": []any{pick(r, "wallet.read", "wallet.write"), "schedule.read"}, "changedBy": sampleID(r, "acc"),
		}
	case "WalletDeducted", "WalletCredited":
		return map[string]any{
			"accountId": aggregateID, "walletId": sampleID(r, "wal"), "transactionId": randomUUID(r),
			"amount": int64(1 + r.IntN(50_000)), "currency": pick(r, "TWD", "EUR", "USD"),
			"balanceAfter": float64(r.IntN(10_000_000)) / 100, "reason": pick(r, "purchase", "refund", "adjustment"),
		}
	case "AccountCreated":
		return map[string]any{"accountId": aggregateID, "kind": pick(r, "personal", "organization"), "locale": pick(r, "en", "zh-TW")}
	case "OrgContextProvisioned":
		return map[string]any{"orgId": aggregateID, "region": pick(r, "asia-east1", "europe-west1"), "provisionedAt": now}
	case "MemberJoined", "MemberLeft":
		return map[string]any{"orgId": aggregateID, "accountId": sampleID(r, "acc"), "teams": []any{sampleID(r, "team")}}
	case "SkillRecognitionGranted", "SkillRecognitionRevoked":
		return map[string]any{"orgId": aggregateID, "accountId": sampleID(r, "acc"), "skill": sampleSkill(r), "level": int64(1 + r.IntN(7))}
	case "SkillXpAdded", "SkillXpDeducted":
		return map[string]any{"accountId": aggregateID, "skill": sampleSkill(r), "xp": int64(1 + r.IntN(500)), "total": int64(r.IntN(100_000))}
	case "TagLifecycleEvent":
		return map[string]any{"tagId": aggregateID, "change": pick(r, "created", "renamed", "merged", "retired"), "label": sampleSkill(r)}
	case "ScheduleAssigned":
		return map[string]any{
			"scheduleId": aggregateID, "assignmentId": sampleID(r, "asg"), "assigneeId": sampleID(r, "acc"),
			"startsAt": now.Add(24 * time.Hour), "endsAt": now.Add(26 * time.Hour), "skills": []any{sampleSkill(r)},
		}
	case "ScheduleProposed":
		return map[string]any{
			"scheduleId": aggregateID, "workspaceId": sampleID(r, "ws"), "startsAt": now.Add(48 * time.Hour),
			"requires": []any{map[string]any{"skill": sampleSkill(r), "minimum": int64(1 + r.IntN(5))}},
		}
	case "AuditEvent":
		return map[string]any{
			"actor": sampleID(r, "acc"), "action": pick(r, "read", "update", "delete"), "subject": aggregateID,
			"address": fmt.Sprintf("192.0.2.%d", 1+r.IntN(254)), "at": now,
		}
	}
	if strings.HasPrefix(eventType, "Compensating") {
		return map[string]any{"scheduleId": aggregateID, "compensates": randomUUID(r), "reason": pick(r, "conflict", "timeout", "withdrawn")}
	}
	return map[string]any{
		"id": aggregateID, "name": pick(r, "Harbour office", "Spring release", "Site survey"),
		"actor": sampleID(r, "acc"), "tags": []any{sampleSkill(r)}, "changes": map[string]any{"revision": int64(1 + r.IntN(100)), "draft": r.IntN(2) == 0},
	}
}

func pick(r *rand.Rand, choices ...string) string { return choices[r.IntN(len(choices))] }

func sampleSkill(r *rand.Rand) string {
	return pick(r, "welding", "first-aid", "go", "bookkeeping", "rigging")
}

func sampleID(r *rand.Rand, prefix string) string { return prefix + "-" + randomHex(r, 4) }
