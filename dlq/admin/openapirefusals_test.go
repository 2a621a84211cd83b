package admin_test

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"
	"testing/iotest"
	"time"
)

// TestOpenAPITellsOfWhatEveryOperationRefuses asks each for what no operation takes.
func TestOpenAPITellsOfWhatEveryOperationRefuses(t *testing.T) {
	f := setup(t)
	d := f.document()
	for _, e := range endpoints {
		ask := func(target string, body io.Reader, headers ...string) {
			t.Helper()
			f.pass(time.Second)
			r := request(t, "dev-security", e.method, target, "", headers...)
			if body != nil {
				r.Body = io.NopCloser(body)
			}
			a := send(t, f.handler, r)
			status := fmt.Sprint(a.status)
			if a.status < http.StatusBadRequest || d.at("paths", e.pattern, strings.ToLower(e.method), "responses", status) == nil {
				t.Errorf("%s %s answers %s, of which the document does not tell", e.method, e.pattern, status)
			}
		}
		query := "?"
		if strings.Contains(e.target, "?") {
			query = "&"
		}
		ask(e.target+query+"nobody=knows", nil)
		ask(e.target+query+"nobody="+strings.Repeat("x", 9000), nil)
		ask(e.target, nil, "X-Long", strings.Repeat("x", 17000))
		if e.method == http.MethodPost {
			ask(e.target, iotest.ErrReader(os.ErrDeadlineExceeded))
		}
	}
}
