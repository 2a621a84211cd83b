package image

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// buildFlags leave nothing of the machine in the binary: no paths, no build
// identity, no state of a working tree, no C.
var buildFlags = []string{"-trimpath", "-buildvcs=false", "-mod=readonly"}

// linkFlags drop the symbol tables, which panics and profiles do without, and
// link in the version.
func (s Spec) linkFlags() string {
	flags := []string{"-s", "-w", "-buildid="}
	if s.Version != "" {
		flags = append(flags, "-X", "main.linkedVersion="+s.Version)
	}
	if s.Commit != "" {
		flags = append(flags, "-X", "main.linkedCommit="+s.Commit)
	}
	return strings.Join(flags, " ")
}

// settings of the go command that change a binary. Those of the machine are
// passed over.
func settings(p v1.Platform) []string {
	return []string{
		"CGO_ENABLED=0", "GOOS=" + p.OS, "GOARCH=" + p.Architecture,
		"GOAMD64=v1", "GOARM64=v8.0", "GOEXPERIMENT=", "GOFLAGS=", "GOWORK=off", "GOFIPS140=off",
	}
}

// compile builds the program for a platform and returns the binary.
func (s Spec) compile(ctx context.Context, p v1.Platform) ([]byte, error) {
	dir, err := os.MkdirTemp("", "outbox-relay-image-")
	if err != nil {
		return nil, fmt.Errorf("compile for %s: %w", p, err)
	}
	defer func() { _ = os.RemoveAll(dir) }() // it holds the binary alone
	out := filepath.Join(dir, "program")
	args := slices.Concat([]string{"build"}, buildFlags, []string{"-ldflags=" + s.linkFlags(), "-o", out, s.Package})
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = s.Dir
	cmd.Env = append(os.Environ(), settings(p)...) // the later one of two counts
	if text, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("compile %s for %s: %w\n%s", s.Package, p, err, text)
	}
	return os.ReadFile(out)
}
