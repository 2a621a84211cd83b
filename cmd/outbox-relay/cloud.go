package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"strconv"
	"syscall"
	"time"

	"go.uber.org/zap"

	"outboxrelay/cmd/outbox-relay/shell"
	"outboxrelay/cmd/outbox-relay/web"
	"outboxrelay/contracts"
	"outboxrelay/deploy/firestore/indexes"
	"outboxrelay/deploy/local"
	"outboxrelay/deploy/requirements"
	"outboxrelay/dlq/admin/auth"
)

// cloudCmd runs the embedded cloud alone, so that a relay beside it can be
// killed and started again.
type cloudCmd struct {
	Firestore string `default:"127.0.0.1:8081" placeholder:"HOST:PORT" help:"Where Firestore listens; port 0: any free one."`
	PubSub    string `name:"pubsub" default:"127.0.0.1:8085" placeholder:"HOST:PORT" help:"Where Pub/Sub listens; port 0: any free one."`
	Auth      string `default:"127.0.0.1:9099" placeholder:"HOST:PORT" help:"Where Auth listens; port 0: any free one."`
	Admin     string `placeholder:"HOST:PORT" help:"Where the fault switches and the bill are served, on loopback alone; without it nowhere."`
	DataDir   string `type:"path" placeholder:"DIR" help:"Keeps Firestore's documents and Auth's accounts; without it they are in memory."`
	Indexes   string `type:"path" placeholder:"FILE" help:"firestore.indexes.json with the indexes that queries have; without it those that the catalog needs."`

	Project string `env:"GOOGLE_CLOUD_PROJECT" placeholder:"ID" help:"Project in which the catalog's topics exist from the start; without it there are none."`
	catalogFlags
	standInFlags
	logFlags
}

// Help is the long text of cloud --help.
func (c *cloudCmd) Help() string {
	return `Prints one line for each part once it takes clients: FIRESTORE_EMULATOR_HOST=HOST:PORT, PUBSUB_EMULATOR_HOST=HOST:PORT, FIREBASE_AUTH_EMULATOR_HOST=HOST:PORT, and ADMIN=HOST:PORT with --admin. Ends on SIGTERM or SIGINT. A client of Auth gives the project's ID as its API key.

Firestore refuses a query that lacks its index, as in production and unlike Google's emulator.

The admin address answers GET /billing, GET, POST and DELETE /firestore/faults, /pubsub/faults and /auth/faults, GET /pubsub/counts and /auth/counts.

While there is no room for --data-dir, what is written fails and the log says so: of Firestore with RESOURCE_EXHAUSTED, which Google's clients try again for a minute, of Auth with 503. It goes on when there is room, without a restart.`
}

// Validate names what is wrong with the flags. It keeps the admin address, which asks for no authentication, off the
// network.
func (c *cloudCmd) Validate() error {
	err := errors.Join(c.standInFlags.Validate(),
		checkAddress("--firestore", c.Firestore), checkAddress("--pubsub", c.PubSub), checkAddress("--auth", c.Auth))
	if c.Admin != "" {
		err = errors.Join(err, checkLoopback("--admin", c.Admin))
	}
	return err
}

func checkAddress(flag, addr string) error {
	_, port, err := net.SplitHostPort(addr)
	if err == nil {
		_, err = strconv.ParseUint(port, 10, 16)
	}
	if err != nil {
		return fmt.Errorf("%s %q: want HOST:PORT", flag, addr)
	}
	return nil
}

func checkLoopback(flag, addr string) error {
	if err := checkAddress(flag, addr); err != nil {
		return err
	}
	host, _, _ := net.SplitHostPort(addr) // it can be split
	if ip := net.ParseIP(host); host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return fmt.Errorf("%s %q asks for no authentication, so it must be a loopback address such as 127.0.0.1:0", flag, addr)
	}
	return nil
}

// Run serves until ctx ends.
func (c *cloudCmd) Run(ctx context.Context, p shell.Process) (err error) {
	log, err := c.Logger(p.Stderr, c.Project)
	if err != nil {
		return err
	}
	catalog, err := c.load(p.Env)
	if err != nil {
		return err
	}
	declared, err := c.indexes(catalog)
	if err != nil {
		return err
	}
	opts := local.Options{
		Firestore: c.Firestore, PubSub: c.PubSub, Auth: c.Auth, DataDir: c.DataDir, Project: c.Project, Indexes: &declared, Log: log,
	}
	if c.Project != "" {
		if catalog, err = c.apply(catalog); err != nil {
			return err
		}
		opts.Topics = catalog.Topics()
	}
	cloud, err := local.Start(opts)
	if errors.Is(err, syscall.EADDRINUSE) {
		return fmt.Errorf("%w; another cloud or emulator may run: choose other ports with --firestore, --pubsub and --auth, 127.0.0.1:0 for any free one", err)
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, cloud.Close()) }()
	for _, line := range cloud.Env() {
		fmt.Fprintln(p.Stdout, line)
	}
	if c.Admin == "" {
		<-ctx.Done()
		return nil
	}
	return c.serveAdmin(ctx, cloud.AdminHandler(), p, log)
}

// indexes are those of the file, or what the catalog needs.
func (c *cloudCmd) indexes(catalog *contracts.Catalog) (indexes.File, error) {
	if c.Indexes == "" {
		return requirements.IndexesOf(catalog), nil
	}
	text, err := os.ReadFile(c.Indexes)
	if err != nil {
		return indexes.File{}, shell.Exit(shell.ExitUsage, fmt.Errorf("read --indexes: %w", err))
	}
	f, err := indexes.Parse(text)
	if err != nil {
		return indexes.File{}, shell.Exit(shell.ExitUsage, fmt.Errorf("read --indexes %s: %w", c.Indexes, err))
	}
	return f, nil
}

// adminStop is how long the admin server's last answers may take.
const adminStop = time.Second

func (c *cloudCmd) serveAdmin(ctx context.Context, handler http.Handler, p shell.Process, log *zap.Logger) error {
	lis, err := web.Listen(c.Admin, "choose another with --admin")
	if err != nil {
		return err
	}
	fmt.Fprintln(p.Stdout, "ADMIN="+lis.Addr().String())
	srv := web.NewServer(atLoopback(handler), log)
	served := make(chan error, 1)
	go func() { served <- web.Serve(srv, lis) }() // ends with Shutdown
	select {
	case err := <-served:
		return err
	case <-ctx.Done():
	}
	closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), adminStop)
	defer cancel()
	return errors.Join(web.Shut(closing, srv), <-served)
}

// atLoopback refuses requests for another name than this machine's own: a page of another
// site, whose name was made to resolve here, must not be able to switch faults on.
func atLoopback(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !auth.AskedAtLoopback(r) {
			web.WriteProblem(w, r, http.StatusForbidden, "this answers only requests for localhost or a loopback address")
			return
		}
		next.ServeHTTP(w, r)
	})
}
