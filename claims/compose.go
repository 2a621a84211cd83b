package claims

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// maxBytes bounds a user's custom claims as JSON. It is Firebase's limit.
const maxBytes = 1000

// claimVersion is the name of the claim that holds the snapshot's ClaimsVersion.
const claimVersion = "claimsVersion"

// reservedNames are refused in the part of further claims: those of OpenID
// Connect and Firebase, as the Admin SDK has them, and the handler's own.
var reservedNames = []string{
	"acr", "amr", "at_hash", "aud", "auth_time", "azp", "c_hash", "cnf", "exp", "firebase", "iat", "iss", "jti", "nbf", "nonce", "sub",
	"roles", "policies", claimVersion,
}

// reservedIn lists the names of claims that are reserved, sorted.
func reservedIn(claims map[string]any) []string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(claims)) {
		if slices.Contains(reservedNames, name) {
			out = append(out, name)
		}
	}
	return out
}

// compose returns the custom claims that a user with the claims held gets. What
// is neither the handler's nor ever was stays as it is. The failure is
// permanent: the claims are too large.
func compose(s Snapshot, held map[string]any) (map[string]any, error) {
	want := make(map[string]any, len(held)+kinds)
	for name, v := range held {
		if !slices.Contains(s.Owned, name) && !slices.Contains(s.Late, claimText(name, v)) {
			want[name] = v
		}
	}
	for k, part := range s.Parts {
		if part.said() && k != further {
			want[partNames[k]] = part.Value
		}
	}
	maps.Copy(want, s.Parts.furtherClaims())
	want[claimVersion] = s.ClaimsVersion
	data, err := EncodeClaims(want)
	if err != nil {
		return nil, permanent(CodeMalformed, "render claims: %w", err)
	}
	if len(data) > maxBytes {
		return nil, permanent(CodeTooLarge, "%d bytes of JSON, %d over the limit of %d: %s", len(data), len(data)-maxBytes, maxBytes, shares(s, want))
	}
	return want, nil
}

// shares tells how much of the claims each part takes, in bytes.
func shares(s Snapshot, want map[string]any) string {
	const others = "claims of others"
	own := s.Parts.furtherClaims()
	sizes := make(map[string]int)
	for name, v := range want {
		of := others
		switch _, isFurther := own[name]; {
		case isFurther:
			of = partNames[further]
		case name == claimVersion, name == partNames[roles], name == partNames[policies]:
			of = name
		}
		entry, err := EncodeClaims(map[string]any{name: v})
		if err == nil {
			sizes[of] += len(entry) - len("{}") + len(",")
		}
	}
	var out []string
	for _, of := range []string{partNames[roles], partNames[policies], partNames[further], claimVersion, others} {
		if n := sizes[of]; n > 0 {
			out = append(out, fmt.Sprintf("%s %d", of, n))
		}
	}
	return strings.Join(out, ", ")
}
