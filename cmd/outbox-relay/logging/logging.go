// Package logging makes the log of a command: lines that Cloud Logging understands,
// or such as are read on a terminal.
package logging

import (
	"encoding/hex"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"outboxrelay/cmd/outbox-relay/terminal"
)

// New logs to w what is as severe as level, or more. format is json or console.
// Under json a line has the fields that Cloud Logging reads: severity, message,
// time, and the trace of a record in project. What others wrote into a field
// draws nothing on a terminal.
func New(w io.Writer, level, format, project string) (*zap.Logger, error) {
	least, err := zapcore.ParseLevel(level)
	if err != nil {
		return nil, fmt.Errorf("log level: %w", err)
	}
	out := zapcore.Lock(zapcore.AddSync(terminal.Escaping(w)))
	if format == "console" {
		return zap.New(zapcore.NewCore(consoleEncoder(), out, least)), nil
	}
	core := zapcore.NewCore(cloudEncoder(), out, least)
	return zap.New(&traceCore{Core: core, project: project}, zap.AddStacktrace(zapcore.DPanicLevel)), nil
}

func consoleEncoder() zapcore.Encoder {
	cfg := zap.NewDevelopmentEncoderConfig()
	cfg.EncodeTime = zapcore.TimeEncoderOfLayout("15:04:05.000")
	cfg.CallerKey = zapcore.OmitKey
	cfg.ConsoleSeparator = " "
	return zapcore.NewConsoleEncoder(cfg)
}

func cloudEncoder() zapcore.Encoder {
	return zapcore.NewJSONEncoder(zapcore.EncoderConfig{
		TimeKey:       "time",
		LevelKey:      "severity",
		NameKey:       "logger",
		MessageKey:    "message",
		StacktraceKey: "stack_trace",
		LineEnding:    zapcore.DefaultLineEnding,
		EncodeLevel:   encodeSeverity,
		EncodeTime: func(t time.Time, enc zapcore.PrimitiveArrayEncoder) {
			enc.AppendString(t.UTC().Format(time.RFC3339Nano))
		},
		EncodeDuration: zapcore.StringDurationEncoder,
	})
}

// encodeSeverity writes a level as Cloud Logging's LogSeverity.
func encodeSeverity(l zapcore.Level, enc zapcore.PrimitiveArrayEncoder) {
	switch {
	case l >= zapcore.DPanicLevel:
		enc.AppendString("CRITICAL")
	case l == zapcore.ErrorLevel:
		enc.AppendString("ERROR")
	case l == zapcore.WarnLevel:
		enc.AppendString("WARNING")
	case l == zapcore.InfoLevel:
		enc.AppendString("INFO")
	default:
		enc.AppendString("DEBUG")
	}
}

// Fields by which Cloud Logging joins a line to its trace.
const (
	traceField   = "logging.googleapis.com/trace"
	spanField    = "logging.googleapis.com/spanId"
	sampledField = "logging.googleapis.com/trace_sampled"
)

// traceCore adds Cloud Logging's trace to lines that have a traceparent, or a
// traceId that is one of W3C's. Other trace IDs stay plain fields.
type traceCore struct {
	zapcore.Core
	project string
}

func (c *traceCore) With(fields []zapcore.Field) zapcore.Core {
	return &traceCore{Core: c.Core.With(c.traced(fields)), project: c.project}
}

func (c *traceCore) Check(e zapcore.Entry, ce *zapcore.CheckedEntry) *zapcore.CheckedEntry {
	if c.Enabled(e.Level) {
		return ce.AddCore(e, c)
	}
	return ce
}

func (c *traceCore) Write(e zapcore.Entry, fields []zapcore.Field) error {
	return c.Core.Write(e, c.traced(fields))
}

func (c *traceCore) traced(fields []zapcore.Field) []zapcore.Field {
	var trace, span string
	sampled := false
	for _, f := range fields {
		switch {
		case f.Type != zapcore.StringType:
		case f.Key == "traceparent":
			if t, s, flags, ok := parseTraceparent(f.String); ok {
				trace, span, sampled = t, s, flags&1 != 0
			}
		case f.Key == "traceId" && trace == "" && isHex(f.String, 32):
			trace = f.String
		}
	}
	if trace == "" {
		return fields
	}
	out := append(make([]zapcore.Field, 0, len(fields)+3), fields...)
	out = append(out, zap.String(traceField, "projects/"+c.project+"/traces/"+trace))
	if span != "" {
		out = append(out, zap.String(spanField, span))
	}
	if sampled {
		out = append(out, zap.Bool(sampledField, true))
	}
	return out
}

// parseTraceparent takes the trace and span IDs and the flags out of a W3C
// traceparent.
func parseTraceparent(s string) (trace, span string, flags byte, ok bool) {
	parts := strings.Split(s, "-")
	if len(parts) < 4 || !isHex(parts[0], 2) || !isHex(parts[1], 32) || !isHex(parts[2], 16) || !isHex(parts[3], 2) {
		return "", "", 0, false
	}
	n, err := strconv.ParseUint(parts[3], 16, 8)
	return parts[1], parts[2], byte(n), err == nil
}

func isHex(s string, length int) bool {
	if len(s) != length {
		return false
	}
	_, err := hex.DecodeString(s)
	return err == nil
}
