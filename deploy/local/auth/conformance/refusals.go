package conformance

import (
	"net/http"
	"strings"

	"firebase.google.com/go/v4/auth"
	"firebase.google.com/go/v4/errorutils"
)

// refusals are of what the Admin SDK would not send, or of who may not ask.
var refusals = []test{
	{"claims that are too large, reserved or no object", func(e *env) {
		e.create("alice")
		e.setClaims(object{"a": 1})
		for attributes, want := range map[string]string{
			attributesOf(1001):                 "CLAIMS_TOO_LARGE",
			`{"sub":"mallory"}`:                "FORBIDDEN_CLAIM",
			`{"a":1,"firebase":{},"c_hash":1}`: "FORBIDDEN_CLAIM",
			`["a"]`:                            "INVALID_CLAIMS",
			`null`:                             "INVALID_CLAIMS",
			`{"a":`:                            "INVALID_CLAIMS",
		} {
			status, answer := e.update(object{"localId": "alice", "customAttributes": attributes})
			e.refused(status, answer, want)
		}
		e.equal(object{"a": 1.0}, e.get("alice").CustomClaims)
		status, answer := e.update(object{"localId": "alice", "customAttributes": attributesOf(1000)})
		if status != http.StatusOK {
			e.Errorf("1000 characters = %d %v", status, answer)
		}
		for name := range strings.SplitSeq("acr amr at_hash aud auth_time azp cnf c_hash exp firebase iat iss jti nbf nonce sub", " ") {
			status, answer := e.update(object{"localId": "alice", "customAttributes": `{"` + name + `":1}`})
			e.refused(status, answer, "FORBIDDEN_CLAIM : "+name)
		}
	}},
	{"the SDK says which kind an error is", func(e *env) {
		_, err := e.admin.CreateUser(e.ctx, (&auth.UserToCreate{}).UID("alice"))
		e.ok(err)
		_, taken := e.admin.CreateUser(e.ctx, (&auth.UserToCreate{}).UID("alice"))
		if !errorutils.IsAlreadyExists(taken) {
			e.Errorf("a taken ID: %v, want already exists", taken)
		}
		unknown := e.admin.SetCustomUserClaims(e.ctx, "nobody", object{})
		if !errorutils.IsNotFound(unknown) || errorutils.HTTPResponse(unknown).StatusCode != http.StatusBadRequest {
			e.Errorf("an unknown user: %v, want not found, by status 400", unknown)
		}
	}},
	{"malformed accounts", func(e *env) {
		for _, tt := range []struct {
			body object
			want string
		}{
			{object{"email": "nonsense"}, "INVALID_EMAIL"},
			{object{"email": "a@example.com", "password": "short"}, "WEAK_PASSWORD"},
		} {
			status, answer := e.post(toolkit+"projects/"+e.project+"/accounts", owner, tt.body)
			e.refused(status, answer, tt.want)
		}
		status, answer := e.update(object{"displayName": "whose"})
		e.refused(status, answer, "MISSING_LOCAL_ID")
		e.clientRefused("accounts:signUp", object{"email": "a@example.com"}, "MISSING_PASSWORD")
		e.clientRefused("accounts:signUp", object{"password": "secret1"}, "MISSING_EMAIL")
		e.clientRefused("accounts:signUp", object{"localId": "mine"}, "UNEXPECTED_PARAMETER")
	}},
	{"tokens that are none", func(e *env) {
		for custom, want := range map[string]string{
			"":                               "MISSING_CUSTOM_TOKEN",
			"nonsense":                       "INVALID_CUSTOM_TOKEN",
			e.signIn("alice").ID:             "INVALID_CUSTOM_TOKEN",
			`{"uid":""}`:                     "MISSING_IDENTIFIER",
			`{"uid":"a","claims":{"sub":1}}`: "FORBIDDEN_CLAIM",
		} {
			e.clientRefused("accounts:signInWithCustomToken", object{"token": custom}, want)
		}
		e.clientRefused("accounts:lookup", object{}, "MISSING_ID_TOKEN")
		e.clientRefused("accounts:lookup", object{"idToken": "nonsense"}, "INVALID_ID_TOKEN")
		e.refreshRefused(object{"grant_type": "refresh_token", "refresh_token": "nonsense"}, "INVALID_REFRESH_TOKEN")
		e.refreshRefused(object{"grant_type": "refresh_token"}, "MISSING_REFRESH_TOKEN")
		refresh := e.signIn("alice").Refresh
		e.refreshRefused(object{"grant_type": "password", "refresh_token": refresh}, "INVALID_GRANT_TYPE")
		e.refreshRefused(object{"grant_type": "password", "refresh_token": "nonsense"}, "INVALID_REFRESH_TOKEN")
		e.refreshRefused(object{"refresh_token": refresh}, "MISSING_GRANT_TYPE")
	}},
	{"a refresh token is of its project", func(e *env) {
		s := e.signIn("alice")
		e.project += "-other"
		e.signIn("alice") // the one of this project
		e.refreshRefused(object{"grant_type": "refresh_token", "refresh_token": s.Refresh}, "INVALID_REFRESH_TOKEN")
	}},
	{"whoever is nobody", func(e *env) {
		admin := toolkit + "projects/" + e.project + "/accounts:lookup"
		body := object{"localId": []string{"alice"}}
		status, answer := e.post(admin, "", body)
		e.equal([]any{http.StatusForbidden, "PERMISSION_DENIED"}, []any{status, answer["error"].(object)["status"]})
		status, answer = e.post(admin+"?key="+e.project, "", body)
		e.refused(status, answer, "INSUFFICIENT_PERMISSION")
		status, answer = e.post(admin, "Bearer stranger", body)
		e.equal([]any{http.StatusUnauthorized, "UNAUTHENTICATED"}, []any{status, answer["error"].(object)["status"]})
		status, answer = e.post(toolkit+"accounts:signUp", "", object{})
		e.equal([]any{http.StatusForbidden, "PERMISSION_DENIED"}, []any{status, answer["error"].(object)["status"]})
	}},
	{"what is no JSON", func(e *env) {
		status, answer := e.request("POST", toolkit+"projects/"+e.project+"/accounts:lookup", "application/json", owner, []byte(`{"localId":`))
		e.equal([]any{http.StatusBadRequest, "INVALID_ARGUMENT"}, []any{status, answer["error"].(object)["status"]})
		status, answer = e.post(toolkit+"projects/"+e.project+"/accounts:lookup", owner, object{"localId": "no list"})
		e.equal([]any{http.StatusBadRequest, "INVALID_ARGUMENT"}, []any{status, answer["error"].(object)["status"]})
	}},
}

// update is the administrator's, past the SDK's own checks.
func (e *env) update(body object) (int, object) {
	e.Helper()
	return e.post(toolkit+"projects/"+e.project+"/accounts:update", owner, body)
}

// attributesOf is an object of n characters of JSON.
func attributesOf(n int) string {
	const frame = `{"a":""}`
	return `{"a":"` + strings.Repeat("x", n-len(frame)) + `"}`
}
