package claims

import (
	"maps"
	"time"

	"outboxrelay/contracts"
)

// Snapshot is what an account's claims are made of, and how far that was carried
// out. Its document is in claims-snapshots.
type Snapshot struct {
	AccountID string
	// UserCreated is when the user was of whom it is; zero: not known.
	UserCreated time.Time
	Parts       Parts
	// Before is what was carried out when Parts were proposed; nil: Parts themselves. A proposal
	// is its record's alone until the user's claims hold it: where that record is given up, nobody else
	// carries it out.
	Before *Carried
	// Owned are the names that the part of further claims ever had, sorted. One
	// that it lacks now is taken from the user: also by whoever finds it there
	// after another handler was late.
	Owned []string
	// Late are the further claims of proposals that were left out, as claimText has them, the newest last, mostLate at most. A handler that is
	// late may set them yet: who finds one takes it from the user; another value of the name is somebody else's.
	Late []string
	// ClaimsVersion grows with each change, and is never below the version of any
	// record that it holds or has seen overtaken. 0: there is no snapshot yet.
	ClaimsVersion int64

	// The record that brought ClaimsVersion.
	EventID        string
	EventType      string
	TraceID        string
	IdempotencyKey string

	RevokeFor int64 // newest ClaimsVersion that has to revoke tokens; 0: none
	Revoked   int64 // newest ClaimsVersion that did
	Announced int64 // newest ClaimsVersion whose signal was published
}

// Names of a snapshot's fields in Firestore, beside a record's and the parts'.
const (
	fieldAccountID     = "accountId"
	fieldClaimsVersion = "claimsVersion"
	fieldOwned         = "ownedClaims"
	fieldLate          = "lateClaims"
	fieldRevokeFor     = "revokeFor"
	fieldRevoked       = "revoked"
	fieldAnnounced     = "announced"
	fieldBefore        = "before" // its parts, and their claimsVersion, ownedClaims and revokeFor
	fieldUserCreated   = "userCreatedAt"
	fieldValue         = "value"   // of a part
	fieldVersion       = "version" // of a part
)

func (s *Snapshot) fields() map[string]any {
	f := map[string]any{
		fieldAccountID: s.AccountID, fieldClaimsVersion: s.ClaimsVersion, fieldOwned: listOf(s.Owned),
		contracts.FieldEventID: s.EventID, contracts.FieldEventType: s.EventType, contracts.FieldTraceID: s.TraceID,
		contracts.FieldIdempotencyKey: s.IdempotencyKey,
		fieldRevokeFor:                s.RevokeFor, fieldRevoked: s.Revoked, fieldAnnounced: s.Announced,
	}
	if !s.UserCreated.IsZero() {
		f[fieldUserCreated] = s.UserCreated
	}
	if len(s.Late) > 0 {
		f[fieldLate] = listOf(s.Late)
	}
	maps.Copy(f, s.Parts.fields())
	if s.Before != nil {
		before := s.Before.Parts.fields()
		before[fieldClaimsVersion], before[fieldRevokeFor], before[fieldOwned] = s.Before.Version, s.Before.RevokeFor, listOf(s.Before.Owned)
		f[fieldBefore] = before
	}
	return f
}

func (p Parts) fields() map[string]any {
	f := make(map[string]any, kinds)
	for k, part := range p {
		if part.said() {
			f[partNames[k]] = map[string]any{fieldValue: part.Value, fieldVersion: part.Version}
		}
	}
	return f
}

// readSnapshot reads what fields wrote. The zero Snapshot is none yet.
func readSnapshot(d Doc) Snapshot {
	s := Snapshot{
		AccountID: text(d, fieldAccountID), ClaimsVersion: integer(d, fieldClaimsVersion),
		EventID: text(d, contracts.FieldEventID), EventType: text(d, contracts.FieldEventType), TraceID: text(d, contracts.FieldTraceID),
		IdempotencyKey: text(d, contracts.FieldIdempotencyKey),
		RevokeFor:      integer(d, fieldRevokeFor), Revoked: integer(d, fieldRevoked), Announced: integer(d, fieldAnnounced),
	}
	s.Owned, s.Late = textsOf(d.Fields[fieldOwned]), textsOf(d.Fields[fieldLate])
	created, _ := d.Fields[fieldUserCreated].(time.Time)
	s.UserCreated, s.Parts = created.UTC(), readStored(d.Fields)
	if before, ok := d.Fields[fieldBefore].(map[string]any); ok {
		version, _ := before[fieldClaimsVersion].(int64)
		s.Before = &Carried{Parts: readStored(before), Version: version, Owned: s.Owned, RevokeFor: s.RevokeFor}
		if names, ok := before[fieldOwned]; ok { // else it is of an earlier release
			s.Before.Owned = textsOf(names)
			s.Before.RevokeFor, _ = before[fieldRevokeFor].(int64)
		}
	}
	return s
}

func readStored(fields map[string]any) (p Parts) {
	for k, name := range partNames {
		m, _ := fields[name].(map[string]any)
		if v, err := plain(m[fieldValue]); err == nil && v != nil && partProblem(k, v) == "" {
			version, _ := m[fieldVersion].(int64)
			p[k] = Part{Value: v, Version: version}
		}
	}
	return p
}

// forUser is the snapshot of a user who was created then. One who had the same uid before and was
// deleted leaves no right to the next, whose claims tell what that one has; only the versions go on.
func (s Snapshot) forUser(created time.Time) Snapshot {
	if created.IsZero() {
		return s
	}
	if !s.UserCreated.IsZero() && !s.UserCreated.Equal(created) {
		s.Parts, s.Before, s.Owned, s.Late = Parts{}, nil, nil, nil
	}
	s.UserCreated = created
	return s
}

// Carried is what a user's claims were made of.
type Carried struct {
	Parts   Parts
	Version int64 // ClaimsVersion

	// As a Snapshot's, without what a proposal adds that is forgotten where it is given up.
	Owned     []string
	RevokeFor int64
}

func listOf(texts []string) []any {
	list := make([]any, len(texts))
	for i, t := range texts {
		list[i] = t
	}
	return list
}

func textsOf(v any) (texts []string) {
	list, _ := v.([]any)
	for _, item := range list {
		if t, ok := item.(string); ok {
			texts = append(texts, t)
		}
	}
	return texts
}

// carriedOut is the newest of which somebody saw that a user with the claims held has it, or had. What
// was announced was; and so was what these claims are ahead of.
func (s *Snapshot) carriedOut(held map[string]any) Carried {
	if s.Before == nil || s.Announced >= s.ClaimsVersion || givenOut(held) >= s.ClaimsVersion {
		return Carried{s.Parts, s.ClaimsVersion, s.Owned, s.RevokeFor}
	}
	return *s.Before
}

// leaves reports whether a change that is carried out and announced has nothing to do but to leave the snapshot,
// and what another record proposes in it, as they are.
func (s *Snapshot) leaves(c change, held map[string]any) bool {
	done := s.carriedOut(held)
	return done.Version < s.ClaimsVersion && done.Version <= s.Announced && givenOut(held) >= done.Version && !s.isOf(c.rec) &&
		!differ(done.Parts, newest(done.Parts, c.payload, c.account))
}

// isOf reports whether rec brought the snapshot's ClaimsVersion.
func (s *Snapshot) isOf(rec *contracts.Record) bool {
	return s.EventID == rec.EventID && s.IdempotencyKey == rec.IdempotencyKey
}

func text(d Doc, name string) string {
	t, _ := d.Fields[name].(string)
	return t
}

func integer(d Doc, name string) int64 {
	i, _ := d.Fields[name].(int64)
	return i
}
