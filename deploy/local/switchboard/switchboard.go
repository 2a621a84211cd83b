// Package switchboard is what the fault switches of the embedded cloud's parts
// share: their HTTP side, with the same requests and answers for every part, which
// faults are on, and which of the calls that a fault matches it hits.
package switchboard

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
)

// maxBody bounds what a request may send.
const maxBody = 64 << 10

// Switch is one part's fault switch. F is a fault as JSON carries it.
type Switch[F any] struct {
	Add    func(F) (id int, err error) // an error is the client's fault
	List   func() []F                  // those that are on, with their counts
	Remove func(id int) bool           // false: it is not on
	Clear  func()
}

// Register adds to mux, in JSON:
//
//	POST   /faults        switches a fault on; answers {"id": N}
//	GET    /faults        those that are on, with their counts
//	DELETE /faults        switches all off
//	DELETE /faults/{id}   switches one off
//
// Nobody is asked who they are: whoever serves it keeps it on a loopback address.
func (s Switch[F]) Register(mux *http.ServeMux) {
	mux.HandleFunc("POST /faults", s.add)
	mux.HandleFunc("GET /faults", func(w http.ResponseWriter, _ *http.Request) { Respond(w, http.StatusOK, s.List()) })
	mux.HandleFunc("DELETE /faults", func(w http.ResponseWriter, _ *http.Request) {
		s.Clear()
		w.WriteHeader(http.StatusNoContent)
	})
	mux.HandleFunc("DELETE /faults/{id}", s.remove)
}

func (s Switch[F]) add(w http.ResponseWriter, r *http.Request) {
	var fault F
	if !Read(w, r, &fault) {
		return
	}
	id, err := s.Add(fault)
	if err != nil {
		refuse(w, http.StatusBadRequest, err)
		return
	}
	Respond(w, http.StatusCreated, map[string]int{"id": id})
}

func (s Switch[F]) remove(w http.ResponseWriter, r *http.Request) {
	id, err := strconv.Atoi(r.PathValue("id"))
	if err != nil || !s.Remove(id) {
		refuse(w, http.StatusNotFound, fmt.Errorf("no fault %q", r.PathValue("id")))
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

// Read decodes a request's body, strictly. When it cannot, it answers and
// returns false.
func Read(w http.ResponseWriter, r *http.Request, into any) bool {
	d := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxBody))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		refuse(w, http.StatusBadRequest, fmt.Errorf("decode body: %w", err))
		return false
	}
	return true
}

// Respond answers with body as JSON.
func Respond(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) // the client is gone; nobody is left to tell
}

func refuse(w http.ResponseWriter, status int, err error) {
	Respond(w, status, map[string]string{"error": err.Error()})
}
