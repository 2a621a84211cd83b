package main

import (
	"context"

	"outboxrelay/cmd/outbox-relay/status"
	"outboxrelay/dlq"
	"outboxrelay/dlq/admin"
	"outboxrelay/dlq/console"
	"outboxrelay/dlq/follower"
	"outboxrelay/dlq/trace"
)

// openAPI makes the admin API of a joined service, and the console on it.
func (s *service) openAPI(stores stores, cfg serviceConfig) error {
	queue := stores.queue
	how := status.Status{Relay: s.relay, Catalog: cfg.catalog, Lags: s.lags, Name: cfg.instance}
	var err error
	s.api, err = admin.New(admin.Config{
		Letters: queue, Replays: queue, Freezes: queue, Lanes: queue, History: history{queue, stores.traces}, Queues: s.desk,
		Catalog: cfg.catalog, Status: how, Authenticator: cfg.who, Log: s.log.Named("admin"), Registerer: s.registry,
	})
	if err != nil {
		return err
	}
	var bells console.Bells
	if cfg.bells != nil {
		bells = cfg.bells(stores.letters.Client)
	}
	s.console, err = console.New(console.Config{
		API: s.api, Authenticator: cfg.who, Mode: cfg.mode, Catalog: cfg.catalog, Changes: follower.New(queue, s.log.Named("dlq")), Status: how,
		Bells: bells, Log: s.log.Named("console"),
	})
	if err != nil {
		return err
	}
	s.cleanUp("console", func(context.Context) error { s.console.Close(); return nil })
	return nil
}

// history is what was done, and by whom, and the way of records.
type history struct {
	*dlq.Queue
	*trace.Finder
}
