package main

import (
	"math/rand/v2"
	"testing"

	pb "cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	"outboxrelay/contracts"
	"outboxrelay/deploy/local/pubsub"
)

const testTopic = "ier-funnel-standard"

// behindBroker is a client of a Pub/Sub with one topic, behind a broker.
func behindBroker(t *testing.T, known *truth) (pb.PublisherClient, *broker, *pubsub.Server) {
	t.Helper()
	server, err := pubsub.Open(pubsub.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Close() })
	if err := server.CreateTopics(project, []string{testTopic}); err != nil {
		t.Fatal(err)
	}
	addr, err := server.Start("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	b, err := startBroker(addr, known)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})
	conn, err := grpc.NewClient(b.Addr, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return pb.NewPublisherClient(conn), b, server
}

// publish sends messages of records of tagOutbox to FUNNEL, by their keys, in one
// request.
func publish(t *testing.T, client pb.PublisherClient, keys ...string) codes.Code {
	t.Helper()
	req := &pb.PublishRequest{Topic: pubsub.TopicName(project, testTopic)}
	for _, key := range keys {
		req.Messages = append(req.Messages, &pb.PubsubMessage{Data: []byte("{}"), Attributes: map[string]string{
			contracts.AttrOutbox: "tagOutbox", contracts.AttrIdempotencyKey: key, contracts.AttrTarget: "FUNNEL",
		}})
	}
	_, err := client.Publish(t.Context(), req)
	return status.Code(err)
}

func TestBrokerRefusesARequestAsAWhole(t *testing.T) {
	known := newTruth()
	known.add(&record{outbox: "tagOutbox", key: "bad", fate: fatePermanent, refusing: "FUNNEL"}, &record{outbox: "tagOutbox", key: "good", fate: fateSound})
	client, b, server := behindBroker(t, known)
	began := runBegan
	if code := publish(t, client, "good", "bad"); code != codes.InvalidArgument {
		t.Errorf("code is %v, want InvalidArgument", code)
	}
	if n := server.Counts().Published[testTopic]; n != 0 {
		t.Errorf("%d messages passed with a bad one, want none", n)
	}
	if _, passed := b.firstSince("tagOutbox", began); passed {
		t.Error("a refused message counts as a delivery")
	}
	if code := publish(t, client, "good"); code != codes.OK {
		t.Errorf("code is %v, want OK", code)
	}
	if _, passed := b.firstSince("tagOutbox", began); !passed {
		t.Error("a message that passed does not count as a delivery")
	}
}

func TestBrokerSuffersFaults(t *testing.T) {
	for name, tc := range map[string]struct {
		fault  publishFault
		passed int64
	}{
		"refused":     {publishFault{share: 1, code: codes.Unavailable}, 0},
		"answer lost": {publishFault{share: 1, code: codes.Unavailable, lost: true}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			client, b, server := behindBroker(t, newTruth())
			b.suffer(tc.fault, rand.New(rand.NewPCG(1, 1)))
			if code := publish(t, client, "k"); code != codes.Unavailable {
				t.Errorf("code is %v, want Unavailable", code)
			}
			if n := server.Counts().Published[testTopic]; n != tc.passed {
				t.Errorf("%d messages passed, want %d", n, tc.passed)
			}
			b.suffer(publishFault{}, nil)
			if code := publish(t, client, "k"); code != codes.OK {
				t.Errorf("code after the fault is %v, want OK", code)
			}
		})
	}
}
