package postgres

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"outboxrelay/cmd/relay-bench/table"
	"outboxrelay/deploy/local/postgres"
	"outboxrelay/deploy/local/thorough"
)

func TestEveryFigureIsMeasuredOfPostgres(t *testing.T) {
	thorough.Long(t) // it builds and runs the publisher
	if !postgres.Installed() {
		t.Skip("needs Postgres: apt-get install postgresql")
	}
	sc := Scale{Drain: 300, Publishers: []int{1, 2}, Lead: 100, Rate: 50, For: time.Second}
	results, err := Measure(t.Context(), Options{Scale: sc, Rounds: 1, Progress: testWriter{t}})
	if err != nil {
		t.Fatal(err)
	}
	var want, got []table.Key
	for _, f := range figures(sc) {
		want = append(want, f.Key)
	}
	never := map[table.Key]bool{keyLeadBreaks: true, keyLeadTwice: true}
	for _, n := range sc.Publishers {
		k := keysOfDrain(n)
		never[k.breaks], never[k.twice] = true, true
	}
	for _, l := range results.Lines() {
		if len(l.Runs) == len(sides) {
			got = append(got, l.Key)
		}
		if n := l.Runs[sidePublisher][0]; never[l.Key] && n != 0 {
			t.Errorf("%s is %v, want 0", l.Name, n)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("figures with a value of each side (-want +got):\n%s", diff)
	}
	if len(results.Keys()) != len(want) {
		t.Errorf("readings are %v, which have not all a line", results.Keys())
	}
}

// testWriter logs to the test.
type testWriter struct{ t *testing.T }

func (w testWriter) Write(p []byte) (int, error) {
	w.t.Log(string(p))
	return len(p), nil
}
