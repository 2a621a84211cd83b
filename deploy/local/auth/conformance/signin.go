package conformance

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"strings"
	"time"

	"firebase.google.com/go/v4/auth"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// signIn is about what a client does.
var signIn = []test{
	{"new claims come with the next token, not before", func(e *env) {
		e.create("alice")
		e.setClaims(object{"roles": []string{"reader"}})
		s := e.signIn("alice")
		e.equal([]any{"reader"}, e.verified(s).Claims["roles"])

		e.setClaims(object{"roles": []string{"admin"}, "claimsVersion": 2})
		e.equal([]any{"reader"}, e.verified(s).Claims["roles"])
		s = e.refresh(s)
		e.equal([]any{"admin"}, e.verified(s).Claims["roles"])
		e.equal(2.0, e.verified(s).Claims["claimsVersion"])
		e.equal([]any{"admin"}, e.verified(e.refresh(s)).Claims["roles"])
	}},
	{"an ID token is unsigned and says who it is of", func(e *env) {
		_, err := e.admin.CreateUser(e.ctx, (&auth.UserToCreate{}).UID("alice").Email("alice@example.com").DisplayName("Alice").EmailVerified(true))
		e.ok(err)
		e.setClaims(object{"name": "Custom", "email": "forged@example.com", "user_id": "mallory"})
		began := time.Now().Unix()
		parts := strings.Split(e.signIn("alice").ID, ".")
		e.equal([]int{3, 0}, []int{len(parts), len(parts[2])})
		e.equal(object{"alg": "none", "typ": "JWT"}, e.decoded(parts[0]))
		body := e.decoded(parts[1])
		want := object{
			"iss": "https://securetoken.google.com/" + e.project, "aud": e.project, "sub": "alice", "user_id": "alice",
			"name": "Custom", "email": "alice@example.com", "email_verified": true,
			"firebase": object{"identities": object{"email": []any{"alice@example.com"}}, "sign_in_provider": "custom"},
		}
		times := cmpopts.IgnoreMapEntries(func(k string, _ any) bool { return k == "iat" || k == "exp" || k == "auth_time" })
		if d := cmp.Diff(want, body, times); d != "" {
			e.Errorf("body (-want +got):\n%s", d)
		}
		issued, _ := body["iat"].(float64)
		e.equal(issued+3600, body["exp"])
		if signed, _ := body["auth_time"].(float64); signed < float64(began)-1 || signed > issued {
			e.Errorf("auth_time = %v, want between %d and %v", signed, began, issued)
		}
	}},
	{"what a custom token carries stays with its session", func(e *env) {
		e.create("alice")
		e.setClaims(object{"a": "account", "b": "account"})
		custom, err := e.admin.CustomTokenWithClaims(e.ctx, "alice", object{"a": "session"})
		e.ok(err)
		s := e.session(e.client("accounts:signInWithCustomToken", object{"token": custom, "returnSecureToken": true}))
		for _, s := range []session{s, e.refresh(s)} {
			got := e.verified(s).Claims
			e.equal([]any{"session", "account"}, []any{got["a"], got["b"]})
		}
		if got := e.get("alice").CustomClaims; !cmp.Equal(got, object{"a": "account", "b": "account"}) {
			e.Errorf("the account's claims = %v", got)
		}
	}},
	{"a custom token makes the user whom it names", func(e *env) {
		s := e.signIn("new")
		e.equal("new", e.get("new").UID)
		e.equal("custom", e.verified(s).Firebase.SignInProvider)
	}},
	{"a password signs in", func(e *env) {
		answer := e.client("accounts:signUp", object{"email": "Bob@example.com", "password": "secret1", "returnSecureToken": true})
		e.equal("bob@example.com", answer["email"])
		s := e.session(answer)
		e.equal("password", e.verified(s).Firebase.SignInProvider)
		answer = e.client("accounts:signInWithPassword", object{"email": "bob@example.com", "password": "secret1", "returnSecureToken": true})
		e.equal(e.verified(s).UID, answer["localId"])
		found := e.client("accounts:lookup", object{"idToken": e.session(answer).ID})
		users, _ := found["users"].([]any)
		e.equal(1, len(users))
		e.clientRefused("accounts:signInWithPassword", object{"email": "bob@example.com", "password": "wrong-1"}, "INVALID_PASSWORD")
		e.clientRefused("accounts:signInWithPassword", object{"email": "eve@example.com", "password": "secret1"}, "EMAIL_NOT_FOUND")
		e.clientRefused("accounts:signUp", object{"email": "bob@example.com", "password": "secret1"}, "EMAIL_EXISTS")
	}},
	{"a client without an address is anonymous", func(e *env) {
		s := e.session(e.client("accounts:signUp", object{"returnSecureToken": true}))
		e.equal("anonymous", e.verified(s).Firebase.SignInProvider)
	}},
	{"a client changes its own account, without claims", func(e *env) {
		s := e.session(e.client("accounts:signUp", object{"email": "bob@example.com", "password": "secret1"}))
		uid := e.verified(s).UID
		e.client("accounts:update", object{"idToken": s.ID, "displayName": "Bob"})
		e.equal("Bob", e.get(uid).DisplayName)
		e.clientRefused("accounts:update", object{"idToken": s.ID, "customAttributes": `{"roles":["admin"]}`}, "INSUFFICIENT_PERMISSION")
		e.clientRefused("accounts:update", object{"localId": uid, "displayName": "Eve"}, "INVALID_REQ_TYPE")
		s = e.session(e.client("accounts:update", object{"idToken": s.ID, "password": "secret2"}))
		e.client("accounts:signInWithPassword", object{"email": "bob@example.com", "password": "secret2"})
		e.client("accounts:delete", object{"idToken": s.ID})
		if _, err := e.admin.GetUser(e.ctx, uid); !auth.IsUserNotFound(err) {
			e.Errorf("after its deletion: %v", err)
		}
	}},
	{"revocation voids the ID tokens from before", func(e *env) {
		s := e.signIn("alice")
		e.equal("alice", e.verified(s).UID)
		e.revokeLater("alice")
		if _, err := e.admin.VerifyIDTokenAndCheckRevoked(e.ctx, s.ID); !auth.IsIDTokenRevoked(err) {
			e.Errorf("an ID token from before: %v, want revoked", err)
		}
		e.clientRefused("accounts:lookup", object{"idToken": s.ID}, "TOKEN_EXPIRED")
	}},
	{"a disabled user neither signs in nor refreshes", func(e *env) {
		e.create("alice")
		s := e.signIn("alice")
		_, err := e.admin.UpdateUser(e.ctx, "alice", (&auth.UserToUpdate{}).Disabled(true))
		e.ok(err)
		custom, err := e.admin.CustomToken(e.ctx, "alice")
		e.ok(err)
		e.clientRefused("accounts:signInWithCustomToken", object{"token": custom}, "USER_DISABLED")
		e.clientRefused("accounts:lookup", object{"idToken": s.ID}, "USER_DISABLED")
		e.refreshRefused(object{"grant_type": "refresh_token", "refresh_token": s.Refresh}, "USER_DISABLED")
		if _, err := e.admin.VerifyIDTokenAndCheckRevoked(e.ctx, s.ID); !auth.IsUserDisabled(err) {
			e.Errorf("its ID token: %v, want user disabled", err)
		}
		_, err = e.admin.UpdateUser(e.ctx, "alice", (&auth.UserToUpdate{}).Disabled(false))
		e.ok(err)
		e.refresh(s)
	}},
	{"a deleted user does not refresh", func(e *env) {
		s := e.signIn("alice")
		e.ok(e.admin.DeleteUser(e.ctx, "alice"))
		e.refreshRefused(object{"grant_type": "refresh_token", "refresh_token": s.Refresh}, "INVALID_REFRESH_TOKEN")
		e.clientRefused("accounts:lookup", object{"idToken": s.ID}, "USER_NOT_FOUND")
	}},
}

// refreshRefused exchanges as JSON what is not taken.
func (e *env) refreshRefused(body object, want string) {
	e.Helper()
	status, answer := e.post(tokens+"?key="+e.project, "", body)
	e.refused(status, answer, want)
}

// revokeLater voids all tokens up to a minute from now. Validity counts in whole
// seconds, so a revocation within the second of a sign-in would not touch it.
func (e *env) revokeLater(uid string) {
	e.Helper()
	status, answer := e.post(toolkit+"projects/"+e.project+"/accounts:update", owner,
		object{"localId": uid, "validSince": time.Now().Add(time.Minute).Unix()})
	if status != http.StatusOK {
		e.Fatalf("revoke = %d %v", status, answer)
	}
}

func (e *env) decoded(part string) object {
	e.Helper()
	b, err := base64.RawURLEncoding.DecodeString(part)
	e.ok(err)
	var body object
	e.ok(json.Unmarshal(b, &body))
	return body
}
