package pubsub

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
)

// maxFaultBytes bounds the body of a POST.
const maxFaultBytes = 64 << 10

// faultJSON is a Fault over HTTP, with durations as in "1.5s" and the code by
// its gRPC name ("UNAVAILABLE").
type faultJSON struct {
	ID           int        `json:"id,omitempty"`
	Method       string     `json:"method,omitempty"`
	Topic        string     `json:"topic,omitempty"`
	Times        int        `json:"times,omitempty"`
	Share        float64    `json:"share,omitempty"`
	Seed         uint64     `json:"seed,omitempty"`
	For          string     `json:"for,omitempty"`
	Delay        string     `json:"delay,omitempty"`
	LoseResponse bool       `json:"loseResponse,omitempty"`
	Code         string     `json:"code,omitempty"`
	Until        *time.Time `json:"until,omitempty"`
	Hit          int        `json:"hit"`
}

// AdminHandler answers, in JSON:
//
//	POST   /faults        a fault; answers {"id": N}
//	GET    /faults        those that are on, with their counts
//	DELETE /faults        switches all off
//	DELETE /faults/{id}   switches one off
//	GET    /counts        what has been asked and answered
//
// It asks for no authentication: whoever serves it keeps it on a loopback address.
func (s *Server) AdminHandler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /faults", s.postFault)
	mux.HandleFunc("GET /faults", s.getFaults)
	mux.HandleFunc("DELETE /faults", func(w http.ResponseWriter, _ *http.Request) {
		s.faults.Clear()
		w.WriteHeader(http.StatusNoContent)
	})
	mux.HandleFunc("DELETE /faults/{id}", s.deleteFault)
	mux.HandleFunc("GET /counts", func(w http.ResponseWriter, _ *http.Request) { writeJSON(w, http.StatusOK, s.Counts()) })
	return mux
}

func (s *Server) postFault(w http.ResponseWriter, r *http.Request) {
	fault, err := decodeFault(http.MaxBytesReader(w, r.Body, maxFaultBytes))
	if err != nil {
		refuse(w, http.StatusBadRequest, err)
		return
	}
	id, err := s.faults.Add(fault)
	if err != nil {
		refuse(w, http.StatusBadRequest, err)
		return
	}
	writeJSON(w, http.StatusCreated, map[string]int{"id": id})
}

func (s *Server) getFaults(w http.ResponseWriter, _ *http.Request) {
	list := make([]faultJSON, 0)
	for _, a := range s.faults.List() {
		list = append(list, encodeFault(a))
	}
	writeJSON(w, http.StatusOK, list)
}

func (s *Server) deleteFault(w http.ResponseWriter, r *http.Request) {
	id, err := strconv.Atoi(r.PathValue("id"))
	if err != nil || !s.faults.Remove(id) {
		refuse(w, http.StatusNotFound, fmt.Errorf("no fault %q", r.PathValue("id")))
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

func decodeFault(body io.Reader) (Fault, error) {
	var in faultJSON
	dec := json.NewDecoder(body)
	dec.DisallowUnknownFields()
	if err := dec.Decode(&in); err != nil {
		return Fault{}, fmt.Errorf("decode fault: %w", err)
	}
	f := Fault{Method: in.Method, Topic: in.Topic, LoseResponse: in.LoseResponse, Times: in.Times, Share: in.Share, Seed: in.Seed}
	if in.Code != "" {
		if err := f.Code.UnmarshalJSON([]byte(strconv.Quote(in.Code))); err != nil {
			return Fault{}, fmt.Errorf("decode fault: unknown gRPC code %q", in.Code)
		}
	}
	for _, d := range []struct {
		name, in string
		out      *time.Duration
	}{{"delay", in.Delay, &f.Delay}, {"for", in.For, &f.For}} {
		if d.in == "" {
			continue
		}
		v, err := time.ParseDuration(d.in)
		if err != nil {
			return Fault{}, fmt.Errorf("decode fault: %s: %w", d.name, err)
		}
		*d.out = v
	}
	return f, nil
}

func encodeFault(a Active) faultJSON {
	f := a.Fault
	out := faultJSON{
		ID: a.ID, Method: f.method(), Topic: f.Topic, LoseResponse: f.LoseResponse,
		Times: f.Times, Share: f.Share, Seed: f.Seed, Hit: a.Hit,
	}
	if f.Code != codes.OK {
		out.Code = codeName(f.Code)
	}
	if f.Delay > 0 {
		out.Delay = f.Delay.String()
	}
	if f.For > 0 {
		out.For, out.Until = f.For.String(), &a.Until
	}
	return out
}

func writeJSON(w http.ResponseWriter, code int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(v) // the client has gone: nobody is left to tell
}

func refuse(w http.ResponseWriter, code int, err error) {
	writeJSON(w, code, map[string]string{"error": err.Error()})
}

// codeName returns a code's gRPC name: UNAVAILABLE for Unavailable.
func codeName(c codes.Code) string {
	if c == codes.Canceled {
		return "CANCELLED" // with two Ls on the wire
	}
	var b strings.Builder
	for i, r := range c.String() {
		if i > 0 && r >= 'A' && r <= 'Z' {
			b.WriteByte('_')
		}
		b.WriteRune(r)
	}
	return strings.ToUpper(b.String())
}
