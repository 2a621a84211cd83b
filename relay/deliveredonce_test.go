package relay_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	pb "cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/encoding"
	"google.golang.org/protobuf/proto"

	"outboxrelay/contracts"
	"outboxrelay/deploy/local/thorough"
	"outboxrelay/relay"
)

// TestDeliveredOnceWhereNothingFails and its twin have half of the records stand
// as a backlog when the relay starts; others come while it works that off, and
// others once it has. make delivered-once does so with 20,000.
func TestDeliveredOnceWhereNothingFails(t *testing.T) {
	thorough.Long(t)
	deliveredOnce(t, newCloud(t), 4000)
}

func TestDeliveredOnceWhereNothingFailsOnGoogle(t *testing.T) { deliveredOnce(t, onGoogle(t), 600) }

// inCommit is how many records a producer appends at once: few commits, as
// Google's emulator carries some thirty a second beside listeners.
const inCommit = 50

func deliveredOnce(t *testing.T, c *cloud, n int) {
	n = thorough.DeliveredOnce(t, n)
	calls := &publishes{failed: make(map[string]bool)}
	f := setup(t, c, calls.intercept)
	f.asInService()
	f.patience = time.Duration(n) * 20 * time.Millisecond
	all := f.spreadOverOutboxes(n)
	began := time.Now()
	f.append(all[:n/2], inCommit)
	r := f.run()
	f.append(all[n/2:3*n/4], inCommit)
	f.eventually("what came before it caught up is published", func() bool { return calls.sent() >= f.due(all[:3*n/4]) })
	f.append(all[3*n/4:], inCommit)
	f.eventually("every record is published", func() bool { return calls.sent() >= f.due(all) })
	f.eventually("every record is marked", func() bool { return r.inMemory() == 0 })
	took := time.Since(began)
	r.stop() // from here on nothing is published
	f.eventually("what was published has arrived", func() bool { return len(f.inbox.all()) >= calls.sent() })

	twice := 0
	seen := make(map[string]bool)
	for _, m := range f.inbox.all() {
		key := messageKey(m.topic, m.attributes)
		if seen[key] && !calls.failed[key] {
			if twice++; twice <= 5 {
				t.Logf("again as message %s: %s", m.id, key)
			}
		}
		seen[key] = true
	}
	t.Logf("%d records, %d messages, %d twice, %d in publish calls that failed, in %.0f s; rebuilt listeners: %v",
		n, f.due(all), twice, len(calls.failed), took.Seconds(), r.metric("relay_listener_rebuilds_total"))
	if twice > 0 {
		t.Errorf("%d messages were published again though their first call succeeded", twice)
	}
	if j := f.judge(all); j.missing > 0 {
		t.Errorf("%d messages never came", j.missing)
	}
	if marked := f.total(contracts.Delivered); marked != n {
		t.Errorf("%d records are marked, want all %d", marked, n)
	}
}

// asInService has the relay go about its work as it does in service.
func (f *fixture) asInService() {
	f.t.Helper()
	catalog, err := contracts.DefaultCatalog()
	if err != nil {
		f.t.Fatal(err)
	}
	f.catalog.Lanes = catalog.Lanes
	f.tuning = relay.Tuning{StopBudget: unhurried}
}

// spreadOverOutboxes makes n records: every other one is of wsOutbox, whose
// settlements are more than are remembered if there are many.
func (f *fixture) spreadOverOutboxes(n int) (all []*contracts.Record) {
	f.t.Helper()
	names := []string{"wsOutbox"}
	for _, o := range f.catalog.Outboxes {
		if o.Name != "wsOutbox" {
			names = append(names, o.Name)
		}
	}
	of := make(map[string][]*contracts.Record)
	for k, name := range names {
		share := n / 2
		if k > 0 {
			share = n/2/(len(names)-1) + 1
		}
		of[name] = f.records(name, share, 80)
	}
	for k := 0; len(all) < n; k++ {
		for _, name := range []string{"wsOutbox", names[1+k%(len(names)-1)]} {
			if len(of[name]) > 0 && len(all) < n {
				all = append(all, of[name][0])
				of[name] = of[name][1:]
			}
		}
	}
	return all
}

// due is how many messages the records make: one for each of their targets.
func (f *fixture) due(records []*contracts.Record) (n int) {
	for _, r := range records {
		n += len(f.catalog.Outbox(r.Outbox).Route(r.EventType).Targets)
	}
	return n
}

// publishes keeps account of what was published to targets.
type publishes struct {
	mu     sync.Mutex
	count  int             // messages of calls that succeeded
	failed map[string]bool // messages of calls that did not, by topic and key
}

func (p *publishes) sent() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.count
}

func (p *publishes) intercept(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
	err := invoke(ctx, method, req, reply, cc, opts...)
	sent, ok := req.(*pb.PublishRequest)
	if !ok {
		return err
	}
	call := onTheWire(sent, opts)
	topic := call.GetTopic()[strings.LastIndex(call.GetTopic(), "/")+1:]
	if !strings.HasPrefix(topic, targetTopics) {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if err == nil {
		p.count += len(call.GetMessages())
		return nil
	}
	for _, m := range call.GetMessages() {
		p.failed[messageKey(topic, m.GetAttributes())] = true
	}
	return err
}

// onTheWire is a request as the service reads it: the call's own codec adds the
// messages.
func onTheWire(sent *pb.PublishRequest, opts []grpc.CallOption) *pb.PublishRequest {
	var codec encoding.CodecV2
	for _, o := range opts { // the last one counts
		if own, ok := o.(grpc.ForceCodecV2CallOption); ok {
			codec = own.CodecV2
		}
	}
	wire, err := codec.Marshal(sent)
	if err != nil {
		return sent
	}
	defer wire.Free()
	read := &pb.PublishRequest{}
	if err := proto.Unmarshal(wire.Materialize(), read); err != nil {
		return sent
	}
	return read
}

// messageKey tells messages apart: one topic gets a record for each of its targets.
func messageKey(topic string, attributes map[string]string) string {
	return topic + " " + attributes["target"] + " " + attributes["idempotencyKey"]
}
