package web

import (
	"net"
	"strings"
	"testing"
)

func TestListenTellsATakenPort(t *testing.T) {
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer lis.Close()
	_, err = Listen(lis.Addr().String(), "choose another")
	if err == nil || !strings.Contains(err.Error(), "the port is taken; choose another") {
		t.Errorf("listen = %v", err)
	}
}
