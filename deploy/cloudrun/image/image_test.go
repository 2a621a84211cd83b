package image

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/mutate"

	"outboxrelay/deploy/local/thorough"
)

var (
	amd64 = known[0]
	arm64 = known[1]
)

// someTime is far from now, and from 1970.
var someTime = time.Date(2026, time.November, 21, 12, 0, 0, 0, time.UTC)

// tinySpec is an image around a program that is soon built.
func tinySpec(dir string, platforms ...v1.Platform) Spec {
	return Spec{Dir: dir, Package: ".", Version: "v1.2.3", Commit: "abcdef", Created: someTime, Platforms: platforms}
}

func build(t *testing.T, s Spec) *Built {
	t.Helper()
	built, err := Build(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	return built
}

var tinyBuilt = sync.OnceValues(func() (*Built, error) {
	return Build(context.Background(), tinySpec("testdata/tiny", amd64)) // it outlives the test that asks first
})

// tiny is an image that is built once for all tests.
func tiny(t *testing.T) *Built {
	t.Helper()
	built, err := tinyBuilt()
	if err != nil {
		t.Fatal(err)
	}
	return built
}

func archiveOf(t *testing.T, b *Built) []byte {
	t.Helper()
	var out bytes.Buffer
	if err := b.WriteArchive(&out); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// The digest tells what was built, and nothing of where, when and by whom.
func TestTwoBuildsHaveOneDigest(t *testing.T) {
	thorough.Long(t)
	first := build(t, tinySpec("testdata/tiny", amd64, arm64))
	elsewhere := t.TempDir()
	if err := os.CopyFS(elsewhere, os.DirFS("testdata/tiny")); err != nil {
		t.Fatal(err)
	}
	t.Setenv("TMPDIR", t.TempDir())
	t.Setenv("GOFLAGS", "-tags=another -ldflags=-s")
	t.Setenv("GOAMD64", "v3")
	t.Setenv("TZ", "Asia/Tokyo")
	t.Setenv("HOME", t.TempDir())
	old := time.Unix(1, 0)
	for _, name := range []string{"main.go", "go.mod"} {
		if err := os.Chtimes(filepath.Join(elsewhere, name), old, old); err != nil {
			t.Fatal(err)
		}
	}
	second := build(t, tinySpec(elsewhere, amd64, arm64))
	want, err := first.Digest()
	if err != nil {
		t.Fatal(err)
	}
	got, err := second.Digest()
	if err != nil {
		t.Fatal(err)
	}
	if got != want {
		t.Errorf("digests %s and %s", want, got)
	}
	if !bytes.Equal(archiveOf(t, first), archiveOf(t, second)) {
		t.Error("the archives differ")
	}
	for i := range first.Images {
		if diff := cmp.Diff(string(first.Images[i].SBOM), string(second.Images[i].SBOM)); diff != "" {
			t.Errorf("SBOMs (-first +second):\n%s", diff)
		}
	}
}

func TestOtherSourceHasAnotherDigest(t *testing.T) {
	spec := tinySpec("testdata/tiny", amd64)
	seen := map[v1.Hash]string{}
	for what, change := range map[string]func(*Spec){
		"as it is": func(*Spec) {}, "version": func(s *Spec) { s.Version = "v1.2.4" }, "time": func(s *Spec) { s.Created = someTime.Add(time.Second) },
	} {
		changed := spec
		change(&changed)
		digest, err := build(t, changed).Digest()
		if err != nil {
			t.Fatal(err)
		}
		if other, had := seen[digest]; had {
			t.Errorf("%s and %s have the digest %s", what, other, digest)
		}
		seen[digest] = what
	}
}

// entries lists an image's files and directories, the later layers over the earlier.
func entries(t *testing.T, img v1.Image) map[string]*tar.Header {
	t.Helper()
	r := mutate.Extract(img)
	defer r.Close()
	all := map[string]*tar.Header{}
	for archive := tar.NewReader(r); ; {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		all[header.Name] = header
	}
}

// TestNothingElseIsInTheImage lists every path, those of time zones by Go's own
// archive.
func TestNothingElseIsInTheImage(t *testing.T) {
	img := tiny(t).Images[0].Image
	want := []string{
		"etc", "etc/group", "etc/passwd", "etc/ssl", "etc/ssl/certs", "etc/ssl/certs/ca-certificates.crt",
		"usr", "usr/bin", "usr/bin/outbox-relay", "usr/share", "usr/share/zoneinfo",
	}
	var got []string
	times := 0
	for name, header := range entries(t, img) {
		name = strings.TrimSuffix(name, "/")
		if below, ok := strings.CutPrefix(name, "usr/share/zoneinfo/"); ok {
			times++
			if below == "" || strings.HasPrefix(below, ".") {
				t.Errorf("%s is no time zone", name)
			}
		} else {
			got = append(got, name)
		}
		mode := int64(0o644)
		if header.Typeflag == tar.TypeDir || name == BinaryPath {
			mode = 0o755
		}
		if header.Mode != mode || header.Uid != 0 || header.Gid != 0 || !header.ModTime.Equal(someTime) {
			t.Errorf("%s: mode %o, owner %d:%d, time %s; want %o, 0:0, %s", name, header.Mode, header.Uid, header.Gid, header.ModTime, mode, someTime)
		}
	}
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("paths (-want +got):\n%s", diff)
	}
	found, _, err := zones(t.Context(), ".")
	if err != nil {
		t.Fatal(err)
	}
	if want := len(found) + len(found.directories()) - len(files{zonesPath: {}}.directories()) - 1; times != want || len(found) < 500 {
		t.Errorf("%d paths of time zones, want %d; %d files", times, want, len(found))
	}
}

func TestConfigOfTheImage(t *testing.T) {
	img := tiny(t).Images[0].Image
	config, err := img.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	if config.OS != "linux" || config.Architecture != "amd64" || !config.Created.Equal(someTime) || config.Config.User != "65532:65532" {
		t.Errorf("config %+v", config)
	}
	if len(config.RootFS.DiffIDs) != 2 || len(config.History) != 2 {
		t.Errorf("%d layers, %d entries of history; want 2 of each", len(config.RootFS.DiffIDs), len(config.History))
	}
}

// The file holds what Google's APIs are signed by.
func TestRoots(t *testing.T) {
	found, err := roots()
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for rest := found[rootsPath].data; ; {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			break
		}
		cert, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			t.Fatal(err)
		}
		names[cert.Subject.CommonName] = true
	}
	for _, name := range []string{"GTS Root R1", "GTS Root R3", "GTS Root R4", "GlobalSign"} {
		if !names[name] {
			t.Errorf("%s is not among the %d roots", name, len(names))
		}
	}
	if len(names) < 100 {
		t.Errorf("%d roots", len(names))
	}
}

