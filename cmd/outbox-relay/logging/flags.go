package logging

import (
	"io"

	"go.uber.org/zap"

	"outboxrelay/cmd/outbox-relay/shell"
)

// Flags choose what is logged, and how, on the command line.
type Flags struct {
	LogLevel  string `enum:"debug,info,warn,error" default:"info" env:"LOG_LEVEL" help:"Least severe level that is logged: debug, info, warn or error."`
	LogFormat string `enum:"json,console" default:"json" env:"LOG_FORMAT" help:"json (Cloud Logging's fields) or console."`
}

// Logger logs to w; project is where the traces are that its lines name.
func (f Flags) Logger(w io.Writer, project string) (*zap.Logger, error) {
	log, err := New(w, f.LogLevel, f.LogFormat, project)
	if err != nil {
		return nil, shell.Usagef("%w", err)
	}
	return log, nil
}
