package doctor

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"outboxrelay/contracts"
	dlqfirestore "outboxrelay/dlq/firestore"
	"outboxrelay/relay/lease"
)

// leases looks at who runs, who owns what, and whether they agree with the catalog.
func (e *exam) leases(ctx context.Context, g *Group, client *dlqfirestore.Client) {
	const check, did = "leases", "read " + contracts.CollectionLeases
	ctx, cancel := within(ctx)
	defer cancel()
	instances, holders, err := lease.Survey(ctx, dlqfirestore.New(client))
	if err != nil {
		g.add(e.refused(check, did, firestoreAPI, firestoreRole, err))
		return
	}
	var live []lease.Instance
	stale := 0
	for _, i := range instances {
		switch {
		case i.Live && !i.Stopping:
			live = append(live, i)
		case !i.Live:
			stale++
			g.add(Finding{
				Check: check, Result: Warn, Subject: i.Name, Did: did, Detail: fmt.Sprintf("this instance has not renewed itself for %v: it crashed or hangs", i.Age.Round(time.Second)),
				Hint: "look at its log; a live instance removes the entry after ten of its terms",
			})
		}
	}
	if len(live) == 0 {
		f := Finding{Check: check, Result: OK, Did: did, Detail: "no instance runs"}
		switch {
		case e.Service == nil:
		case stale > 0:
			f.Result, f.Detail = Fail, "no instance renews itself here, though a service is said to run: it cannot write to this Firestore, or works on another project or database"
			f.Hint = "its log says why (\"renew leases, trying again\"); is documents' writing refused above, too?"
		default:
			f.Result, f.Detail = Fail, "no instance is registered here, though a service is said to run: it works on another project or database"
			f.Hint = "compare GOOGLE_CLOUD_PROJECT and FIRESTORE_DATABASE of the service with those given here"
		}
		g.add(f)
		return
	}
	told := len(g.Findings)
	e.agree(g, live)
	e.owned(g, holders)
	if len(g.Findings) == told {
		g.ok(check, did, "%d live instances, every share has its owner", len(live))
	}
}

// agree looks whether the live instances run one revision and this catalog.
func (e *exam) agree(g *Group, live []lease.Instance) {
	const check, did = "leases", "read " + contracts.CollectionLeases
	var revisions []string
	for _, i := range live {
		revisions = append(revisions, i.Revision)
	}
	slices.Sort(revisions)
	if revisions = slices.Compact(revisions); len(revisions) > 1 {
		g.add(Finding{
			Check: check, Result: Warn, Did: did, Detail: "instances of several revisions run: " + strings.Join(revisions, ", "),
			Hint: "that is so during a roll-out; if it stays, the old revision still gets traffic or has minimum instances",
		})
	}
	if e.catalog == nil {
		return
	}
	want := e.shares()
	for _, i := range live {
		if slices.Equal(want, i.Shares) {
			continue
		}
		g.add(Finding{
			Check: check, Result: Warn, Subject: i.Name, Did: did,
			Detail: "this instance runs another catalog: it lacks [" + strings.Join(without(want, i.Shares), " ") + "] and has besides [" + strings.Join(without(i.Shares, want), " ") + "]",
			Hint:   "give the doctor the catalog of the deployment, or deploy this one",
		})
	}
}

// shares are what this catalog has to own, sorted, as instances register it.
func (e *exam) shares() []string {
	var out []string
	for _, s := range e.catalog.Shares() {
		out = append(out, s.String())
	}
	slices.Sort(out)
	return out
}

// without are those of a that are not in b.
func without(a, b []string) []string {
	return slices.DeleteFunc(slices.Clone(a), func(s string) bool { return slices.Contains(b, s) })
}

// owned looks whether each share has an owner whose lease stands.
func (e *exam) owned(g *Group, holders []lease.Holder) {
	if e.catalog == nil {
		return
	}
	owned := map[string]bool{}
	for _, h := range holders {
		owned[h.Share] = h.Valid
	}
	for _, share := range append(e.shares(), lease.Queue) {
		if owned[share] {
			continue
		}
		g.add(Finding{
			Check: "leases", Result: Warn, Subject: share, Did: "read " + contracts.CollectionLeases,
			Detail: "nobody owns this share, though instances run",
			Hint:   "that is so for a moment after a start or a crash; look again, then at the instances' log",
		})
	}
}
