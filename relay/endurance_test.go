package relay_test

import (
	"context"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"outboxrelay/contracts"
	"outboxrelay/deploy/local/thorough"
	"outboxrelay/relay"
)

// TestEndurance and its twin deliver many records over all outboxes while one
// publish call in twenty fails, half of those after the server took it.
// OUTBOX_RELAY_ENDURANCE sets how many at least.
func TestEndurance(t *testing.T) {
	thorough.EndToEnd(t)
	endure(t, newCloud(t))
}

func TestEnduranceOnGoogle(t *testing.T) { endure(t, onGoogle(t)) }

// publishFaults fails a share of publish calls, seeded.
type publishFaults struct {
	mu     sync.Mutex
	random *rand.Rand
	share  float64

	calls, refused, lost atomic.Int64 // refused: failed before the server saw it; lost: its answer was
}

func (p *publishFaults) draw() (strike, after bool, code codes.Code) {
	p.mu.Lock()
	defer p.mu.Unlock()
	code = []codes.Code{codes.Unavailable, codes.Internal, codes.DeadlineExceeded}[p.random.IntN(3)]
	return p.random.Float64() < p.share, p.random.IntN(2) == 0, code
}

func (p *publishFaults) intercept(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
	if !strings.HasSuffix(method, "/Publish") {
		return invoke(ctx, method, req, reply, cc, opts...)
	}
	p.calls.Add(1)
	strike, after, code := p.draw()
	switch {
	case strike && !after:
		p.refused.Add(1)
		return status.Error(code, "injected before the call")
	case strike:
		if err := invoke(ctx, method, req, reply, cc, opts...); err != nil {
			return err
		}
		p.lost.Add(1)
		return status.Error(code, "injected after the call")
	}
	return invoke(ctx, method, req, reply, cc, opts...)
}

func endure(t *testing.T, c *cloud) {
	n := 3000
	if v, err := strconv.Atoi(os.Getenv("OUTBOX_RELAY_ENDURANCE")); err == nil {
		n = v
	}
	faults := &publishFaults{random: rand.New(rand.NewPCG(7, 7)), share: 0.05}
	f := setup(t, c, faults.intercept)
	f.tuning.CanaryInterval = relay.DefaultTuning().CanaryInterval // as in service: the emulators are the bottleneck
	f.run()
	var all []*contracts.Record
	share := (n + len(f.catalog.Outboxes) - 1) / len(f.catalog.Outboxes) // at least n in all
	for _, o := range f.catalog.Outboxes {
		records := f.records(o.Name, share, 80)
		f.append(records, 50)
		all = append(all, records...)
	}
	// Counting costs the emulator, so it is not done all the time.
	f.patience = time.Duration(n) * 20 * time.Millisecond
	next := time.Now()
	f.eventually("every record is delivered or dead", func() bool {
		if time.Now().Before(next) {
			return false
		}
		next = time.Now().Add(time.Duration(n) * 300 * time.Microsecond)
		return f.total(contracts.Delivered)+f.total(contracts.Dead) == len(all)
	})
	dead := f.deadLetters()
	f.eventually("what was delivered has arrived", func() bool { return f.judge(f.without(all, dead)).missing == 0 })
	j := f.judge(f.without(all, dead))
	t.Logf("%d records, %d publish calls, %d refused, %d applied with their answer lost; %d dead letters, %d lost, %d out of order, %d delivered twice",
		len(all), faults.calls.Load(), faults.refused.Load(), faults.lost.Load(), len(dead), j.missing, j.disordered, j.duplicates)
	if j.disordered > 0 {
		t.Errorf("%d records came after a higher version of their aggregate", j.disordered)
	}
	for id, letter := range dead {
		if letter["reason"] != "ATTEMPTS_EXHAUSTED" {
			t.Errorf("dead letter %s has reason %v, want ATTEMPTS_EXHAUSTED", id, letter["reason"])
		}
	}
}
