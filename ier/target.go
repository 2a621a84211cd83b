package ier

import (
	"context"
	"errors"

	"go.opentelemetry.io/otel/trace"

	"outboxrelay/contracts"
)

// Parcel is one record on its way to one target.
type Parcel struct {
	Record  *contracts.Record
	Message *contracts.Message
	Lane    contracts.Lane // the lane that the record runs in; the same for every parcel of a call
	Span    trace.Span     // of this attempt, for what a target does in this process; nil: not traced
}

// Target delivers records to one place.
type Target interface {
	// Deliver takes parcels of one aggregate (one ordering key), oldest first,
	// and returns one error for each: nil is acknowledged. Once one fails, those
	// behind it are not delivered and get ErrBehind. The errors answer
	// contracts.KindOf and contracts.CodeOf; one that does not is Attributable.
	//
	// Several calls may run at once, for different aggregates or for the same.
	// Deliver bounds its own time; a cancelled ctx only means that nobody
	// needs the answer for long.
	Deliver(ctx context.Context, parcels []Parcel) []error
}

// ErrBehind is the error of a parcel that was not attempted because an older
// record of its aggregate failed.
var ErrBehind error = &contracts.Failure{
	Kind: contracts.Outage,
	Code: "Behind",
	Err:  errors.New("an older record of the aggregate failed"),
}
