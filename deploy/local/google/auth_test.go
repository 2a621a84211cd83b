package google

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestLocateAuth(t *testing.T) {
	root, bare := t.TempDir(), t.TempDir()
	within := filepath.Join(root, "some", "package")
	tools := filepath.Join(root, filepath.FromSlash(firebaseDir), "node_modules", "firebase-tools")
	for _, dir := range []string{tools, within} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(tools, "package.json"), []byte("{}"), 0o644); err != nil {
		t.Fatal(err)
	}
	hasNode := func(string) (string, error) { return "/bin/node", nil }
	noNode := func(string) (string, error) { return "", exec.ErrNotFound }
	for _, tt := range []struct {
		name, from string
		lookPath   func(string) (string, error)
		wantErr    string // "": found
	}{
		{"from the module's root", root, hasNode, ""},
		{"from within the module", within, hasNode, ""},
		{"not installed", bare, hasNode, "npm ci --prefix " + firebaseDir},
		{"without Node", root, noNode, "install Node"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			node, script, err := locateAuth(tt.lookPath, tt.from)
			if tt.wantErr != "" {
				if !errors.Is(err, ErrNoFirebaseTools) || !strings.Contains(err.Error(), tt.wantErr) {
					t.Errorf("err = %v, want ErrNoFirebaseTools with %q", err, tt.wantErr)
				}
				return
			}
			want := filepath.Join(root, filepath.FromSlash(firebaseDir), "auth.mjs")
			if err != nil || node != "/bin/node" || script != want {
				t.Errorf("locateAuth = %q, %q, %v; want the script %q", node, script, err, want)
			}
		})
	}
}
