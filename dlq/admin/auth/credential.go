package auth

import (
	"net/http"
	"strings"
)

// Challenges of a 401, by what the mode takes.
const (
	bearerChallenge = `Bearer realm="outbox-relay"` //nolint:gosec // it asks for a credential and is none
	iapChallenge    = `IAP realm="outbox-relay"`
)

// iapHeader is the one header of Identity-Aware Proxy that is signed. The others
// (X-Goog-Authenticated-User-...) anybody can send who gets around the proxy.
const iapHeader = "X-Goog-Iap-Jwt-Assertion"

// maxTokenBytes bounds a token. Google's have less than 2 KiB.
const maxTokenBytes = 8 << 10

// bearer takes the token of the Authorization header.
func bearer(r *http.Request) (string, *Refusal) {
	const hint = "send the header Authorization: Bearer TOKEN"
	value, refusal := only(r.Header.Values("Authorization"), hint)
	if refusal != nil {
		return "", refusal
	}
	scheme, token, _ := strings.Cut(value, " ")
	if !strings.EqualFold(scheme, "Bearer") || token == "" || strings.ContainsAny(token, " \t") {
		return "", &Refusal{Kind: Unauthenticated, Code: "scheme", Detail: "the Authorization header holds no bearer token", Hint: hint}
	}
	return token, nil
}

// assertion takes the token that Identity-Aware Proxy signs, and looks at
// nothing else.
func assertion(r *http.Request) (string, *Refusal) {
	return only(r.Header.Values(iapHeader), "open the service through Identity-Aware Proxy")
}

// only returns the one value that there may be. Of two, different readers may
// believe different ones.
func only(values []string, hint string) (string, *Refusal) {
	switch {
	case len(values) == 0 || values[0] == "":
		return "", &Refusal{Kind: Unauthenticated, Code: "none", Detail: "the request says not who asks", Hint: hint}
	case len(values) > 1:
		return "", &Refusal{Kind: Unauthenticated, Code: "several", Detail: "the request carries more than one credential", Hint: hint}
	case len(values[0]) > maxTokenBytes:
		return "", &Refusal{Kind: Unauthenticated, Code: "too_long", Detail: "the credential is longer than any token", Hint: hint}
	}
	return values[0], nil
}
