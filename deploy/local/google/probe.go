package google

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
)

// overGRPC is the probe that asks over a connection.
func overGRPC(ask func(context.Context, *grpc.ClientConn) error) func(context.Context, string) error {
	return func(ctx context.Context, addr string) error {
		quick := grpc.ConnectParams{
			Backoff:           backoff.Config{BaseDelay: 50 * time.Millisecond, Multiplier: 1.5, MaxDelay: 500 * time.Millisecond},
			MinConnectTimeout: time.Second,
		}
		conn, err := grpc.NewClient("passthrough:///"+addr,
			grpc.WithTransportCredentials(insecure.NewCredentials()),
			grpc.WithConnectParams(quick), grpc.WithNoProxy(),
			grpc.WithDefaultCallOptions(grpc.WaitForReady(true)))
		if err != nil {
			return fmt.Errorf("dial %s: %w", addr, err)
		}
		defer conn.Close() //nolint:errcheck // nothing was written that could be lost
		switch err := ask(ctx, conn); {
		case status.Code(err) == codes.Unimplemented:
			return fmt.Errorf("probe %s: %w: %w", addr, errElse, err)
		case err != nil:
			return fmt.Errorf("probe %s: %w", addr, err)
		}
		return nil
	}
}

// httpProbeEvery is how often a port that does not answer yet is asked again.
const httpProbeEvery = 100 * time.Millisecond

// overHTTP is the probe that gets the root page until it is there.
func overHTTP(ctx context.Context, addr string) error {
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}} // and no proxy
	tick := time.NewTicker(httpProbeEvery)
	defer tick.Stop()
	for {
		err := getRoot(ctx, client, addr)
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("probe %s: %w", addr, err)
		case <-tick.C:
		}
	}
}

func getRoot(ctx context.Context, client *http.Client, addr string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+addr+"/", http.NoBody)
	if err != nil {
		return err
	}
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close() //nolint:errcheck // it is not read
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("status %s", resp.Status)
	}
	return nil
}
