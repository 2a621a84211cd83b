package conformance

import (
	"context"
	"errors"
	"sync"

	"cloud.google.com/go/firestore"
	"google.golang.org/grpc/codes"
)

var transactions = []test{
	{"read and write", func(e *env) {
		d := e.doc()
		e.set(d, fields{"n": 1})
		e.ok(e.client.RunTransaction(e.ctx, func(_ context.Context, tx *firestore.Transaction) error {
			s, err := tx.Get(d)
			if err != nil {
				return err
			}
			return tx.Update(d, []firestore.Update{{Path: "n", Value: s.Data()["n"].(int64) + 1}})
		}))
		e.wantData(d, fields{"n": int64(2)})
	}},
	{"an error rolls back", func(e *env) {
		d := e.doc()
		err := e.client.RunTransaction(e.ctx, func(_ context.Context, tx *firestore.Transaction) error {
			if err := tx.Set(d, fields{}); err != nil {
				return err
			}
			return errRollback
		})
		if !errors.Is(err, errRollback) {
			e.Fatalf("want the function's error, got %v", err)
		}
		_, err = d.Get(e.ctx)
		e.code(err, codes.NotFound)
	}},
	{"no increment is lost", func(e *env) {
		d := e.doc()
		e.set(d, fields{"n": 0})
		var wg sync.WaitGroup
		errs := make(chan error, 4)
		for range 4 {
			wg.Go(func() {
				errs <- e.client.RunTransaction(e.ctx, func(_ context.Context, tx *firestore.Transaction) error {
					s, err := tx.Get(d)
					if err != nil {
						return err
					}
					return tx.Set(d, fields{"n": s.Data()["n"].(int64) + 1})
				}, firestore.MaxAttempts(20))
			})
		}
		wg.Wait()
		for range 4 {
			e.ok(<-errs)
		}
		e.wantData(d, fields{"n": int64(4)})
	}},
	{"a document that is read as missing conflicts too", func(e *env) {
		d := e.doc()
		var wg sync.WaitGroup
		made := make(chan bool, 4)
		for range 4 {
			wg.Go(func() {
				var mine bool
				err := e.client.RunTransaction(e.ctx, func(_ context.Context, tx *firestore.Transaction) error {
					s, err := tx.GetAll([]*firestore.DocumentRef{d})
					if err != nil {
						return err
					}
					if mine = !s[0].Exists(); !mine {
						return nil
					}
					return tx.Set(d, fields{})
				}, firestore.MaxAttempts(20))
				made <- err == nil && mine
			})
		}
		wg.Wait()
		winners := 0
		for range 4 {
			if <-made {
				winners++
			}
		}
		e.equal(1, winners)
	}},
	{"a query's result conflicts with what enters it", func(e *env) {
		c := e.collection()
		seats := c.Where("taken", "==", true)
		var wg sync.WaitGroup
		took := make(chan bool, 4)
		for range 4 {
			wg.Go(func() {
				var mine bool
				err := e.client.RunTransaction(e.ctx, func(_ context.Context, tx *firestore.Transaction) error {
					s, err := tx.Documents(seats).GetAll()
					if err != nil {
						return err
					}
					if mine = len(s) == 0; !mine {
						return nil
					}
					return tx.Create(c.NewDoc(), fields{"taken": true})
				}, firestore.MaxAttempts(20))
				took <- err == nil && mine
			})
		}
		wg.Wait()
		winners := 0
		for range 4 {
			if <-took {
				winners++
			}
		}
		e.equal(1, winners)
	}},
	{"read-only reads one time", func(e *env) {
		c := e.collection()
		a, b := c.Doc("a"), c.Doc("b")
		e.set(a, fields{"n": 1})
		e.set(b, fields{"n": 1})
		e.ok(e.client.RunTransaction(e.ctx, func(ctx context.Context, tx *firestore.Transaction) error {
			if _, err := tx.Get(a); err != nil {
				return err
			}
			e.set(b, fields{"n": 2})
			e.set(c.Doc("c"), fields{"n": 1})
			s, err := tx.Get(b)
			if err != nil {
				return err
			}
			e.equal(fields{"n": int64(1)}, s.Data())
			all, err := tx.Documents(c.Where("n", "==", 1)).GetAll()
			if err != nil {
				return err
			}
			e.equal([]string{"a", "b"}, idsOf(all))
			return nil
		}, firestore.ReadOnly))
	}},
	{"a failed precondition fails it", func(e *env) {
		d := e.doc()
		e.set(d, fields{})
		err := e.client.RunTransaction(e.ctx, func(_ context.Context, tx *firestore.Transaction) error {
			return tx.Create(d, fields{})
		})
		e.code(err, codes.AlreadyExists)
	}},
	{"server timestamp in a transaction", func(e *env) {
		d := e.doc()
		e.ok(e.client.RunTransaction(e.ctx, func(_ context.Context, tx *firestore.Transaction) error {
			return tx.Set(d, fields{"at": firestore.ServerTimestamp})
		}))
		s := e.get(d)
		e.nearly(s.CreateTime, s.Data()["at"])
	}},
}
