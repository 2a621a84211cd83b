package console

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"outboxrelay/contracts"
	"outboxrelay/dlq/admin"
)

// row is one dead letter of the list.
type row struct {
	admin.DeadLetter
	Key    string // unique on the page, whatever the ID holds
	Name   string // for who hears the page
	Code   string // of the last error
	Error  string
	Alike  string // address of the list of those with the same error
	Barred string // why it is in no bulk replay; "" for nothing
}

func rowsOf(items []admin.DeadLetter, v *visit) []row {
	out := make([]row, len(items))
	for n, i := range items {
		sum := sha256.Sum256([]byte(i.ID))
		r := row{DeadLetter: i, Key: hex.EncodeToString(sum[:8]), Name: i.EventType + " of " + i.AggregateID, Code: string(i.Reason), Barred: inNoBulk(i)}
		if r.Barred == "" {
			r.Barred = v.bulkOf(filter{}).Why
		}
		if last, ok := i.LastFailure(); ok {
			r.Code, r.Error = last.Code, strings.TrimPrefix(last.Message, last.Code+": ")
		}
		if i.Group != "" {
			r.Alike = filter{"group": i.Group}.at("/dlq")
		}
		out[n] = r
	}
	return out
}

// inNoBulk says why a dead letter is in no bulk replay.
func inNoBulk(i admin.DeadLetter) string {
	switch {
	case !i.Open:
		return "it is " + string(i.State)
	case i.Replaying != nil:
		return "it is being replayed"
	case i.Tier == contracts.SecurityBlock:
		return "dead letters of SECURITY_BLOCK are decided one by one"
	}
	return ""
}

// Standing is its state in words.
func (r row) Standing() string {
	if r.Replaying != nil {
		return "being replayed"
	}
	return strings.ReplaceAll(string(r.State), "_", " ")
}

// Tone is how much its state asks for somebody.
func (r row) Tone() string {
	switch {
	case r.Replaying != nil:
		return ""
	case r.State == contracts.DeadReplayed:
		return "good"
	case r.State == contracts.DeadBlocked:
		return "bad"
	case r.State == contracts.DeadAwaitingReview, r.State == contracts.DeadAuthorized:
		return "warn"
	}
	return ""
}
