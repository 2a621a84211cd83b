package inbox

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"outboxrelay/contracts"
)

// Bounds of the retention.
const (
	DefaultRetention = 168 * time.Hour
	MinRetention     = 7 * 24 * time.Hour
)

// DefaultDelays are the waits before an event that failed is tried again.
func DefaultDelays() []time.Duration {
	return []time.Duration{5 * time.Second, 30 * time.Second, 2 * time.Minute, 10 * time.Minute, 30 * time.Minute}
}

// Options are how an Inbox goes about its work. A zero field means its default.
type Options struct {
	// Catalog has each event judged by what it declares: event type, version, payload
	// schema. nil: only the envelope is judged.
	Catalog *contracts.Catalog
	// Decode makes a message in the relay's form, its envelope and its attributes, of one in another
	// form; nil: messages come in the relay's. With an error, or a panic, the message breaks the contract, and what comes
	// beside it is what can be told of it. The replay of a dead letter comes in the relay's form always, and
	// Decode returns it as it is. It is called from any goroutine.
	Decode func(data []byte, attributes map[string]string) ([]byte, map[string]string, error)
	// Versions names the event versions that the handler understands, by event type.
	// One of another version breaks the contract. An event type that is not named: any.
	Versions map[string][]int64
	// DeadLetters takes what cannot be handled. nil: an event that fails is tried again for
	// ever, at the last of Delays, and one that breaks the contract likewise; both are logged.
	DeadLetters DeadLetters
	// Retention is how long a processed event is remembered; 168 h. Less than 7 days is
	// refused unless ForceRetention is set, and less than a lease (Timeout and three times Grace)
	// always: an event would be forgotten while it is handled. One that fails is remembered through
	// its longest delay, however short it is.
	Retention      time.Duration
	ForceRetention bool
	// Delays are the waits before each new try: 5 s, 30 s, 2 m, 10 m, 30 m. The last one
	// stands for all that follow. An event that meets an outage waits for the first, twice as long each
	// further time, a minute at most.
	Delays []time.Duration
	// MaxTries is how often an event is handled until it is dead; 5. The first four of
	// DefaultDelays lie between these: its last is for more tries, or no DeadLetters.
	MaxTries int
	// Timeout bounds one call of the handler; 30 s. It begins with the call: that the store makes
	// a transaction ready for it is waited for as long as Grace, and is no try of the event.
	Timeout time.Duration
	// Grace is how long a handler may take to return after its ctx ended, and how long
	// the store is tried after the receiving ended, or after its handler returned where
	// that comes later; 5 s.
	Grace time.Duration
	// Hold is how long the message of an event that has to wait is held before it is given back
	// to Pub/Sub; 10 s. Negative: not at all.
	Hold time.Duration
	// MaxHeld bounds the messages that are held at the same time; 100.
	MaxHeld int
	// MaxHanging bounds the handlers that were left behind as they do not return; 100. While
	// there are as many, no event is handled.
	MaxHanging int
	// MaxTakeovers is how often an event may end the process that handles it, or so it seems: after
	// as many leases in a row that ran out without an answer it is dead; 10.
	MaxTakeovers int
	// Log gets what goes wrong; nil: slog.Default.
	Log *slog.Logger
}

// Validate says what is wrong with the options, all at once.
func (o Options) Validate() error {
	var errs []error
	if o.Retention != 0 && o.Retention < MinRetention && !o.ForceRetention {
		errs = append(errs, fmt.Errorf("retention is %v, want %v at least, or ForceRetention", o.Retention, MinRetention))
	}
	if d := o.withDefaults(); min(d.Retention, d.Timeout, d.Grace) > 0 && d.Retention < d.lease() {
		errs = append(errs, fmt.Errorf("retention is %v, want %v at least (timeout and three times grace), as an event is forgotten while it is handled otherwise", d.Retention, d.lease()))
	}
	for name, d := range map[string]time.Duration{"retention": o.Retention, "timeout": o.Timeout, "grace": o.Grace} {
		if d < 0 {
			errs = append(errs, fmt.Errorf("%s is %v, want it positive", name, d))
		}
	}
	if i := slices.IndexFunc(o.Delays, func(d time.Duration) bool { return d <= 0 }); i >= 0 {
		errs = append(errs, fmt.Errorf("delay %d is %v, want it positive", i+1, o.Delays[i]))
	}
	if min(o.MaxTries, o.MaxHeld, o.MaxHanging, o.MaxTakeovers) < 0 {
		errs = append(errs, errors.New("MaxTries, MaxHeld, MaxHanging and MaxTakeovers want to be positive"))
	}
	slices.SortFunc(errs, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
	return errors.Join(errs...)
}

func (o Options) withDefaults() Options {
	o.Retention = cmp.Or(o.Retention, DefaultRetention)
	o.Timeout = cmp.Or(o.Timeout, 30*time.Second)
	o.Grace = cmp.Or(o.Grace, 5*time.Second)
	o.Hold = max(0, cmp.Or(o.Hold, 10*time.Second))
	o.MaxTries = cmp.Or(o.MaxTries, 5)
	o.MaxHeld = cmp.Or(o.MaxHeld, 100)
	o.MaxHanging = cmp.Or(o.MaxHanging, 100)
	o.MaxTakeovers = cmp.Or(o.MaxTakeovers, 10)
	if len(o.Delays) == 0 {
		o.Delays = DefaultDelays()
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	return o
}

// keep is how long an event that is not through is remembered from its claim on: through its
// longest wait as well, or the count of its failures would begin anew, and it never be dead.
func (o Options) keep() time.Duration {
	const comesAgain = 10 * time.Minute // the longest that Pub/Sub waits with what it was given back
	return max(o.Retention, o.lease()+max(slices.Max(o.Delays), longestOutage)+comesAgain)
}

// lease outlives the handler, its grace, and the calls of the store that end it.
func (o Options) lease() time.Duration { return o.Timeout + 3*o.Grace }
