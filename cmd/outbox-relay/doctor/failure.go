package doctor

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/googleapis/gax-go/v2/apierror"
	"google.golang.org/api/googleapi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// longest bounds what is told of a server's message.
const longest = 300

// why tells an error in one line.
func why(err error) string {
	text := err.Error()
	if s, ok := status.FromError(err); ok && s.Code() != codes.OK {
		text = s.Code().String() + ": " + s.Message()
	}
	if codeOf(err) == codes.DeadlineExceeded {
		text = "no answer in time: " + text
	}
	text = strings.Join(strings.Fields(text), " ")
	if runes := []rune(text); len(runes) > longest {
		text = string(runes[:longest-1]) + "…"
	}
	return text
}

// codeOf is the gRPC code of err, also where a deadline ended the client's own
// waiting.
func codeOf(err error) codes.Code {
	if s, ok := status.FromError(err); ok {
		return s.Code()
	}
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return codes.DeadlineExceeded
	case errors.Is(err, context.Canceled):
		return codes.Canceled
	}
	if h, ok := errors.AsType[*googleapi.Error](err); ok {
		switch h.Code {
		case 401:
			return codes.Unauthenticated
		case 403:
			return codes.PermissionDenied
		case 404:
			return codes.NotFound
		}
	}
	return codes.Unknown
}

// disabled reports whether err says that the project has not switched an API on.
func disabled(err error) bool {
	if a, ok := apierror.FromError(err); ok && a.Reason() == "SERVICE_DISABLED" {
		return true
	}
	h, ok := errors.AsType[*googleapi.Error](err)
	return ok && strings.Contains(h.Message, "has not been used in project")
}

// refused is the finding about a call that failed: who lacks what, or who does
// not answer.
func (e *exam) refused(check, did, api, role string, err error) Finding {
	f := Finding{Check: check, Result: Fail, Did: did, Detail: why(err)}
	switch code := codeOf(err); {
	case disabled(err):
		f.Mend = []string{e.gcloud("services", "enable", api)}
	case code == codes.PermissionDenied:
		f.Detail = fmt.Sprintf("%s may not: %s", e.account.name(), why(err))
		f.Mend = []string{e.grant(role)}
	case code == codes.Unauthenticated:
		f.Mend = []string{loginCommand}
	case code == codes.ResourceExhausted:
		f.Hint = "it answers and refuses: a quota or a daily limit of the project is used up; raise it, or wait until it begins anew; an emulator's log says what is full"
	case code == codes.Canceled:
		f.Result, f.Detail = Skip, "interrupted"
	default:
		f.Hint = "look again; if it stays, look whether this machine gets through to " + api
	}
	return f
}

// whyOr is why(err), or other where there is no error.
func whyOr(err error, other string) string {
	if err == nil {
		return other
	}
	return why(err)
}
