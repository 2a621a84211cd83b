package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"time"

	"outboxrelay/deploy/local/child"
	"outboxrelay/deploy/local/freeport"
	"outboxrelay/deploy/local/rig"
	"outboxrelay/deploy/local/tcpproxy"
)

// part is what a relay reaches through a proxy of its own.
type part string

// The parts.
const (
	partFirestore part = "firestore"
	partPubSub    part = "pubsub"
)

// fleet is the relays of a run. Safe for concurrent use.
type fleet struct {
	path     string // of the relay's program
	args     []string
	catalog  string   // path
	env      []string // beside the addresses
	logs     string   // directory
	upstream map[part]string

	mu      sync.Mutex
	started int
	live    []*member
	claimed map[*member]bool // by a fault under way
	down    map[part]bool    // unreachable for all, also for those that start
	lost    []string         // relays that ended by themselves, and what they said
}

// member is one relay process with the proxies through which it sees the cloud.
type member struct {
	name    string
	child   *child.Process
	proxies map[part]*tcpproxy.Proxy
	url     string // of its HTTP server
	log     *os.File
	// meant is set before a signal that ends it.
	meant bool // guarded by the fleet's lock
}

// servingWithin bounds the start of a relay; it does not need the cloud for it.
const servingWithin = 2 * time.Minute

// start adds a relay and waits until it serves HTTP. No fault strikes it before:
// those take what serves.
func (f *fleet) start(ctx context.Context) error {
	m, err := f.startClaimed(ctx, f.catalog)
	if err == nil {
		f.release(m)
	}
	return err
}

// startClaimed is start for a relay that the fault itself will strike again, with a catalog that may be another.
func (f *fleet) startClaimed(ctx context.Context, catalog string) (*member, error) {
	f.mu.Lock()
	f.started++
	m := &member{name: "relay-" + strconv.Itoa(f.started), proxies: map[part]*tcpproxy.Proxy{}}
	f.mu.Unlock()
	if err := f.launch(ctx, m, catalog); err != nil {
		f.release(m)
		m.close()
		return nil, fmt.Errorf("start %s: %w", m.name, err)
	}
	return m, nil
}

func (f *fleet) launch(ctx context.Context, m *member, catalog string) error {
	for p, upstream := range f.upstream {
		var err error
		if m.proxies[p], err = tcpproxy.Start(m.name+" "+string(p), "127.0.0.1:0", upstream); err != nil {
			return err
		}
	}
	var err error
	if m.log, err = os.Create(filepath.Join(f.logs, m.name+".log")); err != nil {
		return err
	}
	port, err := freeport.One()
	if err != nil {
		return err
	}
	cloud := rig.Cloud{Firestore: m.proxies[partFirestore].Addr, PubSub: m.proxies[partPubSub].Addr}
	serving := rig.NewAwaited(`"message":"serving"`)
	m.url = "http://127.0.0.1:" + port
	m.child, err = child.Start(child.Spec{
		Name: m.name, Path: f.path, Args: append(slices.Clone(f.args), "--catalog", catalog), Stdout: m.log, Stderr: io.MultiWriter(m.log, serving),
		Env: slices.Concat(f.env, cloud.Env(), []string{"HOST=127.0.0.1", "PORT=" + port}),
	})
	if err != nil {
		return err
	}
	f.join(m)
	go f.watch(m) // ends with the child
	select {
	case <-serving.Seen():
		return nil
	case <-m.child.Exited():
		return m.child.Ended()
	case <-time.After(servingWithin):
		return errors.New("it does not serve in time")
	case <-ctx.Done():
		return ctx.Err()
	}
}

// join makes m one of the live relays, claimed and as cut off as all of them are.
func (f *fleet) join(m *member) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.live = append(f.live, m)
	f.claimed[m] = true
	for p := range f.down {
		m.proxies[p].Down()
	}
}

// watch takes m out of the live relays when it has ended, and notes when nobody
// wanted that.
func (f *fleet) watch(m *member) {
	<-m.child.Exited()
	f.mu.Lock()
	defer f.mu.Unlock()
	f.live = slices.DeleteFunc(f.live, func(other *member) bool { return other == m })
	if !m.meant {
		f.lost = append(f.lost, m.child.Ended().Error())
	}
}

// claim takes a live relay for one fault, until release. It waits while all are
// claimed. n chooses among them.
func (f *fleet) claim(ctx context.Context, n int) (*member, error) {
	for {
		if m := f.tryClaim(n); m != nil {
			return m, nil
		}
		if !rig.Sleep(ctx, 50*time.Millisecond) {
			return nil, ctx.Err()
		}
	}
}

func (f *fleet) tryClaim(n int) *member {
	f.mu.Lock()
	defer f.mu.Unlock()
	var free []*member
	for _, m := range f.live {
		if !f.claimed[m] && !m.meant {
			free = append(free, m)
		}
	}
	if len(free) == 0 {
		return nil
	}
	m := free[n%len(free)]
	f.claimed[m] = true
	return m
}

// claimAll takes every live relay, once none is claimed.
func (f *fleet) claimAll(ctx context.Context) ([]*member, error) {
	for {
		if all := f.tryClaimAll(); len(all) > 0 {
			return all, nil
		}
		if !rig.Sleep(ctx, 50*time.Millisecond) {
			return nil, ctx.Err()
		}
	}
}

func (f *fleet) tryClaimAll() []*member {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.claimed) > 0 {
		return nil
	}
	var all []*member
	for _, m := range f.live {
		if !m.meant {
			f.claimed[m] = true
			all = append(all, m)
		}
	}
	return all
}

func (f *fleet) release(m *member) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.claimed, m)
}

// members lists the live relays.
func (f *fleet) members() []*member {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.live)
}

// endedThemselves lists what relays said that nobody stopped.
func (f *fleet) endedThemselves() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.lost)
}

func (f *fleet) mean(m *member) {
	f.mu.Lock()
	defer f.mu.Unlock()
	m.meant = true
}

// kill ends a relay as a crash does.
func (f *fleet) kill(m *member) {
	f.mu.Lock()
	m.meant = true
	f.mu.Unlock()
	m.child.Kill()
	m.close()
}

// stop ends a relay as a platform does.
func (f *fleet) stop(m *member) error {
	f.mean(m)
	err := m.child.Stop()
	m.close()
	return err
}

// stopAll ends all relays at the same time.
func (f *fleet) stopAll() error {
	var wg sync.WaitGroup
	var mu sync.Mutex
	var errs []error
	for _, m := range f.members() {
		wg.Go(func() {
			_ = m.child.Signal(syscall.SIGCONT) // a run that was interrupted leaves it stopped
			err := f.stop(m)
			mu.Lock()
			defer mu.Unlock()
			errs = append(errs, err)
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

// reach makes a part unreachable for all relays, or reachable again.
func (f *fleet) reach(p part, reachable bool) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	var errs []error
	switch {
	case !reachable:
		f.down[p] = true
	default:
		delete(f.down, p)
	}
	for _, m := range f.live {
		if reachable {
			errs = append(errs, m.proxies[p].Up())
		} else {
			m.proxies[p].Down()
		}
	}
	return errors.Join(errs...)
}

func (m *member) close() {
	for _, p := range m.proxies {
		p.Close()
	}
	if m.log != nil {
		_ = m.log.Close() // what was lost of a log is no failure of the run
	}
}
