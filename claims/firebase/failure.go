package firebase

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

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
func classify(ctx context.Context, err error) error {
	f := &contracts.Failure{Err: err}
	answer, refused := (*answered)(nil), (*refusal)(nil)
	var header http.Header
	if errors.As(err, &answer) {
		header = answer.header
		f.Kind, f.Code = judge(answer.status, answer.message)
		f.Own = f.Code == codeInvalidArgument
	}
	switch {
	case errors.Is(err, errNoUser), f.Code == claims.CodeUserNotFound:
		f.Kind, f.Code, f.Own, f.Err = contracts.Attributable, claims.CodeUserNotFound, true, errNoUser
	case answer != nil:
	case errors.Is(err, errUnreadable):
		f.Kind, f.Code = contracts.Attributable, codeInternal
	case errors.As(err, &refused):
		f.Kind, f.Code, f.Own = contracts.Attributable, codeInvalidArgument, true
	case ctx.Err() != nil:
		f.Kind, f.Code = contracts.Outage, codeOf(ctx.Err())
	default: // no connection, or one that was cut
		f.Kind, f.Code = contracts.Outage, codeUnavailable
	}
	return &callError{Failure: f, after: retryAfter(header)}
}

// judge says what an answer means for the record.
func judge(status int, message string) (contracts.Kind, string) {
	word, _, _ := strings.Cut(message, " ")
	switch strings.TrimSuffix(word, ":") {
	case "USER_NOT_FOUND":
		return contracts.Attributable, claims.CodeUserNotFound
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

// short is as much of Auth's message as is kept.
func short(message string) string {
	return strings.ToValidUTF8(message[:min(len(message), maxMessage)], "")
}

func codeOf(ctxErr error) string {
	if errors.Is(ctxErr, context.DeadlineExceeded) {
		return codeDeadlineExceeded
	}
	return codeCanceled
}
