package auth

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"time"

	"outboxrelay/deploy/local/switchboard"
)

// Fault is one thing that goes wrong with the calls that it matches.
type Fault struct {
	Method  string // MethodUpdate, ...; "": any
	Account string // local ID that the call names; "": any
	// Field is one that the call's body has, such as "customAttributes" or
	// "validSince", which tell the uses of MethodUpdate apart; "": any.
	Field string

	Skip  int     // spare so many matching calls first
	Times int     // then hit so many; 0: no bound
	Share float64 // of those, hit this share; 0: all
	Seed  uint64  // of the choice of that share

	Delay        time.Duration // before the call
	LoseResponse bool          // the call takes effect, and only its answer is lost

	// What the call ends with: the connection is cut, or an HTTP status with an
	// Identity Toolkit code for a message. Without either it is only delayed.
	Drop       bool
	Status     int           // 400 to 599
	Message    string        // "": INJECTED_FAULT
	RetryAfter time.Duration // the header of that name, in whole seconds; 0: none
}

// Validate names what is wrong with f.
func (f Fault) Validate() error {
	var errs []error
	if f.Share < 0 || f.Share > 1 {
		errs = append(errs, fmt.Errorf("share is %v, want 0 to 1", f.Share))
	}
	if f.Delay < 0 || f.Skip < 0 || f.Times < 0 || f.RetryAfter < 0 {
		errs = append(errs, errors.New("delay, skip, times and retryAfter must not be negative"))
	}
	if f.Method != "" && !slices.Contains(methods, f.Method) {
		errs = append(errs, fmt.Errorf("no method %q", f.Method))
	}
	if f.Status != 0 && (f.Status < 400 || f.Status > 599) {
		errs = append(errs, fmt.Errorf("status is %d, want 400 to 599", f.Status))
	}
	if f.Drop && f.Status != 0 {
		errs = append(errs, errors.New("a cut connection has no status"))
	}
	if !f.Drop && f.Status == 0 && (f.Delay == 0 || f.LoseResponse) {
		errs = append(errs, errors.New("a fault needs a status, a cut connection or a mere delay"))
	}
	if f.Status == 0 && (f.Message != "" || f.RetryAfter != 0) {
		errs = append(errs, errors.New("message and retryAfter need a status"))
	}
	return errors.Join(errs...)
}

// Faults is the fault switch of a server. A fault whose number is used up stays on.
type Faults struct{ switchboard.Board[Fault] }

// Add switches f on and returns its ID.
func (fs *Faults) Add(f Fault) (int, error) {
	if err := f.Validate(); err != nil {
		return 0, fmt.Errorf("add fault: %w", err)
	}
	return fs.Board.Add(f, switchboard.NewTally(f.Skip, f.Times, f.Share, f.Seed)), nil
}

// hit returns the fault that a call is to suffer; the zero one does nothing.
func (fs *Faults) hit(c *call) Fault {
	fault, _ := fs.Strike(func(f Fault) bool { return f.matches(c) })
	return fault
}

func (f Fault) matches(c *call) bool {
	if f.Method != "" && f.Method != c.method {
		return false
	}
	if f.Account == "" && f.Field == "" {
		return true
	}
	fields := fieldsOf(c.body)
	if _, ok := fields[f.Field]; f.Field != "" && !ok {
		return false
	}
	return f.Account == "" || slices.ContainsFunc([]string{"localId", "localIds"}, func(name string) bool {
		return bytes.Contains(fields[name], []byte(strconv.Quote(f.Account)))
	})
}

// fieldsOf is what a body has; nothing, where it is no JSON object.
func fieldsOf(body []byte) map[string]json.RawMessage {
	var fields map[string]json.RawMessage
	_ = json.Unmarshal(body, &fields) // whoever carries the call out tells what is wrong with it
	return fields
}

// wait holds a call back.
func (f Fault) wait(ctx context.Context) {
	if f.Delay == 0 {
		return
	}
	timer := time.NewTimer(f.Delay)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
		panic(http.ErrAbortHandler) // nobody is there to answer, or the server closes
	}
}

// ends tells whether the call does not get its own answer.
func (f Fault) ends() bool { return f.Drop || f.Status != 0 }

// end answers in the call's place.
func (f Fault) end(w http.ResponseWriter) {
	if f.Drop {
		panic(http.ErrAbortHandler) // cuts the connection
	}
	if f.RetryAfter > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int((f.RetryAfter+time.Second-1)/time.Second)))
	}
	message := f.Message
	if message == "" {
		message = "INJECTED_FAULT"
	}
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(f.Status)
	_ = json.NewEncoder(w).Encode(&apiError{code: f.Status, message: message, reason: "injected"}) // the client is gone
}
