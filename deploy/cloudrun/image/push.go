package image

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/google"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/remote"
)

// Push sends what an archive of WriteArchive holds to a registry, under ref, and
// then the SBOMs that refer to it. It signs in with Docker's configuration, or
// on Google's registries with application default credentials or gcloud's. It
// returns the reference by digest, which a deployment should name.
func Push(ctx context.Context, archive, ref string) (string, error) {
	to, err := name.ParseReference(ref)
	if err != nil {
		return "", fmt.Errorf("push image: %w; want HOST/REPOSITORY:TAG", err)
	}
	dir, err := os.MkdirTemp("", "outbox-relay-layout-")
	if err != nil {
		return "", fmt.Errorf("push image: %w", err)
	}
	defer func() { _ = os.RemoveAll(dir) }() // it was read alone
	index, err := openArchive(archive, dir)
	if err != nil {
		return "", fmt.Errorf("read %s: %w; make image writes it", archive, err)
	}
	digest, err := push(index, to,
		remote.WithContext(ctx), remote.WithAuthFromKeychain(authn.NewMultiKeychain(authn.DefaultKeychain, google.Keychain)))
	if err != nil {
		return "", fmt.Errorf("push image to %s: %w", to, err)
	}
	return to.Context().Digest(digest.String()).String(), nil
}

func openArchive(archive, dir string) (v1.ImageIndex, error) {
	f, err := os.Open(archive)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // it was read alone
	if err := unpack(f, dir); err != nil {
		return nil, err
	}
	return layout.ImageIndexFromPath(dir)
}

var errNoImage = errors.New("the archive names no image")

// push sends the named image or index first: an artifact that refers to it may
// only come after it.
func push(index v1.ImageIndex, to name.Reference, opts ...remote.Option) (v1.Hash, error) {
	manifest, err := index.IndexManifest()
	if err != nil {
		return v1.Hash{}, err
	}
	var digest v1.Hash
	for _, named := range []bool{true, false} {
		for _, d := range manifest.Manifests {
			if (d.Annotations[refName] != "") != named {
				continue
			}
			ref := name.Reference(to.Context().Digest(d.Digest.String()))
			if named {
				ref, digest = to, d.Digest
			}
			if err := pushOne(index, d, ref, opts...); err != nil {
				return v1.Hash{}, err
			}
		}
		if digest == (v1.Hash{}) {
			return v1.Hash{}, errNoImage
		}
	}
	return digest, nil
}

func pushOne(index v1.ImageIndex, d v1.Descriptor, ref name.Reference, opts ...remote.Option) error {
	if d.MediaType.IsIndex() {
		child, err := index.ImageIndex(d.Digest)
		if err != nil {
			return err
		}
		return remote.WriteIndex(ref, child, opts...)
	}
	img, err := index.Image(d.Digest)
	if err != nil {
		return err
	}
	return remote.Write(ref, img, opts...)
}
