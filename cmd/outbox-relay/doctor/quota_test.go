package doctor_test

import (
	"strings"
	"testing"

	"google.golang.org/grpc/codes"

	"outboxrelay/cmd/outbox-relay/doctor"
	localfirestore "outboxrelay/deploy/local/firestore"
	"outboxrelay/deploy/local/thorough"
)

// A Firestore that takes no write any more answers all the same: the way there is in
// order, and what it says is told.
func TestAQuotaIsToldFromAWayThatIsCut(t *testing.T) {
	thorough.Long(t) // a check has its time
	c := complete(t)
	c.cloud.Firestore.Faults().Add(localfirestore.Fault{
		Method: "Commit", Collection: "relay-doctor", Code: codes.ResourceExhausted, Message: "Quota exceeded.",
	})
	r := c.examine()
	expect(t, r, "firestore.write fail")
	f := only(t, r, "firestore.write", "")
	if !strings.Contains(f.Detail, "ResourceExhausted: Quota exceeded.") || strings.Contains(f.Detail, "no answer") || !strings.Contains(f.Hint, "quota") {
		t.Errorf("%+v", f)
	}
}

// Instances that are registered and cannot renew themselves run on this database.
func TestAServiceThatCannotRenewItself(t *testing.T) {
	c := complete(t)
	i := instance("r-1", nil)
	i["termMillis"] = 1
	c.put("relay-leases/instance.b", i)
	c.later()
	c.Service, c.Version, c.Commit = healthy(c).serve(t), "v1.2.3", "abc"
	r := c.examine()
	expect(t, r, "leases warn b", "leases fail")
	if f := only(t, r, "leases", ""); f.Result != doctor.Fail || !strings.Contains(f.Detail, "cannot write to this Firestore") {
		t.Errorf("%+v", f)
	}
}
