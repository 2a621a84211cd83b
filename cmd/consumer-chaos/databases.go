package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	goredis "github.com/redis/go-redis/v9"

	inboxpostgres "outboxrelay/contracts/inbox/postgres"
	"outboxrelay/deploy/local/rig"
)

const (
	postgresVar   = "DATABASE_URL"
	startedWithin = time.Minute
)

// startRedis starts a Redis with its socket in dir; "" where none is installed.
func startRedis(ctx context.Context, dir string) (socket string, server *rig.Child, err error) {
	path := installed("redis-server")
	if path == "" {
		return "", nil, nil
	}
	socket = filepath.Join(dir, "redis.sock")
	server, err = rig.Start(rig.Spec{Name: "Redis", Path: path, Args: []string{
		"--port", "0", "--unixsocket", socket, "--dir", dir, "--save", "", "--appendonly", "no", "--daemonize", "no",
	}})
	if err != nil {
		return "", nil, err
	}
	client := goredis.NewClient(&goredis.Options{Network: "unix", Addr: socket})
	err = answers(ctx, server, func() error { return client.Ping(ctx).Err() })
	return socket, server, errors.Join(err, client.Close())
}

// startPostgres starts a Postgres with its data and socket in dir; "" where none is installed.
func startPostgres(ctx context.Context, dir string) (url string, server *rig.Child, err error) {
	if url := os.Getenv(postgresVar); url != "" {
		return url, nil, nil
	}
	initdb, postgres := installed("initdb"), installed("postgres")
	if initdb == "" || postgres == "" {
		return "", nil, nil
	}
	credential := &syscall.SysProcAttr{}
	if os.Getuid() == 0 { // as root it refuses to run
		const nobody = 65534
		credential.Credential = &syscall.Credential{Uid: nobody, Gid: nobody}
		if err := os.Chown(dir, nobody, nobody); err != nil {
			return "", nil, err
		}
	}
	data := filepath.Join(dir, "data")
	initialize := exec.CommandContext(ctx, initdb, "-D", data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--no-sync")
	initialize.SysProcAttr, initialize.Dir = credential, dir
	if out, err := initialize.CombinedOutput(); err != nil {
		return "", nil, fmt.Errorf("initdb: %w: %s", err, out)
	}
	server, err = rig.Start(rig.Spec{
		Name: "Postgres", Path: postgres, Dir: dir, As: credential,
		Args: []string{"-D", data, "-k", dir, "-c", "listen_addresses=", "-c", "fsync=off"},
	})
	if err != nil {
		return "", nil, err
	}
	url = fmt.Sprintf("host=%s user=postgres dbname=postgres", dir)
	pool, err := pgxpool.New(ctx, url)
	if err != nil {
		return "", server, err
	}
	defer pool.Close()
	return url, server, answers(ctx, server, func() error { return pool.Ping(ctx) })
}

// installed looks in the path, and where Debian has Postgres; "" where it is not.
func installed(program string) string {
	if path, err := exec.LookPath(program); err == nil {
		return path
	}
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/" + program)
	if len(found) == 0 {
		return ""
	}
	return found[len(found)-1]
}

// answers waits until a server does.
func answers(ctx context.Context, server *rig.Child, ask func() error) error {
	for deadline := time.Now().Add(startedWithin); ; {
		err := ask()
		if err == nil {
			return nil
		}
		if ended := server.Ended(); ended != nil || time.Now().After(deadline) || !sleep(ctx, 50*time.Millisecond) {
			return errors.Join(err, ended)
		}
	}
}

// migrate makes the tables of the inbox and of the effects, empty.
func migrate(ctx context.Context, pool *pgxpool.Pool) error {
	if err := inboxpostgres.New(pool).Migrate(ctx); err != nil {
		return err
	}
	_, err := pool.Exec(ctx, `
		TRUNCATE inbox_events;
		DROP TABLE IF EXISTS effects;
		CREATE TABLE effects (consumer text NOT NULL, event_id text NOT NULL, aggregate text NOT NULL, version bigint NOT NULL, at bigint NOT NULL)`)
	if err != nil {
		return fmt.Errorf("create the table of effects: %w", err)
	}
	return nil
}
