package freeport

import (
	"net"
	"strconv"
	"testing"
)

func TestPortsAreFreeAndGivenToNobodyWhoAsksForAny(t *testing.T) {
	ports, err := Several(50)
	if err != nil {
		t.Fatal(err)
	}
	seen := make(map[string]bool)
	for _, p := range ports {
		if n, err := strconv.Atoi(p); err != nil || n < lowest || n >= beyond || seen[p] {
			t.Errorf("port %q, want one from %d to %d that was not given before", p, lowest, beyond-1)
		}
		seen[p] = true
		lis, err := net.Listen("tcp", "127.0.0.1:"+p)
		if err != nil {
			t.Error(err)
			continue
		}
		lis.Close()
	}
}
