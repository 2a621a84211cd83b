package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/pressly/goose/v3"
	goredis "github.com/redis/go-redis/v9"

	"outboxrelay/cmd/outbox-relay/shell"
	"outboxrelay/deploy/local/postgres"
	"outboxrelay/deploy/local/pubsub"
	"outboxrelay/deploy/local/redis"
)

// parts are what local starts, or is given.
type parts struct {
	databaseURL string
	shown       string // the same, without a password
	redisURL    string
	pubsubAddr  string
	redis       *goredis.Client

	cleanups []func() error // in the order in which they were added
}

const (
	envRedis = "REDIS_URL"
	given    = "(as given)"
)

// startParts starts what the environment does not name. close must follow, also after an error.
func startParts(ctx context.Context, env shell.Lookup) (*parts, error) {
	p := &parts{databaseURL: env.Get(envDatabase), redisURL: env.Get(envRedis), shown: given}
	dir, err := os.MkdirTemp("", "outbox")
	if err != nil {
		return p, fmt.Errorf("make a folder: %w", err)
	}
	p.cleanUp(func() error { return os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil { // as root, the servers run as somebody else
		return p, fmt.Errorf("open the folder: %w", err)
	}
	if err := p.startPostgres(ctx, filepath.Join(dir, "pg")); err != nil {
		return p, err
	}
	if err := p.startRedis(ctx, filepath.Join(dir, "redis")); err != nil {
		return p, err
	}
	return p, p.startPubSub()
}

func (p *parts) startPostgres(ctx context.Context, dir string) error {
	if p.databaseURL == "" {
		server, err := postgres.Start(ctx, dir)
		if err != nil {
			return err
		}
		p.cleanUp(server.Stop)
		p.databaseURL = server.URL()
		p.shown = p.databaseURL
	}
	pool, err := p.pool(ctx) // which takes its own settings out of the URL; a server would refuse them
	if err != nil {
		return err
	}
	return provide(pool, func(_ *sql.DB, provider *goose.Provider) error {
		if _, err := provider.Up(ctx); err != nil {
			return fmt.Errorf("migrate: %w", err)
		}
		return nil
	})
}

func (p *parts) startRedis(ctx context.Context, dir string) error {
	shown := given
	if p.redisURL == "" {
		server, err := redis.Start(ctx, dir)
		if err != nil {
			return err
		}
		p.cleanUp(server.Stop)
		p.redisURL = server.URL()
		shown = p.redisURL
	}
	options, err := goredis.ParseURL(p.redisURL)
	if err != nil {
		return shell.Usagef("%s cannot be read: want redis://HOST:PORT", envRedis) // its text may hold a password
	}
	p.redis = goredis.NewClient(options)
	p.cleanUp(p.redis.Close)
	p.redisURL = shown
	return nil
}

func (p *parts) startPubSub() error {
	server, err := pubsub.Open(pubsub.Options{})
	if err != nil {
		return err
	}
	p.cleanUp(server.Close)
	p.pubsubAddr, err = server.Start("127.0.0.1:0")
	return err
}

// pool is one of its own, which the caller closes.
func (p *parts) pool(ctx context.Context) (*pgxpool.Pool, error) {
	return databaseFlags{}.open(ctx, shell.LookupIn(map[string]string{envDatabase: p.databaseURL}))
}

func (p *parts) cleanUp(f func() error) { p.cleanups = append(p.cleanups, f) }

// close ends what was started, the last one first.
func (p *parts) close() error {
	var errs []error
	for _, f := range slices.Backward(p.cleanups) {
		errs = append(errs, f())
	}
	return errors.Join(errs...)
}
