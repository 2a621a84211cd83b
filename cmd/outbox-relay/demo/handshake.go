package demo

import (
	"fmt"
	"strings"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// Handshakes is what came of the changes of roles and policies: the relay sets
// claims, tells the account's app, and the app fetches a new token.
type Handshakes struct {
	Set       int64         // records that the handler acknowledged
	Refused   int64         // failed attempts of it, outages apart
	Refreshed int64         // tokens that apps fetched for a signal
	Stale     int64         // of these, without the claims that the signal told of
	P50       time.Duration // from a record's append to the token, of the fresh ones
	Reads     int64         // documents that the apps read
}

// String is a line for the table and the summary.
func (h *Handshakes) String() string {
	text := fmt.Sprintf("set %d, tokens refreshed %d (p50 %s from append), refused %d", h.Set, h.Refreshed, lag(h.P50), h.Refused)
	if h.Stale > 0 {
		text += fmt.Sprintf(", without their claims %d", h.Stale)
	}
	return text
}

// handshakeBook is the ledger's part of them.
type handshakeBook struct {
	Handshakes
	lags  *hdrhistogram.Histogram // append to token, in ms
	began *recent[string, time.Time]
}

// WatchClaims makes the ledger keep book of handshakes.
func (l *Ledger) WatchClaims() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.handshakes = &handshakeBook{lags: hdrhistogram.New(1, maxLagMs, 3), began: newRecent[string, time.Time](remembered)}
}

// begin notes when the append of a record began. Its event ID is the first part
// of its idempotency key.
func (b *handshakeBook) begin(key string) {
	if b != nil {
		eventID, _, _ := strings.Cut(key, ":")
		b.began.set(eventID, time.Now())
	}
}

// ClaimsTaken books an attempt of the handler of claims.
func (l *Ledger) ClaimsTaken(acknowledged bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if acknowledged {
		l.handshakes.Set++
	} else {
		l.handshakes.Refused++
	}
}

// TokenRefreshed books a token that an app fetched because of an event; fresh
// says that it carries the claims that the signal told of.
func (l *Ledger) TokenRefreshed(eventID string, fresh bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	b := l.handshakes
	b.Refreshed++
	if !fresh {
		b.Stale++
		return
	}
	if began, ok := b.began.get(eventID); ok {
		_ = b.lags.RecordValue(min(max(time.Since(began).Milliseconds(), 1), maxLagMs)) // within the bounds that it was made with
	}
}

// SignalRead books a signal document that an app read.
func (l *Ledger) SignalRead() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.handshakes.Reads++
}

// totals is the book as it stands; nil when none is kept.
func (b *handshakeBook) totals() *Handshakes {
	if b == nil {
		return nil
	}
	h := b.Handshakes
	h.P50 = quantile(b.lags, 50)
	return &h
}
