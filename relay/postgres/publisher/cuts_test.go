package publisher

import (
	"context"
	"errors"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// statements is a tracer that is told of each statement before it is sent.
type statements func(sql string)

// TraceQueryStart implements pgx.QueryTracer.
func (s statements) TraceQueryStart(ctx context.Context, _ *pgx.Conn, data pgx.TraceQueryStartData) context.Context {
	s(data.SQL)
	return ctx
}

// TraceQueryEnd implements pgx.QueryTracer.
func (statements) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

// lines are the connections of a pool, which can be cut, or lose their answers.
type lines struct {
	mu   sync.Mutex
	open []*line
	mute bool // answers are lost
}

type line struct {
	net.Conn
	lines *lines
	cut   chan struct{}
	once  sync.Once
}

func (l *lines) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	one := &line{Conn: conn, lines: l, cut: make(chan struct{})}
	l.open = append(l.open, one)
	return one, nil
}

// Read implements net.Conn. What comes while answers are lost is not seen before the cut.
func (l *line) Read(p []byte) (int, error) {
	n, err := l.Conn.Read(p)
	l.lines.mu.Lock()
	mute := l.lines.mute
	l.lines.mu.Unlock()
	if mute {
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
	l.open, l.mute = nil, false
	l.mu.Unlock()
	for _, one := range open {
		_ = one.Close()
	}
}

func (l *lines) loseAnswers() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.mute = true
}

// A connection that dies in any state loses nothing and keeps the order; only what was acknowledged without a mark
// goes out twice.
func TestConnectionDies(t *testing.T) {
	t.Parallel()
	const times = 3
	for name, test := range map[string]struct {
		at         string // a part of the statement, before which it is cut
		publishing bool   // or while the topic is called
		answer     bool   // the statement has its effect, and its answer is lost
		twice      bool   // what was acknowledged is published again
		maybe      bool   // or it may be
	}{
		"before the transaction": {at: "BEGIN"},
		"at the claim":           {at: "WITH sight"},
		"while publishing":       {publishing: true, twice: true},
		"at the mark":            {at: "UPDATE outbox_events", twice: true},
		"at the commit":          {at: "commit", twice: true},
		"after the commit":       {at: "commit", answer: true},
		"while listening":        {at: "LISTEN", maybe: true}, // the rounds' connections are cut with it
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
				c.ConnConfig.Tracer = statements(func(sql string) {
					if test.at == "" || !strings.Contains(sql, test.at) || !strike() {
						return
					}
					if !test.answer {
						connections.cutAll()
						return
					}
					before := f.count("published_at IS NOT NULL")
					connections.loseAnswers()
					go func() { // ends when the commit has had its effect
						defer connections.cutAll()
						for ctx := context.Background(); ; {
							var n int
							if err := f.pool.QueryRow(ctx, "SELECT count(*) FROM outbox_events WHERE published_at IS NOT NULL").Scan(&n); err != nil || n > before {
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
			switch {
			case duplicates > times*o.Batch:
				t.Errorf("%d duplicates, want those of %d rounds at most", duplicates, times)
			case test.maybe:
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
