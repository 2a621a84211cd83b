// Package postgres starts a Postgres for tests and tries, in a folder of its own, with what the
// machine has installed. It needs no root, and as root it runs as nobody.
//
//	server, err := postgres.Start(ctx, dir)
//	defer server.Stop()
//	pool, err := pgxpool.New(ctx, server.URL())
//
// Whoever may enter dir may use it: it trusts everybody who reaches its socket, which is there,
// and listens on no port.
package postgres

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/jackc/pgx/v5"

	"outboxrelay/deploy/local/child"
)

// Debian keeps the server's programs out of PATH.
const debian = "/usr/lib/postgresql/*/bin/"

// maxSocketPath is what the kernel takes.
const maxSocketPath = 107

// Unsafe are settings of Start for a database whose loss is no harm: as fast as it can be.
var Unsafe = []string{"fsync=off", "synchronous_commit=off", "full_page_writes=off"}

// Installed says whether this machine has a Postgres to start.
func Installed() bool { return program("initdb") != "" && program("postgres") != "" }

func program(name string) string { return child.Installed(name, debian+name) }

// Server is a running Postgres. Its owner calls Stop or Kill, and removes the folder.
type Server struct {
	process *child.Process
	dir     string
}

// Start starts a Postgres whose data and socket are in dir, which it makes and, where it is
// empty, fills. Started again on the same dir, after Stop or Kill, it has the same data and the same URL. settings
// are those of postgresql.conf, such as "max_connections=300". Start returns once it answers.
func Start(ctx context.Context, dir string, settings ...string) (*Server, error) {
	server, err := start(ctx, dir, settings)
	if err != nil {
		return nil, fmt.Errorf("start Postgres in %s: %w", dir, err)
	}
	return server, nil
}

func start(ctx context.Context, dir string, settings []string) (*Server, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	if socket := filepath.Join(dir, ".s.PGSQL.5432.lock"); len(socket) > maxSocketPath {
		return nil, fmt.Errorf("its path has %d bytes, of which a socket may have %d: take a shorter one", len(socket), maxSocketPath)
	}
	initdb, path := program("initdb"), program("postgres")
	if initdb == "" || path == "" {
		return nil, errors.New("initdb and postgres are not installed: apt-get install postgresql")
	}
	as, err := child.Unprivileged(dir)
	if err != nil {
		return nil, err
	}
	data := filepath.Join(dir, "data")
	if err := initialize(ctx, initdb, data, as); err != nil {
		return nil, err
	}
	args := []string{"-D", data, "-k", dir, "-c", "listen_addresses="}
	for _, s := range settings {
		args = append(args, "-c", s)
	}
	s := &Server{dir: dir}
	for {
		// SIGINT is its fast stop: it does not wait for its clients to go.
		s.process, err = child.Start(child.Spec{Name: "Postgres", Path: path, Args: args, Dir: dir, As: as, StopWith: syscall.SIGINT})
		if err != nil {
			return nil, err
		}
		err = s.process.Answers(ctx, s.ask)
		if err == nil {
			return s, nil
		}
		if s.process.Kill(); !occupied(s.process.Output()) || ctx.Err() != nil {
			return nil, err
		}
	}
}

// initialize makes the data of an empty database, unless it is there. It is made beside its place, so that
// an end in between leaves no half of it.
func initialize(ctx context.Context, initdb, data string, as *syscall.SysProcAttr) error {
	if _, err := os.Stat(data); err == nil {
		return nil
	}
	fresh := data + ".new"
	if err := os.RemoveAll(fresh); err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, initdb, "-D", fresh, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--no-sync")
	cmd.SysProcAttr, cmd.Dir = as, filepath.Dir(data)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("initdb: %w: %s", err, out)
	}
	return os.Rename(fresh, data)
}

func (s *Server) ask(ctx context.Context) error {
	conn, err := pgx.Connect(ctx, s.URL())
	if err != nil {
		return err
	}
	return conn.Close(ctx)
}

// URL is how clients reach it, as its superuser.
func (s *Server) URL() string { return s.DatabaseURL("postgres") }

// DatabaseURL is the URL of one of its databases.
func (s *Server) DatabaseURL(name string) string {
	u := url.URL{Scheme: "postgres", Path: "/" + name, RawQuery: url.Values{"host": {s.dir}, "user": {"postgres"}}.Encode()}
	return u.String()
}

// Ended is why it ended by itself, and nil while it runs.
func (s *Server) Ended() error { return s.process.Ended() }

// Stop ends it cleanly, without waiting for its clients to go.
func (s *Server) Stop() error { return s.process.Stop() }

// Kill ends it as a crash does: what was committed is there when it is started again.
func (s *Server) Kill() { s.process.Kill() }

// occupied says whether it did not start as processes of one that was killed are still ending.
func occupied(output string) bool {
	return strings.Contains(output, "is still in use") || strings.Contains(output, "already exists") || strings.Contains(output, "Is another post")
}
