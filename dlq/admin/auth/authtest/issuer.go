// Package authtest signs tokens as Google and Identity-Aware Proxy do, for
// tests. Nothing else imports it.
package authtest

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"math/big"
	"net/http"
	"strings"
	"sync/atomic"
	"time"
)

// Issuer has keys of its own and serves them as Google does: it is the
// http.RoundTripper of an auth.Config.
type Issuer struct {
	rsa *rsa.PrivateKey
	ec  *ecdsa.PrivateKey

	Away    atomic.Bool  // keys cannot be fetched
	Fetches atomic.Int32 // how often somebody tried
	Brief   atomic.Bool  // keys may not be cached
	Suffix  string       // of its keys' IDs; set before use
}

// NewIssuer makes keys.
func NewIssuer() (*Issuer, error) {
	r, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return nil, err
	}
	e, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	return &Issuer{rsa: r, ec: e}, nil
}

// Claims are a token's.
type Claims map[string]any

// With returns a copy with other values; nil leaves a claim out.
func (c Claims) With(name string, value any) Claims {
	out := maps.Clone(c)
	out[name] = value
	if value == nil {
		delete(out, name)
	}
	return out
}

// Google are the claims of a good Google ID token.
func Google(email, audience string) Claims {
	now := time.Now()
	return Claims{
		"iss": "https://accounts.google.com", "aud": audience, "sub": "1234567890", "email": email, "email_verified": true,
		"iat": now.Add(-time.Minute).Unix(), "exp": now.Add(time.Hour).Unix(),
	}
}

// IAP are the claims of a good token of Identity-Aware Proxy.
func IAP(email, audience string) Claims {
	now := time.Now()
	return Claims{
		"iss": "https://cloud.google.com/iap", "aud": audience, "sub": "accounts.google.com:1234567890", "email": email,
		"iat": now.Add(-time.Minute).Unix(), "exp": now.Add(10 * time.Minute).Unix(),
	}
}

// RS256 signs as Google's accounts do.
func (i *Issuer) RS256(c Claims) string {
	signed := content("RS256", i.Suffix, c)
	sum := sha256.Sum256([]byte(signed))
	signature, err := rsa.SignPKCS1v15(rand.Reader, i.rsa, crypto.SHA256, sum[:])
	if err != nil {
		panic(err)
	}
	return signed + "." + encode(signature)
}

// ES256 signs as Identity-Aware Proxy does.
func (i *Issuer) ES256(c Claims) string {
	signed := content("ES256", "", c)
	sum := sha256.Sum256([]byte(signed))
	r, s, err := ecdsa.Sign(rand.Reader, i.ec, sum[:])
	if err != nil {
		panic(err)
	}
	signature := make([]byte, 64)
	r.FillBytes(signature[:32])
	s.FillBytes(signature[32:])
	return signed + "." + encode(signature)
}

// Unsigned is a token that says that it needs no signature.
func Unsigned(c Claims) string { return content("none", "", c) + "." }

// Truncated is a token whose signature ends too early.
func Truncated(token string) string { return token[:strings.LastIndexByte(token, '.')+9] }

func content(algorithm, suffix string, c Claims) string {
	header, err := json.Marshal(map[string]string{"alg": algorithm, "typ": "JWT", "kid": "key-" + algorithm + suffix})
	if err != nil {
		panic(err)
	}
	payload, err := json.Marshal(c)
	if err != nil {
		panic(err)
	}
	return encode(header) + "." + encode(payload)
}

func encode(b []byte) string { return base64.RawURLEncoding.EncodeToString(b) }

// RoundTrip implements http.RoundTripper: it answers with the keys, whatever it
// is asked.
func (i *Issuer) RoundTrip(req *http.Request) (*http.Response, error) {
	i.Fetches.Add(1)
	if i.Away.Load() {
		return nil, errors.New("no route to Google")
	}
	point, err := i.ec.PublicKey.Bytes() // 4, then both coordinates of 32 bytes
	if err != nil {
		return nil, err
	}
	keys := map[string]any{"keys": []map[string]string{
		{"kid": "key-RS256" + i.Suffix, "kty": "RSA", "alg": "RS256", "n": encode(i.rsa.N.Bytes()), "e": encode(big.NewInt(int64(i.rsa.E)).Bytes())},
		{"kid": "key-ES256", "kty": "EC", "alg": "ES256", "crv": "P-256", "x": encode(point[1:33]), "y": encode(point[33:])},
		// What somebody would need who signs with what everybody knows.
		{"kid": "key-none", "kty": "RSA", "alg": "none", "n": encode(i.rsa.N.Bytes()), "e": "AQAB"},
	}}
	body, err := json.Marshal(keys)
	if err != nil {
		return nil, err
	}
	maxAge := "3600"
	if i.Brief.Load() {
		maxAge = "0"
	}
	return &http.Response{
		StatusCode: http.StatusOK, Status: "200 OK", Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: req,
		Header: http.Header{"Cache-Control": {"public, max-age=" + maxAge}, "Content-Type": {"application/json"}},
		Body:   io.NopCloser(bytes.NewReader(body)),
	}, nil
}
