package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"syscall"
	"time"

	"google.golang.org/grpc/codes"

	"outboxrelay/deploy/local/rig"
	"outboxrelay/deploy/local/tcpproxy"
)

// kind is one way to disturb a run.
type kind struct {
	name string
	// several: it needs other relays that go on; embedded: a fault switch.
	several, embedded bool
	// act does it and undoes it. It returns the moment from which the relays
	// ought to get over it: when a relay was taken away while others run, else
	// when all was well again.
	act func(ctx context.Context, s *stage, d draw) (time.Time, error)
}

// draw is what a fault is given of the seed.
type draw struct {
	victim int            // of the relays that are free, modulo their number
	hold   time.Duration  // how long it lasts, where it lasts
	part   part           // where it strikes one part of two
	stream string         // where it strikes one direction of two
	dice   uint64         // seed of shares
	lease  time.Duration  // term of a lease
	random func() float64 // for what else is left to chance
}

// outageCodes are what a service answers that is out, over its quota or locked:
// nothing about the record, so no attempt may be counted.
var outageCodes = []codes.Code{codes.Unavailable, codes.DeadlineExceeded, codes.ResourceExhausted, codes.PermissionDenied, codes.Unauthenticated}

// commitCodes are what Firestore answers a commit whose writes are sound.
var commitCodes = []string{"UNAVAILABLE", "DEADLINE_EXCEEDED", "RESOURCE_EXHAUSTED", "ABORTED", "INTERNAL", "UNKNOWN", "CANCELLED", "PERMISSION_DENIED"}

// listenCodes are all that can end a listener.
var listenCodes = []string{
	"CANCELLED", "UNKNOWN", "INVALID_ARGUMENT", "DEADLINE_EXCEEDED", "NOT_FOUND", "ALREADY_EXISTS", "PERMISSION_DENIED", "RESOURCE_EXHAUSTED",
	"FAILED_PRECONDITION", "ABORTED", "OUT_OF_RANGE", "UNIMPLEMENTED", "INTERNAL", "UNAVAILABLE", "DATA_LOSS", "UNAUTHENTICATED",
}

// kinds lists every fault.
func kinds() []kind {
	return []kind{
		{name: "kill", act: kill},
		{name: "kill-again", act: killAgain},
		{name: "kill-all", act: killAll},
		{name: "restart", act: restart},
		{name: "rolling", several: true, act: rolling},
		{name: "other-catalog", several: true, act: otherCatalog},
		{name: "pause", act: pause},
		{name: "partition", several: true, act: partition},
		{name: "cut", act: onOne(cut)},
		{name: "black-hole", act: onOne(blackHole)},
		{name: "slow", act: onOne(slow)},
		{name: "no-firestore", act: unreachable(partFirestore)},
		{name: "no-pubsub", act: unreachable(partPubSub)},
		{name: "publish-refused", act: publishRefused},
		{name: "publish-answer-lost", act: publishAnswerLost},
		{name: "commit-refused", embedded: true, act: switched(func(d draw) rig.Fault {
			return rig.Fault{Method: "Commit", Code: pickOne(d, commitCodes), Share: 0.5, Seed: d.dice}
		})},
		{name: "commit-answer-lost", embedded: true, act: switched(func(d draw) rig.Fault {
			return rig.Fault{Method: "Commit", Code: "UNAVAILABLE", LoseResponse: true, Share: 0.5, Seed: d.dice}
		})},
		{name: "listen-refused", embedded: true, act: listenRefused},
		{name: "listen-silent", embedded: true, act: switched(func(draw) rig.Fault { return rig.Fault{Method: "Listen", Stall: true} })},
	}
}

