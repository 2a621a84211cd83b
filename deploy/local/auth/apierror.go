package auth

import (
	"encoding/json"
	"net/http"

	"outboxrelay/deploy/local/firestore/journal"
)

// apiError is a refusal, as Identity Toolkit words it: the message is a code, and
// may go on after a colon.
type apiError struct {
	code    int
	status  string // "" where Identity Toolkit names none
	message string
	reason  string
}

func (e *apiError) Error() string { return e.message }

// refuse is a refusal of what a request asks.
func refuse(message string) error {
	return &apiError{code: http.StatusBadRequest, message: message, reason: "invalid"}
}

var (
	errNoKey = &apiError{
		code: http.StatusForbidden, status: "PERMISSION_DENIED", reason: "forbidden",
		message: "The request is missing a valid API key.",
	}
	errBadCredential = &apiError{
		code: http.StatusUnauthorized, status: "UNAUTHENTICATED", reason: "authError",
		message: "Request had invalid authentication credentials. Expected OAuth 2 access token, login cookie or other valid authentication credential.",
	}
)

// malformed is a refusal of what cannot be read.
func malformed(cause error) error {
	return &apiError{
		code: http.StatusBadRequest, status: "INVALID_ARGUMENT", reason: "parseError",
		message: "Invalid JSON payload received. " + cause.Error(),
	}
}

// unsupported is a refusal of what this server leaves out.
func unsupported(what string) error {
	return &apiError{
		code: http.StatusNotImplemented, status: "NOT_IMPLEMENTED", reason: "unimplemented",
		message: what + " is not supported by the embedded Auth.",
	}
}

func internal(cause error) *apiError {
	if journal.Full(cause) {
		return &apiError{code: http.StatusServiceUnavailable, status: "UNAVAILABLE", reason: "backendError", message: "UNAVAILABLE : " + cause.Error()}
	}
	return &apiError{code: http.StatusInternalServerError, status: "INTERNAL", reason: "internal", message: "INTERNAL_ERROR : " + cause.Error()}
}

// MarshalJSON writes the whole body of an answer.
func (e *apiError) MarshalJSON() ([]byte, error) {
	type detail struct {
		Message string `json:"message"`
		Reason  string `json:"reason"`
		Domain  string `json:"domain"`
	}
	type body struct {
		Code    int      `json:"code"`
		Message string   `json:"message"`
		Errors  []detail `json:"errors"`
		Status  string   `json:"status,omitempty"`
	}
	return json.Marshal(map[string]body{"error": {
		Code: e.code, Message: e.message, Status: e.status,
		Errors: []detail{{Message: e.message, Reason: e.reason, Domain: "global"}},
	}})
}
