// Package tcpproxy stands between relays and the cloud on TCP connections that
// can be cut, slowed and silenced.
package tcpproxy

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"

	"github.com/Shopify/toxiproxy/v2"
	"github.com/rs/zerolog"
)

// Proxy is a TCP proxy between one relay and one part of the cloud. Its owner
// calls Close. Safe for concurrent use.
type Proxy struct {
	Addr string // HOST:PORT for the relay

	toxi *toxiproxy.Proxy

	mu      sync.Mutex
	isDown  bool
	closed  bool
	release func() // gives Addr back, which is kept while the proxy is down; nil: it is not
}

// Toxics log to the global logger, which nothing else uses.
func init() { zerolog.SetGlobalLevel(zerolog.Disabled) }

// Start listens on addr, and passes on to upstream; both HOST:PORT. name is for
// errors.
func Start(name, addr, upstream string) (*Proxy, error) {
	server := toxiproxy.NewServer(toxiproxy.NewMetricsContainer(nil), zerolog.Nop())
	p := &Proxy{toxi: toxiproxy.NewProxy(server, name, addr, upstream)}
	if err := p.startLocked(); err != nil {
		return nil, err
	}
	p.Addr = p.toxi.Listen
	return p, nil
}

// Down makes the part unreachable: connections end, new ones are refused. The
// address stays the proxy's: nobody else is given its port meanwhile.
func (p *Proxy) Down() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.isDown || p.closed {
		return
	}
	p.isDown = true
	p.toxi.Stop()
	p.release, _ = reserve(p.Addr) // without it Up fails, should somebody have it by then
}

// giveBackLocked ends what Down has reserved.
func (p *Proxy) giveBackLocked() {
	if p.release != nil {
		p.release()
		p.release = nil
	}
}

// Up ends Down.
func (p *Proxy) Up() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.isDown || p.closed {
		return nil
	}
	p.isDown = false
	p.giveBackLocked()
	return p.startLocked()
}

func (p *Proxy) startLocked() error {
	if err := p.toxi.Start(); err != nil {
		return fmt.Errorf("start proxy %s: %w", p.toxi.Name, err)
	}
	return nil
}

// Cut ends every connection. New ones are taken at once, unless it is down.
func (p *Proxy) Cut() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.isDown || p.closed {
		return nil
	}
	p.toxi.Stop()
	return p.startLocked()
}

// Poison puts toxics in force, also on connections that are open.
func (p *Proxy) Poison(toxics ...Toxic) error {
	for _, t := range toxics {
		data, err := json.Marshal(t)
		if err != nil {
			return fmt.Errorf("encode toxic: %w", err)
		}
		if _, err := p.toxi.Toxics.AddToxicJson(strings.NewReader(string(data))); err != nil {
			return fmt.Errorf("add toxic %s to %s: %w", t.Type, p.toxi.Name, err)
		}
	}
	return nil
}

// Cure removes all toxics. Connections whose bytes were swallowed end with that.
func (p *Proxy) Cure(ctx context.Context) { p.toxi.Toxics.ResetToxics(ctx) }

// Close is Down for good.
func (p *Proxy) Close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	p.giveBackLocked()
	p.toxi.Stop()
}
