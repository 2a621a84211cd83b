package auth

import (
	"net/http"
	"time"

	"outboxrelay/deploy/local/switchboard"
)

// faultJSON is a Fault over HTTP.
type faultJSON struct {
	ID           int                  `json:"id,omitempty"`
	Method       string               `json:"method,omitempty"`
	Account      string               `json:"account,omitempty"`
	Field        string               `json:"field,omitempty"`
	Skip         int                  `json:"skip,omitempty"`
	Times        int                  `json:"times,omitempty"`
	Share        float64              `json:"share,omitempty"`
	Seed         uint64               `json:"seed,omitempty"`
	Delay        switchboard.Duration `json:"delay,omitzero"`
	LoseResponse bool                 `json:"loseResponse,omitempty"`
	Drop         bool                 `json:"drop,omitempty"`
	Status       int                  `json:"status,omitempty"`
	Message      string               `json:"message,omitempty"`
	RetryAfter   switchboard.Duration `json:"retryAfter,omitzero"`
	Met          int                  `json:"met"`
	Hit          int                  `json:"hit"`
}

// AdminHandler answers, in JSON, a switchboard's requests for the faults, and
// GET /counts with what has been asked and answered.
//
// It asks for no authentication: whoever serves it keeps it on a loopback address.
func (s *Server) AdminHandler() http.Handler {
	mux := http.NewServeMux()
	switchboard.Switch[faultJSON]{
		Add:  func(in faultJSON) (int, error) { return s.faults.Add(in.fault()) },
		List: s.listFaults, Remove: s.faults.Remove, Clear: s.faults.Clear,
	}.Register(mux)
	mux.HandleFunc("GET /counts", func(w http.ResponseWriter, _ *http.Request) { switchboard.Respond(w, http.StatusOK, s.Counts()) })
	return mux
}

func (in faultJSON) fault() Fault {
	return Fault{
		Method: in.Method, Account: in.Account, Field: in.Field,
		Skip: in.Skip, Times: in.Times, Share: in.Share, Seed: in.Seed,
		Delay: time.Duration(in.Delay), LoseResponse: in.LoseResponse,
		Drop: in.Drop, Status: in.Status, Message: in.Message, RetryAfter: time.Duration(in.RetryAfter),
	}
}

func (s *Server) listFaults() []faultJSON {
	list := []faultJSON{}
	for _, a := range s.faults.List() {
		f := a.Fault
		list = append(list, faultJSON{
			ID: a.ID, Method: f.Method, Account: f.Account, Field: f.Field,
			Skip: f.Skip, Times: f.Times, Share: f.Share, Seed: f.Seed,
			Delay: switchboard.Duration(f.Delay), LoseResponse: f.LoseResponse,
			Drop: f.Drop, Status: f.Status, Message: f.Message, RetryAfter: switchboard.Duration(f.RetryAfter),
			Met: a.Met, Hit: a.Hit,
		})
	}
	return list
}