// kindsOf are those that a run may draw from.
func kindsOf(o options) ([]kind, error) {
	var wanted []string
	if o.only != "" {
		wanted = strings.Split(o.only, ",")
	}
	var out []kind
	for _, k := range kinds() {
		possible := (!k.several || o.relays > 1) && (!k.embedded || o.cloud == rig.CloudEmbedded)
		asked := slices.Contains(wanted, k.name)
		if asked && !possible {
			return nil, fmt.Errorf("-only names %s, which needs several relays or the embedded cloud", k.name)
		}
		if possible && (asked || len(wanted) == 0) {
			out = append(out, k)
		}
		wanted = slices.DeleteFunc(wanted, func(name string) bool { return name == k.name })
		if o.only != "" && len(wanted) == 0 {
			break
		}
	}
	if len(wanted) > 0 {
		return nil, fmt.Errorf("-only names %s, which is no fault", strings.Join(wanted, ", "))
	}
	return out, nil
}

// pickOne chooses by the draw.
func pickOne[T any](d draw, from []T) T {
	return from[rand.New(rand.NewPCG(d.dice, 1)).IntN(len(from))]
}

func kill(ctx context.Context, s *stage, d draw) (time.Time, error) {
	m, err := s.fleet.claim(ctx, d.victim)
	if err != nil {
		return time.Time{}, err
	}
	gone := time.Now()
	s.fleet.kill(m)
	s.fleet.release(m)
	rig.Sleep(ctx, d.hold/2)
	err = s.fleet.start(ctx)
	return s.takenOver(gone), err
}

// killAgain kills a relay, and the one that takes its place while it is still
// reading what was left.
func killAgain(ctx context.Context, s *stage, d draw) (time.Time, error) {
	victim, err := s.fleet.claim(ctx, d.victim)
	if err != nil {
		return time.Time{}, err
	}
	s.fleet.kill(victim)
	s.fleet.release(victim)
	fresh, err := s.fleet.startClaimed(ctx, s.fleet.catalog)
	if err != nil {
		return time.Time{}, err
	}
	rig.Sleep(ctx, time.Duration(d.random()*float64(d.lease)/2))
	gone := time.Now()
	s.fleet.kill(fresh)
	s.fleet.release(fresh)
	err = s.fleet.start(ctx)
	return s.takenOver(gone), err
}

func killAll(ctx context.Context, s *stage, d draw) (time.Time, error) {
	victims, err := s.fleet.claimAll(ctx)
	if err != nil {
		return time.Time{}, err
	}
	for _, m := range victims {
		s.fleet.kill(m)
		s.fleet.release(m)
	}
	rig.Sleep(ctx, d.hold/2)
	healed := time.Now()
	var errs []error
	for range victims {
		err := s.fleet.start(ctx)
		errs = append(errs, err)
	}
	return healed, errors.Join(errs...)
}

func restart(ctx context.Context, s *stage, d draw) (time.Time, error) {
	m, err := s.fleet.claim(ctx, d.victim)
	if err != nil {
		return time.Time{}, err
	}
	told := time.Now()
	s.noteStop(s.fleet.stop(m))
	s.fleet.release(m)
	err = s.fleet.start(ctx)
	return s.takenOver(told), err
}

// rolling is a deploy: the new one is up before the old one is told to end.
func rolling(ctx context.Context, s *stage, d draw) (time.Time, error) {
	m, err := s.fleet.claim(ctx, d.victim)
	if err != nil {
		return time.Time{}, err
	}
	defer s.fleet.release(m)
	if err := s.fleet.start(ctx); err != nil {
		return time.Time{}, err
	}
	told := time.Now()
	s.noteStop(s.fleet.stop(m))
	return told, nil
}

// pause stops a relay's process for longer than a lease, as a machine does that
// is moved or swaps. It then goes on as if nothing had happened.
func pause(ctx context.Context, s *stage, d draw) (time.Time, error) {
	m, err := s.fleet.claim(ctx, d.victim)
	if err != nil {
		return time.Time{}, err
	}
	defer s.fleet.release(m)
	began := time.Now()
	if err := m.child.Signal(syscall.SIGSTOP); err != nil {
		return time.Time{}, err
	}
	rig.Sleep(ctx, longerThan(d))
	return s.takenOver(began), m.child.Signal(syscall.SIGCONT)
}

