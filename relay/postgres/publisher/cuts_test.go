package publisher

import (
	"context"
	"errors"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"outboxrelay/deploy/local/thorough"
)

// statements is a tracer that is told of each statement before it is sent.
type statements func(conn *pgconn.PgConn, sql string)

// TraceQueryStart implements pgx.QueryTracer.
func (s statements) TraceQueryStart(ctx context.Context, conn *pgx.Conn, data pgx.TraceQueryStartData) context.Context {
	s(conn.PgConn(), data.SQL)
	return ctx
}

// TraceQueryEnd implements pgx.QueryTracer.
func (statements) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

// lines are the connections of a pool, which can be cut.
type lines struct {
	mu   sync.Mutex
	open []*line
}

// line is a connection that can be cut, or lose its answers before.
type line struct {
	net.Conn
	mute atomic.Bool // what comes is not seen
	cut  chan struct{}
	once sync.Once
}

func (l *lines) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	one := &line{Conn: conn, cut: make(chan struct{})}
	l.open = append(l.open, one)
	return one, nil
}

// Read implements net.Conn.
func (l *line) Read(p []byte) (int, error) {
	n, err := l.Conn.Read(p)
	if l.mute.Load() {
		<-l.cut
		return 0, errors.New("cut")
	}
	return n, err
}

// Close implements net.Conn.
func (l *line) Close() error {
	l.once.Do(func() { close(l.cut) })
	return l.Conn.Close()
}

// cutAll ends every connection there is. Later ones are whole.
func (l *lines) cutAll() {
	l.mu.Lock()
	open := l.open
	l.open = nil
	l.mu.Unlock()
	for _, one := range open {
		_ = one.Close()
	}
}

// A connection that dies in any state loses nothing and keeps the order; only what was acknowledged without a mark
// goes out twice.
func TestConnectionDies(t *testing.T) {
	thorough.EndToEnd(t)
	t.Parallel()
	const times = 3
	for name, test := range map[string]struct {
		at         string // a part of the statement, before which it is cut
		publishing bool   // or while the topic is called
		answer     bool   // the statement has its effect, and its answer is lost
		twice      bool   // what was acknowledged is published again
	}{
		"before the transaction": {at: "BEGIN"},
		"at the claim":           {at: "WITH "},
		"while publishing":       {publishing: true, twice: true},
		"at the mark":            {at: "UPDATE outbox_events", twice: true},
		"at the commit":          {at: "commit", twice: true},
		"after the commit":       {at: "commit", answer: true},
		"while listening":        {at: "LISTEN"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := setup(t, 0)
			list := events(4, 30)
			f.append(list...)
			connections := &lines{}
			var mu sync.Mutex
			left := times
			strike := func() bool {
				mu.Lock()
				defer mu.Unlock()
				left--
				return left >= 0
			}
			o := f.options()
			o.Batch = 20
			o.Pool = f.connect(func(c *pgxpool.Config) {
				c.ConnConfig.DialFunc = connections.dial
				c.ConnConfig.Tracer = statements(func(conn *pgconn.PgConn, sql string) {
					if test.at == "" || !strings.Contains(sql, test.at) || !strike() {
						return
					}
					struck := conn.Conn().(*line)
					if !test.answer {
						_ = struck.Close()
						return
					}
					struck.mute.Store(true)
					go func() { // ends when the statement has had its effect
						defer struck.Close()
						for busy := true; busy; {
							if err := f.pool.QueryRow(f.Context(), "SELECT state <> 'idle' FROM pg_stat_activity WHERE pid = $1", conn.PID()).Scan(&busy); err != nil {
								return
							}
						}
					}()
				})
			})
			if test.publishing {
				f.shelf.before(func(context.Context) {
					if strike() {
						connections.cutAll()
					}
				})
			}
			_, stop := f.start(o)
			f.awaitPublished()
			f.await("it was cut", func() bool { mu.Lock(); defer mu.Unlock(); return left <= 0 })
			stop()
			f.judge(list)
			duplicates := len(f.shelf.messages()) - len(list)
			rounds := times
			if test.publishing {
				rounds *= 2 // one beside each is cut with it
			}
			switch {
			case duplicates > rounds*o.Batch:
				t.Errorf("%d duplicates, want those of %d rounds at most", duplicates, rounds)
			case test.twice != (duplicates > 0):
				t.Errorf("%d duplicates, want some: %v", duplicates, test.twice)
			}
			if n := f.count("attempt_count <> 0"); n != 0 {
				t.Errorf("%d rows have an attempt", n)
			}
		})
	}
}

// A database that is not there at the start, and goes later, is waited for.
func TestDatabaseThatGoes(t *testing.T) {
	t.Parallel()
	f := setup(t, 0)
	list := events(2, 10)
	var mu sync.Mutex
	down := true
	connections := &lines{}
	o := f.options()
	o.Pool = f.connect(func(c *pgxpool.Config) {
		c.ConnConfig.DialFunc = func(ctx context.Context, network, addr string) (net.Conn, error) {
			mu.Lock()
			defer mu.Unlock()
			if down {
				return nil, errors.New("refused")
			}
			return connections.dial(ctx, network, addr)
		}
	})
	p, _ := f.start(o)
	switchTo := func(to bool) {
		mu.Lock()
		defer mu.Unlock()
		down = to
		connections.cutAll()
	}
	ready := func() bool {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		return p.Ready(ctx) == nil
	}
	f.append(list[:10]...)
	if ready() {
		t.Error("ready without a database")
	}
	switchTo(false)
	f.awaitPublished()
	switchTo(true)
	f.append(list[10:]...)
	if ready() {
		t.Error("ready without a database")
	}
	switchTo(false)
	f.awaitPublished()
	f.judge(list)
}
