package auth

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	"google.golang.org/api/idtoken"
)

// skew is by how much a token may come from the future: clocks differ.
const skew = 30 * time.Second

// kindOfToken is what tells the tokens of one issuer from all others.
type kindOfToken struct {
	algorithm      string
	keysURL        string // where its issuer's keys are
	signatureBytes int    // 0: as the key has it
	issuers        []string
	verifiedEmail  bool // the claim email_verified is there, and must be true
	hint           string
}

var (
	// googleTokens are Google ID tokens.
	googleTokens = kindOfToken{
		algorithm: "RS256", keysURL: "https://www.googleapis.com/oauth2/v3/certs",
		issuers: []string{"https://accounts.google.com", "accounts.google.com"}, verifiedEmail: true,
		hint: "get a fresh Google ID token for the audience of this service, as with gcloud auth print-identity-token",
	}
	// iapTokens are those of Identity-Aware Proxy. It has verified the address,
	// and says nothing of that.
	iapTokens = kindOfToken{
		algorithm: "ES256", keysURL: "https://www.gstatic.com/iap/verify/public_key-jwk", signatureBytes: 64,
		issuers: []string{"https://cloud.google.com/iap"},
		hint:    "open the service through Identity-Aware Proxy",
	}
)

// verifier checks tokens of one kind.
type verifier struct {
	kind      kindOfToken
	audiences []string
	keys      *keys
	now       func() time.Time
}

func newVerifier(c Config, kind kindOfToken) *verifier {
	return &verifier{kind: kind, audiences: c.Audience, keys: &keys{url: kind.keysURL, next: c.Transport, now: c.Now}, now: c.Now}
}

// validate has the token's signature checked, by newer keys if it is signed with
// one that is not known yet: Google has a new one.
func (v *verifier) validate(ctx context.Context, token, audience string) (*idtoken.Payload, error) {
	set, err := v.keys.with(ctx, keyOf(token))
	if err != nil {
		return nil, err
	}
	return set.validator.Validate(ctx, token, audience)
}

// keyOf is the ID of the key that a token says it is signed with.
func keyOf(token string) string {
	var header struct {
		Key string `json:"kid"`
	}
	segment, _, _ := strings.Cut(token, ".")
	if head, err := base64.RawURLEncoding.DecodeString(segment); err == nil {
		_ = json.Unmarshal(head, &header) // parse has read it before
	}
	return header.Key
}

// email returns whose token it is, in lower case. idtoken checks the signature
// and the end of its life; who made it, for what and for whom is checked here.
func (v *verifier) email(ctx context.Context, token string) (string, *Refusal) {
	claimed, refusal := v.parse(token)
	if refusal != nil {
		return "", refusal
	}
	switch {
	case !slices.Contains(v.audiences, claimed.Audience):
		return "", v.refuse("audience", "the token was made for another service", nil)
	case v.now().Unix() > claimed.Expires:
		return "", v.refuse("expired", "the token has expired", nil)
	}
	payload, err := v.validate(ctx, token, claimed.Audience)
	if err != nil {
		return "", v.unproven(ctx, err)
	}
	verified, _ := payload.Claims["email_verified"].(bool)
	email, _ := payload.Claims["email"].(string)
	switch {
	case !slices.Contains(v.kind.issuers, payload.Issuer):
		return "", v.refuse("issuer", "the token comes from another issuer", nil)
	case payload.IssuedAt == 0 || v.early(payload.IssuedAt) || v.early(notBefore(payload)):
		return "", v.refuse("not_yet", "the token is not valid yet", nil)
	case v.kind.verifiedEmail && !verified:
		return "", v.refuse("unverified", "the token's email address is not verified", nil)
	}
	email, ok := address(email)
	if !ok {
		return "", v.refuse("email", "the token names no email address", nil)
	}
	return email, nil
}

// parse reads a token without believing it, and refuses what the validator must
// not see: tokens of the other algorithm, which it would take, and signatures of
// a length on which it panics.
func (v *verifier) parse(token string) (*idtoken.Payload, *Refusal) {
	segments := strings.Split(token, ".")
	if len(segments) != 3 {
		return nil, v.refuse("malformed", "the credential is no signed token", nil)
	}
	var header struct {
		Algorithm string `json:"alg"`
	}
	head, err := base64.RawURLEncoding.DecodeString(segments[0])
	if err == nil {
		err = json.Unmarshal(head, &header)
	}
	if err != nil {
		return nil, v.refuse("malformed", "the credential is no signed token", err)
	}
	signature, err := base64.RawURLEncoding.DecodeString(segments[2])
	switch {
	case header.Algorithm != v.kind.algorithm:
		return nil, v.refuse("algorithm", "the token is not signed with "+v.kind.algorithm, nil)
	case err != nil || v.kind.signatureBytes > 0 && len(signature) != v.kind.signatureBytes:
		return nil, v.refuse("signature", "the token's signature is wrong", err)
	}
	payload, err := idtoken.ParsePayload(token)
	if err != nil {
		return nil, v.refuse("malformed", "the credential is no signed token", err)
	}
	return payload, nil
}

// unproven tells a token that is wrong from keys that cannot be had.
func (v *verifier) unproven(ctx context.Context, err error) *Refusal {
	if _, away := errors.AsType[*keysError](err); away || ctx.Err() != nil {
		return &Refusal{
			Kind: Unavailable, Code: "keys", Err: err, Detail: "Google's keys, which prove tokens, cannot be fetched now",
			Hint: "try again in a moment",
		}
	}
	return v.refuse("signature", "the token's signature is wrong", err)
}

func (v *verifier) refuse(code, detail string, err error) *Refusal {
	return &Refusal{Kind: Unauthenticated, Code: code, Detail: detail, Hint: v.kind.hint, Err: err}
}

// early reports whether a time in seconds is further in the future than clocks
// differ.
func (v *verifier) early(seconds int64) bool { return v.now().Add(skew).Unix() < seconds }

// notBefore is the claim nbf; 0 when there is none.
func notBefore(p *idtoken.Payload) int64 {
	seconds, _ := p.Claims["nbf"].(float64)
	return int64(seconds)
}

// address returns an email address in lower case. Only ASCII is taken: beyond
// it, different addresses look or fold alike.
func address(email string) (string, bool) {
	at := strings.LastIndexByte(email, '@')
	if at < 1 || at == len(email)-1 || len(email) > 254 {
		return "", false
	}
	if strings.ContainsFunc(email, func(r rune) bool { return r <= ' ' || r >= 0x7f }) {
		return "", false
	}
	return strings.ToLower(email), true
}
