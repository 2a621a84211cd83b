package console

import (
	"errors"
	"net/http"
	"path"
	"strconv"
	"strings"

	"go.uber.org/zap"

	"outboxrelay/dlq/admin"
	"outboxrelay/dlq/admin/auth"
)

// fault is why a page cannot be shown, or an action was not taken.
type fault struct {
	Status int
	Detail string
	Hint   string
}

func (f *fault) Error() string { return f.Detail }

// titles are what a status means to who reads the page.
var titles = map[int]string{
	http.StatusBadRequest:           "This cannot be read",
	http.StatusUnauthorized:         "You are not signed in",
	http.StatusForbidden:            "You may not",
	http.StatusNotFound:             "There is no such thing",
	http.StatusConflict:             "Something stands in the way",
	http.StatusPreconditionFailed:   "It has changed meanwhile",
	http.StatusUnsupportedMediaType: "This cannot be read",
	http.StatusUnprocessableEntity:  "This cannot be asked for",
	http.StatusTooManyRequests:      "Too many requests",
	http.StatusInternalServerError:  "The console failed",
	http.StatusServiceUnavailable:   "Not available now",
	http.StatusGatewayTimeout:       "No answer in time",
}

// Title is the status in words.
func (f *fault) Title() string {
	if title, ok := titles[f.Status]; ok {
		return title
	}
	return http.StatusText(f.Status)
}

// faultOf tells what any error comes to.
func faultOf(err error) *fault {
	if f, ok := errors.AsType[*fault](err); ok {
		return f
	}
	if p, ok := errors.AsType[*admin.Problem](err); ok {
		return &fault{p.Status, p.Detail, p.Hint}
	}
	if f := refusalOf(err); f != nil {
		return f
	}
	return &fault{http.StatusInternalServerError, "the console failed", "the service's log says why"}
}

// refusalOf makes a refused authentication a fault; nil for any other error.
func refusalOf(err error) *fault {
	r, ok := errors.AsType[*auth.Refusal](err)
	if !ok {
		return nil
	}
	switch r.Kind {
	case auth.Forbidden:
		return &fault{http.StatusForbidden, r.Detail, r.Hint}
	case auth.Unauthenticated:
		return &fault{http.StatusUnauthorized, r.Detail, r.Hint}
	case auth.Off, auth.Unavailable:
	}
	return &fault{http.StatusServiceUnavailable, r.Detail, r.Hint}
}

// faultContent is what the page in the place of another shows.
type faultContent struct {
	*fault

	Typed string // the reason that was sent and not taken
	Again string // of the link to the page that was asked for, or whose form was sent; "" for none
}

// again says what a second look is for: what is not there will not be, and what a form
// asked for is not asked for again by looking.
func (f *fault) again(r *http.Request) string {
	back, _, _ := strings.Cut(r.PostFormValue("back"), "?")
	ofTheThing := back == path.Dir(r.URL.EscapedPath()) // the page of what the form is for, and no list
	switch {
	case r.Method == http.MethodPost && f.Status == http.StatusNotFound && ofTheThing:
		return ""
	case r.Method == http.MethodPost && back != "":
		return "Look at the page again"
	case r.Method == http.MethodPost, f.Status == http.StatusNotFound:
		return ""
	}
	return "Try again"
}

// faultHeader marks a page that stands in the place of another: a script leaves
// the one that is open as it is, with what is typed there.
const faultHeader = "Console-Fault"

// fail shows what went wrong in the place of the page.
func (s *server) fail(w http.ResponseWriter, r *http.Request, who visitor, err error) {
	v := &visit{Request: r, who: who}
	f := s.judged(v, err)
	w.Header().Set(faultHeader, strconv.Itoa(f.Status))
	if f.Status == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", s.config.challenge())
	}
	content := faultContent{fault: f}
	if r.PostForm != nil { // else nobody has read it
		content.Typed = v.reason()
	}
	content.Again = f.again(r)
	if err := s.write(w, f.Status, v, "fault.html", &page{Title: f.Title(), Content: content}); err != nil {
		s.log.Error("a fault cannot be shown", zap.Error(err))
	}
}
