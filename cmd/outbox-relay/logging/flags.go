package logging

import (
	"io"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

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

// gatherFor is how late a line of GatheringLogger may be written.
const gatherFor = 100 * time.Millisecond

// GatheringLogger is Logger for who logs a line for each record: lines are written together, a tenth of a second
// late at most; one that warns, and all before it, at once. What is not written yet is lost where the process is
// killed. The caller calls stop in the end, after which nothing may be logged.
func (f Flags) GatheringLogger(w io.Writer, project string) (log *zap.Logger, stop func(), err error) {
	gathered := &zapcore.BufferedWriteSyncer{
		WS: zapcore.AddSync(struct{ io.Writer }{w}), FlushInterval: gatherFor, // a file would be synced to its disk
	}
	if log, err = f.Logger(gathered, project); err != nil {
		return nil, nil, err
	}
	log = log.WithOptions(zap.Hooks(func(e zapcore.Entry) error {
		if e.Level < zapcore.WarnLevel {
			return nil
		}
		return gathered.Sync()
	}))
	return log, func() { _ = gathered.Stop() }, nil // of what is written, as nothing else is told of it
}
