package image

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"cloud.google.com/go/firestore"
	"cloud.google.com/go/pubsub/v2"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/mutate"

	"outboxrelay/cmd/outbox-relay/demo"
	"outboxrelay/contracts"
	"outboxrelay/deploy/local"
	"outboxrelay/deploy/local/poll"
	"outboxrelay/deploy/local/thorough"
)

// repository is the module's source.
const repository = "../../.."

// serviceSpec is the real image's, for this machine.
func serviceSpec(dir string) Spec {
	return Spec{
		Dir: dir, Package: Program, Version: "v0.0.0-test", Commit: "0123abc", Created: someTime,
		Platforms: []v1.Platform{{OS: "linux", Architecture: runtime.GOARCH}},
	}
}

// patience with a program on a machine that has others to run.
const patience = 2 * time.Minute

func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	if !poll.True(patience, 20*time.Millisecond, ok) {
		t.Fatalf("gave up waiting until %s", what)
	}
}

// TestServiceOutOfItsImage unpacks the archive's root file system and runs the
// service in it as a container would be: with nothing else in sight, as the
// image's user, with its entry point and variables, and a cgroup that says how
// much memory there is. It delivers, and ends on SIGTERM.
func TestServiceOutOfItsImage(t *testing.T) {
	thorough.Long(t)
	if runtime.GOOS != "linux" || os.Getuid() != 0 {
		t.Skip("chroot needs Linux, and root")
	}
	c := openContainer(t, build(t, serviceSpec(repository)))
	if got := c.run(t, "/look"); got != "user 65532:65532, roots true, noon 14\n" {
		t.Errorf("a Go program inside says %q", got)
	}
	if got, want := c.run(t, "/"+BinaryPath, "version"), "outbox-relay v0.0.0-test 0123abc "+runtime.Version()+"\n"; got != want {
		t.Errorf("the version is %q, want %q", got, want)
	}

	a := openAudience(t)
	service := c.start(t, a.env)
	addr := service.find(t, `"message":"serving","addr":"([^"]+)"`)
	if got := service.find(t, `"message":"serving".*"memoryLimitFrom":"(\w+)"`); got != "container" {
		t.Errorf("the memory limit is said to come from %s", got)
	}
	if got := service.find(t, `"message":"serving".*"memoryLimitMiB":(\d+)`); got != "460" {
		t.Errorf("the memory limit is %s MiB, want 460 of 512", got)
	}
	eventually(t, "the service is ready", func() bool { return status(addr, "/ready") == http.StatusOK })
	a.deliver(t, 100)
	if got := status(addr, "/alive"); got != http.StatusOK {
		t.Errorf("/alive = %d", got)
	}
	if err := service.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if <-service.ended; service.cmd.ProcessState.ExitCode() != 0 {
		t.Errorf("%s after SIGTERM:\n%s", service.cmd.ProcessState, service)
	}
}

func status(addr, path string) int {
	defer http.DefaultClient.CloseIdleConnections()
	resp, err := http.Get("http://" + addr + path)
	if err != nil {
		return 0
	}
	_ = resp.Body.Close()
	return resp.StatusCode
}

// TestServiceIsReproducible builds the service from another directory.
func TestServiceIsReproducible(t *testing.T) {
	thorough.Long(t)
	if testing.Short() {
		t.Skip("it links the service twice")
	}
	elsewhere := t.TempDir()
	copySource(t, repository, elsewhere)
	var digests []v1.Hash
	for _, dir := range []string{repository, elsewhere} {
		digest, err := build(t, serviceSpec(dir)).Digest()
		if err != nil {
			t.Fatal(err)
		}
		digests = append(digests, digest)
	}
	if digests[0] != digests[1] {
		t.Errorf("digests %s", digests)
	}
}

// copySource copies what a build may read.
func copySource(t *testing.T, from, to string) {
	t.Helper()
	passedOver := []string{".git", ".ci", "node_modules", "dist", "data"}
	err := fs.WalkDir(os.DirFS(from), ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && slices.Contains(passedOver, entry.Name()):
			return fs.SkipDir
		case entry.IsDir():
			return os.MkdirAll(filepath.Join(to, name), 0o755)
		case !entry.Type().IsRegular():
			return nil
		}
		data, err := os.ReadFile(filepath.Join(from, name))
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(to, name), data, 0o600)
	})
	if err != nil {
		t.Fatal(err)
	}
}

// container is an unpacked image, and what a platform adds: a cgroup.
type container struct {
	root   string
	config v1.Config
}

