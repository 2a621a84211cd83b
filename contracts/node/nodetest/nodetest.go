// Package nodetest builds and runs the TypeScript of contracts/node for tests. Only
// tests import it.
package nodetest

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// patience bounds a run of tsc or node, in which a slow machine stands still.
const patience = 5 * time.Minute

// Build compiles what is in dir, the directory of contracts/node, and returns where
// to. It fails where TypeScript does. The test is skipped where npm's packages are
// not installed.
func Build(t testing.TB, dir string) string {
	t.Helper()
	Installed(t, dir)
	dir, err := filepath.Abs(dir)
	if err != nil {
		t.Fatal(err)
	}
	tsc := filepath.Join(dir, "node_modules", "typescript", "bin", "tsc")
	out, err := os.MkdirTemp(dir, "build-") //nolint:usetesting // below dir, from where node finds the packages
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(out) })
	Run(t, dir, nil, tsc, "-p", dir, "--outDir", out)
	return out
}

// Installed skips the test where npm's packages are not installed in dir, the directory of
// contracts/node.
func Installed(t testing.TB, dir string) {
	t.Helper()
	if _, err := os.Stat(filepath.Join(dir, "node_modules", "typescript", "bin", "tsc")); err != nil {
		t.Skip("the packages of contracts/node are not installed: make node-packages")
	}
}

// Run runs node in dir, with more in its environment, and returns its standard output.
func Run(t testing.TB, dir string, env []string, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, "node", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), append(env, "METADATA_SERVER_DETECTION=none")...) // nothing here runs on Google's machines
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("node %v: %v\n%s%s", args, err, out, &stderr)
	}
	return string(out)
}
