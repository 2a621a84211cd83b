package claims

import (
	"encoding/json"
	"strconv"
	"time"

	"outboxrelay/contracts"
)

// Signal is TOKEN_REFRESH_SIGNAL: it tells an account's clients to fetch a new
// ID token, whose claimsVersion is ClaimsVersion or more.
type Signal struct {
	AccountID     string    `json:"accountId"`
	TriggeredBy   string    `json:"triggeredBy"` // the event type
	EventID       string    `json:"eventId"`
	TraceID       string    `json:"traceId"`
	ClaimsVersion int64     `json:"claimsVersion"`
	IssuedAt      time.Time `json:"issuedAt"` // by Firestore's clock, once the claims stood
}

// Names of a signal's fields in Firestore, beside those it shares with a record
// and with a snapshot.
const (
	fieldTriggeredBy = "triggeredBy"
	fieldIssuedAt    = "issuedAt"
)

func signalOf(s Snapshot, at time.Time) Signal {
	return Signal{
		AccountID: s.AccountID, TriggeredBy: s.EventType, EventID: s.EventID, TraceID: s.TraceID,
		ClaimsVersion: s.ClaimsVersion, IssuedAt: at.UTC().Truncate(time.Microsecond), // as Firestore keeps it
	}
}

func (s Signal) fields() map[string]any {
	return map[string]any{
		fieldAccountID: s.AccountID, fieldTriggeredBy: s.TriggeredBy, contracts.FieldEventID: s.EventID,
		contracts.FieldTraceID: s.TraceID, fieldClaimsVersion: s.ClaimsVersion, fieldIssuedAt: s.IssuedAt,
	}
}

func readSignal(d Doc) Signal {
	at, _ := d.Fields[fieldIssuedAt].(time.Time)
	return Signal{
		AccountID: text(d, fieldAccountID), TriggeredBy: text(d, fieldTriggeredBy), EventID: text(d, contracts.FieldEventID),
		TraceID: text(d, contracts.FieldTraceID), ClaimsVersion: integer(d, fieldClaimsVersion), IssuedAt: at.UTC(),
	}
}

// message renders the signal for its topic. key is the idempotency key of the
// record that brought its claimsVersion.
func (s Signal) message(key string) (data []byte, attributes map[string]string, err error) {
	data, err = json.Marshal(s)
	return data, map[string]string{
		contracts.AttrEventID: s.EventID, contracts.AttrTraceID: s.TraceID, contracts.AttrIdempotencyKey: key,
		fieldAccountID: s.AccountID, fieldTriggeredBy: s.TriggeredBy, fieldClaimsVersion: strconv.FormatInt(s.ClaimsVersion, 10),
	}, err
}
