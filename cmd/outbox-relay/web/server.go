// Package web serves HTTP within bounds: pages that are only read, problem documents,
// and a server that ends in time.
package web

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"syscall"
	"time"

	"go.uber.org/zap"
)

// Listen opens addr for HTTP. hint tells what to do where the port is taken.
func Listen(addr, hint string) (net.Listener, error) {
	lis, err := net.Listen("tcp", addr)
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, fmt.Errorf("listen on %s: the port is taken; %s", addr, hint)
	case err != nil:
		return nil, fmt.Errorf("listen on %s: %w", addr, err)
	}
	return lis, nil
}

// NewServer bounds what a client may take. Bodies are small, as the admin
// API sees to, and it gives up on a request long before the answer's time is
// over. A header may hold an identity token or two. Of connections there are maxConns.
func NewServer(handler http.Handler, log *zap.Logger) *http.Server {
	srv := &http.Server{
		Handler:           handler,
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       10 * time.Second,
		WriteTimeout:      30 * time.Second,
		IdleTimeout:       time.Minute,
		MaxHeaderBytes:    32 << 10,
		ErrorLog:          zap.NewStdLog(log.Named("http")),
	}
	bound(srv, maxConns)
	return srv
}

// Serve serves until the server is shut down, which is no error.
func Serve(srv *http.Server, lis net.Listener) error {
	if err := srv.Serve(lis); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve http: %w", err)
	}
	return nil
}

// Shut lets running requests end until ctx does, and then cuts them off.
func Shut(ctx context.Context, srv *http.Server) error {
	if err := srv.Shutdown(ctx); err != nil {
		return errors.Join(fmt.Errorf("shut down http: %w", err), srv.Close())
	}
	return nil
}
