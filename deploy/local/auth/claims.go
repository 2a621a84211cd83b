package auth

import (
	"encoding/json"
	"unicode/utf16"
)

// maxClaims is how many characters of JSON the custom claims of a user may have.
const maxClaims = 1000

// reservedClaims are the names that an ID token uses itself, in the order in which
// they are looked for.
var reservedClaims = []string{
	"iss", "aud", "sub", "iat", "exp", "nbf", "jti", "nonce",
	"azp", "acr", "amr", "cnf", "auth_time", "firebase", "at_hash", "c_hash",
}

// checkAttributes refuses custom claims that Identity Toolkit refuses.
func checkAttributes(attributes string) error {
	if len(utf16.Encode([]rune(attributes))) > maxClaims {
		return refuse("CLAIMS_TOO_LARGE")
	}
	var claims map[string]json.RawMessage
	if err := json.Unmarshal([]byte(attributes), &claims); err != nil || claims == nil {
		return refuse("INVALID_CLAIMS")
	}
	return checkClaims(claims)
}

func checkClaims(claims map[string]json.RawMessage) error {
	for _, name := range reservedClaims {
		if _, ok := claims[name]; ok {
			return refuse("FORBIDDEN_CLAIM : " + name)
		}
	}
	return nil
}