func TestSBOM(t *testing.T) {
	built := tiny(t)
	var d spdxDocument
	if err := json.Unmarshal(built.Images[0].SBOM, &d); err != nil {
		t.Fatal(err)
	}
	digest, err := built.Digest()
	if err != nil {
		t.Fatal(err)
	}
	if d.Version != "SPDX-2.3" || d.License != "CC0-1.0" || d.Creation.Created != "2026-11-21T12:00:00Z" || !strings.HasSuffix(d.Namespace, digest.Hex) {
		t.Errorf("document %+v", d)
	}
	packages := map[string]spdxPackage{}
	ids := map[string]bool{d.ID: true}
	for _, p := range d.Packages {
		packages[p.Name] = p
		if ids[p.ID] {
			t.Errorf("two packages are %s", p.ID)
		}
		ids[p.ID] = true
	}
	for _, r := range d.Relationships {
		if !ids[r.From] || !ids[r.To] {
			t.Errorf("%+v leads nowhere", r)
		}
	}
	if got := packages["outbox-relay"].Checksums; len(got) != 1 || got[0].Value != digest.Hex {
		t.Errorf("the image's checksums are %v, want %s", got, digest.Hex)
	}
	if got, want := packages["stdlib"].Version, strings.TrimPrefix(runtime.Version(), "go"); got != want {
		t.Errorf("stdlib %q, want %q", got, want)
	}
	certificates, err := roots()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(sha256Of(certificates[rootsPath].data), packages[rootsModule].Checksums); diff != "" {
		t.Errorf("checksums of the roots (-want +got):\n%s", diff)
	}
	if packages["tzdata"].Version == "" {
		t.Error("the time zones have no release")
	}
}

func TestTheVersionIsLinkedIn(t *testing.T) {
	binary, err := tinySpec("testdata/tiny").compile(t.Context(), v1.Platform{OS: runtime.GOOS, Architecture: runtime.GOARCH})
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(t.TempDir(), "tiny")
	if err := os.WriteFile(name, binary, 0o700); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(name).CombinedOutput()
	if err != nil || string(out) != "v1.2.3 abcdef\n" {
		t.Errorf("it says %q, %v", out, err)
	}
}

func TestSpecsThatAreRefused(t *testing.T) {
	for name, change := range map[string]func(*Spec){
		"no directory":            func(s *Spec) { s.Dir = "" },
		"no platform":             func(s *Spec) { s.Platforms = nil },
		"a version of two words":  func(s *Spec) { s.Version = "v1 -X main.x=y" },
		"a package that is none":  func(s *Spec) { s.Package = "./nothing" },
		"a commit with a newline": func(s *Spec) { s.Commit = "a\nb" },
	} {
		t.Run(name, func(t *testing.T) {
			spec := tinySpec("testdata/tiny", amd64)
			change(&spec)
			if _, err := Build(t.Context(), spec); err == nil {
				t.Error("it was built")
			}
		})
	}
}

func TestParsePlatforms(t *testing.T) {
	both, err := ParsePlatforms("linux/amd64, linux/arm64")
	if err != nil || !slices.EqualFunc(both, known, v1.Platform.Equals) {
		t.Errorf("both: %v, %v", both, err)
	}
	for _, list := range []string{"", "linux/mips", "linux/amd64,linux/amd64", "amd64"} {
		if _, err := ParsePlatforms(list); err == nil {
			t.Errorf("%q is taken", list)
		}
	}
}
