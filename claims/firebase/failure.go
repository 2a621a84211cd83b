package firebase

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"firebase.google.com/go/v4/auth"
	"firebase.google.com/go/v4/errorutils"

	"outboxrelay/claims"
	"outboxrelay/contracts"
)

// Codes of failures, beside those of package claims.
const (
	codeNoCredentials    = "NoCredentials"
	codeCanceled         = "Canceled"
	codeDeadlineExceeded = "DeadlineExceeded"
	codeUnavailable      = "Unavailable" // no connection, a 502 or a 503
	codeExhausted        = "ResourceExhausted"
	codeUnauthenticated  = "Unauthenticated"
	codePermissionDenied = "PermissionDenied"
	codeNotConfigured    = "NotConfigured" // the project has no Firebase Auth
	codeInvalidArgument  = "InvalidArgument"
	codeInternal         = "Internal"
)

// callError is a failed call. It answers what contracts.Failure answers.
type callError struct {
	*contracts.Failure
	after time.Duration
}

// Error leaves out the code, which the handler puts in front.
func (e *callError) Error() string { return e.Err.Error() }

// Unwrap skips the failure, whose questions callError answers itself.
func (e *callError) Unwrap() error { return e.Failure.Err }

// RetryAfter is how long Auth asked not to be called; 0: it did not.
func (e *callError) RetryAfter() time.Duration { return e.after }

// classify gives a failed call its kind and code. Its text is Auth's message
// without the rest of the answer.
func classify(ctx context.Context, err error, try *attempt) error {
	status, header, message := try.status, try.header, ""
	if resp := errorutils.HTTPResponse(err); resp != nil { //nolint:bodyclose // a copy in memory, whose Close does nothing
		status, header = resp.StatusCode, resp.Header
		message = messageOf(resp)
	}
	f := &contracts.Failure{Err: err}
	if status >= http.StatusBadRequest {
		f.Err = fmt.Errorf("answer %d %s", status, message)
	}
	switch {
	case auth.IsUserNotFound(err):
		f.Kind, f.Code, f.Own, f.Err = contracts.Attributable, claims.CodeUserNotFound, true, errors.New("no user has that uid")
	case status >= http.StatusBadRequest:
		f.Kind, f.Code = judge(status, message)
		f.Own = f.Code == codeInvalidArgument
	case status != 0: // it answered, and the SDK could not make sense of it
		f.Kind, f.Code = contracts.Attributable, codeInternal
	case ctx.Err() != nil:
		f.Kind, f.Code = contracts.Outage, codeOf(ctx.Err())
	case try.err != nil:
		f.Kind, f.Code, f.Err = contracts.Outage, codeUnavailable, try.err
	case errorutils.IsUnavailable(err), errorutils.IsDeadlineExceeded(err), errorutils.IsUnknown(err): // the SDK's words for no connection
		f.Kind, f.Code = contracts.Outage, codeUnavailable
	default: // the SDK refused to make the call
		f.Kind, f.Code, f.Own = contracts.Attributable, codeInvalidArgument, true
	}
	return &callError{Failure: f, after: retryAfter(header)}
}

// judge says what an answer means for the record.
func judge(status int, message string) (contracts.Kind, string) {
	word, _, _ := strings.Cut(message, " ")
	switch strings.TrimSuffix(word, ":") {
	case "CLAIMS_TOO_LARGE":
		return contracts.Permanent, claims.CodeTooLarge
	case "FORBIDDEN_CLAIM":
		return contracts.Permanent, claims.CodeReserved
	case "QUOTA_EXCEEDED", "TOO_MANY_ATTEMPTS_TRY_LATER":
		return contracts.Outage, codeExhausted
	case "CONFIGURATION_NOT_FOUND", "PROJECT_NOT_FOUND":
		return contracts.Outage, codeNotConfigured
	}
	switch status {
	case http.StatusTooManyRequests:
		return contracts.Outage, codeExhausted
	case http.StatusServiceUnavailable, http.StatusBadGateway:
		return contracts.Outage, codeUnavailable
	case http.StatusGatewayTimeout:
		return contracts.Outage, codeDeadlineExceeded
	case http.StatusUnauthorized:
		return contracts.Outage, codeUnauthenticated
	case http.StatusForbidden:
		return contracts.Outage, codePermissionDenied
	case http.StatusBadRequest:
		return contracts.Attributable, codeInvalidArgument
	default:
		return contracts.Attributable, codeInternal
	}
}

// maxMessage bounds what is kept of Auth's message, in bytes.
const maxMessage = 200

// messageOf reads Identity Toolkit's message out of an answer.
func messageOf(resp *http.Response) string {
	var body struct {
		Error struct {
			Message string `json:"message"`
		} `json:"error"`
	}
	if err := json.NewDecoder(io.LimitReader(resp.Body, 1<<16)).Decode(&body); err != nil {
		return ""
	}
	m := body.Error.Message
	return strings.ToValidUTF8(m[:min(len(m), maxMessage)], "")
}

func codeOf(ctxErr error) string {
	if errors.Is(ctxErr, context.DeadlineExceeded) {
		return codeDeadlineExceeded
	}
	return codeCanceled
}
