package firestore_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"

	sdk "cloud.google.com/go/firestore"
	"github.com/google/uuid"

	"outboxrelay/contracts"
	"outboxrelay/contracts/inbox"
	"outboxrelay/contracts/inbox/firestore"
	localfirestore "outboxrelay/deploy/local/firestore"
	"outboxrelay/deploy/local/firestore/firestoretest"
)

type oneLetter struct{ errors []contracts.AttemptError }

func (l *oneLetter) Bury(_ context.Context, d inbox.DeadLetter) error {
	l.errors = d.Errors
	return nil
}

func stumble() { panic(errors.New("payload: secret")) }

// A panic is told by its type and its place, also where it goes through a transaction.
func TestPanicInATransactionIsToldWithItsPlace(t *testing.T) {
	t.Parallel()
	_, address := firestoretest.Start(t, localfirestore.Options{})
	store := firestore.New(firestoretest.Client(t, address).Client)
	var dead oneLetter
	box := inbox.New(store, "billing", inbox.Options{MaxTries: 1, DeadLetters: &dead, Log: slog.New(slog.DiscardHandler)})
	if !inbox.DeliverIn(t.Context(), box, store, envelope(uuid.NewString()), nil, func(context.Context, *sdk.Transaction, *inbox.Event) error {
		stumble()
		return nil
	}) || len(dead.errors) != 1 {
		t.Fatalf("buried with %+v, want it acknowledged and buried with one error", dead.errors)
	}
	said := dead.errors[0]
	if said.Code != inbox.CodePanic || !strings.Contains(said.Message, "panic: *errors.errorString") || !strings.Contains(said.Message, ".stumble(") || strings.Contains(said.Message, "secret") {
		t.Errorf("the dead letter says %s, %s", said.Code, said.Message)
	}
}
