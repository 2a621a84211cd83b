package contracts

import (
	"errors"
	"strings"
)

// Kind says what a failed delivery means for the record.
type Kind int

// The kinds of failure, by what follows from them.
const (
	// Attributable failures count as an attempt of the record, as long as they are
	// not the rule across aggregates.
	Attributable Kind = iota
	// Permanent failures can never succeed: the record is dead-lettered now.
	Permanent
	// Outage failures say something about the target, not about the record:
	// no attempt is counted, and the target's circuit breaker hears of it.
	Outage
)

func (k Kind) String() string {
	switch k {
	case Permanent:
		return "permanent"
	case Outage:
		return "outage"
	default:
		return "attributable"
	}
}

// Failure is a delivery error with its kind and a bounded reason.
type Failure struct {
	Kind Kind
	Code string // one bounded word for metrics, logs and dead letters: "Unavailable", "TooLarge"
	// Reason is what the record is dead-lettered as once its attempts are
	// exhausted; "" leaves it at AttemptsExhausted. A permanent failure stays
	// PermanentFailure.
	Reason Reason
	// Own says of an attributable failure that it is the record's alone, however
	// many fail so: the target answered, and spoke of what the record holds.
	Own bool
	Err error
}

func (f *Failure) Error() string {
	if f.Err == nil {
		return f.Code
	}
	return f.Code + ": " + f.Err.Error()
}

func (f *Failure) Unwrap() error { return f.Err }

// FailureKind makes Failure answer KindOf.
func (f *Failure) FailureKind() Kind { return f.Kind }

// FailureCode makes Failure answer CodeOf.
func (f *Failure) FailureCode() string { return f.Code }

// FailureReason makes Failure answer ReasonOf.
func (f *Failure) FailureReason() Reason { return f.Reason }

// FailureOwn makes Failure answer OwnOf.
func (f *Failure) FailureOwn() bool { return f.Own || f.Kind == Permanent }

// OwnOf asks err whether it is the record's alone. One that does not know may be
// the target's.
func OwnOf(err error) bool {
	var o interface{ FailureOwn() bool }
	return errors.As(err, &o) && o.FailureOwn()
}

// KindOf asks err for its kind by behaviour. An error that does not know is
// Attributable.
func KindOf(err error) Kind {
	var k interface{ FailureKind() Kind }
	if errors.As(err, &k) {
		return k.FailureKind()
	}
	return Attributable
}

// CodeOf asks err for its bounded reason. An error that does not know is
// "Unknown".
func CodeOf(err error) string {
	var c interface{ FailureCode() string }
	if errors.As(err, &c) {
		return c.FailureCode()
	}
	return "Unknown"
}

// MessageOf is the text of err beside its code, which a Failure itself puts in front:
// whoever keeps or shows both would tell the code twice.
func MessageOf(err error) string { return strings.TrimPrefix(err.Error(), CodeOf(err)+": ") }

// ReasonOf asks err what exhausted attempts are dead-lettered as. An error that
// does not know has none, "".
func ReasonOf(err error) Reason {
	var r interface{ FailureReason() Reason }
	if errors.As(err, &r) {
		return r.FailureReason()
	}
	return ""
}
