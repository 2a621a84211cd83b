package image

import (
	"archive/tar"
	"bytes"
	"io"
	"log"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/validate"
)

// pushed sends an archive to a registry of the test's own.
func pushed(t *testing.T, b *Built, tag string) name.Digest {
	t.Helper()
	t.Setenv("DOCKER_CONFIG", t.TempDir())
	server := httptest.NewServer(registry.New(registry.WithReferrersSupport(true), registry.Logger(log.New(io.Discard, "", 0))))
	t.Cleanup(server.Close)
	archive := filepath.Join(t.TempDir(), "image.tar")
	if err := os.WriteFile(archive, archiveOf(t, b), 0o600); err != nil {
		t.Fatal(err)
	}
	ref, err := Push(t.Context(), archive, strings.TrimPrefix(server.URL, "http://")+"/relay/outbox-relay:"+tag)
	if err != nil {
		t.Fatal(err)
	}
	digest, err := name.NewDigest(ref)
	if err != nil {
		t.Fatal(err)
	}
	want, err := b.Digest()
	if err != nil {
		t.Fatal(err)
	}
	if digest.DigestStr() != want.String() {
		t.Errorf("pushed %s, want %s", digest, want)
	}
	if head, err := remote.Head(digest.Tag(tag)); err != nil || head.Digest != want {
		t.Errorf("tag %s: %v, %v", tag, head, err)
	}
	return digest
}

// expectSBOM reads the SBOM that refers to an image.
func expectSBOM(t *testing.T, of name.Digest, want []byte) {
	t.Helper()
	index, err := remote.Referrers(of)
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := index.IndexManifest()
	if err != nil || len(manifest.Manifests) != 1 {
		t.Fatalf("referrers of %s: %v, %v", of, manifest, err)
	}
	d := manifest.Manifests[0]
	if d.ArtifactType != sbomType {
		t.Errorf("type %q, want %q", d.ArtifactType, sbomType)
	}
	artifact, err := remote.Image(of.Digest(d.Digest.String()))
	if err != nil {
		t.Fatal(err)
	}
	layers, err := artifact.Layers()
	if err != nil || len(layers) != 1 {
		t.Fatal(layers, err)
	}
	r, err := layers[0].Compressed()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var got bytes.Buffer
	if _, err := got.ReadFrom(r); err != nil || !bytes.Equal(got.Bytes(), want) {
		t.Errorf("the SBOM differs: %v", err)
	}
}

func TestPushOneImage(t *testing.T) {
	built := tiny(t)
	digest := pushed(t, built, "v1.2.3")
	img, err := remote.Image(digest)
	if err != nil {
		t.Fatal(err)
	}
	if err := validate.Image(img); err != nil {
		t.Error(err)
	}
	expectSBOM(t, digest, built.Images[0].SBOM)
}

func TestPushSeveralPlatforms(t *testing.T) {
	built := build(t, tinySpec("testdata/tiny", amd64, arm64))
	digest := pushed(t, built, "latest")
	index, err := remote.Index(digest)
	if err != nil {
		t.Fatal(err)
	}
	if err := validate.Index(index); err != nil {
		t.Error(err)
	}
	manifest, err := index.IndexManifest()
	if err != nil || len(manifest.Manifests) != 2 {
		t.Fatal(manifest, err)
	}
	for i, d := range manifest.Manifests {
		if want := []v1.Platform{amd64, arm64}[i]; !d.Platform.Equals(want) {
			t.Errorf("platform %v, want %v", d.Platform, want)
		}
		expectSBOM(t, digest.Digest(d.Digest.String()), built.Images[i].SBOM)
	}
}

func TestPushRefuses(t *testing.T) {
	name := filepath.Join(t.TempDir(), "image.tar")
	for what, tc := range map[string]struct{ archive, ref, want string }{
		"a reference that is none": {name, "UPPER/case", "want HOST/REPOSITORY:TAG"},
		"an archive that is none":  {name, "localhost:1/a:b", "make image writes it"},
	} {
		t.Run(what, func(t *testing.T) {
			if _, err := Push(t.Context(), tc.archive, tc.ref); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("Push = %v, want %q in it", err, tc.want)
			}
		})
	}
}

// An archive of somebody else's writes nothing beside its directory.
func TestUnpackStaysInside(t *testing.T) {
	for name, header := range map[string]tar.Header{
		"a path upwards": {Name: "../out", Typeflag: tar.TypeReg, Mode: 0o644},
		"a link":         {Name: "in", Typeflag: tar.TypeSymlink, Linkname: "/etc"},
	} {
		t.Run(name, func(t *testing.T) {
			var archive bytes.Buffer
			w := tar.NewWriter(&archive)
			if err := w.WriteHeader(&header); err != nil {
				t.Fatal(err)
			}
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
			if err := unpack(&archive, t.TempDir()); err == nil {
				t.Error("it was unpacked")
			}
		})
	}
}
