package cost_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"

	"outboxrelay/cmd/outbox-relay/cost"
	"outboxrelay/contracts"
	"outboxrelay/deploy/local/thorough"
)

// atMost has a connection open no more listeners at once than streams, if it is not
// 0: the others wait until one of them ends, as on a connection to Google.
func atMost(streams int) grpc.DialOption {
	open := make(chan struct{}, streams)
	return grpc.WithChainStreamInterceptor(func(
		ctx context.Context, desc *grpc.StreamDesc, conn *grpc.ClientConn, method string, streamer grpc.Streamer, opts ...grpc.CallOption,
	) (grpc.ClientStream, error) {
		if streams == 0 || !strings.HasSuffix(method, "/Listen") {
			return streamer(ctx, desc, conn, method, opts...)
		}
		select {
		case open <- struct{}{}:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		s, err := streamer(ctx, desc, conn, method, opts...)
		if err != nil {
			<-open
			return nil, err
		}
		context.AfterFunc(s.Context(), func() { <-open })
		return s, nil
	})
}

// TestListenersBeyondAConnectionArePolled: an instance that is alone with the
// shards of 10,000 records a second has more listeners than its connection takes.
// The lanes whose listener does not open are polled meanwhile.
func TestListenersBeyondAConnectionArePolled(t *testing.T) {
	thorough.Long(t)
	run := cost.Runs()[2]
	needs, err := run.Needs(catalog(t, nil), prices(t))
	if err != nil {
		t.Fatal(err)
	}
	if needs.Listeners <= cost.StreamsOfConnection {
		t.Fatalf("%d listeners, want more than %d", needs.Listeners, cost.StreamsOfConnection)
	}
	catalog, _ := has(t, run, needs)
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, catalog)
		defer w.close()
		w.streams = cost.StreamsOfConnection
		seen := &arrivals{lags: make(map[contracts.Lane][]time.Duration)}
		for name := range catalog.Targets {
			w.targets[name] = topic{&processor{}, seen}
		}
		w.start("instance-0")
		time.Sleep(settled)
		offered := w.offer(600, 10*time.Second)
		w.producers.Wait()
		time.Sleep(cost.PolledWithin)
		seen.mu.Lock()
		if seen.n != offered {
			t.Errorf("%d of %d are delivered %v after the last append", seen.n, offered, cost.PolledWithin)
		}
		late := 0
		for lane, lags := range seen.lags {
			for _, lag := range lags {
				if lag > cost.PolledWithin {
					t.Errorf("%s: %v from append to delivery, want %v at most", lane, lag, cost.PolledWithin)
				}
				if lag > 2*cost.PublishTime {
					late++
				}
			}
		}
		if late == 0 {
			t.Error("every record was delivered at once, want some to wait for a page")
		}
		seen.mu.Unlock()
		_, lags := seen.cut()
		t.Logf("%d of %d were polled;%s", late, offered, lags)
	})
}
