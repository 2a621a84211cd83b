package firestore

import (
	"net/http"
	"time"

	"google.golang.org/grpc/codes"

	"outboxrelay/deploy/local/switchboard"
)

// faultJSON is a rule over HTTP.
type faultJSON struct {
	ID           int                  `json:"id,omitempty"`
	Method       string               `json:"method,omitempty"`
	Collection   string               `json:"collection,omitempty"`
	Skip         int                  `json:"skip,omitempty"`
	Times        int                  `json:"times,omitempty"`
	Share        float64              `json:"share,omitempty"`
	Seed         uint64               `json:"seed,omitempty"`
	Delay        switchboard.Duration `json:"delay,omitzero"`
	Stall        bool                 `json:"stall,omitempty"`
	LoseResponse bool                 `json:"loseResponse,omitempty"`
	Code         switchboard.Code     `json:"code,omitzero"`
	Message      string               `json:"message,omitempty"`
	Matched      int                  `json:"matched"`
	Hit          int                  `json:"hit"`
}

type dropJSON struct {
	Method     string           `json:"method"`
	Collection string           `json:"collection"`
	Code       switchboard.Code `json:"code"`
	Hard       bool             `json:"hard"`
}

// adminHandler answers, in JSON, a switchboard's requests for the rules in
// force, and beside them:
//
//	POST   /streams/drop   {"collection", "code", "hard"}; answers {"dropped": N}
//	GET    /billing        what has been used
//	POST   /billing/reset
//
// It asks for no authentication: whoever serves it keeps it on a loopback address.
func (s *Server) adminHandler() http.Handler {
	mux := http.NewServeMux()
	switchboard.Switch[faultJSON]{
		Add:  func(in faultJSON) (int, error) { return s.faults.add(in.fault()), nil },
		List: s.listFaults, Remove: s.faults.Remove, Clear: s.faults.Clear,
	}.Register(mux)
	mux.HandleFunc("POST /streams/drop", s.postDrop)
	mux.HandleFunc("GET /billing", func(w http.ResponseWriter, _ *http.Request) {
		switchboard.Respond(w, http.StatusOK, s.Billing())
	})
	mux.HandleFunc("POST /billing/reset", func(w http.ResponseWriter, _ *http.Request) {
		s.ResetBilling()
		w.WriteHeader(http.StatusNoContent)
	})
	return mux
}

func (in faultJSON) fault() Fault {
	return Fault{
		Method: in.Method, Collection: in.Collection,
		Skip: in.Skip, Times: in.Times, Share: in.Share, Seed: in.Seed,
		Delay: time.Duration(in.Delay), Stall: in.Stall, LoseResponse: in.LoseResponse, Code: codes.Code(in.Code), Message: in.Message,
	}
}

func (s *Server) listFaults() []faultJSON {
	out := []faultJSON{}
	for _, st := range s.faults.List() {
		f := st.Fault
		out = append(out, faultJSON{
			ID: st.ID, Method: f.Method, Collection: f.Collection,
			Skip: f.Skip, Times: f.Times, Share: f.Share, Seed: f.Seed,
			Delay: switchboard.Duration(f.Delay), Stall: f.Stall, LoseResponse: f.LoseResponse, Code: switchboard.Code(f.Code), Message: f.Message,
			Matched: st.Matched, Hit: st.Hit,
		})
	}
	return out
}

func (s *Server) postDrop(w http.ResponseWriter, r *http.Request) {
	var in dropJSON
	if !switchboard.Read(w, r, &in) {
		return
	}
	n := s.faults.DropStreams(Drop{Method: in.Method, Collection: in.Collection, Code: codes.Code(in.Code), Hard: in.Hard})
	switchboard.Respond(w, http.StatusOK, map[string]int{"dropped": n})
}
