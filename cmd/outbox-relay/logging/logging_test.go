package logging

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/zap"

	"outboxrelay/contracts"
)

const (
	traceID     = "0af7651916cd43dd8448eb211c80319c"
	otherTrace  = "11111111111111111111111111111111"
	traceparent = "00-" + traceID + "-b7ad6b7169203331-01"
)

// logged writes one line as JSON and reads it back.
func logged(t *testing.T, write func(*zap.Logger)) map[string]any {
	t.Helper()
	var out bytes.Buffer
	log, err := New(&out, "debug", "json", "p")
	if err != nil {
		t.Fatal(err)
	}
	write(log)
	var line map[string]any
	if err := json.Unmarshal(out.Bytes(), &line); err != nil {
		t.Fatalf("line is no JSON: %v: %s", err, out.String())
	}
	return line
}

func TestLogFieldsAreCloudLoggings(t *testing.T) {
	line := logged(t, func(l *zap.Logger) {
		l.Warn("delivery failed", zap.String("reason", "Unavailable"), zap.Duration("after", time.Second))
	})
	at, _ := line["time"].(string)
	if _, err := time.Parse(time.RFC3339Nano, at); err != nil {
		t.Errorf("time: %v", err)
	}
	delete(line, "time")
	want := map[string]any{"severity": "WARNING", "message": "delivery failed", "reason": "Unavailable", "after": "1s"}
	if diff := cmp.Diff(want, line); diff != "" {
		t.Errorf("line (-want +got):\n%s", diff)
	}
}

func TestLogSeverities(t *testing.T) {
	for want, write := range map[string]func(*zap.Logger){
		"DEBUG":    func(l *zap.Logger) { l.Debug("") },
		"INFO":     func(l *zap.Logger) { l.Info("") },
		"WARNING":  func(l *zap.Logger) { l.Warn("") },
		"ERROR":    func(l *zap.Logger) { l.Error("") },
		"CRITICAL": func(l *zap.Logger) { l.DPanic("") },
	} {
		t.Run(want, func(t *testing.T) {
			if got := logged(t, write)["severity"]; got != want {
				t.Errorf("severity %v, want %v", got, want)
			}
		})
	}
}

func TestLogTrace(t *testing.T) {
	trace := "projects/p/traces/" + traceID
	for _, tc := range []struct {
		name      string
		fields    []zap.Field
		wantTrace any
		wantSpan  any
	}{
		{"a W3C trace ID", []zap.Field{zap.String("traceId", traceID)}, trace, nil},
		{"a traceparent", []zap.Field{zap.String("traceparent", traceparent)}, trace, "b7ad6b7169203331"},
		{"the traceparent wins", []zap.Field{zap.String("traceparent", traceparent), zap.String("traceId", otherTrace)}, trace, "b7ad6b7169203331"},
		{"the traceparent wins, last", []zap.Field{zap.String("traceId", otherTrace), zap.String("traceparent", traceparent)}, trace, "b7ad6b7169203331"},
		{"a trace ID of another kind", []zap.Field{zap.String("traceId", "order-7")}, nil, nil},
		{"a malformed traceparent", []zap.Field{zap.String("traceparent", "00-zz-yy-01")}, nil, nil},
		{"none", nil, nil, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			for how, line := range map[string]map[string]any{
				"on the line":   logged(t, func(l *zap.Logger) { l.Info("", tc.fields...) }),
				"on the logger": logged(t, func(l *zap.Logger) { l.With(tc.fields...).Info("") }),
			} {
				if got := line[traceField]; got != tc.wantTrace {
					t.Errorf("%s: trace %v, want %v", how, got, tc.wantTrace)
				}
				if got := line[spanField]; got != tc.wantSpan {
					t.Errorf("%s: span %v, want %v", how, got, tc.wantSpan)
				}
			}
		})
	}
}

func TestLogLevel(t *testing.T) {
	for _, format := range []string{"json", "console"} {
		t.Run(format, func(t *testing.T) {
			var out bytes.Buffer
			log, err := New(&out, "warn", format, "p")
			if err != nil {
				t.Fatal(err)
			}
			log.Info("quiet")
			if out.Len() != 0 {
				t.Errorf("a line below the level was written: %s", out.String())
			}
			log.Warn("loud")
			if out.Len() == 0 {
				t.Error("a line of the level was not written")
			}
		})
	}
}

// A line that names a sampled span says so to Cloud Logging.
func TestLogTellsWhatIsSampled(t *testing.T) {
	for flags, want := range map[string]any{"01": true, "00": nil, "03": true, "zz": nil} {
		line := logged(t, func(l *zap.Logger) {
			l.Warn("", zap.String(contracts.FieldTraceparent, strings.TrimSuffix(traceparent, "01")+flags))
		})
		if got := line[sampledField]; got != want {
			t.Errorf("flags %s: %s is %v, want %v", flags, sampledField, got, want)
		}
	}
}
