package main

import (
	"bytes"
	"io"
	"log"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/registry"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("go.opencensus.io/stats/view.(*worker).start")) // started by an import
}

// source is a repository with a program that is soon built, outside of git.
func source(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod":                   "module small\n\ngo 1.26\n",
		"cmd/outbox-relay/main.go": "package main\n\nvar linkedVersion, linkedCommit string\n\nfunc main() { println(linkedVersion, linkedCommit) }\n",
	} {
		name = filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func runs(t *testing.T, args ...string) string {
	t.Helper()
	var out bytes.Buffer
	if err := run(t.Context(), args, &out); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestBuildAndPush(t *testing.T) {
	t.Setenv("DOCKER_CONFIG", t.TempDir())
	t.Setenv("SOURCE_DATE_EPOCH", "1763726400")
	server := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	defer server.Close()
	ref := strings.TrimPrefix(server.URL, "http://") + "/relay:v1"
	out := filepath.Join(t.TempDir(), "dist", "image.tar")

	told := runs(t, "--dir", source(t), "--out", out, "--version", "v1", "--push", ref)
	digest := regexp.MustCompile(`image +(sha256:[0-9a-f]{64})\n`).FindStringSubmatch(told)
	if digest == nil || !strings.Contains(told, "pushed "+strings.TrimSuffix(ref, ":v1")+"@"+digest[1]+"\n") {
		t.Errorf("it tells %s", told)
	}
	for _, name := range []string{out, strings.TrimSuffix(out, ".tar") + ".spdx.json"} {
		if info, err := os.Stat(name); err != nil || info.Size() == 0 {
			t.Errorf("%s: %v", name, err)
		}
	}
	// What was built before can be pushed without building it again.
	again := runs(t, "--archive", out, "--push", ref)
	if again != "pushed "+strings.TrimSuffix(ref, ":v1")+"@"+digest[1]+"\n" {
		t.Errorf("pushed again, it tells %s", again)
	}
}

func TestFlagsThatAreRefused(t *testing.T) {
	for name, tc := range map[string]struct {
		args []string
		want string
	}{
		"an archive and nowhere to push it": {[]string{"--archive", "x.tar"}, "add --push"},
		"a platform of another kind":        {[]string{"--platform", "windows/amd64"}, "want linux/amd64"},
		"a time in words":                   {[]string{"--epoch", "yesterday"}, "want seconds since 1970"},
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			if err := run(t.Context(), append(tc.args, "--dir", t.TempDir()), &out); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("run = %v, want %q in it", err, tc.want)
			}
		})
	}
}
