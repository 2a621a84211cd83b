package demo

import (
	"context"

	"outboxrelay/contracts"
	"outboxrelay/ier"
)

// Witness stands before the handler of claims and books what it does, as a
// consumer books the messages of a topic.
type Witness struct {
	Target ier.Target
	Ledger *Ledger
}

// Deliver implements ier.Target.
func (w *Witness) Deliver(ctx context.Context, parcels []ier.Parcel) []error {
	errs := w.Target.Deliver(ctx, parcels)
	for i, err := range errs {
		switch {
		case err == nil:
			w.Ledger.Arrive(arrivalOf(parcels[i].Message.Attributes))
			w.Ledger.ClaimsTaken(true)
		case contracts.KindOf(err) != contracts.Outage:
			w.Ledger.ClaimsTaken(false)
		}
	}
	return errs
}
