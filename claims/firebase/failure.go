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
	codeNotConfigured    = "NotConfigured"  // the project has no Firebase Auth
	codeProjectRefused   = "ProjectRefused" // it may not be used: disabled, without billing
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
		f.Kind, f.Code, f.Own = judge(answer.status, answer.message)
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

// verdict is what an answer means for the record.
type verdict struct {
	kind contracts.Kind
	code string
	own  bool // it speaks of what the record holds: see contracts.Failure
}

// verdicts are those of the words that Auth's messages begin with. Most come with
// status 400, also those that are about the project or our rights in it; so a 400
// with none of these words may be anybody's.
var verdicts = map[string]verdict{
	"USER_NOT_FOUND":   {contracts.Attributable, claims.CodeUserNotFound, true},
	"USER_DISABLED":    {contracts.Attributable, codeInvalidArgument, true},
	"INVALID_LOCAL_ID": {contracts.Attributable, codeInvalidArgument, true},
	"INVALID_CLAIMS":   {contracts.Attributable, codeInvalidArgument, true},
	"CLAIMS_TOO_LARGE": {contracts.Permanent, claims.CodeTooLarge, true},
	"FORBIDDEN_CLAIM":  {contracts.Permanent, claims.CodeReserved, true},

	"QUOTA_EXCEEDED":              {contracts.Outage, codeExhausted, false},
	"RESOURCE_EXHAUSTED":          {contracts.Outage, codeExhausted, false},
	"TOO_MANY_ATTEMPTS_TRY_LATER": {contracts.Outage, codeExhausted, false},
	"INSUFFICIENT_PERMISSION":     {contracts.Outage, codePermissionDenied, false},
	"PERMISSION_DENIED":           {contracts.Outage, codePermissionDenied, false},
	"ADMIN_ONLY_OPERATION":        {contracts.Outage, codePermissionDenied, false},
	"API_KEY_INVALID":             {contracts.Outage, codeUnauthenticated, false},
	"INVALID_API_KEY":             {contracts.Outage, codeUnauthenticated, false},
	"CONFIGURATION_NOT_FOUND":     {contracts.Outage, codeNotConfigured, false},
	"PROJECT_NOT_FOUND":           {contracts.Outage, codeNotConfigured, false},
	"INVALID_PROJECT_ID":          {contracts.Outage, codeNotConfigured, false},
	"PROJECT_DISABLED":            {contracts.Outage, codeProjectRefused, false},
	"BILLING_NOT_ENABLED":         {contracts.Outage, codeProjectRefused, false},
	"BILLING_DISABLED":            {contracts.Outage, codeProjectRefused, false},
	"OPERATION_NOT_ALLOWED":       {contracts.Outage, codeProjectRefused, false},
}

// judge says what an answer means for the record: by its word, and else by its status.
func judge(status int, message string) (kind contracts.Kind, code string, own bool) {
	word, _, _ := strings.Cut(message, " ")
	if v, ok := verdicts[strings.TrimSuffix(word, ":")]; ok {
		return v.kind, v.code, v.own
	}
	kind, code = judgeStatus(status)
	return kind, code, false
}

func judgeStatus(status int) (contracts.Kind, string) {
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
func short(message string) string { return contracts.ClipTo(message, maxMessage) }

func codeOf(ctxErr error) string {
	if errors.Is(ctxErr, context.DeadlineExceeded) {
		return codeDeadlineExceeded
	}
	return codeCanceled
}