func openContainer(t *testing.T, b *Built) *container {
	t.Helper()
	var archive bytes.Buffer
	if err := b.WriteArchive(&archive); err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(t.TempDir(), "image.tar")
	if err := os.WriteFile(name, archive.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	index, err := openArchive(name, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := index.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	img, err := index.Image(manifest.Manifests[0].Digest)
	if err != nil {
		t.Fatal(err)
	}
	c := &container{root: t.TempDir()}
	files := mutate.Extract(img)
	defer files.Close()
	if err := unpack(files, c.root); err != nil {
		t.Fatal(err)
	}
	config, err := img.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	c.config = config.Config
	c.mount(t)
	return c
}

// mount adds what is not the image's: a view of a cgroup of 512 MiB, and the
// program that looks around.
func (c *container) mount(t *testing.T) {
	t.Helper()
	for name, text := range map[string]string{
		"proc/self/cgroup":                 "0::/\n",
		"proc/self/mountinfo":              "30 23 0:26 / /sys/fs/cgroup ro,nosuid,nodev,noexec,relatime shared:9 - cgroup2 cgroup rw\n",
		"sys/fs/cgroup/cgroup.controllers": "cpu memory\n",
		"sys/fs/cgroup/memory.max":         fmt.Sprintln(512 << 20),
	} {
		name = filepath.Join(c.root, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	binary, err := Spec{Dir: "testdata/look", Package: "."}.compile(t.Context(), v1.Platform{OS: "linux", Architecture: runtime.GOARCH})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(c.root, "look"), binary, 0o755); err != nil {
		t.Fatal(err)
	}
}

// command is one inside, as the image's user.
func (c *container) command(args []string, env map[string]string) *exec.Cmd {
	cmd := &exec.Cmd{Path: args[0], Args: args, Dir: c.config.WorkingDir, Env: slices.Clone(c.config.Env)}
	for name, value := range env {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Chroot: c.root, Credential: &syscall.Credential{Uid: userID, Gid: userID}}
	return cmd
}

func (c *container) run(t *testing.T, args ...string) string {
	t.Helper()
	out, err := c.command(args, nil).CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", args, err, out)
	}
	return string(out)
}

// running is the service inside, and what it logs.
type running struct {
	cmd   *exec.Cmd
	ended chan struct{} // closed when it was waited for

	mu  sync.Mutex
	log bytes.Buffer
}

// start runs the image's entry point, on any free port of loopback.
func (c *container) start(t *testing.T, env map[string]string) *running {
	t.Helper()
	env = maps.Clone(env)
	env["HOST"], env["PORT"] = "127.0.0.1", "0"
	r := &running{cmd: c.command(slices.Concat(c.config.Entrypoint, c.config.Cmd), env), ended: make(chan struct{})}
	r.cmd.Stdout, r.cmd.Stderr = r, r
	if err := r.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(r.ended)
		_ = r.cmd.Wait() // the exit code is in ProcessState
	}()
	t.Cleanup(func() {
		_ = r.cmd.Process.Kill() // it may have ended
		<-r.ended
	})
	return r
}

func (r *running) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.log.Write(p)
}

func (r *running) String() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.log.String()
}

// find waits for a match in the log and returns its first group.
func (r *running) find(t *testing.T, pattern string) (found string) {
	t.Helper()
	re := regexp.MustCompile(pattern)
	defer func() {
		if t.Failed() {
			t.Log(r)
		}
	}()
	eventually(t, "the log has "+pattern, func() bool {
		m := re.FindStringSubmatch(r.String())
		if m != nil {
			found = m[1]
		}
		return m != nil
	})
	return found
}

// audience is an embedded cloud outside of the container, with producers and
// consumers around it.
type audience struct {
	env       map[string]string // that leads to it
	ledger    *demo.Ledger
	producers *demo.Producers
}

const (
	testProject = "test-project"
	standIn     = "ier-claims-handler"
)

func openAudience(t *testing.T) *audience {
	t.Helper()
	catalog, err := contracts.DefaultCatalog()
	if err != nil {
		t.Fatal(err)
	}
	if catalog, err = catalog.WithTopics(map[string]string{"CLAIMS_HANDLER": standIn}); err != nil {
		t.Fatal(err)
	}
	cloud, err := local.Start(local.Options{Project: testProject, Topics: catalog.Topics()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cloud.Close() })
	topics, err := pubsub.NewClient(t.Context(), testProject, local.ClientOptions(cloud.PubSubAddr)...)
	if err != nil {
		t.Fatal(err)
	}
	docs, err := firestore.NewClient(t.Context(), testProject, local.FirestoreOptions(cloud.FirestoreAddr)...)
	if err != nil {
		t.Fatal(err)
	}
	ledger := demo.NewLedger()
	consumers := &demo.Consumers{Client: topics, Catalog: catalog, Ledger: ledger}
	if err := consumers.Subscribe(t.Context()); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	consumed := make(chan error, 1)
	go func() { consumed <- consumers.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-consumed; err != nil {
			t.Error(err)
		}
		_, _ = docs.Close(), topics.Close()
	})
	return &audience{
		env: map[string]string{
			"GOOGLE_CLOUD_PROJECT": testProject, "STAND_IN": "CLAIMS_HANDLER=" + standIn, "STOP_BUDGET": "8s",
			"FIRESTORE_EMULATOR_HOST": cloud.FirestoreAddr, "PUBSUB_EMULATOR_HOST": cloud.PubSubAddr,
		},
		ledger:    ledger,
		producers: &demo.Producers{Client: docs, Catalog: catalog, Ledger: ledger, Seed: 1},
	}
}

// deliver appends n records to all outboxes, and waits until each has arrived.
func (a *audience) deliver(t *testing.T, n int64) {
	t.Helper()
	a.producers.Records = n
	if err := a.producers.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	eventually(t, "all records have arrived", func() bool {
		in, delivered := a.ledger.Totals().Sum()
		return in > 0 && in == delivered
	})
	if totals := a.ledger.Totals(); totals.OutOfOrder > 0 {
		t.Errorf("%d messages out of order", totals.OutOfOrder)
	}
}
