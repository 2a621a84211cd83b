// Package redis starts a Redis for tests and tries, in a folder of its own, with the redis-server
// that the machine has installed. It needs no root, and as root it runs as nobody.
//
//	server, err := redis.Start(ctx, dir)
//	defer server.Stop()
//	options, err := goredis.ParseURL(server.URL())
package redis

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	goredis "github.com/redis/go-redis/v9"

	"outboxrelay/deploy/local/child"
)

// maxSocketPath is what the kernel takes.
const maxSocketPath = 107

// Installed says whether this machine has a Redis to start.
func Installed() bool { return program() != "" }

func program() string { return child.Installed("redis-server") }

// Server is a running Redis. Its owner calls Stop or Kill, and removes the folder.
type Server struct {
	process *child.Process
	socket  string
}

// Start starts a Redis whose socket is in dir, which it makes; it listens on no port. settings are
// those of redis.conf, as command line arguments: "--appendonly", "yes". Without any it keeps its data in
// memory alone. Started again on the same dir it has the same URL. Start returns once it answers.
func Start(ctx context.Context, dir string, settings ...string) (*Server, error) {
	server, err := start(ctx, dir, settings)
	if err != nil {
		return nil, fmt.Errorf("start Redis in %s: %w", dir, err)
	}
	return server, nil
}

func start(ctx context.Context, dir string, settings []string) (*Server, error) {
	path := program()
	if path == "" {
		return nil, errors.New("redis-server is not installed: apt-get install redis-server")
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	s := &Server{socket: filepath.Join(dir, "redis.sock")}
	if len(s.socket) > maxSocketPath {
		return nil, fmt.Errorf("its path has %d bytes, of which a socket may have %d: take a shorter one", len(s.socket), maxSocketPath)
	}
	as, err := child.Unprivileged(dir)
	if err != nil {
		return nil, err
	}
	args := append([]string{
		"--port", "0", "--unixsocket", s.socket, "--dir", dir, "--save", "", "--appendonly", "no", "--daemonize", "no",
	}, settings...)
	if s.process, err = child.Start(child.Spec{Name: "Redis", Path: path, Args: args, Dir: dir, As: as}); err != nil {
		return nil, err
	}
	client := goredis.NewClient(&goredis.Options{Network: "unix", Addr: s.socket, MaxRetries: -1, DialerRetries: 1}) // Answers asks again
	err = s.process.Answers(ctx, func(ctx context.Context) error {
		if _, err := os.Stat(s.socket); err != nil { // the client would write to standard error that it cannot dial
			return err
		}
		return client.Ping(ctx).Err()
	})
	if err = errors.Join(err, client.Close()); err != nil {
		s.Kill()
		return nil, err
	}
	return s, nil
}

// URL is how clients reach it.
func (s *Server) URL() string { return "unix://" + s.socket }

// Ended is why it ended by itself, and nil while it runs.
func (s *Server) Ended() error { return s.process.Ended() }

// Stop ends it cleanly.
func (s *Server) Stop() error { return s.process.Stop() }

// Kill ends it as a crash does.
func (s *Server) Kill() { s.process.Kill() }
