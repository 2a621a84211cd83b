package firestore_test

import (
	"strings"
	"testing"
	"time"

	sdk "cloud.google.com/go/firestore"

	"outboxrelay/contracts/inbox"
	"outboxrelay/contracts/inbox/firestore"
	localfirestore "outboxrelay/deploy/local/firestore"
	"outboxrelay/deploy/local/firestore/firestoretest"
)

// What a newer version made of an event, before it was rolled back, nobody here knows: it may
// have been handled.
func TestEventInAStateOfANewerVersionIsNotHandled(t *testing.T) {
	t.Parallel()
	_, address := firestoretest.Start(t, localfirestore.Options{})
	client := firestoretest.Client(t, address)
	store := firestore.New(client.Client)
	ask := inbox.Ask{Ref: inbox.Ref{Consumer: "c", EventID: "one", Token: "a"}, AggregateID: "acc-1", Version: 1, Lease: time.Minute, Keep: time.Hour}
	if c, err := store.Claim(t.Context(), ask); err != nil || c.Verdict != inbox.Claimed {
		t.Fatal(c, err)
	}
	become := func(state string) {
		t.Helper()
		if _, err := client.Collection(firestore.Collection).Doc("c:one").Update(t.Context(), []sdk.Update{{Path: "state", Value: state}}); err != nil {
			t.Fatal(err)
		}
	}
	become("superseded")
	ask.Token = "b"
	if c, err := store.Claim(t.Context(), ask); err != nil || c.Verdict != inbox.Busy {
		t.Errorf("got %v, %v, want it busy", c.Verdict, err)
	}
	if already, err := store.CheckAndMarkProcessed(t.Context(), "c", "one", time.Hour); already || err == nil || !strings.Contains(err.Error(), `"superseded"`) {
		t.Errorf("already processed is %v and %v, want an error that names the state", already, err)
	}
	become("processed")
	if c, err := store.Claim(t.Context(), ask); err != nil || c.Verdict != inbox.Processed {
		t.Errorf("got %v, %v, want it processed, as the newer version says", c.Verdict, err)
	}
}
