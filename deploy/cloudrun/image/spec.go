package image

import (
	"fmt"
	"slices"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// Spec is what an image is made of. Package is the program, as the go command
// knows it from Dir.
type Spec struct {
	Dir       string // of the module's source
	Package   string
	Version   string // linked into the program; git describe's
	Commit    string // likewise
	Created   time.Time
	Platforms []v1.Platform // one: an image; more: an index of images
}

// Packages of the programs that have an image.
const (
	Program   = "./cmd/outbox-relay" // the service
	Publisher = "./cmd/outbox-publisher"
)

// program is what an image runs.
type program struct{ name, command, about string }

// program is that of the package; the service for any that is neither.
func (s Spec) program() program {
	if s.Package == Publisher {
		return program{"outbox-publisher", "run", "Carries rows of a Postgres outbox to Pub/Sub"}
	}
	return program{"outbox-relay", "serve", "Carries records from Firestore outboxes to Pub/Sub"}
}

// binaryPath is where the program is in the image.
func (s Spec) binaryPath() string { return "usr/bin/" + s.program().name }

// Where things are in the image.
const (
	BinaryPath = "usr/bin/outbox-relay" // the service's
	rootsPath  = "etc/ssl/certs/ca-certificates.crt"
	zonesPath  = "usr/share/zoneinfo"
	passwdPath = "etc/passwd"
	groupPath  = "etc/group"
)

// user is the image's, by number: Cloud Run and Kubernetes can tell then that
// it is not root.
const (
	userID = 65532
	user   = "65532:65532"
)

// Platforms that an image can be made for. Cloud Run runs the first.
var known = []v1.Platform{{OS: "linux", Architecture: "amd64"}, {OS: "linux", Architecture: "arm64"}}

// ParsePlatforms reads a list such as linux/amd64,linux/arm64.
func ParsePlatforms(list string) ([]v1.Platform, error) {
	var platforms []v1.Platform
	for name := range strings.SplitSeq(list, ",") {
		at := slices.IndexFunc(known, func(p v1.Platform) bool { return p.String() == strings.TrimSpace(name) })
		if at < 0 {
			return nil, fmt.Errorf("platform %q: want linux/amd64, linux/arm64, or both with a comma", name)
		}
		if slices.ContainsFunc(platforms, known[at].Equals) {
			return nil, fmt.Errorf("platform %q stands twice", name)
		}
		platforms = append(platforms, known[at])
	}
	return platforms, nil
}

// Validate names what is wrong.
func (s Spec) Validate() error {
	switch {
	case s.Dir == "" || s.Package == "":
		return fmt.Errorf("make image: the source's directory and package are required")
	case len(s.Platforms) == 0:
		return fmt.Errorf("make image: no platform")
	case strings.ContainsAny(s.Version+s.Commit, " \t\n'\""):
		return fmt.Errorf("make image: version %q and commit %q must be single words, they are linked into the binary", s.Version, s.Commit)
	}
	return nil
}

// config is what runs in the image, and how.
func (s Spec) config() v1.Config {
	return v1.Config{
		User:         user,
		WorkingDir:   "/",
		Entrypoint:   []string{"/" + s.binaryPath()},
		Cmd:          []string{s.program().command},
		ExposedPorts: map[string]struct{}{"8080/tcp": {}},
		Env: []string{
			"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
			"SSL_CERT_FILE=/" + rootsPath,
		},
		StopSignal: "SIGTERM",
		Labels: map[string]string{
			"org.opencontainers.image.title":       s.program().name,
			"org.opencontainers.image.description": s.program().about,
			"org.opencontainers.image.licenses":    "Apache-2.0",
			"org.opencontainers.image.version":     s.Version,
			"org.opencontainers.image.revision":    s.Commit,
		},
	}
}
