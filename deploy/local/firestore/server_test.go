package firestore_test

import (
	"testing"

	"outboxrelay/deploy/local/firestore"
)

func TestStartRefusesAnAddressInUse(t *testing.T) {
	_, addr := start(t, firestore.Options{})
	other, err := firestore.Open(firestore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	if _, err := other.Start(addr); err == nil {
		t.Fatal("want an error for an address in use")
	}
}
