package image

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"maps"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// Image is one platform's, with the list of what it is made of.
type Image struct {
	Platform v1.Platform
	Image    v1.Image
	SBOM     []byte // SPDX 2.3, as JSON
}

// Built is what Build made: an image for each platform of its spec.
type Built struct {
	Images []Image
	spec   Spec
}

// Build compiles the program and makes its images.
func Build(ctx context.Context, s Spec) (*Built, error) {
	if err := s.Validate(); err != nil {
		return nil, err
	}
	base, release, err := s.base(ctx)
	if err != nil {
		return nil, fmt.Errorf("make image: %w", err)
	}
	b := &Built{spec: s}
	for _, platform := range s.Platforms {
		binary, err := s.compile(ctx, platform)
		if err != nil {
			return nil, fmt.Errorf("make image: %w", err)
		}
		img, err := s.assemble(platform, base, files{s.binaryPath(): {0o755, binary}})
		if err != nil {
			return nil, fmt.Errorf("make image for %s: %w", platform, err)
		}
		sbom, err := s.sbom(platform, img, base, binary, release)
		if err != nil {
			return nil, fmt.Errorf("list what the image for %s is made of: %w", platform, err)
		}
		b.Images = append(b.Images, Image{Platform: platform, Image: img, SBOM: sbom})
	}
	return b, nil
}

// base is what the image holds beside the binary, the same on every platform,
// and the release of its time zones.
func (s Spec) base(ctx context.Context) (files, string, error) {
	all := accounts()
	certificates, err := roots()
	if err != nil {
		return nil, "", err
	}
	times, release, err := zones(ctx, s.Dir)
	if err != nil {
		return nil, "", err
	}
	maps.Copy(all, certificates)
	maps.Copy(all, times)
	return all, release, nil
}

// assemble makes an image of one layer for each part: the later ones change
// more often.
func (s Spec) assemble(platform v1.Platform, parts ...files) (v1.Image, error) {
	created := v1.Time{Time: s.Created.UTC()}
	img := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	img, err := mutate.ConfigFile(img, &v1.ConfigFile{
		OS: platform.OS, Architecture: platform.Architecture, Created: created, Config: s.config(),
		RootFS: v1.RootFS{Type: "layers", DiffIDs: []v1.Hash{}},
	})
	if err != nil {
		return nil, err
	}
	for _, part := range parts {
		data, err := part.archive(s.Created.UTC())
		if err != nil {
			return nil, err
		}
		layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(data)), nil },
			tarball.WithMediaType(types.OCILayer), tarball.WithCompressedCaching)
		if err != nil {
			return nil, err
		}
		img, err = mutate.Append(img, mutate.Addendum{Layer: layer, History: v1.History{Created: created, CreatedBy: "build-image"}})
		if err != nil {
			return nil, err
		}
	}
	return img, nil
}

// index joins the images of several platforms.
func (b *Built) index() v1.ImageIndex {
	var adds []mutate.IndexAddendum
	for _, i := range b.Images {
		adds = append(adds, mutate.IndexAddendum{Add: i.Image, Descriptor: v1.Descriptor{Platform: &i.Platform}})
	}
	return mutate.AppendManifests(mutate.IndexMediaType(empty.Index, types.OCIImageIndex), adds...)
}

// Digest is the image's, or the index's when there are several: what a
// deployment names.
func (b *Built) Digest() (v1.Hash, error) {
	if len(b.Images) == 1 {
		return b.Images[0].Image.Digest()
	}
	return b.index().Digest()
}
