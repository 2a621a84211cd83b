package firestore_test

import (
	"bufio"
	"fmt"
	"os"
	"testing"

	"outboxrelay/deploy/local/firestore"
)

// serveVariable turns the test binary into a server on the data directory that the
// variable names: a process of its own, to be killed.
const serveVariable = "OUTBOX_RELAY_TEST_SERVE"

func serveAndWait(dir string) int {
	s, err := firestore.Open(firestore.Options{DataDir: dir})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	addr, err := s.Start("127.0.0.1:0")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	fmt.Println(addr)
	_, _ = bufio.NewReader(os.Stdin).ReadByte() // until the parent goes, or kills
	return 0
}

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
