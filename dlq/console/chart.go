package console

import (
	"encoding/json"
	"fmt"
	"net/http"

	"outboxrelay/contracts"
	"outboxrelay/dlq"
)

// chart is what the lines of the overview are drawn from. A number that is not
// known is null.
type chart struct {
	At    []float64   `json:"at"` // seconds since 1970
	Lanes []laneChart `json:"lanes"`
}

type laneChart struct {
	Lane      contracts.Lane `json:"lane"`
	SLAMillis int64          `json:"slaMillis"`
	In        []*float64     `json:"in"` // a second
	Out       []*float64     `json:"out"`
	P50       []*float64     `json:"p50"` // milliseconds
	P99       []*float64     `json:"p99"`
}

// addChart adds the numbers behind the lines, for who may see the lanes.
func addChart(s *server) {
	s.mux.HandleFunc("GET "+Prefix+"/chart", func(w http.ResponseWriter, r *http.Request) {
		s.visited(w, r, func(v *visit) error {
			if !v.who.May(dlq.Viewer) {
				return &fault{http.StatusForbidden, "this needs the role viewer", "ask for it"}
			}
			data, err := json.Marshal(s.chart())
			if err != nil {
				return fmt.Errorf("encode the chart: %w", err)
			}
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write(data) // an error means that the client has gone
			return nil
		})
	})
}

func (s *server) chart() chart {
	all := s.samples.all()
	out := chart{At: make([]float64, len(all)), Lanes: []laneChart{}}
	for n, at := range all {
		out.At[n] = float64(at.at.UnixMilli()) / 1000
	}
	for _, lane := range contracts.Lanes() {
		out.Lanes = append(out.Lanes, chartOf(all, lane))
	}
	return out
}

func chartOf(all []sample, lane contracts.Lane) laneChart {
	c := laneChart{
		Lane: lane, In: make([]*float64, len(all)), Out: make([]*float64, len(all)), P50: make([]*float64, len(all)), P99: make([]*float64, len(all)),
	}
	for n, at := range all {
		l := at.lanes[lane]
		c.SLAMillis = l.SLA.Milliseconds()
		if n > 0 {
			c.In[n], c.Out[n] = perSecond(all[n-1], at, lane)
		}
		if l.P99 > 0 {
			c.P50[n], c.P99[n] = new(float64(l.P50.Milliseconds())), new(float64(l.P99.Milliseconds()))
		}
	}
	return c
}
