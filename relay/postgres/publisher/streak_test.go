package publisher

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

func TestStreakEndsWithTheFirstGoodRound(t *testing.T) {
	var s streak
	for i := range streakMost {
		if err := s.err(); err != nil {
			t.Errorf("after %d failures: %v", i, err)
		}
		s.note(report{err: errors.New("no")})
	}
	if err := s.err(); err == nil || err.Error() != "the last 3 rounds failed: no" {
		t.Errorf("error is %v", err)
	}
	s.note(report{})
	s.note(report{err: errors.New("no")})
	if err := s.err(); err != nil {
		t.Errorf("after a good round and a failure: %v", err)
	}
}

// A database that answers and takes no writes, such as a standby, has the publisher not ready for as long.
func TestNotReadyWhileTheDatabaseIsReadOnly(t *testing.T) {
	t.Parallel()
	f := setup(t, 0)
	list := events(3, 2)
	f.append(list...)
	var readOnly atomic.Bool
	readOnly.Store(true)
	o := f.options()
	o.Pool = f.connect(func(c *pgxpool.Config) {
		c.PrepareConn = func(ctx context.Context, conn *pgx.Conn) (bool, error) {
			value := "off"
			if readOnly.Load() {
				value = "on"
			}
			_, err := conn.Exec(ctx, "SET default_transaction_read_only = "+value)
			return true, err
		}
	})
	p, _ := f.start(o)
	f.await("it is not ready", func() bool {
		err := p.Ready(t.Context())
		return err != nil && strings.Contains(err.Error(), "rounds failed") && strings.Contains(err.Error(), "25006")
	})
	readOnly.Store(false)
	f.awaitPublished()
	f.await("it is ready", func() bool { return p.Ready(t.Context()) == nil })
	f.judge(list)
}
