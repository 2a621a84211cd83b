package image

import (
	"archive/tar"
	"bytes"
	"fmt"
	"maps"
	"path"
	"slices"
	"time"
)

// file is one of an image's, by its path from the root.
type file struct {
	mode int64
	data []byte
}

// files are a part of an image's root file system.
type files map[string]file

// accounts name the image's user, for what looks it up.
func accounts() files {
	return files{
		passwdPath: {0o644, fmt.Appendf(nil, "root:x:0:0:root:/:/sbin/nologin\nnonroot:x:%d:%d:nonroot:/:/sbin/nologin\n", userID, userID)},
		groupPath:  {0o644, fmt.Appendf(nil, "root:x:0:\nnonroot:x:%d:\n", userID)},
	}
}

// archive writes the files as a tar, with the directories that lead to them. All
// belong to root, so that the program cannot change them.
func (f files) archive(at time.Time) ([]byte, error) {
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for _, name := range slices.Sorted(maps.Keys(f.directories())) {
		if err := w.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: name + "/", Mode: 0o755, ModTime: at, Format: tar.FormatPAX}); err != nil {
			return nil, fmt.Errorf("write %s: %w", name, err)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(f)) {
		file := f[name]
		if err := w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: file.mode, Size: int64(len(file.data)), ModTime: at, Format: tar.FormatPAX}); err != nil {
			return nil, fmt.Errorf("write %s: %w", name, err)
		}
		if _, err := w.Write(file.data); err != nil {
			return nil, fmt.Errorf("write %s: %w", name, err)
		}
	}
	if err := w.Close(); err != nil {
		return nil, fmt.Errorf("close archive: %w", err)
	}
	return out.Bytes(), nil
}

func (f files) directories() map[string]bool {
	dirs := make(map[string]bool)
	for name := range f {
		for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
			dirs[dir] = true
		}
	}
	return dirs
}
