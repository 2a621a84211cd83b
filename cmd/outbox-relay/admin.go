package main

import (
	"context"

	"outboxrelay/cmd/outbox-relay/status"
	"outboxrelay/dlq"
	"outboxrelay/dlq/admin"
	"outboxrelay/dlq/console"
)

// openAPI makes the admin API of a joined service, and the console on it.
func (s *service) openAPI(queue *dlq.Queue, cfg serviceConfig) error {
	how := status.Status{Relay: s.relay, Catalog: cfg.catalog, Lags: s.lags, Name: cfg.instance}
	var err error
	s.api, err = admin.New(admin.Config{
		Queue: queue, Catalog: cfg.catalog, Status: how, Authenticator: cfg.who,
		Log: s.log.Named("admin"), Registerer: s.registry,
	})
	if err != nil {
		return err
	}
	s.console, err = console.New(console.Config{
		API: s.api, Authenticator: cfg.who, Mode: cfg.mode, Catalog: cfg.catalog, Changes: queue, Status: how,
		Log: s.log.Named("console"),
	})
	if err != nil {
		return err
	}
	s.cleanUp("console", func(context.Context) error { s.console.Close(); return nil })
	return nil
}
