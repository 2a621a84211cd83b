package console_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"outboxrelay/contracts"
	localfirestore "outboxrelay/deploy/local/firestore"
	"outboxrelay/deploy/local/firestore/firestoretest"
	"outboxrelay/dlq"
	"outboxrelay/dlq/admin"
	"outboxrelay/dlq/admin/auth"
	"outboxrelay/dlq/console"
	dlqfirestore "outboxrelay/dlq/firestore"
	"outboxrelay/dlq/follower"
)

// alone is the console over a queue at which nobody else works, so that all that
// is read and all the time that passes is the console's.
func alone(t testing.TB) *fixture {
	t.Helper()
	server, address := firestoretest.Start(t, localfirestore.Options{})
	f := &fixture{t: t, server: server, db: firestoretest.Client(t, address), mode: auth.ModeDev}
	var err error
	f.catalog, err = contracts.DefaultCatalog()
	f.must(err)
	f.store, f.status = dlqfirestore.New(f.db), newStatus(f.catalog)
	f.queue, err = dlq.New(dlq.Config{Store: f.store, Catalog: f.catalog, Log: f.log()})
	f.must(err)
	mux := http.NewServeMux()
	f.web = httptest.NewServer(mux)
	t.Cleanup(f.web.Close)
	f.url = f.web.URL
	f.who, err = auth.New(auth.Config{Mode: auth.ModeDev, ListenAddr: f.web.Listener.Addr().String()})
	f.must(err)
	const unbounded = 1e6 // requests a second: a benchmark asks more often than a person
	api := f.api(f.store, f.queue, func(c *admin.Config) { c.Log, c.RatePerSecond, c.Burst = f.log(), unbounded, unbounded })
	c, err := console.New(console.Config{API: api, Authenticator: f.who, Mode: f.mode, Catalog: f.catalog, Changes: follower.New(f.queue, f.log()), Log: f.log()})
	f.must(err)
	t.Cleanup(c.Close)
	mux.Handle(console.Prefix+"/", c)
	return f
}

// kindOf is the event type and the error of the dead letters that fill writes: six
// of ten are of the first one, so that there is a page of it among a hundred.
func kindOf(k int) (eventType, code string) {
	if k%10 < 6 {
		return "WalletDeducted", "CodeA"
	}
	return []string{"WalletCredited", "RoleChanged", "PolicyChanged"}[k%3], fmt.Sprintf("Code%c", 'B'+k/30%3)
}

// fill writes n dead letters, a tenth of them closed. The records stay out: no
// list reads one.
func (f *fixture) fill(n int) {
	f.t.Helper()
	began := time.Now().Add(-time.Duration(n) * time.Millisecond)
	var g errgroup.Group
	g.SetLimit(4)
	const some = 400
	for first := 0; first < n; first += some {
		g.Go(func() error {
			var writes []dlq.Write
			for k := first; k < min(first+some, n); k++ {
				eventType, code := kindOf(k)
				i := f.letter("accOutbox", eventType, fmt.Sprintf("acc-%d", k), 1, func(i *dlq.Item) {
					i.DeadAt = began.Add(time.Duration(k) * time.Millisecond).UTC().Truncate(time.Microsecond)
					i.Errors[len(i.Errors)-1].Code, i.Record = code, nil
					if k%10 == 9 {
						i.State = contracts.DeadDiscarded
					}
				})
				writes = append(writes, i.Burial(true)[0])
				if k < 100 { // all kinds are among them
					writes = append(writes, dlq.GroupOf(i).Write())
				}
			}
			_, err := f.store.Commit(context.Background(), writes)
			return err
		})
	}
	f.must(g.Wait())
}

