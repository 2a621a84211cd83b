package doctor

import (
	"context"

	sdk "cloud.google.com/go/firestore"
	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc/codes"

	"outboxrelay/deploy/firestore/indexes"
	"outboxrelay/deploy/requirements"
)

// queriesAtOnce are tried at the same time at most.
const queriesAtOnce = 8

// trial is a query that one index serves, and what makes that index.
type trial struct {
	subject, mend string
	query         sdk.Query
}

// byQueries tries a query for each index, which asks for one document at most.
// Firestore refuses one that lacks its index. That a query is answered proves an
// index only where one without is refused; Google's emulator answers all.
func (e *exam) byQueries(ctx context.Context, g *Group, client *sdk.Client) {
	const check, did = "indexes", "try a query for each index"
	ctx, cancel := within(ctx)
	defer cancel()
	trials := e.trials(client)
	refused := make([]error, len(trials))
	tries, tryCtx := errgroup.WithContext(ctx)
	tries.SetLimit(queriesAtOnce)
	for n, t := range trials {
		tries.Go(func() error {
			_, refused[n] = t.query.Select().Limit(1).Documents(tryCtx).GetAll()
			return nil
		})
	}
	_ = tries.Wait() // each has its own answer
	answered := 0
	for n, err := range refused {
		f := Finding{Check: check, Subject: trials[n].subject, Did: did}
		switch codeOf(err) {
		case codes.OK:
			answered++
			continue
		case codes.FailedPrecondition:
			f.Result, f.Detail = Fail, "the index is missing, or still being built: its queries and listeners fail"
			f.Mend = []string{trials[n].mend}
			if e.Firestore != "" {
				f.Mend = []string{e.own("cloud")}
				f.Hint = "an embedded Firestore has the indexes of the catalog that it was started with"
			}
		default:
			f.Result, f.Detail = Skip, why(err)
		}
		g.add(f)
	}
	switch {
	case answered == 0:
	case enforced(ctx, client):
		g.ok(check, did, "%d of %d indexes serve their queries", answered, len(trials))
	default:
		g.skip(check, "this Firestore answers queries without their index, as Google's emulator does: production may lack them all the same")
	}
}

// trials lists a query for each index that is required, composite or of one field.
func (e *exam) trials(client *sdk.Client) []trial {
	var out []trial
	for _, i := range e.needs.Indexes {
		out = append(out, trial{describeIndex(i), e.createIndex(i), composite(client, i)})
	}
	for _, o := range e.needs.FieldOverrides {
		for _, i := range o.Indexes {
			q := scope(client, o.CollectionGroup, i.QueryScope)
			out = append(out, trial{o.CollectionGroup + "." + o.FieldPath, e.exempt(o), part(q, o.FieldPath, i.Order, i.ArrayConfig)})
		}
	}
	return out
}

// composite is the query that a composite index is for: equal in all but its last
// field, ordered by that.
func composite(client *sdk.Client, index requirements.CompositeIndex) sdk.Query {
	q := scope(client, index.CollectionGroup, index.QueryScope)
	last := len(index.Fields) - 1
	for _, f := range index.Fields[:last] {
		if f.ArrayConfig != "" {
			q = part(q, f.FieldPath, "", f.ArrayConfig)
			continue
		}
		q = q.Where(f.FieldPath, "==", nothing)
	}
	return part(q, index.Fields[last].FieldPath, index.Fields[last].Order, index.Fields[last].ArrayConfig)
}

// part is q with an order by a field, or a search in an array.
func part(q sdk.Query, field, order, array string) sdk.Query {
	switch {
	case array != "":
		return q.Where(field, "array-contains", nothing)
	case order == indexes.Descending:
		return q.OrderBy(field, sdk.Desc)
	}
	return q.OrderBy(field, sdk.Asc)
}

// scope is a query of one collection, or of all that have its ID.
func scope(client *sdk.Client, collection, scope string) sdk.Query {
	if scope == indexes.ScopeGroup {
		return client.CollectionGroup(collection).Query
	}
	return client.Collection(collection).Query
}

// nothing is a value that no document has.
const nothing = "outbox-relay doctor"

// enforced reports whether a query that no index can serve is refused.
func enforced(ctx context.Context, client *sdk.Client) bool {
	_, err := client.Collection(probes).Where("by", "==", nothing).OrderBy("at", sdk.Desc).Limit(1).Documents(ctx).GetAll()
	return codeOf(err) == codes.FailedPrecondition
}
