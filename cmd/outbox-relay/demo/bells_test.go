package demo_test

import (
	"fmt"
	"testing"
	"time"

	"outboxrelay/cmd/outbox-relay/demo"
	localfirestore "outboxrelay/deploy/local/firestore"
	"outboxrelay/deploy/local/firestore/firestoretest"
	"outboxrelay/relay/workqueue/notifications"
)

func TestBellsOfTheSampleTenants(t *testing.T) {
	declared := notifications.Indexes()
	_, address := firestoretest.Start(t, localfirestore.Options{Indexes: &declared})
	db := firestoretest.Client(t, address).Client
	set := func(path string, fields map[string]any) {
		t.Helper()
		if _, err := db.Doc(path).Set(t.Context(), fields); err != nil {
			t.Fatal(err)
		}
	}
	set("users/root", map[string]any{"role": "admin"}) // of no condominium
	set("clients/acme/condominiums/palms/users/cyd", map[string]any{"role": "resident"})
	set("clients/acme/condominiums/palms/users/dan", map[string]any{"role": "admin"})
	const count = 23
	for n := range count {
		set(fmt.Sprintf("clients/acme/condominiums/palms/users/dan/notifications/e-%02d", n), map[string]any{
			"title": fmt.Sprintf("Ticket %d", n), "body": "The lift makes a noise.", "module": "maintenance", "read": n < 3, "createdAt": time.Date(2026, 3, 1, 10, n, 0, 0, time.UTC),
		})
	}
	bells := &demo.Bells{Client: db}
	people, err := bells.People(t.Context())
	if err != nil || len(people) != 2 || people[0].Name != "dan (admin of acme/palms)" {
		t.Fatalf("got %+v, %v", people, err)
	}
	bell, err := bells.Bell(t.Context(), people[0].ID)
	if err != nil {
		t.Fatal(err)
	}
	if bell.Unread != count-3 || len(bell.Notes) != 20 || !bell.More || bell.Notes[0].Title != "Ticket 22" {
		t.Errorf("got %d unread, %d notes, more %t: %+v", bell.Unread, len(bell.Notes), bell.More, bell.Notes[0])
	}
	if got, want := bell.Notes[0].Event, "clients/acme/condominiums/palms/notificationEvents/e-22"; got != want {
		t.Errorf("its event is %s, want %s", got, want)
	}
	if other, err := bells.Bell(t.Context(), people[1].ID); err != nil || other.Unread != 0 || len(other.Notes) != 0 {
		t.Errorf("cyd has %+v, %v", other, err)
	}
}
