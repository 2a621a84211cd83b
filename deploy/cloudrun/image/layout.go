package image

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

const (
	sbomType = "application/spdx+json"
	// refName marks what the archive is about, beside what refers to it.
	refName = "org.opencontainers.image.ref.name"
)

// WriteArchive writes an OCI image layout as a tar: the image, or the index of
// several, and each image's SBOM as an artifact that refers to it.
func (b *Built) WriteArchive(w io.Writer) error {
	dir, err := os.MkdirTemp("", "outbox-relay-layout-")
	if err != nil {
		return fmt.Errorf("write image: %w", err)
	}
	defer func() { _ = os.RemoveAll(dir) }() // its content is in the archive
	if err := b.writeLayout(dir); err != nil {
		return fmt.Errorf("write image: %w", err)
	}
	if err := packDirectory(w, dir, b.spec.Created.UTC()); err != nil {
		return fmt.Errorf("write image: %w", err)
	}
	return nil
}

func (b *Built) writeLayout(dir string) error {
	path, err := layout.Write(dir, mutate.IndexMediaType(empty.Index, types.OCIImageIndex))
	if err != nil {
		return err
	}
	named := layout.WithAnnotations(map[string]string{refName: b.spec.name()})
	if len(b.Images) == 1 {
		err = path.AppendImage(b.Images[0].Image, named, layout.WithPlatform(b.Images[0].Platform))
	} else {
		err = path.AppendIndex(b.index(), named)
	}
	if err != nil {
		return err
	}
	for _, i := range b.Images {
		artifact, err := i.artifact()
		if err != nil {
			return err
		}
		if err := path.AppendImage(artifact); err != nil {
			return err
		}
	}
	return nil
}

// name is the tag that the archive suggests.
func (s Spec) name() string {
	if s.Version == "" {
		return "latest"
	}
	return s.Version
}

// artifact is an image's SBOM as an OCI artifact that refers to the image. The
// type of its config is the artifact's, as the specification has it for clients
// that know no other place.
func (i Image) artifact() (v1.Image, error) {
	subject, err := describe(i.Image)
	if err != nil {
		return nil, err
	}
	img := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), sbomType)
	img, err = mutate.AppendLayers(img, static.NewLayer(i.SBOM, sbomType))
	if err != nil {
		return nil, err
	}
	artifact, ok := mutate.Subject(img, subject).(v1.Image)
	if !ok {
		return nil, errors.New("the SBOM's manifest is no image's")
	}
	return artifact, nil
}

func describe(img v1.Image) (v1.Descriptor, error) {
	digest, err := img.Digest()
	if err != nil {
		return v1.Descriptor{}, err
	}
	size, err := img.Size()
	if err != nil {
		return v1.Descriptor{}, err
	}
	mediaType, err := img.MediaType()
	return v1.Descriptor{MediaType: mediaType, Size: size, Digest: digest}, err
}

// packDirectory writes a directory's files as a tar, in the order of their
// names, all of one time.
func packDirectory(w io.Writer, dir string, at time.Time) error {
	all := make(files)
	err := fs.WalkDir(os.DirFS(dir), ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(name)))
		all[name] = file{0o644, data}
		return err
	})
	if err != nil {
		return err
	}
	archive, err := all.archive(at)
	if err != nil {
		return err
	}
	_, err = w.Write(archive)
	return err
}

// unpack writes the files of a tar below dir, and nothing outside of it.
func unpack(r io.Reader, dir string) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }() // what was written is closed
	for archive := tar.NewReader(r); ; {
		header, err := archive.Next()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		case header.Typeflag == tar.TypeDir:
			err = root.MkdirAll(filepath.Clean(header.Name), 0o755)
		case header.Typeflag == tar.TypeReg:
			err = unpackFile(root, header, archive)
		default:
			err = fmt.Errorf("%s is neither a file nor a directory", header.Name)
		}
		if err != nil {
			return err
		}
	}
}

func unpackFile(root *os.Root, header *tar.Header, r io.Reader) error {
	name := filepath.Clean(header.Name)
	if err := root.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	f, err := root.OpenFile(name, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, fs.FileMode(header.Mode).Perm())
	if err != nil {
		return err
	}
	_, err = io.CopyN(f, r, header.Size)
	return errors.Join(err, f.Close())
}
