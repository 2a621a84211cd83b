package console_test

import (
	"net/http"
	"strings"
	"testing"

	"outboxrelay/contracts"
	"outboxrelay/dlq/console"
)

// A form that did not come whole, or is of a kind that no page of the console sends, does
// nothing: what of it could not be read might have said otherwise.
func TestFormThatIsNotReadDoesNothing(t *testing.T) {
	f := setup(t)
	const part = "--x\r\nContent-Disposition: form-data; name=\"reason\"\r\n\r\n"
	for _, tt := range []struct {
		name, kind, body string
		status           int
	}{
		{"cut off", "multipart/form-data; boundary=x", part + "too mu", http.StatusUnsupportedMediaType},
		{"longer than any", "multipart/form-data; boundary=x", part + strings.Repeat("a", 70<<10) + "\r\n--x--\r\n", http.StatusUnsupportedMediaType},
		{"text", "text/plain", "reason=x", http.StatusUnsupportedMediaType},
		{"of no kind", "", "reason=x", http.StatusUnsupportedMediaType},
		{"a long one", "application/x-www-form-urlencoded", "reason=" + strings.Repeat("a", 70<<10), http.StatusBadRequest},
		{"half an escape", "application/x-www-form-urlencoded", "reason=%a", http.StatusBadRequest},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, f.url+console.Prefix+"/lanes/CRITICAL_LANE/pause", strings.NewReader(tt.body))
			f.must(err)
			if tt.kind != "" {
				r.Header.Set("Content-Type", tt.kind)
			}
			p := f.person("dev-operator")
			status, page := p.read(p.client.Do(r))
			if status != tt.status || !strings.Contains(page, "the form cannot be read") {
				t.Errorf("status %d, want %d: %.300s", status, tt.status, plain(page))
			}
			controls, err := f.queue.LaneControls(t.Context())
			f.must(err)
			if controls[contracts.CriticalLane].Paused {
				t.Fatal("the lane is paused")
			}
		})
	}
}
