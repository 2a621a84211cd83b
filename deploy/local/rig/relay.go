package rig

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"outboxrelay/contracts"
)

// BuildRelay builds the relay's program into dir; see Build.
func BuildRelay(ctx context.Context, dir string) (string, error) {
	return Build(ctx, dir, "outbox-relay")
}

// Build builds a program of cmd into dir with the go command, as its image has it, and returns its path.
func Build(ctx context.Context, dir, program string) (string, error) {
	path := filepath.Join(dir, program)
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-o", path, "outboxrelay/cmd/"+program)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build %s: %w: %s", program, err, out)
	}
	return path, nil
}

// Relay is the path of the relay's program: of the one that is built already, or
// else of one that it builds into dir and says so.
func Relay(ctx context.Context, built, dir string, say func(format string, args ...any)) (string, error) {
	if built != "" {
		return filepath.Abs(built)
	}
	say("building the relay")
	return BuildRelay(ctx, dir)
}

// WriteCatalog writes a catalog into dir for a relay to read, and returns its path.
func WriteCatalog(c *contracts.Catalog, dir string) (string, error) {
	path := filepath.Join(dir, "catalog.yaml")
	file, err := os.Create(path)
	if err != nil {
		return "", err
	}
	return path, errors.Join(c.Print(file), file.Close())
}
