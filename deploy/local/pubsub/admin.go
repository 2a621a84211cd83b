package pubsub

import (
	"net/http"
	"time"

	"google.golang.org/grpc/codes"

	"outboxrelay/deploy/local/switchboard"
)

// faultJSON is a Fault over HTTP.
type faultJSON struct {
	ID           int                  `json:"id,omitempty"`
	Method       string               `json:"method,omitempty"`
	Topic        string               `json:"topic,omitempty"`
	Attributes   map[string]string    `json:"attributes,omitempty"`
	Times        int                  `json:"times,omitempty"`
	Share        float64              `json:"share,omitempty"`
	Seed         uint64               `json:"seed,omitempty"`
	For          switchboard.Duration `json:"for,omitzero"`
	Delay        switchboard.Duration `json:"delay,omitzero"`
	LoseResponse bool                 `json:"loseResponse,omitempty"`
	Code         switchboard.Code     `json:"code,omitzero"`
	Until        *time.Time           `json:"until,omitempty"`
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
		Method: in.Method, Topic: in.Topic, Attributes: in.Attributes,
		Code: codes.Code(in.Code), Delay: time.Duration(in.Delay), LoseResponse: in.LoseResponse,
		For: time.Duration(in.For), Times: in.Times, Share: in.Share, Seed: in.Seed,
	}
}

func (s *Server) listFaults() []faultJSON {
	list := []faultJSON{}
	for _, a := range s.faults.List() {
		f := a.Fault
		out := faultJSON{
			ID: a.ID, Method: f.method(), Topic: f.Topic, Attributes: f.Attributes,
			Times: f.Times, Share: f.Share, Seed: f.Seed, For: switchboard.Duration(f.For), Delay: switchboard.Duration(f.Delay),
			LoseResponse: f.LoseResponse, Code: switchboard.Code(f.Code), Hit: a.Hit,
		}
		if f.For > 0 {
			out.Until = &f.until
		}
		list = append(list, out)
	}
	return list
}