// speedScreens are the screens whose time must not grow with the queue, each with
// as many rows among 100 dead letters as among many.
func speedScreens(f *fixture) map[string]string {
	f.t.Helper()
	one := f.letter("accOutbox", "WalletDeducted", "acc", 1, func(i *dlq.Item) { i.Errors[len(i.Errors)-1].Code = "CodeA" })
	_, text := f.person("dev-operator").get("/dlq")
	return map[string]string{
		"the list": "/dlq", "the list again, live": found(text, againLink),
		"a filter":            "/dlq?tier=REVIEW_REQUIRED&eventType=WalletDeducted&outbox=accOutbox",
		"the list of a group": "/dlq?group=" + one.Group, "the groups": "/groups",
		"a page far down": "/dlq?open=any&pageToken=" + f.last(),
	}
}

// last is the token of the last page of all dead letters.
func (f *fixture) last() string {
	f.t.Helper()
	for token := ""; ; {
		page, err := f.queue.List(context.Background(), dlq.Filter{}, dlq.Page{Token: token})
		f.must(err)
		if page.Next == "" {
			return token
		}
		token = page.Next
	}
}

// TestSpeed measures screens with 100 dead letters and with as many as
// OUTBOX_RELAY_BENCH_CONSOLE says, side by side, and fails where one takes more
// than three times as long. make bench-console runs it.
func TestSpeed(t *testing.T) {
	n, err := strconv.Atoi(os.Getenv("OUTBOX_RELAY_BENCH_CONSOLE"))
	if err != nil {
		t.Skip("make bench-console measures the console's speed")
	}
	few, many := alone(t), alone(t)
	few.fill(100)
	began := time.Now()
	many.fill(n)
	t.Logf("%d dead letters written in %s", n, time.Since(began).Round(time.Second))
	small, large := speedScreens(few), speedScreens(many)
	fmt.Printf("\n%-24s %12s %12s %8s   median of 101, of a page as a browser gets it\n", "screen", "100", strconv.Itoa(n), "ratio")
	for _, name := range []string{"the list", "the list again, live", "a filter", "the list of a group", "a page far down", "the groups"} {
		a, b := few.person("dev-operator"), many.person("dev-operator")
		var times [2][]time.Duration
		for round := range 111 {
			for k, look := range []func() (int, string){func() (int, string) { return a.get(small[name]) }, func() (int, string) { return b.get(large[name]) }} {
				began := time.Now()
				status, _ := look()
				if status != http.StatusOK {
					t.Fatalf("%s: status %d", name, status)
				}
				if round >= 10 { // the first ones build the embedded server's indexes
					times[k] = append(times[k], time.Since(began))
				}
			}
		}
		slices.Sort(times[0])
		slices.Sort(times[1])
		x, y := times[0][len(times[0])/2], times[1][len(times[1])/2]
		ratio := float64(y) / float64(x)
		fmt.Printf("%-24s %12s %12s %8.2f\n", name, x.Round(time.Microsecond), y.Round(time.Microsecond), ratio)
		if ratio > 3 {
			t.Errorf("%s takes %.1f times as long with %d dead letters as with 100", name, ratio, n)
		}
	}
	fmt.Println()
}

// reads is what a look at a page reads of Firestore.
func (f *fixture) reads(p *person, path string) int64 {
	f.t.Helper()
	f.server.ResetBilling()
	if status, _ := p.get(path); status != http.StatusOK {
		f.t.Errorf("%s: status %d", path, status)
	}
	return f.server.Billing().Reads
}

func TestNoScreenReadsMoreThanItShowsAndAPage(t *testing.T) {
	t.Parallel()
	f := alone(t)
	f.fill(400)
	p := f.person("dev-operator")
	const page = 50
	for name, path := range speedScreens(f) {
		_, text := p.get(path)
		rows := int64(len(shown(text)))
		bound := rows + page
		if name == "the groups" { // a row is a group, its count, its first and its last
			bound = 4*rows + page
		}
		if got := f.reads(p, path); got > bound || rows == 0 {
			t.Errorf("%s shows %d rows and reads %d documents, want at most %d", name, rows, got, bound)
		}
	}
}
