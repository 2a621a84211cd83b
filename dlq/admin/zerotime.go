package admin

import (
	"encoding/json"
	"time"

	"github.com/danielgtaylor/huma/v2"
)

// notThatTime is what is wrong with the zero time. As a value it means that nothing was
// given: an order that takes what died before it would take everything.
const notThatTime = "nothing has that time: leave it out"

// zeroTimes refuses the zero time for query parameters that were given. One that is no time
// is zero as well, and is told of otherwise.
func zeroTimes(ctx huma.Context, from, to time.Time) (faults []error) {
	for _, p := range []struct {
		name string
		is   time.Time
	}{{"from", from}, {"to", to}} {
		_, err := time.Parse(time.RFC3339, ctx.Query(p.name))
		if err == nil && p.is.IsZero() {
			faults = append(faults, &huma.ErrorDetail{Location: "query." + p.name, Message: notThatTime})
		}
	}
	return faults
}

// Resolve implements huma.Resolver.
func (in *filteredInput) Resolve(ctx huma.Context) []error { return zeroTimes(ctx, in.From, in.To) }

// Resolve implements huma.Resolver.
func (in *countInput) Resolve(ctx huma.Context) []error { return zeroTimes(ctx, in.From, in.To) }

// Resolve implements huma.Resolver.
func (in *auditInput) Resolve(ctx huma.Context) []error { return zeroTimes(ctx, in.From, in.To) }

// Resolve implements huma.Resolver.
func (in *bulkInput) Resolve(huma.Context) (faults []error) {
	var given struct {
		Filter struct{ From, To *time.Time }
	}
	if json.Unmarshal(in.RawBody, &given) != nil {
		return nil // which is told of otherwise
	}
	if t := given.Filter.From; t != nil && t.IsZero() {
		faults = append(faults, &huma.ErrorDetail{Location: "body.filter.from", Message: notThatTime})
	}
	if t := given.Filter.To; t != nil && t.IsZero() {
		faults = append(faults, &huma.ErrorDetail{Location: "body.filter.to", Message: notThatTime})
	}
	return faults
}
