package claims

import (
	"encoding/json"
	"strings"

	"outboxrelay/contracts"
)

// maxUID bounds a Firebase uid, in bytes.
const maxUID = 128

// readPayload returns the parts in rec's payload, all of rec's version; none for
// a thin event. Its failures are permanent.
func readPayload(rec *contracts.Record, envelope []byte) (Parts, error) {
	if n := len(rec.AggregateID); n == 0 || n > maxUID {
		return Parts{}, permanent(CodeBadAccount, "aggregateId is %d bytes long, and a uid is 1 to %d", n, maxUID)
	}
	if rec.AggregateVersion > maxClaimsVersion {
		return Parts{}, permanent(CodeMalformed, "aggregateVersion is %d, above %d, the last that a token carries exactly", rec.AggregateVersion, int64(maxClaimsVersion))
	}
	var e contracts.Envelope
	if err := json.Unmarshal(envelope, &e); err != nil {
		return Parts{}, permanent(CodeMalformed, "read envelope: %w", err)
	}
	value, err := decodeJSON(e.Payload)
	if err != nil {
		return Parts{}, permanent(CodeMalformed, "read payload: %w", err)
	}
	fields, ok := value.(map[string]any)
	if !ok {
		return Parts{}, permanent(CodeMalformed, "payload is no object")
	}
	if id, ok := fields["accountId"]; ok && id != rec.AggregateID {
		return Parts{}, permanent(CodeMismatch, "payload.accountId is not the record's aggregateId")
	}
	parts, faults := readParts(fields, rec.AggregateVersion)
	if len(faults) > 0 {
		return Parts{}, permanent(CodeMalformed, "payload.%s", strings.Join(faults, "; payload."))
	}
	if names := reservedIn(parts.furtherClaims()); len(names) > 0 {
		return Parts{}, permanent(CodeReserved, "payload.claims has reserved names: %s", strings.Join(names, ", "))
	}
	return parts, nil
}

// accountParts are the fields of an account's document that tell its parts.
func accountParts() []string { return []string{partNames[roles], shortRole, partNames[policies]} }

// accountVersions are those that may tell its version: the first of them that does counts.
func accountVersions() []string { return []string{"aggregateVersion", "version"} }

// readAccount returns the parts in the account's own document. faults names what
// is of another shape: it counts behind a thin event alone.
func readAccount(d Doc, thin bool, recordVersion int64) (parts Parts, faults []string) {
	fields := make(map[string]any, len(d.Fields))
	_, inFull := d.Fields[partNames[roles]]
	for _, name := range accountParts() {
		v, ok := d.Fields[name]
		if !ok || name == shortRole && inFull {
			continue
		}
		p, err := plain(v)
		if err != nil {
			faults = append(faults, name+": "+err.Error())
			continue
		}
		fields[name] = p
	}
	parts, more := readParts(fields, accountVersion(d, thin, recordVersion))
	return parts, append(faults, more...)
}

// accountVersion is the version of the account's document. One that says
// nothing is 0, so that it fills gaps only, and so is one that no record can
// have. But a thin event was appended together with the document's change, so
// what is read after it is of its version at least.
func accountVersion(d Doc, thin bool, recordVersion int64) int64 {
	var version int64
	for _, name := range accountVersions() {
		if v, ok := d.Fields[name].(int64); ok && v <= maxClaimsVersion {
			version = max(v, 0)
			break
		}
	}
	if thin {
		return max(version, recordVersion)
	}
	return version
}
