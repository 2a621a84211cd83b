package auth

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"time"

	"go.uber.org/zap"
)

// maxBody bounds what a request may send.
const maxBody = 1 << 20

// call is one request, read and authenticated.
type call struct {
	method  string // as Counts and Fault name it
	project string
	admin   bool // says that it is the administrator
	query   url.Values
	body    []byte
	now     time.Time
}

// operation answers a call from a project's accounts, and says what it changes in
// them. It runs under the server's lock.
type operation func(c *call, p *project) (answer any, changes change, err error)

// withBody makes an operation of a function that takes the request's body as a T.
// A field that T lacks is refused by name.
func withBody[T any](do func(c *call, p *project, req T) (any, change, error)) operation {
	return func(c *call, p *project) (any, change, error) {
		var req T
		if err := decode(c.body, &req); err != nil {
			return nil, change{}, err
		}
		return do(c, p, req)
	}
}

var unknownField = regexp.MustCompile(`unknown field "(.+)"`)

func decode(body []byte, into any) error {
	if len(body) == 0 {
		return nil
	}
	d := json.NewDecoder(bytes.NewReader(body))
	d.DisallowUnknownFields()
	err := d.Decode(into)
	if err == nil {
		return nil
	}
	if name := unknownField.FindStringSubmatch(err.Error()); name != nil {
		return unsupported("field " + name[1])
	}
	return malformed(err)
}

// serve returns the handler of a method: it authenticates and reads the call,
// suffers the faults that are switched on for it, and carries it out.
func (s *Server) serve(method string, who authenticate, do operation) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		c := &call{method: method, query: r.URL.Query()}
		err := s.read(w, r, c)
		s.counts.called(method, c.body)
		if err == nil {
			err = who(r, c)
		}
		if err != nil {
			s.answer(w, method, nil, err)
			return
		}
		fault := s.faults.hit(c)
		fault.wait(r.Context())
		if fault.ends() && !fault.LoseResponse {
			s.counts.failed(method)
			fault.end(w)
			return
		}
		answer, err := s.run(c, do)
		if fault.ends() && err == nil {
			s.counts.failed(method)
			fault.end(w)
			return
		}
		s.answer(w, method, answer, err)
	}
}

func (s *Server) read(w http.ResponseWriter, r *http.Request, c *call) error {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		return malformed(err)
	}
	c.body = body
	return nil
}

// run carries a call out. What it changed is durable when run returns.
func (s *Server) run(c *call, do operation) (any, error) {
	s.mu.Lock()
	c.now = s.now()
	answer, changes, err := do(c, s.project(c.project))
	wait := func() error { return nil }
	if err == nil && !changes.empty() {
		changes.Project = c.project
		wait, err = s.commit(changes)
	}
	s.mu.Unlock()
	if err != nil {
		return nil, err
	}
	return answer, wait()
}

// answer writes a call's result. An error that is no refusal is the server's own.
func (s *Server) answer(w http.ResponseWriter, method string, body any, err error) {
	status := http.StatusOK
	if err != nil {
		s.counts.failed(method)
		refusal, ok := errors.AsType[*apiError](err)
		if !ok {
			s.log.Error("answer Auth call", zap.String("method", method), zap.Error(err))
			refusal = internal(err)
		}
		status, body = refusal.code, refusal
	}
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) // the client is gone; nobody is left to tell
}

// authenticate finds out who calls, and for which project.
type authenticate func(r *http.Request, c *call) error

// byPath is for calls that name their project. They are the administrator's.
func byPath(r *http.Request, c *call) error {
	c.project = r.PathValue("project")
	admin, err := isAdmin(r)
	switch {
	case err != nil:
		return err
	case !admin && c.query.Get("key") != "":
		return refuse("INSUFFICIENT_PERMISSION : Only authenticated requests can specify target_project_id.")
	case !admin:
		return errNoKey // as for any method that a key could open
	}
	c.admin = true
	return nil
}

// byKey is for a client's calls: the API key is the ID of its project.
func byKey(r *http.Request, c *call) (err error) {
	if c.project = c.query.Get("key"); c.project == "" {
		return errNoKey
	}
	c.admin, err = isAdmin(r)
	return err
}

// anyone is for the emulator's own paths, which ask nobody who they are.
func anyone(r *http.Request, c *call) error {
	c.project = r.PathValue("project")
	return nil
}

// isAdmin takes the token of SDKs that speak to an emulator, and service accounts'
// tokens, which cannot be checked here.
func isAdmin(r *http.Request) (bool, error) {
	const scheme = "bearer "
	header := r.Header.Get("Authorization")
	if len(header) < len(scheme) || !strings.EqualFold(header[:len(scheme)], scheme) {
		return false, nil
	}
	token := header[len(scheme):]
	if strings.EqualFold(token, "owner") || strings.HasPrefix(token, "ya29.") {
		return true, nil
	}
	return false, errBadCredential
}
