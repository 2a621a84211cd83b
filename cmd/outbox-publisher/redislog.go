package main

import (
	"context"

	goredis "github.com/redis/go-redis/v9"
	"go.uber.org/zap"
)

// redisLog has the client of Redis, which else writes to standard error in a form of its own, tell in a log what it has to say. It
// is for all clients of the process.
type redisLog struct{ log *zap.SugaredLogger }

func logRedisIn(log *zap.Logger) { goredis.SetLogger(redisLog{log.Named("redis").Sugar()}) }

// Printf implements the logger of the client. All that it says is of trouble, and what comes of that is in the errors of its calls.
func (l redisLog) Printf(_ context.Context, format string, args ...any) { l.log.Warnf(format, args...) }
