package main

import (
	"context"
	"time"

	"go.uber.org/zap"

	"outboxrelay/claims"
	claimsfirebase "outboxrelay/claims/firebase"
	claimsfirestore "outboxrelay/claims/firestore"
	"outboxrelay/contracts"
	"outboxrelay/ier"
	ierpubsub "outboxrelay/ier/pubsub"
)

// claimsTarget is the handler target that this program has a handler for.
const claimsTarget = claims.DefaultTarget

// signalTimeout bounds the publishing of one token refresh signal: a part of
// what the handler has for a record.
const signalTimeout = 2 * time.Second

// openClaims makes the handler of claims, with a connection to Firestore of its
// own, as its reads are not to stand behind a batch of the relay's. Without
// credentials for Auth it is made all the same, and fails as a target does that
// is out: its records wait.
func (s *service) openClaims(ctx context.Context, clients *ierpubsub.Clients, metrics *ierpubsub.Metrics, cfg serviceConfig) (ier.Target, error) {
	log := s.log.Named("claims")
	docs, err := cfg.place.DialFirestore(ctx)
	if err != nil {
		return nil, err
	}
	s.cleanUp("claims' Firestore client", func(context.Context) error { return docs.Close() })
	signals, err := ierpubsub.NewOrderedPublisher(clients.Lane(contracts.CriticalLane), contracts.TopicRefreshSignal,
		ierpubsub.Settings{Timeout: signalTimeout, Metrics: metrics})
	if err != nil {
		return nil, err
	}
	s.cleanUp("token refresh signals", signals.Close)
	accounts, err := claimsfirebase.Open(ctx, cfg.place.Project, claimsfirebase.WithEmulator(cfg.place.Auth))
	if err != nil {
		return nil, err
	}
	s.cleanUp("connections to Auth", func(context.Context) error { accounts.Close(); return nil })
	s.looks = append(s.looks, func(ctx context.Context) {
		if err := accounts.Ready(ctx); err != nil && ctx.Err() == nil {
			log.Warn("claims cannot be set: records for "+claimsTarget+" wait, all others are delivered", zap.Error(err))
		}
	})
	handler, err := claims.New(claims.Config{
		Catalog: cfg.catalog, Target: claimsTarget, Store: claimsfirestore.New(docs.Client), Accounts: accounts, Signals: signals,
		Log: log, Registerer: s.registry,
	})
	if err != nil {
		return nil, err
	}
	return ier.NewHandlerTarget(ier.HandlerConfig{
		Name: claimsTarget, Handler: handler, Reason: contracts.ClaimsRefreshFailed, Log: log,
	})
}
