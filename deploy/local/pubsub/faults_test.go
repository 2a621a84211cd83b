package pubsub

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	pb "cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"outboxrelay/deploy/local/switchboard"
)

func TestFaultMatches(t *testing.T) {
	for _, tc := range []struct {
		name          string
		fault         Fault
		method, topic string
		want          bool
	}{
		{"any topic", Fault{Code: codes.Internal}, "Publish", "orders", true},
		{"its topic", Fault{Code: codes.Internal, Topic: "orders"}, "Publish", "orders", true},
		{"another topic", Fault{Code: codes.Internal, Topic: "orders"}, "Publish", "invoices", false},
		{"its method", Fault{Code: codes.Internal, Method: "Pull"}, "Pull", "", true},
		{"another method", Fault{Code: codes.Internal, Method: "Pull"}, "Publish", "orders", false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			fs := newFaults(time.Now)
			if _, err := fs.Add(tc.fault); err != nil {
				t.Fatal(err)
			}
			if _, got := fs.hit(tc.method, &pb.PublishRequest{Topic: TopicName("p", tc.topic)}); got != tc.want {
				t.Errorf("hit = %v, want %v", got, tc.want)
			}
		})
	}
}

func TestFaultEnds(t *testing.T) {
	t.Run("after its calls", func(t *testing.T) {
		fs := newFaults(time.Now)
		_, _ = fs.Add(Fault{Code: codes.Internal, Times: 2})
		if got, want := hits(fs, 5), 2; got != want {
			t.Errorf("hits = %d, want %d", got, want)
		}
	})
	t.Run("after its time", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			fs := newFaults(time.Now)
			_, _ = fs.Add(Fault{Code: codes.Internal, For: time.Second})
			if hits(fs, 1) != 1 {
				t.Error("no hit within its time")
			}
			time.Sleep(time.Second)
			if hits(fs, 1) != 0 {
				t.Error("a hit after its time")
			}
		})
	})
	t.Run("when it is removed", func(t *testing.T) {
		fs := newFaults(time.Now)
		id, _ := fs.Add(Fault{Code: codes.Internal})
		if !fs.Remove(id) || fs.Remove(id) {
			t.Error("Remove must report whether the fault was on")
		}
		if hits(fs, 1) != 0 {
			t.Error("a hit after its removal")
		}
	})
}

func TestFaultShareIsSeeded(t *testing.T) {
	count := func(seed uint64) int {
		fs := newFaults(time.Now)
		_, _ = fs.Add(Fault{Code: codes.Internal, Share: 0.3, Seed: seed})
		return hits(fs, 1000)
	}
	first := count(1)
	if again := count(1); again != first {
		t.Errorf("the same seed hit %d and then %d calls", first, again)
	}
	if first < 200 || first > 400 {
		t.Errorf("a share of 0.3 hit %d of 1000 calls", first)
	}
}

func TestFaultIsRefused(t *testing.T) {
	for name, f := range map[string]Fault{
		"without an effect":     {},
		"share over 1":          {Code: codes.Internal, Share: 2},
		"negative delay":        {Delay: -1},
		"lost answer of no one": {Delay: 1, LoseResponse: true},
		"topic of a pull":       {Code: codes.Internal, Method: "Pull", Topic: "orders"},
		"attributes of a pull":  {Code: codes.Internal, Method: "Pull", Attributes: map[string]string{"a": "b"}},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := newFaults(time.Now).Add(f); err == nil {
				t.Error("Add took it")
			}
		})
	}
}

func TestLostAnswerIsApplied(t *testing.T) {
	s, client := setup(t, Options{})
	if _, err := s.Faults().Add(Fault{Code: codes.Unavailable, LoseResponse: true, Times: 1}); err != nil {
		t.Fatal(err)
	}
	if got := status.Code(publish(t, client, "orders", message("", "x"))); got != codes.Unavailable {
		t.Errorf("publish = %v, want Unavailable", got)
	}
	if got := s.Counts().Retained; got != 1 {
		t.Errorf("%d messages were taken, want 1", got)
	}
}

