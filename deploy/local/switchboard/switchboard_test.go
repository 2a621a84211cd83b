package switchboard

import (
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
)

type fault struct {
	Code  Code     `json:"code,omitzero"`
	Delay Duration `json:"delay,omitzero"`
}

// setup returns a switch over a plain map.
func setup() http.Handler {
	on := map[int]fault{}
	mux := http.NewServeMux()
	Switch[fault]{
		Add: func(f fault) (int, error) {
			if f == (fault{}) {
				return 0, errors.New("nothing is to happen")
			}
			on[len(on)+1] = f
			return len(on), nil
		},
		List: func() []fault {
			list := make([]fault, 0)
			for _, id := range slices.Sorted(maps.Keys(on)) {
				list = append(list, on[id])
			}
			return list
		},
		Remove: func(id int) bool {
			_, ok := on[id]
			delete(on, id)
			return ok
		},
		Clear: func() { clear(on) },
	}.Register(mux)
	return mux
}

func TestSwitch(t *testing.T) {
	h := setup()
	for _, step := range []struct {
		method, path, body string
		want               int
		answer             string // "": whatever it says
	}{
		{"GET", "/faults", "", 200, `[]`},
		{"POST", "/faults", `{"code":"UNAVAILABLE","delay":"1.5s"}`, 201, `{"id":1}`},
		{"GET", "/faults", "", 200, `[{"code":"UNAVAILABLE","delay":"1.5s"}]`},
		{"POST", "/faults", `{}`, 400, `{"error":"nothing is to happen"}`},
		{"POST", "/faults", `{"nonsense":1}`, 400, ""},
		{"POST", "/faults", `{"code":"NOPE"}`, 400, ""},
		{"POST", "/faults", `{"delay":"soon"}`, 400, ""},
		{"POST", "/faults", ``, 400, ""},
		{"POST", "/faults", `{"code":"` + strings.Repeat("x", maxBody) + `"}`, 400, ""},
		{"DELETE", "/faults/2", "", 404, `{"error":"no fault \"2\""}`},
		{"DELETE", "/faults/x", "", 404, `{"error":"no fault \"x\""}`},
		{"DELETE", "/faults/1", "", 204, ""},
		{"GET", "/faults", "", 200, `[]`},
		{"POST", "/faults", `{"delay":"1s"}`, 201, `{"id":1}`},
		{"DELETE", "/faults", "", 204, ""},
		{"GET", "/faults", "", 200, `[]`},
	} {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(step.method, step.path, strings.NewReader(step.body)))
		if got := strings.TrimSpace(w.Body.String()); w.Code != step.want || (step.answer != "" && got != step.answer) {
			t.Errorf("%s %s %.60s = %d %s, want %d %s", step.method, step.path, step.body, w.Code, got, step.want, step.answer)
		}
	}
}

func TestValuesAreReadBack(t *testing.T) {
	for c := codes.OK; c <= codes.Unauthenticated; c++ {
		want := fault{Code: Code(c), Delay: Duration(time.Duration(c) * time.Millisecond)}
		data, err := json.Marshal(want)
		if err != nil {
			t.Fatal(err)
		}
		var got fault
		if err := json.Unmarshal(data, &got); err != nil {
			t.Errorf("%s: %v", data, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", data, diff)
		}
	}
}
