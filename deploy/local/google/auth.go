package google

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
)

// ErrNoFirebaseTools is in the error of StartAuth where Node or firebase-tools is
// not installed.
var ErrNoFirebaseTools = errors.New("firebase-tools is not installed")

// firebaseDir holds the package.json that pins firebase-tools, below the module's root.
const firebaseDir = "deploy/local/google/firebase"

// StartAuth starts Google's Auth emulator, which is a part of firebase-tools, and
// returns once it answers. An API key is the ID of its project. What it prints goes
// to log; nil drops it. ctx bounds the start alone; the caller owns the emulator and
// calls Stop.
func StartAuth(ctx context.Context, log io.Writer) (*Emulator, error) {
	from, err := os.Getwd()
	if err != nil {
		return nil, fmt.Errorf("locate firebase-tools: %w", err)
	}
	node, script, err := locateAuth(exec.LookPath, from)
	if err != nil {
		return nil, err
	}
	return start(ctx, program{
		name:    "Auth emulator",
		command: func(host, port string) []string { return []string{node, script, host, port} },
		probe:   overHTTP,
	}, log)
}

// locateAuth finds Node and the script, from a directory within the module.
func locateAuth(lookPath func(string) (string, error), from string) (node, script string, err error) {
	if node, err = lookPath("node"); err != nil {
		return "", "", fmt.Errorf("locate node: %w: %w: install Node 20 (Debian: apt-get install nodejs npm)", ErrNoFirebaseTools, err)
	}
	for dir := from; ; dir = filepath.Dir(dir) {
		tools := filepath.Join(dir, filepath.FromSlash(firebaseDir))
		if isFile(filepath.Join(tools, "node_modules", "firebase-tools", "package.json")) {
			return node, filepath.Join(tools, "auth.mjs"), nil
		}
		if dir == filepath.Dir(dir) {
			return "", "", fmt.Errorf("locate firebase-tools: %w: run npm ci --prefix %s in the module's root", ErrNoFirebaseTools, firebaseDir)
		}
	}
}