func TestAdminHandler(t *testing.T) {
	s, client := setup(t, Options{})
	h := s.AdminHandler()
	do := func(method, path, body string) *httptest.ResponseRecorder {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(method, path, strings.NewReader(body)))
		return w
	}

	for _, body := range []string{"", "{", `{"nonsense":1}`, `{"code":"NOPE"}`, `{"code":"INTERNAL","for":"soon"}`, `{"share":0.5}`} {
		if w := do("POST", "/faults", body); w.Code != http.StatusBadRequest {
			t.Errorf("POST /faults %q = %d, want 400", body, w.Code)
		}
	}
	w := do("POST", "/faults", `{"topic":"orders","code":"UNAVAILABLE","for":"1h"}`)
	if w.Code != http.StatusCreated {
		t.Fatalf("POST /faults = %d %s", w.Code, w.Body)
	}
	if got := status.Code(publish(t, client, "orders", message("", "x"))); got != codes.Unavailable {
		t.Errorf("publish = %v, want Unavailable", got)
	}
	var list []faultJSON
	if err := json.Unmarshal(do("GET", "/faults", "").Body.Bytes(), &list); err != nil {
		t.Fatal(err)
	}
	if len(list) == 1 {
		list[0].Until = nil
	}
	want := []faultJSON{{
		ID: 1, Method: "Publish", Topic: "orders", Code: switchboard.Code(codes.Unavailable), For: switchboard.Duration(time.Hour), Hit: 1,
	}}
	if diff := cmp.Diff(want, list); diff != "" {
		t.Errorf("GET /faults (-want +got):\n%s", diff)
	}
	if w := do("DELETE", "/faults/1", ""); w.Code != http.StatusNoContent {
		t.Errorf("DELETE /faults/1 = %d, want 204", w.Code)
	}
	if w := do("DELETE", "/faults/1", ""); w.Code != http.StatusNotFound {
		t.Errorf("DELETE /faults/1 again = %d, want 404", w.Code)
	}
	if err := publish(t, client, "orders", message("", "x")); err != nil {
		t.Errorf("publish after the fault: %v", err)
	}
	if w := do("DELETE", "/faults", ""); w.Code != http.StatusNoContent {
		t.Errorf("DELETE /faults = %d, want 204", w.Code)
	}
}

// A request is hit as a whole when it holds a message of these attributes.
func TestFaultMatchesAttributes(t *testing.T) {
	of := func(aggregates ...string) *pb.PublishRequest {
		req := &pb.PublishRequest{Topic: TopicName("p", "orders")}
		for _, a := range aggregates {
			req.Messages = append(req.Messages, &pb.PubsubMessage{Attributes: map[string]string{"aggregateId": a, "eventType": "Paid"}})
		}
		return req
	}
	fault := func(attributes map[string]string) Fault { return Fault{Code: codes.Internal, Attributes: attributes} }
	for _, tc := range []struct {
		name  string
		fault Fault
		req   *pb.PublishRequest
		want  bool
	}{
		{"the message alone", fault(map[string]string{"aggregateId": "a"}), of("a"), true},
		{"the message among others", fault(map[string]string{"aggregateId": "a"}), of("b", "a"), true},
		{"other messages", fault(map[string]string{"aggregateId": "a"}), of("b", "c"), false},
		{"all attributes together", fault(map[string]string{"aggregateId": "a", "eventType": "Paid"}), of("a"), true},
		{"one attribute of two", fault(map[string]string{"aggregateId": "a", "eventType": "Lost"}), of("a"), false},
		{"on another topic", Fault{Code: codes.Internal, Topic: "bills", Attributes: map[string]string{"aggregateId": "a"}}, of("a"), false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			fs := newFaults(time.Now)
			if _, err := fs.Add(tc.fault); err != nil {
				t.Fatal(err)
			}
			if _, got := fs.hit("Publish", tc.req); got != tc.want {
				t.Errorf("hit = %v, want %v", got, tc.want)
			}
		})
	}
}

// hits counts how many of n publishes to "orders" suffer a fault.
func hits(fs *Faults, n int) int {
	got := 0
	for range n {
		if _, ok := fs.hit("Publish", &pb.PublishRequest{Topic: TopicName("p", "orders")}); ok {
			got++
		}
	}
	return got
}
