package admin

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"go.uber.org/zap"

	"outboxrelay/dlq"
)

// Problem is an RFC 9457 problem document.
type Problem struct {
	Type     string  `json:"type" format:"uri-reference" example:"about:blank" doc:"Always about:blank: the title is the status's own."`
	Title    string  `json:"title" example:"Conflict" doc:"The status in words."`
	Status   int     `json:"status" example:"409" doc:"The status."`
	Detail   string  `json:"detail" example:"it is replayed already" doc:"What is wrong."`
	Hint     string  `json:"hint,omitempty" example:"a note can still be added" doc:"What to do."`
	Instance string  `json:"instance,omitempty" example:"/admin/v1/dlq/7f0c:acc-1:3/discard" doc:"The path that was asked for, percent-encoded."`
	Errors   []Fault `json:"errors,omitempty" nullable:"false" doc:"What is wrong with single fields."`

	header http.Header // to answer with
}

// Fault is what is wrong with one field.
type Fault struct {
	Location string `json:"location" example:"query.tier" doc:"Where it is: query.NAME, body.NAME, header.NAME or path.NAME."`
	Message  string `json:"message" example:"expected value to be one of \"SAFE_AUTO, REVIEW_REQUIRED, SECURITY_BLOCK\"" doc:"What is wrong with it."`
}

const (
	problemType = "application/problem+json"
	blank       = "about:blank" // every problem's type
)

// Error makes a Problem an answer of a handler, as the methods below do.
func (p *Problem) Error() string { return p.Detail }

// GetStatus is the answer's status.
func (p *Problem) GetStatus() int { return p.Status }

// GetHeaders are the answer's headers of its own.
func (p *Problem) GetHeaders() http.Header { return p.header }

// ContentType is the answer's.
func (p *Problem) ContentType(string) string { return problemType }

func problem(status int, detail, hint string) *Problem {
	return &Problem{Type: blank, Title: http.StatusText(status), Status: status, Detail: detail, Hint: hint}
}

// with adds a header.
func (p *Problem) with(name, value string) *Problem {
	if p.header == nil {
		p.header = make(http.Header)
	}
	p.header.Set(name, value)
	return p
}

// after says when asking again may help.
func (p *Problem) after(d time.Duration) *Problem {
	seconds := int((d + time.Second - 1) / time.Second)
	return p.with("Retry-After", strconv.Itoa(max(seconds, 1)))
}

// refused tells a refusal of the queue.
func refused(r *dlq.Refusal) *Problem {
	status, hint := http.StatusConflict, "look at it again, then decide"
	switch r.Kind {
	case dlq.NotFound:
		status, hint = http.StatusNotFound, "look at the list"
	case dlq.Forbidden:
		status, hint = http.StatusForbidden, "ask somebody who may"
	case dlq.Changed:
		status, hint = http.StatusPreconditionFailed, "look at it again, then decide"
	case dlq.Invalid:
		status, hint = http.StatusUnprocessableEntity, "correct the request"
	case dlq.Conflict, dlq.Orphaned:
	}
	if r.Hint != "" {
		hint = r.Hint
	}
	return problem(status, r.Detail, hint)
}

// firestorePause is when to ask again while Firestore is out of reach.
const firestorePause = 5 * time.Second

// failed tells why a handler failed. What is no answer of the queue is logged.
func (a *api) failed(ctx context.Context, err error) *Problem {
	if p, ok := errors.AsType[*Problem](err); ok {
		return p
	}
	c := callOf(ctx)
	if r, ok := errors.AsType[*dlq.Refusal](err); ok {
		if r.Kind == dlq.Forbidden {
			c.forbidden = r.Detail
		}
		return refused(r)
	}
	code := codeOf(err)
	if code == "InvalidArgument" || code == "OutOfRange" {
		return problem(http.StatusUnprocessableEntity, "Firestore takes no such value", "correct the request")
	}
	if errors.Is(ctx.Err(), context.Canceled) { // who asked has gone
		a.config.Log.Debug("admin request given up", append(c.fields(), zap.Error(err))...)
	} else {
		a.config.Log.Error("admin request failed", append(c.fields(), zap.Error(err))...)
	}
	var p *Problem
	late := errors.Is(ctx.Err(), context.DeadlineExceeded) && (passing(code) || code == "Unknown")
	switch {
	case late:
		p = problem(http.StatusServiceUnavailable, fmt.Sprintf("Firestore did not answer within %s: %s", a.config.Timeout, lastWord(code)), whereToLook).after(firestorePause)
	case passing(code) || errors.Is(ctx.Err(), context.Canceled):
		says := "Firestore answers " + code + " now"
		if away(code) {
			says = "Firestore cannot be reached now: " + code
		}
		p = problem(http.StatusServiceUnavailable, says, "try again in a moment").after(firestorePause)
	case code == "Unknown":
		p = problem(http.StatusInternalServerError, "the service failed", "its log says why")
	default:
		return problem(http.StatusInternalServerError, "Firestore refuses the service: "+code, "outbox-relay doctor tells what a deployment lacks")
	}
	if c.changes() { // the answer of a commit may have been lost
		p.Detail += "; it is not known whether what was asked for was done"
		p.Hint = "look at it before you ask again"
		if late {
			p.Hint += "; " + whereToLook
		}
	}
	return p
}

// whereToLook is the hint where Firestore keeps silent.
const whereToLook = "see whether Firestore is slow or away: Google Cloud's status page, and the alerts RelayShareUnowned, RelayListenerNotProven and RelayMarksFailing"

// lastWord is what Firestore said last of a request that ran out of time: nothing, where
// the code tells of our own giving up.
func lastWord(code string) string {
	if code == "Unknown" || code == "Canceled" {
		return "DeadlineExceeded"
	}
	return code
}

// passing reports whether a failure of that code speaks of the moment.
func passing(code string) bool {
	switch code {
	case "Unavailable", "DeadlineExceeded", "ResourceExhausted", "Aborted", "Internal", "Canceled":
		return true
	}
	return false
}

// inProblems turns huma's own errors into problems. They tell of input that
// breaks the operation's schema; the value itself is not repeated.
func inProblems(ctx huma.Context, _ string, answer any) (any, error) {
	asked := ctx.URL()
	switch e := answer.(type) {
	case *Problem:
		e.Instance = instance(&asked)
	case *huma.ErrorModel:
		p := problem(e.Status, e.Detail, "correct the request: openapi.json says what each field takes")
		p.Instance = instance(&asked)
		for _, d := range e.Errors {
			p.Errors = append(p.Errors, Fault{d.Location, inWords(d.Message)})
		}
		if len(p.Errors) > 0 {
			p.Detail = summary(p.Errors)
		}
		return p, nil
	}
	return answer, nil
}

// inWords mends the one message of huma's that shows Go's own notation.
func inWords(message string) string {
	if strings.HasPrefix(message, "invalid date/time for format") {
		return "expected a time in RFC 3339, as 2026-03-01T10:00:00Z"
	}
	return message
}

func summary(faults []Fault) string {
	texts := make([]string, len(faults))
	for n, f := range faults {
		texts[n] = f.Location + ": " + f.Message
	}
	return strings.Join(texts, "; ")
}

// instance is the path that a problem repeats, percent-encoded as an address is; "" for
// a long one.
func instance(asked *url.URL) string {
	path := asked.EscapedPath()
	if len(path) > 2000 {
		return ""
	}
	return path
}
