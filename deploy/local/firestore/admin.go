package firestore

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"google.golang.org/grpc/codes"
)

// faultJSON is a rule over HTTP. Codes are named as gRPC names them
// ("UNAVAILABLE"), delays as Go writes them ("200ms").
type faultJSON struct {
	ID           int     `json:"id,omitempty"`
	Method       string  `json:"method,omitempty"`
	Collection   string  `json:"collection,omitempty"`
	Skip         int     `json:"skip,omitempty"`
	Times        int     `json:"times,omitempty"`
	Share        float64 `json:"share,omitempty"`
	Seed         uint64  `json:"seed,omitempty"`
	Delay        string  `json:"delay,omitempty"`
	Stall        bool    `json:"stall,omitempty"`
	LoseResponse bool    `json:"loseResponse,omitempty"`
	Code         string  `json:"code,omitempty"`
	Message      string  `json:"message,omitempty"`
	Matched      int     `json:"matched"`
	Hit          int     `json:"hit"`
}

type dropJSON struct {
	Method     string `json:"method"`
	Collection string `json:"collection"`
	Code       string `json:"code"`
	Hard       bool   `json:"hard"`
}

// adminHandler answers, in JSON:
//
//	POST   /faults         a rule; answers {"id": N}
//	GET    /faults         the rules in force, with their counts
//	DELETE /faults         removes every rule
//	DELETE /faults/{id}    removes one
//	POST   /streams/drop   {"collection", "code", "hard"}; answers {"dropped": N}
//	GET    /billing        what has been used
//	POST   /billing/reset
//
// It asks for no authentication: whoever serves it keeps it on a loopback address.
func (s *Server) adminHandler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /faults", s.postFault)
	mux.HandleFunc("GET /faults", s.getFaults)
	mux.HandleFunc("DELETE /faults", func(w http.ResponseWriter, _ *http.Request) {
		s.faults.Clear()
		w.WriteHeader(http.StatusNoContent)
	})
	mux.HandleFunc("DELETE /faults/{id}", s.deleteFault)
	mux.HandleFunc("POST /streams/drop", s.postDrop)
	mux.HandleFunc("GET /billing", func(w http.ResponseWriter, _ *http.Request) {
		respond(w, http.StatusOK, s.Billing())
	})
	mux.HandleFunc("POST /billing/reset", func(w http.ResponseWriter, _ *http.Request) {
		s.ResetBilling()
		w.WriteHeader(http.StatusNoContent)
	})
	return mux
}

func (s *Server) postFault(w http.ResponseWriter, r *http.Request) {
	var in faultJSON
	if !read(w, r, &in) {
		return
	}
	fault := Fault{
		Method: in.Method, Collection: in.Collection,
		Skip: in.Skip, Times: in.Times, Share: in.Share, Seed: in.Seed,
		Stall: in.Stall, LoseResponse: in.LoseResponse, Message: in.Message,
	}
	var err error
	if in.Delay != "" {
		if fault.Delay, err = time.ParseDuration(in.Delay); err != nil {
			refuse(w, http.StatusBadRequest, err)
			return
		}
	}
	if fault.Code, err = parseCode(in.Code); err != nil {
		refuse(w, http.StatusBadRequest, err)
		return
	}
	respond(w, http.StatusCreated, map[string]int{"id": s.faults.add(fault)})
}

func (s *Server) getFaults(w http.ResponseWriter, _ *http.Request) {
	out := []faultJSON{}
	for _, st := range s.faults.List() {
		f := st.Fault
		j := faultJSON{
			ID: st.ID, Method: f.Method, Collection: f.Collection,
			Skip: f.Skip, Times: f.Times, Share: f.Share, Seed: f.Seed,
			Stall: f.Stall, LoseResponse: f.LoseResponse, Message: f.Message,
			Matched: st.Matched, Hit: st.Hit,
		}
		if f.Delay > 0 {
			j.Delay = f.Delay.String()
		}
		if f.Code != codes.OK {
			j.Code = codeName(f.Code)
		}
		out = append(out, j)
	}
	respond(w, http.StatusOK, out)
}

func (s *Server) deleteFault(w http.ResponseWriter, r *http.Request) {
	id, err := strconv.Atoi(r.PathValue("id"))
	if err != nil || !s.faults.Remove(id) {
		refuse(w, http.StatusNotFound, fmt.Errorf("no fault %q", r.PathValue("id")))
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

func (s *Server) postDrop(w http.ResponseWriter, r *http.Request) {
	var in dropJSON
	if !read(w, r, &in) {
		return
	}
	code, err := parseCode(in.Code)
	if err != nil {
		refuse(w, http.StatusBadRequest, err)
		return
	}
	n := s.faults.DropStreams(Drop{Method: in.Method, Collection: in.Collection, Code: code, Hard: in.Hard})
	respond(w, http.StatusOK, map[string]int{"dropped": n})
}

// read decodes a request's body, strictly; it answers for itself when it cannot.
func read(w http.ResponseWriter, r *http.Request, into any) bool {
	d := json.NewDecoder(http.MaxBytesReader(w, r.Body, 1<<16))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		refuse(w, http.StatusBadRequest, err)
		return false
	}
	return true
}

func respond(w http.ResponseWriter, code int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(body) // the client is gone; nobody is left to tell
}

func refuse(w http.ResponseWriter, code int, err error) {
	respond(w, code, map[string]string{"error": err.Error()})
}

// parseCode reads a code's name; empty is OK.
func parseCode(name string) (code codes.Code, err error) {
	if name == "" {
		return codes.OK, nil
	}
	if err := code.UnmarshalJSON([]byte(strconv.Quote(name))); err != nil {
		return 0, fmt.Errorf("unknown gRPC code %q", name)
	}
	return code, nil
}

// codeName is the inverse of parseCode.
func codeName(c codes.Code) string {
	for _, name := range codeNames {
		if parsed, err := parseCode(name); err == nil && parsed == c {
			return name
		}
	}
	return c.String()
}

var codeNames = []string{
	"CANCELLED", "UNKNOWN", "INVALID_ARGUMENT", "DEADLINE_EXCEEDED", "NOT_FOUND", "ALREADY_EXISTS",
	"PERMISSION_DENIED", "RESOURCE_EXHAUSTED", "FAILED_PRECONDITION", "ABORTED", "OUT_OF_RANGE",
	"UNIMPLEMENTED", "INTERNAL", "UNAVAILABLE", "DATA_LOSS", "UNAUTHENTICATED",
}
