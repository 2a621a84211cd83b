package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	gpubsub "cloud.google.com/go/pubsub/v2"
	"github.com/jackc/pgx/v5/pgxpool"
	_ "github.com/jackc/pgx/v5/stdlib" // for Goose

	"outboxrelay/deploy/local"
	"outboxrelay/deploy/local/child"
	"outboxrelay/deploy/local/google"
	"outboxrelay/deploy/local/postgres"
	"outboxrelay/deploy/local/pubsub"
	"outboxrelay/deploy/local/rig"
	ierpubsub "outboxrelay/ier/pubsub"
	"outboxrelay/relay/postgres/migrations"
	"outboxrelay/relay/postgres/publisher"
)

const (
	project      = "publisher-chaos"
	subscription = "witness"
	// worksWithin bounds the start of a publisher, and of Postgres.
	worksWithin = 2 * time.Minute
	batch       = 50
)

// settings keep what is committed over a SIGKILL of the server, and are quick otherwise.
var settings = []string{"fsync=off", "max_connections=200"}

// stage is what a run happens on.
type stage struct {
	opts     options
	dir      string // of logs
	dbDir    string // of Postgres; apart from dir, as its user may not look there
	progress io.Writer
	program  string
	addr     string // of Pub/Sub
	endCloud func() error
	client   *gpubsub.Client
	pool     *pgxpool.Pool
	crew     *child.Crew
	arrivals *arrivals
	supply   *supply

	mu       sync.Mutex // guards database
	database *postgres.Server
	url      string
}

// openStage starts everything but the traffic. The caller calls close.
func openStage(ctx context.Context, o options, progress io.Writer) (*stage, error) {
	s := &stage{opts: o, progress: progress, arrivals: newArrivals(), supply: newSupply(o.rows, o.rate)}
	if err := s.open(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("open stage: %w", err), s.close())
	}
	return s, nil
}

func (s *stage) open(ctx context.Context) (err error) {
	if s.dir, err = os.MkdirTemp("", "chaos-"); err != nil {
		return err
	}
	if s.program = s.opts.publisher; s.program == "" {
		s.say("building the publisher")
		if s.program, err = rig.Build(ctx, s.dir, "outbox-publisher"); err != nil {
			return err
		}
	}
	if err := s.openDatabase(ctx); err != nil {
		return err
	}
	if err := s.openMessages(ctx); err != nil {
		return err
	}
	s.crew = child.NewCrew(s.publisher)
	return s.crew.Grow(ctx, s.opts.publishers)
}

func (s *stage) openDatabase(ctx context.Context) (err error) {
	if s.dbDir, err = os.MkdirTemp("", "chaos-db-"); err != nil {
		return err
	}
	if err := os.Chmod(s.dbDir, 0o711); err != nil {
		return err
	}
	if err := s.startDatabase(ctx); err != nil {
		return err
	}
	db, err := sql.Open("pgx", s.url)
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }() // nothing is under way
	provider, err := migrations.New(db)
	if err != nil {
		return err
	}
	if _, err := provider.Up(ctx); err != nil {
		return fmt.Errorf("migrate: %w", err)
	}
	s.pool, err = pgxpool.New(ctx, s.url)
	return err
}

// openMessages starts a Pub/Sub with the topic and a subscription to it.
func (s *stage) openMessages(ctx context.Context) (err error) {
	_ = os.Unsetenv(google.PubSubClientVar) // clients would obey it before the address that they are given
	if s.opts.cloud == rig.CloudGoogle {
		emulator, err := google.StartPubSub(ctx, nil)
		if err != nil {
			return err
		}
		s.addr, s.endCloud = emulator.Addr(), emulator.Stop
	} else {
		server, err := pubsub.Open(pubsub.Options{})
		if err != nil {
			return err
		}
		s.endCloud = server.Close
		if s.addr, err = server.Start("127.0.0.1:0"); err != nil {
			return err
		}
	}
	if s.client, err = gpubsub.NewClient(ctx, project, local.ClientOptions(s.addr)...); err != nil {
		return err
	}
	if err := ierpubsub.EnsureTopics(ctx, s.client, []string{publisher.DefaultTopic}); err != nil {
		return err
	}
	return pubsub.Subscribe(ctx, s.client, publisher.DefaultTopic, subscription)
}

func (s *stage) startDatabase(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, worksWithin)
	defer cancel()
	server, err := postgres.Start(ctx, filepath.Join(s.dbDir, "pg"), settings...)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.database, s.url = server, server.URL()
	return nil
}

// restartDatabase ends Postgres, as a crash does or by its fast stop, and starts it again.
func (s *stage) restartDatabase(ctx context.Context, crash bool) error {
	s.mu.Lock()
	server := s.database
	s.mu.Unlock()
	if crash {
		server.Kill()
	} else if err := server.Stop(); err != nil {
		return err
	}
	return s.startDatabase(ctx)
}

// publisher starts one, and returns once it works.
func (s *stage) publisher(ctx context.Context, number int) (*child.Process, error) {
	log, err := os.Create(filepath.Join(s.dir, "publisher-"+strconv.Itoa(number)+".log"))
	if err != nil {
		return nil, err
	}
	works := rig.NewAwaited(`"message":"publishing"`)
	process, err := child.Start(child.Spec{
		Name: "publisher " + strconv.Itoa(number), Path: s.program, Args: []string{"run"}, Stderr: io.MultiWriter(works, log),
		Env: []string{
			"DATABASE_URL=" + s.url, "GOOGLE_CLOUD_PROJECT=" + project, "PUBSUB_EMULATOR_HOST=" + s.addr, "HOST=127.0.0.1", "PORT=0", "LOG_LEVEL=info",
			"PACKFINDERZ_OUTBOX_PUBLISH_BATCH_SIZE=" + strconv.Itoa(batch),
		},
	})
	if err != nil {
		return nil, errors.Join(err, log.Close())
	}
	go func() { // ends with the process
		<-process.Exited()
		_ = log.Close() // what is not in there is in the process's output
	}()
	timer := time.NewTimer(worksWithin)
	defer timer.Stop()
	select {
	case <-works.Seen():
		return process, nil
	case <-process.Exited():
		return process, process.Ended()
	case <-timer.C:
		return process, fmt.Errorf("publisher %d does not work within %v: %s", number, worksWithin, process.Output())
	case <-ctx.Done():
		return process, ctx.Err()
	}
}

func (s *stage) say(format string, args ...any) { fmt.Fprintf(s.progress, format+"\n", args...) }

// close ends all that was started.
func (s *stage) close() error {
	var errs []error
	if s.crew != nil {
		errs = append(errs, s.crew.Stop())
	}
	if s.client != nil {
		errs = append(errs, s.client.Close())
	}
	if s.endCloud != nil {
		errs = append(errs, s.endCloud())
	}
	if s.pool != nil {
		s.pool.Close()
	}
	if s.database != nil {
		s.database.Kill() // it is of no more use
	}
	if s.dbDir != "" {
		errs = append(errs, os.RemoveAll(s.dbDir))
	}
	return errors.Join(errs...)
}
