package claims

import (
	"context"
	"errors"
	"fmt"

	"outboxrelay/contracts"
)

// Codes of the handler's own failures. Those of the ports come beside them.
const (
	CodeMismatch     = "AccountMismatch"  // the payload is of another account
	CodeMalformed    = "MalformedPayload" // a part is of another shape
	CodeBadAccount   = "InvalidAccountId" // no uid that Firebase could have
	CodeNothing      = "NothingToSet"     // neither payload nor account's document has a part
	CodeReserved     = "ReservedClaim"
	CodeTooLarge     = "ClaimsTooLarge"
	CodeUserNotFound = "UserNotFound"
	CodeContended    = "Contended"   // others changed the account's documents again and again
	CodeRetryAfter   = "RetryAfter"  // Auth asked not to be called for a while
	CodeRateLimited  = "RateLimited" // more calls wait than the rate lets through in time
)

// fault is a failure of the handler's own. Its text leaves out its code, which
// failed puts in front.
type fault struct{ contracts.Failure }

func (f *fault) Error() string { return f.Err.Error() }

// permanent is a failure that the record itself is to blame for.
func permanent(code, format string, args ...any) error {
	return &fault{contracts.Failure{Kind: contracts.Permanent, Code: code, Err: fmt.Errorf(format, args...)}}
}

// outage is a failure that says nothing about the record.
func outage(code, format string, args ...any) error {
	return &fault{contracts.Failure{Kind: contracts.Outage, Code: code, Err: fmt.Errorf(format, args...)}}
}

// failed is what Handle returns for err: its kind, code and text, whose it is, the
// account, and as what exhausted attempts are dead-lettered.
func failed(account string, err error) *contracts.Failure {
	f := &contracts.Failure{Kind: contracts.KindOf(err), Code: contracts.CodeOf(err), Reason: contracts.ClaimsRefreshFailed, Own: contracts.OwnOf(err)}
	var knows interface{ FailureKind() contracts.Kind }
	if !errors.As(err, &knows) {
		switch {
		case errors.Is(err, context.DeadlineExceeded):
			f.Kind, f.Code = contracts.Outage, "DeadlineExceeded"
		case errors.Is(err, context.Canceled):
			f.Kind, f.Code = contracts.Outage, "Canceled"
		}
	}
	f.Err = fmt.Errorf("refresh claims of account %q: %w", account, err)
	return f
}
