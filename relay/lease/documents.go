package lease

import (
	"slices"
	"strings"
	"time"

	"outboxrelay/contracts"
	"outboxrelay/dlq"
)

// registrationPrefix starts the IDs of registrations, which stand beside the
// leases in one collection: one query reads both as of one moment.
const registrationPrefix = contracts.InstancePrefix

// Fields of a lease and of a registration. A registration has no share, owner
// and renewals; a lease no instance, stopping, revision and shares.
const (
	fieldKind     = contracts.LeaseFieldKind
	fieldShare    = "share"
	fieldOwner    = contracts.LeaseFieldOwner
	fieldNonce    = "nonce" // see nonces
	fieldSince    = "since" // server time of the taking, or of the registration
	fieldTerm     = contracts.LeaseFieldTerm
	fieldRenewals = "renewals"
	fieldNote     = "note" // of the owner, at its last renewal
	fieldInstance = "instance"
	fieldStopping = "stopping"
	fieldRevision = "revision"
	fieldShares   = contracts.LeaseFieldShares
)

// Values of fieldKind.
const (
	kindLease    = contracts.LeaseKind
	kindInstance = "instance"
	kindBell     = "bell"
)

// document is what leases and registrations have in common.
type document struct {
	nonce string
	since time.Time
	term  time.Duration
	// updated and read are the server's, of one read. A document that does not
	// exist has a zero updated.
	updated, read time.Time
}

// exists reports whether the document was there.
func (d document) exists() bool { return !d.updated.IsZero() }

// age is how long ago it was last written, by the server's clock alone.
func (d document) age() time.Duration { return max(d.read.Sub(d.updated), 0) }

// live reports whether its owner may still trust it, or renew it.
func (d document) live() bool { return d.exists() && d.age() < d.term }

// leaseDoc is a lease as it was read.
type leaseDoc struct {
	document
	share, owner, note string
}

// free reports whether the lease may be taken by whoever comes first.
func (d leaseDoc) free() bool { return d.owner == "" || !d.live() }

// idle is for how long nobody had owned the share when the lease was read.
func (d leaseDoc) idle() time.Duration {
	if d.owner == "" {
		return d.age()
	}
	return max(d.age()-d.term, 0)
}

// registration is an instance's, as it was read.
type registration struct {
	document
	instance string
	stopping bool
	shares   []string
}

// present reports whether the instance takes part in the plan.
func (r registration) present() bool { return r.live() && !r.stopping }

// decodeDocument reads what any document has. A term that nobody can have
// written is taken for fallback.
func decodeDocument(d dlq.Doc, fallback time.Duration) document {
	out := document{nonce: text(d, fieldNonce), term: fallback, updated: d.UpdateTime, read: d.ReadTime}
	out.since, _ = d.Fields[fieldSince].(time.Time)
	if ms, ok := d.Fields[fieldTerm].(int64); ok && ms > 0 && ms <= maxTerm.Milliseconds() {
		out.term = time.Duration(ms) * time.Millisecond
	}
	return out
}

// maxTerm is longer than any sensible term. More would block a share for ever.
const maxTerm = time.Hour

func decodeLease(d dlq.Doc, fallback time.Duration) leaseDoc {
	return leaseDoc{document: decodeDocument(d, fallback), share: d.ID, owner: text(d, fieldOwner), note: text(d, fieldNote)}
}

func decodeRegistration(d dlq.Doc, fallback time.Duration) registration {
	r := registration{document: decodeDocument(d, fallback), instance: strings.TrimPrefix(d.ID, registrationPrefix)}
	r.stopping, _ = d.Fields[fieldStopping].(bool)
	list, _ := d.Fields[fieldShares].([]any)
	for _, v := range list {
		if share, ok := v.(string); ok {
			r.shares = append(r.shares, share)
		}
	}
	slices.Sort(r.shares)
	r.shares = slices.Compact(r.shares)
	return r
}

func isRegistration(id string) bool { return strings.HasPrefix(id, registrationPrefix) }

func text(d dlq.Doc, field string) string {
	s, _ := d.Fields[field].(string)
	return s
}

// conditioned makes a write hold only for a document as it stood at updated;
// zero: only if there is none.
func conditioned(id string, updated time.Time, fields map[string]any) dlq.Write {
	w := dlq.Write{Collection: contracts.CollectionLeases, ID: id, Op: dlq.OpUpdate, Fields: fields, IfUnchangedSince: updated}
	if updated.IsZero() {
		w.Op = dlq.OpCreate
	}
	return w
}
