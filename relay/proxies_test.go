package relay_test

import (
	"sync"
	"testing"

	"outboxrelay/deploy/local/tcpproxy"
)

// proxy is a TCP proxy between a relay and a part of the cloud.
type proxy struct {
	t              *testing.T
	upstream, addr string // HOST:PORT; addr is for the relay

	mu   sync.Mutex
	live *tcpproxy.Proxy // replaced by mend: one that has had toxics may hang as it lets go of them
}

func startProxy(t *testing.T, upstream string) *proxy {
	t.Helper()
	p := &proxy{t: t, upstream: upstream, addr: "127.0.0.1:0"}
	p.mend()
	t.Cleanup(func() { p.live.Close() })
	return p
}

// cut ends every connection and refuses new ones, until mend.
func (p *proxy) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.live.Down()
}

// mend ends what cut and poison did. Connections from before it end.
func (p *proxy) mend() {
	p.t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.live != nil {
		p.live.Close()
	}
	live, err := tcpproxy.Start("proxy", p.addr, p.upstream)
	if err != nil {
		p.t.Fatal(err)
	}
	p.live, p.addr = live, live.Addr
}

// Kinds of toxics that all connections get, open ones too.
var (
	swallowed = tcpproxy.Swallow("downstream")
	reset     = tcpproxy.Toxic{Type: "reset_peer", Stream: "downstream", Attributes: map[string]int{"timeout": 0}}
	slow      = tcpproxy.Delay(2000, 0)
	narrow    = tcpproxy.Narrow("downstream", 1)
	cutShort  = tcpproxy.Toxic{Type: "limit_data", Stream: "downstream", Attributes: map[string]int{"bytes": 3000}}
)

func (p *proxy) poison(with tcpproxy.Toxic) {
	p.t.Helper()
	if err := p.live.Poison(with); err != nil {
		p.t.Fatal(err)
	}
}
