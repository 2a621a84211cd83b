package main

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"outboxrelay/contracts"
	"outboxrelay/deploy/local/thorough"
	"outboxrelay/deploy/requirements"
	"outboxrelay/relay"
)

// allowIndexesOf declares a catalog's indexes on the embedded cloud, as
// production asks for; Google's emulator serves every query.
func (o *operation) allowIndexesOf(catalog *contracts.Catalog) {
	if o.cloud != nil {
		o.cloud.Firestore.DeclareIndexes(requirements.IndexesOf(catalog))
	}
}

// An outbox that is rolled out before its indexes are built waits for them: its
// listeners fail, which its health tells, and the other outboxes do not notice.
// When the indexes are there it goes on by itself.
func TestOperationsAddOutboxBeforeItsIndexes(t *testing.T) {
	thorough.EndToEnd(t)
	file, after := variant(t, billed...)
	_, before := variant(t)
	o := openOperation(t, before)
	if o.cloud == nil {
		t.Skip("Google's emulator asks for no index")
	}
	o.subscribe("ier-billing")
	i := o.start("hasty", "CATALOG="+file)
	invoices, accounts := o.versions(after, "billOutbox", "InvoiceIssued", 4), o.versions(before, "accOutbox", "AccountCreated", 4)
	for n := range 10 {
		o.put(t.Context(), after, invoices(n))
		o.put(t.Context(), before, accounts(n))
	}
	patiently(t, "the other outbox flows", testPatience, 20*time.Millisecond, func() bool { return o.tally().Missing == 10 })
	eventually(t, "the outbox tells that it is not well", func() bool { return !healthy(t, i, "billOutbox") && healthy(t, i, "accOutbox") })
	i.stderr.find(t, "(read outbox|listener ended).*index")
	o.allowIndexesOf(after)
	o.want(0)
	eventually(t, "it is well", func() bool { return healthy(t, i, "billOutbox") })
}

// healthy is how /readyz tells of an outbox.
func healthy(t *testing.T, i *instance, outbox string) bool {
	t.Helper()
	var h relay.Health
	_, body := fetch(t, i.addr, "/readyz")
	if err := json.Unmarshal([]byte(body), &h); err != nil {
		t.Fatal(err)
	}
	n := slices.IndexFunc(h.Outboxes, func(o relay.OutboxHealth) bool { return o.Outbox == outbox })
	return n >= 0 && h.Outboxes[n].Healthy
}
