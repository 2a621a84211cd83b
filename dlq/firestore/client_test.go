package firestore_test

import (
	"net"
	"testing"
	"time"

	"cloud.google.com/go/firestore"

	"outboxrelay/deploy/local"
	dlqfirestore "outboxrelay/dlq/firestore"
)

func TestClientIsDialledBeforeItsFirstCall(t *testing.T) {
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer lis.Close()
	if err := lis.(*net.TCPListener).SetDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	client, err := dlqfirestore.Open(t.Context(), "my-project", firestore.DefaultDatabaseID, local.FirestoreOptions(lis.Addr().String())...)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	conn, err := lis.Accept()
	if err != nil {
		t.Fatalf("no connection without a call: %v", err)
	}
	conn.Close()
}
