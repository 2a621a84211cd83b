// Package postgres keeps an inbox in a table of Postgres 12 or later, which may be the
// database that the handlers write to: then inbox.HandleIn makes an effect and its mark
// one transaction. The database's encoding is UTF8: another lacks characters that may be in
// what names an event, or in the text of a failure, of which nothing can be kept then.
//
//	store := postgres.New(pool)
//	if err := store.Migrate(ctx); err != nil { … } // or apply postgres.Schema yourself
//	receive := inbox.HandleIn(box, store, func(ctx context.Context, tx pgx.Tx, e *inbox.Event) error { … })
//
// Events of one aggregate are claimed one after another, by an advisory lock that lasts for
// the claim alone. A claim is one round trip, and so is each end of it; a transaction is four
// beside what its handler does. What is past its time
// is taken as gone, and is removed by Store.Sweep, which somebody calls from time to time.
package postgres