// partition takes Firestore from one relay for longer than a lease, and leaves
// it Pub/Sub. Others take over. What it could not write it tries to write after.
func partition(ctx context.Context, s *stage, d draw) (time.Time, error) {
	m, err := s.fleet.claim(ctx, d.victim)
	if err != nil {
		return time.Time{}, err
	}
	defer s.fleet.release(m)
	began := time.Now()
	p := m.proxies[partFirestore]
	if err := p.Poison(tcpproxy.Swallow("upstream"), tcpproxy.Swallow("downstream")); err != nil {
		return time.Time{}, err
	}
	rig.Sleep(ctx, longerThan(d))
	p.Cure(ctx)
	return began, nil
}

// longerThan is a little to much longer than a lease.
func longerThan(d draw) time.Duration { return time.Duration((1.1 + d.random()) * float64(d.lease)) }

// onOne is a fault of one relay's connections to one part.
func onOne(act func(context.Context, *tcpproxy.Proxy, draw) error) func(context.Context, *stage, draw) (time.Time, error) {
	return func(ctx context.Context, s *stage, d draw) (time.Time, error) {
		m, err := s.fleet.claim(ctx, d.victim)
		if err != nil {
			return time.Time{}, err
		}
		defer s.fleet.release(m)
		err = act(ctx, m.proxies[d.part], d)
		return time.Now(), err
	}
}

func cut(_ context.Context, p *tcpproxy.Proxy, _ draw) error { return p.Cut() }

func blackHole(ctx context.Context, p *tcpproxy.Proxy, d draw) error {
	if err := p.Poison(tcpproxy.Swallow(d.stream)); err != nil {
		return err
	}
	rig.Sleep(ctx, d.hold)
	p.Cure(ctx)
	return nil
}

func slow(ctx context.Context, p *tcpproxy.Proxy, d draw) error {
	if err := p.Poison(tcpproxy.Delay(50+int(250*d.random()), 50), tcpproxy.Narrow("upstream", 50+int(100*d.random()))); err != nil {
		return err
	}
	rig.Sleep(ctx, d.hold)
	p.Cure(ctx)
	return nil
}

func unreachable(p part) func(context.Context, *stage, draw) (time.Time, error) {
	return func(ctx context.Context, s *stage, d draw) (time.Time, error) {
		if err := s.fleet.reach(p, false); err != nil {
			return time.Time{}, err
		}
		rig.Sleep(ctx, d.hold)
		err := s.fleet.reach(p, true)
		return time.Now(), err
	}
}

func publishRefused(ctx context.Context, s *stage, d draw) (time.Time, error) {
	return s.brokerFault(ctx, d, publishFault{share: 0.5, code: pickOne(d, outageCodes)})
}

func publishAnswerLost(ctx context.Context, s *stage, d draw) (time.Time, error) {
	return s.brokerFault(ctx, d, publishFault{share: 0.3, code: codes.Unavailable, lost: true})
}

func (s *stage) brokerFault(ctx context.Context, d draw, f publishFault) (time.Time, error) {
	s.broker.suffer(f, rand.New(rand.NewPCG(d.dice, 2)))
	rig.Sleep(ctx, d.hold)
	s.broker.suffer(publishFault{}, nil)
	return time.Now(), nil
}

// switched is a fault that the embedded Firestore makes itself suffer.
func switched(rule func(draw) rig.Fault) func(context.Context, *stage, draw) (time.Time, error) {
	return func(ctx context.Context, s *stage, d draw) (time.Time, error) {
		return s.withRule(ctx, rule(d), d)
	}
}

// listenRefused ends all listeners with a code, and most tries to come back.
func listenRefused(ctx context.Context, s *stage, d draw) (time.Time, error) {
	code := pickOne(d, listenCodes)
	if err := s.switches.DropListeners(ctx, code); err != nil {
		return time.Time{}, err
	}
	return s.withRule(ctx, rig.Fault{Method: "Listen", Code: code, Share: 0.8, Seed: d.dice}, d)
}

func (s *stage) withRule(ctx context.Context, f rig.Fault, d draw) (time.Time, error) {
	if err := s.switches.Firestore(ctx, f); err != nil {
		return time.Time{}, err
	}
	rig.Sleep(ctx, d.hold)
	err := s.switches.Clear(context.WithoutCancel(ctx))
	return time.Now(), err
}
